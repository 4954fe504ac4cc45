"""Folds laid out: which rows each of them holds out and trains on, without a Python object per fold."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from treecv.data import Chunks, Feed, Rows, Succession

Index = NDArray[np.int64]


class Layout(Protocol):
    """Folds over stored rows."""

    @property
    def k(self) -> int:
        """The number of folds."""

    def test_rows(self, fold: int) -> Index:
        """The stored rows that a fold holds out."""

    def train_rows(self, fold: int) -> Index:
        """The stored rows that a fold trains on, in the order in which training from scratch learns them."""

    def held_out(self) -> tuple[Index | None, Chunks]:
        """All rows that are held out, fold after fold (None: all there are, as stored), and where folds end."""

    def feed(self, rows: Rows, **settings: Any) -> Any:
        """The same folds over what a learner reads."""

    @property
    def is_partition(self) -> bool:
        """Whether every row is held out once."""

    @property
    def grows(self) -> bool:
        """Whether each fold trains on all that the one before trained on."""


@dataclass(frozen=True, slots=True)
class Partition:
    """Folds over positions, and the stored row at each position (None: the same).

    What comes before the first fold is held out by none, and learnt by all.
    """

    chunks: Chunks
    index: Index | None

    grows: ClassVar[bool] = False

    @property
    def k(self) -> int:
        """The number of folds."""
        return self.chunks.k

    @property
    def is_partition(self) -> bool:
        """Whether every row is held out once."""
        return not self.chunks.before

    def test_rows(self, fold: int) -> Index:
        """The stored rows that a fold holds out."""
        begin, end = self.chunks.span(fold, fold)
        return np.arange(begin, end) if self.index is None else self.index[begin:end]

    def train_rows(self, fold: int) -> Index:
        """The stored rows that a fold trains on, sorted."""
        kept = np.ones(self.chunks.n_rows, bool)
        kept[self.test_rows(fold)] = False
        return np.flatnonzero(kept)

    def held_out(self) -> tuple[Index | None, Chunks]:
        """All rows that are held out, fold after fold, and where folds end."""
        before, held = self.chunks.before, self.chunks.held_out()
        if self.index is not None:
            return self.index[before:], held
        return (np.arange(before, self.chunks.n_rows) if before else None), held

    def feed(self, rows: Rows, **settings: Any) -> Feed:
        """The same folds over what a learner reads."""
        rows.index = self.index
        return Feed(rows, self.chunks, **settings)


@dataclass(frozen=True, slots=True)
class Nested:
    """Folds whose training rows only grow: fold i trains on the first ends[i] of `learnt`, and holds out tests[i]."""

    learnt: Index
    ends: Index
    tests: Sequence[Index]

    is_partition: ClassVar[bool] = False
    grows: ClassVar[bool] = True

    @property
    def k(self) -> int:
        """The number of folds."""
        return len(self.ends)

    @property
    def in_order(self) -> bool:
        """Whether rows are learnt in the order they are stored in."""
        return bool((np.diff(self.learnt) > 0).all())

    def test_rows(self, fold: int) -> Index:
        """The stored rows that a fold holds out."""
        return self.tests[fold]

    def train_rows(self, fold: int) -> Index:
        """The stored rows that a fold trains on, in the order they are learnt."""
        return self.learnt[: self.ends[fold]]

    def held_out(self) -> tuple[Index | None, Chunks]:
        """All rows that are held out, fold after fold, and where folds end."""
        index = np.concatenate(list(self.tests))
        return index, Chunks(len(index), np.concatenate([[0], np.cumsum([len(test) for test in self.tests])]))

    def feed(self, rows: Rows, **settings: Any) -> Succession:
        """The same folds over what a learner reads."""
        return Succession(rows, self.learnt, self.ends, self.tests, **settings)


def test_rows(layout: Layout, fold: int) -> Index:
    """The stored rows that a fold holds out."""
    return layout.test_rows(fold)


def train_rows(layout: Layout, fold: int) -> Index:
    """The stored rows that a fold trains on."""
    return layout.train_rows(fold)


@dataclass(frozen=True, slots=True)
class Indices(Sequence[Index]):
    """The rows of every fold, each array made when it is asked for."""

    layouts: Sequence[Layout]
    rows_of: Callable[[Layout, int], Index]

    def __len__(self) -> int:
        return sum(layout.k for layout in self.layouts)

    def __getitem__(self, fold: Any) -> Any:
        if isinstance(fold, slice):
            return [self[i] for i in range(*fold.indices(len(self)))]
        if not -len(self) <= fold < len(self):
            raise IndexError(f"fold {fold} of {len(self)}")
        fold %= len(self)
        for layout in self.layouts:
            if fold < layout.k:
                return self.rows_of(layout, fold)
            fold -= layout.k
        raise IndexError(fold)  # pragma: no cover - the length is the sum of the parts
