"""The feed: which rows an update learns, in which order, and how many it were so far."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from treecv.data.chunks import Chunks
from treecv.data.rows import Rows
from treecv.order import Stream
from treecv.records import Counts
from treecv.tree import Node, Step

BEFORE = 2
"""The side of the root on which the rows before the first fold are learnt: the tree's own are 0 and 1."""


class Folds(Protocol):
    """What training from scratch needs of a feed."""

    compiled: ClassVar[bool]
    order: str
    seed: int
    row_updates: int

    @property
    def k(self) -> int:
        """The number of folds."""

    @property
    def n_rows(self) -> int:
        """The rows that take part."""

    def all_but(self, fold: int) -> Rows:
        """What the model of a fold learns from scratch."""

    def fold(self, fold: int) -> Rows:
        """The rows a fold holds out."""

    def where(self, first: int, last: int) -> "slice | NDArray[np.int64]":
        """The stored rows these folds hold out."""

    @property
    def counts(self) -> Counts:
        """The work handed out."""

    def fresh(self) -> "Folds":
        """The same feed with nothing counted."""


class _Counting:
    """Counts what it hands out."""

    __slots__ = ()

    @property
    def counts(self) -> Counts:
        """The work handed out."""
        return Counts(self.chunk_updates, self.row_updates)  # type: ignore[attr-defined]  # its heirs have them

    def fresh(self) -> Self:
        """The same feed with nothing counted."""
        return replace(self, chunk_updates=0, row_updates=0)  # type: ignore[type-var]  # its heirs are dataclasses


@dataclass(slots=True)
class Feed(_Counting):
    """Rows cut into chunks, handed out in one of three orders.

    Parameters
    ----------
    rows, chunks
        The data and its folds; both have the same number of positions.
    order : {"fixed", "randomized", "blocks"}
        Chunk after chunk, each as it is stored; all rows of an update permuted together; chunk after chunk,
        each permuted.
    seed, repetition : int
        With the place of an update they name the permutation, and the random numbers of a learner.
    draws : bool
        Whether the learner draws random numbers: then each update is handed its place's own.
    """

    rows: Rows
    chunks: Chunks
    order: str = "fixed"
    seed: int = 0
    repetition: int = 0
    draws: bool = False
    chunk_updates: int = 0
    row_updates: int = 0

    compiled: ClassVar[bool] = True

    @property
    def k(self) -> int:
        """The number of folds."""
        return self.chunks.k

    @property
    def n_rows(self) -> int:
        """The rows that take part."""
        return self.chunks.n_rows

    def over(self, rows: Rows) -> "Feed":
        """The same folds over the same rows stored in another way."""
        return replace(self, rows=rows)

    def before(self, parent: Node) -> Rows:
        """The rows before the first fold, which the root learns."""
        return self._hand_out(range(0), (parent.first, parent.last, BEFORE))

    def lesson(self, step: Step) -> Rows:
        """What a step of the tree learns."""
        parent, (begin, end), _, side = step
        if self.order == "fixed" and not self.draws:  # the common case, made short: it is run at every node
            self.chunk_updates += end - begin + 1
            offsets = self.chunks.offsets
            begin, end = (begin, end + 1) if offsets is None else self.chunks.span(begin, end)
            self.row_updates += end - begin
            return self.rows.stretch(begin, end)
        return self._hand_out(range(begin, end + 1), (*parent, side))

    def all_but(self, fold: int) -> Rows:
        """What the model of a fold learns when it is trained from scratch: if "fixed", in stored order.

        That is what scikit-learn feeds, whose training indices are sorted.
        """
        others = [chunk for chunk in range(self.chunks.k) if chunk != fold]
        rows = self._hand_out(others, (fold, fold, 0), before=self.chunks.before)
        if self.order == "fixed" and rows.index is not None and self.rows.index is not None:
            return replace(rows, index=np.sort(rows.index))
        return rows

    def fold(self, fold: int) -> Rows:
        """The rows a fold holds out."""
        begin, end = self.chunks.span(fold, fold)
        return self.rows.stretch(begin, end)

    def where(self, first: int, last: int) -> "slice | NDArray[np.int64]":
        """The stored rows these folds hold out."""
        begin, end = self.chunks.span(first, last)
        return slice(begin, end) if self.rows.index is None else self.rows.index[begin:end]

    def _hand_out(self, chunks: Sequence[int], place: tuple[int, int, int], before: int = 0) -> Rows:
        stream = Stream(self.seed).at(self.repetition).at(*place)
        rows = self._ordered(chunks, stream, before or (self.chunks.before if place[2] == BEFORE else 0))
        if self.draws:
            rows = replace(rows, stream=stream)
        self.chunk_updates += len(chunks)
        self.row_updates += len(rows)
        return rows

    def _ordered(self, chunks: Sequence[int], stream: Stream, before: int) -> Rows:
        if self.order == "fixed" and isinstance(chunks, range):
            span = self.chunks.span(chunks[0], chunks[-1]) if len(chunks) else (0, before)
            return self.rows.stretch(*span)
        parts = {chunk: np.arange(*self.chunks.span(chunk, chunk)) for chunk in chunks}
        if before:
            parts = {self.chunks.k: np.arange(before)} | parts
        if self.order == "blocks":
            parts = {chunk: _shuffled(part, stream.at(chunk)) for chunk, part in parts.items()}
        positions = np.concatenate([*parts.values()])
        return self.rows.pick(_shuffled(positions, stream) if self.order == "randomized" else positions)


@dataclass(slots=True)
class Succession(_Counting):
    """Folds whose training rows only grow: fold i trains on the first ends[i] of `learnt` and holds out tests[i].

    Time series are cut like this, and the rows of a learning curve.
    """

    rows: Rows
    learnt: NDArray[np.int64]
    ends: NDArray[np.int64]
    tests: Sequence[NDArray[np.int64]]
    order: str = "fixed"
    seed: int = 0
    repetition: int = 0
    draws: bool = False
    chunk_updates: int = 0
    row_updates: int = 0

    compiled: ClassVar[bool] = False

    @property
    def k(self) -> int:
        """The number of folds."""
        return len(self.ends)

    @property
    def n_rows(self) -> int:
        """The rows that take part."""
        return len(self.rows)

    def growth(self, fold: int) -> Rows:
        """What a fold's model learns that the one before has not."""
        begin = int(self.ends[fold - 1]) if fold else 0
        return self._hand_out(self.learnt[begin : self.ends[fold]], (0, fold, 0))

    def all_but(self, fold: int) -> Rows:
        """What the model of a fold learns from scratch: in stored order, if "fixed"."""
        rows = self.learnt[: self.ends[fold]]
        return self._hand_out(np.sort(rows) if self.order == "fixed" else rows, (fold, fold, 0))

    def fold(self, fold: int) -> Rows:
        """The rows a fold holds out."""
        return replace(self.rows, index=self.tests[fold])

    def where(self, first: int, last: int) -> NDArray[np.int64]:
        """The stored rows these folds hold out."""
        return self.tests[first] if first == last else np.concatenate(self.tests[first : last + 1])

    def _hand_out(self, learnt: NDArray[np.int64], place: tuple[int, int, int]) -> Rows:
        stream = Stream(self.seed).at(self.repetition).at(*place)
        self.chunk_updates += 1
        self.row_updates += len(learnt)
        index = learnt if self.order == "fixed" else _shuffled(learnt, stream)
        return replace(self.rows, index=index, stream=stream if self.draws else None)


def _shuffled(positions: NDArray[np.int64], stream: Stream) -> NDArray[np.int64]:
    return positions[stream.permutation(len(positions))]
