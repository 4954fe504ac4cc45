"""Ways to the k scores.

Each strategy states what it needs of a learner (`needs`), what it costs (`trainings`) and whether its
scores are those of plain cross-validation (`exact`), and makes a plan that an engine carries out.
"""

import time
from collections.abc import Callable
from typing import Any, Protocol

from treecv.data import Feed
from treecv.engines import serial
from treecv.errors import InputError
from treecv.learner import Learner, Schema, missing, require
from treecv.probes import Sink
from treecv.records import Record
from treecv.strategies.standard import Standard
from treecv.strategies.tree import Tree

__all__ = ["STRATEGIES", "Standard", "Strategy", "Tree", "choose", "run"]


class Strategy(Protocol):
    """What every strategy states about itself."""

    @property
    def name(self) -> str:
        """What users call it."""

    @property
    def needs(self) -> tuple[str, ...]:
        """The capabilities it needs of a learner, in the words of `learner.missing`."""

    def trainings(self, k: int) -> float:
        """The cost for k folds, in passes over all rows."""

    def exact(self, learner: Any) -> bool:
        """Whether the scores equal those of training each fold from scratch."""

    def plan(self, feed: Feed, schema: Schema) -> serial.Plan:
        """The work, for an engine."""


STRATEGIES: dict[str, Callable[[], Strategy]] = {"auto": Tree, "tree": Tree, "standard": Standard}


def choose(strategy: "str | Strategy") -> Strategy:
    """The strategy of that name; a strategy itself is taken as it is.

    "auto" is the tree for every learner here: one pass is what their `fit` does.
    """
    if isinstance(strategy, str) and strategy in STRATEGIES:
        return STRATEGIES[strategy]()
    if isinstance(strategy, str | type) or missing(strategy, ("name", "needs", "exact", "plan")):
        raise InputError(
            f"strategy={strategy!r} is not known: use one of {list(STRATEGIES)}, or a strategy such as Tree()."
        )
    return strategy


def run(strategy: Strategy, learner: Learner, schema: Schema, feed: Feed, sink: Sink) -> Record:
    """Carry a strategy out and record what it took."""
    require(learner, strategy.needs, f"strategy={strategy.name!r}")
    begin = time.perf_counter()
    counts = serial.run(strategy.plan(feed, schema), learner, sink)
    return Record(
        strategy=strategy.name,
        order=feed.order,
        seed=feed.seed,
        k=feed.chunks.k,
        n_rows=len(feed.rows),
        exact=strategy.exact(learner),
        counts=counts,
        seconds=time.perf_counter() - begin,
    )
