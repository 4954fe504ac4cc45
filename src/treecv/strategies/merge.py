"""Sufficient statistics: the model of a fold is the whole minus the fold, or the rest put together.

Izbicki: Algebraic classifiers: a generic approach to fast cross-validation, online training, and parallel training,
ICML (2013).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from math import isqrt
from typing import Any, ClassVar

from treecv.data import Feed
from treecv.engines.workers import Parts
from treecv.learner import Schema, State
from treecv.probes import Leaves, Sink
from treecv.records import Counts
from treecv.strategies import whole
from treecv.strategies.tree import rooted
from treecv.tree import Node


@dataclass(frozen=True, slots=True)
class Merge:
    """Each row is learnt once and taken away once; where that would lose digits, the other folds are merged."""

    name: ClassVar[str] = "merge"
    needs: ClassVar[tuple[str, ...]] = ("init", "update", "predict", "copy", "merge")
    without: ClassVar[str] = "what it learns cannot be merged"
    gives: ClassVar[frozenset[str]] = frozenset({"predictions", "models"})

    def trainings(self, learner: Any, schema: Schema, k: int) -> float:
        """Two passes, to learn the rows and to take them away again, and a model made of each fold's statistics."""
        if _at_once(learner):
            return float(learner.held_out_trainings(schema.n_rows, schema.n_features, k))
        models = k * schema.n_features / schema.n_rows
        return (2.0 if hasattr(learner, "unlearn") else 3.0) + models

    def exact(self, learner: Any, order: str = "fixed") -> bool:
        """Always: what can be merged does not depend on the order of the rows."""
        return True

    def plan(self, feed: Any, schema: Schema) -> "Statistics":
        """Fold after fold."""
        return Statistics(feed, schema)


@dataclass(frozen=True, slots=True)
class Statistics:
    """All folds from the statistics of all rows, or of each fold."""

    feed: Feed
    schema: Schema

    def run(self, learner: Any, sink: Sink, threads: int = 1) -> Counts:
        """At once where the learner can do that, else fold by fold."""
        if _at_once(learner) and whole.suits(sink):
            return whole.fill(learner, self.schema, self.feed, sink)
        feed = self.feed.fresh()
        leaves = Leaves(learner, feed, sink)
        left = set(range(feed.k))
        if hasattr(learner, "unlearn"):
            left = self._unlearning(learner, feed, leaves)
        if left:
            self._merging(learner, feed, leaves, left)
        return feed.counts

    def parts(self, learner: Any, sink: Sink, workers: int) -> Parts:
        """None: there is nothing to share out."""
        return self.run(learner, sink)
        yield []  # which makes this a generator

    def _unlearning(self, learner: Any, feed: Feed, leaves: Leaves) -> set[int]:
        """The whole minus each fold; the folds for which that would lose digits are left."""
        left = set()
        try:
            everything = learner.init(self.schema)
            for fold in range(-1 if feed.chunks.before else 0, feed.k):
                learner.update(everything, self._lesson(feed, fold))
        except Exception:  # whose rows these are is found by merging
            return set(range(feed.k))
        for fold in range(feed.k):
            rows = feed.fold(fold)
            if not learner.unlearnable(everything, rows):
                left.add(fold)
                continue
            state = learner.copy(everything)
            learner.unlearn(state, self._lesson(feed, fold))
            leaves.leaf(fold, state)
        return left

    def _merging(self, learner: Any, feed: Feed, leaves: Leaves, wanted: set[int]) -> None:
        """What came before each fold, merged with what comes after it.

        The states of what comes after are kept at some folds, and made again between them: about 2 sqrt(k) states
        are alive.
        """
        k = feed.k
        root = rooted(learner, feed, self.schema, leaves.sink)
        if root is None:
            return
        size = max(1, isqrt(k))
        blocks = [range(begin, min(begin + size, k)) for begin in range(0, k, size)]
        beyond = [learner.init(self.schema)]  # what comes after each block, from the last one
        for block in reversed(blocks[1:]):
            beyond.append(self._joined(learner, beyond[-1], self._learnt(learner, feed, block)))
        before = root
        for block in blocks:
            after = beyond.pop()
            if not wanted.isdisjoint(block):
                self._block(learner, feed, leaves, (block, before, after), wanted)
            before = self._joined(learner, before, self._learnt(learner, feed, block))

    def _block(
        self, learner: Any, feed: Feed, leaves: Leaves, around: tuple[range, State, State], wanted: set[int]
    ) -> None:
        """The folds of a block, with what has learnt all before it and all after it."""
        block, before, after = around
        single = [self._learnt(learner, feed, [fold]) for fold in block]
        later = [after]
        for own in reversed(single[1:]):
            later.append(self._joined(learner, later[-1], own))
        for fold, own in zip(block, single, strict=True):
            rest = later.pop()
            if fold in wanted:
                _take(leaves, fold, self._joined(learner, before, rest))
            before = self._joined(learner, before, own)

    def _joined(self, learner: Any, one: State, other: State) -> State:
        """Both in one; an error, in place of a state, stays one."""
        for state in (one, other):
            if isinstance(state, Exception):
                return state
        both = learner.copy(one)
        learner.merge(both, other)
        return both

    def _learnt(self, learner: Any, feed: Feed, folds: Iterable[int]) -> State:
        """A state that has learnt these folds alone, or the error that they met with."""
        state = learner.init(self.schema)
        try:
            for fold in folds:
                learner.update(state, self._lesson(feed, fold))
        except Exception as error:
            return error
        return state

    def _lesson(self, feed: Feed, fold: int) -> Any:
        """A fold's rows, counted as work; fold -1 is what comes before the first."""
        if fold < 0:
            rows = feed.rows.stretch(0, feed.chunks.before)
        else:
            rows = feed.fold(fold)
            feed.chunk_updates += 1
        feed.row_updates += len(rows)
        return rows


def _at_once(learner: Any) -> bool:
    """Whether the learner itself takes each fold away from the whole."""
    return hasattr(learner, "held_out") and not hasattr(learner, "closed")


def _take(leaves: Leaves, fold: int, state: State) -> None:
    if isinstance(state, Exception):
        leaves.failed(Node(fold, fold), state)
    else:
        leaves.leaf(fold, state)
