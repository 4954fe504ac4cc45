"""A chain: folds whose training rows only grow are trained by one model, which is scored as it goes along."""

from dataclasses import dataclass
from typing import Any, ClassVar

from treecv.data import Succession
from treecv.engines.workers import Parts
from treecv.learner import Schema
from treecv.probes import Leaves, Sink
from treecv.records import Counts
from treecv.tree import Node


@dataclass(frozen=True, slots=True)
class Chain:
    """Each row is learnt once: the way of time series and learning curves.

    Parameters
    ----------
    in_order : bool
        Whether rows are learnt in the order they are stored in, as in a training from scratch.
    """

    in_order: bool = True

    name: ClassVar[str] = "chain"
    needs: ClassVar[tuple[str, ...]] = ("init", "update", "predict")
    without: ClassVar[str] = "it does not learn in parts"
    gives: ClassVar[frozenset[str]] = frozenset({"predictions", "models"})

    def trainings(self, learner: Any, schema: Schema, k: int) -> float:
        """One pass."""
        return 1.0

    def exact(self, learner: Any, order: str = "fixed") -> bool:
        """Where neither order nor the number of updates matters, or the order is that of training from scratch."""
        free = bool(getattr(learner, "order_free", False))
        return free or (self.in_order and order == "fixed" and bool(getattr(learner, "call_free", False)))

    def plan(self, feed: Any, schema: Schema) -> "Walk":
        """One walk along the folds."""
        return Walk(feed, schema)


@dataclass(frozen=True, slots=True)
class Walk:
    """From the first fold to the last."""

    feed: Succession
    schema: Schema

    def run(self, learner: Any, sink: Sink, threads: int = 1) -> Counts:
        """With one state, which learns what is new in each fold."""
        feed, state = self.feed.fresh(), learner.init(self.schema)
        leaves = Leaves(learner, feed, sink)
        for fold in range(feed.k):
            try:
                learner.update(state, feed.growth(fold))
            except Exception as error:
                leaves.failed(Node(fold, feed.k - 1), error)
                break
            leaves.leaf(fold, state)
        return feed.counts

    def parts(self, learner: Any, sink: Sink, workers: int) -> Parts:
        """There is but one: each fold needs the one before."""
        part: Sink
        counts: Counts
        ((part, counts),) = yield [(_walk, (self, learner, sink.apart()))]
        sink.absorb(part, Node(0, self.feed.k - 1), self.feed)
        return counts


def _walk(plan: Walk, learner: Any, sink: Sink) -> tuple[Sink, Counts]:
    return sink, plan.run(learner, sink)
