"""Standard cross-validation: each fold's model is trained from scratch."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from treecv.data import Folds
from treecv.engines.workers import Parts
from treecv.errors import InputError
from treecv.learner import Schema
from treecv.probes import Leaves, Sink
from treecv.records import Counts
from treecv.tree import Node


@dataclass(frozen=True, slots=True)
class Standard:
    """k trainings over the same chunks and in the same orders as the tree.

    Parameters
    ----------
    folds : sequence of int, optional
        Only these folds: the others get no score. For measuring a part of a run that would take too long.
    """

    folds: Sequence[int] | None = None

    name: ClassVar[str] = "standard"
    needs: ClassVar[tuple[str, ...]] = ("init", "update", "predict")
    without: ClassVar[str] = "it does not learn in parts"
    gives: ClassVar[frozenset[str]] = frozenset({"predictions", "models"})

    def trainings(self, learner: Any, schema: Schema, k: int) -> float:
        """Each fold learns all rows but a k-th."""
        return (k if self.folds is None else len(self.folds)) * (1 - 1 / k)

    def exact(self, learner: Any, order: str = "fixed") -> bool:
        """Always: the others are compared with it."""
        return True

    def plan(self, feed: Any, schema: Schema) -> "Repetitions":
        """The folds, one after another."""
        folds = range(feed.k) if self.folds is None else [int(fold) for fold in self.folds]
        outside = [fold for fold in folds if not 0 <= fold < feed.k] if self.folds is not None else []
        if outside:
            raise InputError(
                f"Standard: folds={outside[:5]} do not exist: with k={feed.k} they run from 0 to {feed.k - 1}."
            )
        return Repetitions(feed, schema, folds)


@dataclass(frozen=True, slots=True)
class Repetitions:
    """Independent trainings of some folds."""

    feed: Folds
    schema: Schema
    folds: Sequence[int]

    def run(self, learner: Any, sink: Sink, threads: int = 1) -> Counts:
        """In the core where the learner has a `repeat`, else fold by fold."""
        if hasattr(learner, "repeat") and self.feed.compiled:
            counts: Counts = learner.repeat(learner.init(self.schema), self.feed, sink, self.folds, threads)
            return counts
        leaves = Leaves(learner, self.feed.fresh(), sink)  # a feed may be used again
        for fold in self.folds:
            self._train(learner, fold, leaves)
        return leaves.feed.counts

    def parts(self, learner: Any, sink: Sink, workers: int) -> Parts:
        """Some of the folds each."""
        size = max(1, -(-len(self.folds) // (4 * workers)))
        shares = [self.folds[begin : begin + size] for begin in range(0, len(self.folds), size)]
        done = yield [(_share, (Repetitions(self.feed, self.schema, share), learner, sink.apart())) for share in shares]
        total = Counts()
        for share, (part, counts) in zip(shares, done, strict=True):
            total += counts
            for fold in share:
                sink.absorb(part, Node(fold, fold), self.feed)
        return total

    def _train(self, learner: Any, fold: int, leaves: Leaves) -> None:
        try:
            state = learner.init(self.schema)
            learner.update(state, leaves.feed.all_but(fold))
        except Exception as error:
            leaves.failed(Node(fold, fold), error)
        else:
            leaves.leaf(fold, state)


def _share(plan: Repetitions, learner: Any, sink: Sink) -> tuple[Sink, Counts]:
    return sink, plan.run(learner, sink)
