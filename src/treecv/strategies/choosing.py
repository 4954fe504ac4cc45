"""Which strategies there are for a learner, what each would cost, and the cheapest that is exact."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from treecv.learner import Schema, missing
from treecv.strategies.closed_form import ClosedForm
from treecv.strategies.merge import Merge
from treecv.strategies.tree import Tree

SHORTCUTS = (Merge, ClosedForm)
"""The strategies that give what training each fold from scratch gives, without doing it."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A strategy that a learner might take.

    Attributes
    ----------
    strategy : strategy
    trainings : float
        Its cost, in trainings of all rows; infinite where it cannot run.
    exact : bool
        Whether it gives what training each fold from scratch gives.
    lacks : str
        What keeps it from running, if anything.
    """

    strategy: Any
    trainings: float
    exact: bool
    lacks: str = ""

    @property
    def name(self) -> str:
        """What users call it."""
        return str(self.strategy.name)


def candidates(
    learner: Any, schema: Schema, k: int, asked: frozenset[str], order: str = "fixed", kinds: Sequence[Any] = ()
) -> list[Candidate]:
    """The strategies of these kinds (empty: shortcuts and the tree), for what is `asked` of the models of k folds."""
    return [_candidate(kind(), learner, schema, k, asked, order) for kind in kinds or (*SHORTCUTS, Tree)]


def _candidate(strategy: Any, learner: Any, schema: Schema, k: int, asked: frozenset[str], order: str) -> Candidate:
    exact = bool(strategy.exact(learner, order))
    lacking = missing(learner, strategy.needs)
    lacks = strategy.without if lacking else ""
    if not lacks and asked - strategy.gives:
        lacks = f"it gives no {' and no '.join(sorted(asked - strategy.gives))}, as was asked for"
    if lacks:
        return Candidate(strategy, float("inf"), exact, lacks)
    return Candidate(strategy, float(strategy.trainings(learner, schema, k)), exact)


def cheapest(found: Sequence[Candidate]) -> Candidate | None:
    """The least cost among those that are exact and can run; of equals the first."""
    able = [candidate for candidate in found if candidate.exact and not candidate.lacks]
    return min(able, key=lambda candidate: candidate.trainings, default=None)
