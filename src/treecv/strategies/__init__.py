"""Ways to the k scores.

Each strategy states what it needs of a learner (`needs`), what it costs (`trainings`) and whether its
scores are those of plain cross-validation (`exact`), and makes a plan that an engine carries out.
"""

import time
from collections.abc import Callable
from typing import Any, Protocol

from joblib import Parallel, effective_n_jobs

from treecv.data import Folds
from treecv.engines import serial, threads, workers
from treecv.errors import InputError
from treecv.learner import Learner, Schema, missing, require
from treecv.probes import Sink
from treecv.records import Record
from treecv.strategies.chain import Chain
from treecv.strategies.choosing import SHORTCUTS, Candidate, candidates, cheapest
from treecv.strategies.closed_form import ClosedForm
from treecv.strategies.merge import Merge
from treecv.strategies.standard import Standard
from treecv.strategies.tree import Tree

__all__ = [
    "SHORTCUTS",
    "STRATEGIES",
    "Candidate",
    "Chain",
    "ClosedForm",
    "Merge",
    "Standard",
    "Strategy",
    "Tree",
    "candidates",
    "cheapest",
    "choose",
    "run",
]


class Plan(threads.Plan, workers.Plan, Protocol):
    """The work, for any engine."""


class Strategy(Protocol):
    """What every strategy states about itself."""

    @property
    def name(self) -> str:
        """What users call it."""

    @property
    def needs(self) -> tuple[str, ...]:
        """The capabilities it needs of a learner, in the words of `learner.missing`."""

    @property
    def without(self) -> str:
        """What is to be said of a learner that does not meet the needs."""

    @property
    def gives(self) -> frozenset[str]:
        """What can be had of the folds: "predictions" at their rows, or the "models" themselves."""

    def trainings(self, learner: Any, schema: Schema, k: int) -> float:
        """The cost for k folds, in trainings of all rows."""

    def exact(self, learner: Any, order: str = "fixed") -> bool:
        """Whether the scores equal those of training each fold from scratch."""

    def plan(self, feed: Any, schema: Schema) -> Plan:
        """The work, for an engine."""


STRATEGIES: dict[str, Callable[[], Strategy]] = {
    "auto": Tree,
    "tree": Tree,
    "standard": Standard,
    "merge": Merge,
    "closed_form": ClosedForm,
}


def choose(strategy: "str | Strategy") -> Strategy:
    """The strategy of that name; a strategy itself is taken as it is.

    "auto" is the tree for every learner whose estimator's `fit` is one pass.
    """
    if isinstance(strategy, str) and strategy in STRATEGIES:
        return STRATEGIES[strategy]()
    if isinstance(strategy, str | type) or missing(strategy, ("name", "needs", "exact", "plan")):
        raise InputError(
            f"strategy={strategy!r} is not known: use one of {list(STRATEGIES)}, or a strategy such as Tree()."
        )
    return strategy


def run(strategy: Strategy, learner: Learner, schema: Schema, feed: Folds, sink: Sink, pool: Any = None) -> Record:
    """Carry a strategy out and record what it took.

    `pool` is a joblib.Parallel. It says how many workers there are; those of a learner that walks in the core
    are threads of the core.
    """
    require(learner, strategy.needs, f"strategy={strategy.name!r}")
    begin = time.perf_counter()
    plan = strategy.plan(feed, schema)
    several = effective_n_jobs(pool.n_jobs) if isinstance(pool, Parallel) else 1
    if several == 1:
        counts = serial.run(plan, learner, sink)
    elif hasattr(learner, "walk"):
        counts = threads.run(plan, learner, sink, several)
    else:
        counts = workers.run(plan, learner, sink, pool, several)
    return Record(
        strategy=strategy.name,
        order=feed.order,
        seed=feed.seed,
        k=feed.k,
        n_rows=feed.n_rows,
        exact=strategy.exact(learner, feed.order),
        counts=counts,
        seconds=time.perf_counter() - begin,
    )
