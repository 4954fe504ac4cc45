"""Naive Bayes from counts of categories, each feature's own.

Every fold's model is the whole minus the fold: Izbicki, *Algebraic classifiers* (2013). A table of categories is one of
counts whose features are the categories (`count_bayes`), a column for each of them.
"""

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from treecv.data import Rows
from treecv.learner import Schema
from treecv.learners.count_bayes import CountBayes
from treecv.learners.count_folds import Held, Numbers, Tally, Whole

Widths = NDArray[np.int64]


@dataclass(slots=True)
class Categories(Tally):
    """Counts by category: those of feature j have `widths[j]` lines in the table; `seen` are the rows of each line."""

    widths: Any = None
    seen: Any = None

    @property
    def begins(self) -> Widths:
        """The first line of each feature, and one past the last."""
        return np.concatenate([[0], np.cumsum(self.widths)])

    def copy(self) -> "Categories":
        """An independent copy."""
        table, seen = self.table.copy(), self.seen.copy()
        return replace(self, rows=self.rows.copy(), weight=self.weight.copy(), table=table, seen=seen)

    def widened(self, widths: Widths) -> "Categories":
        """The same counts with room for so many categories."""
        wider = replace(self, widths=np.maximum(self.widths, widths))
        size, begins = int(wider.widths.sum()), wider.begins[:-1] - self.begins[:-1]
        lines = np.arange(len(self.table)) + np.repeat(begins, self.widths)
        wider.table, wider.seen = np.zeros((size, self.table.shape[1])), np.zeros(size)
        wider.table[lines], wider.seen[lines] = self.table, self.seen
        return wider

    def tops(self) -> Widths:
        """The highest category of each feature that a row has; -1 if there are no rows."""
        lines = np.where(self.seen > 0, np.arange(len(self.seen)) - np.repeat(self.begins[:-1], self.widths), -1)
        out = np.full(len(self.widths), -1)
        np.maximum.at(out, np.repeat(np.arange(len(out)), self.widths), lines)
        return out


@dataclass(frozen=True)
class CategoricalBayes(CountBayes):
    """Each feature has one of its categories, with a class's probabilities.

    Parameters
    ----------
    least : tuple of int, optional
        The categories that each feature has at least. Rows with a category beyond these and beyond those learnt have no
        prediction.
    """

    least: tuple[int, ...] | None = None

    has_aside: ClassVar[bool] = True
    sparse: ClassVar[bool] = False

    def init(self, schema: Schema) -> Categories:
        """A state that has learnt nothing."""
        widths = np.zeros(schema.n_features, np.int64) if self.least is None else np.array(self.least, np.int64)
        size = int(widths.sum())
        table = np.zeros((size, self.classes))
        return Categories(np.zeros(self.classes), np.zeros(self.classes), table, True, widths, np.zeros(size))

    def update(self, state: Categories, rows: Rows) -> None:
        """Let `state` learn `rows`."""
        part = slice(None) if rows.index is None else rows.index
        highest = np.asarray(rows.X[part]).max(axis=0, initial=-1).astype(np.int64)
        _become(state, state.widened(highest + 1))
        super().update(state, rows)
        self._see(state, rows, 1)

    def merge(self, state: Categories, other: Categories) -> None:
        """Let `state` learn what `other` has."""
        _become(state, state.widened(other.widths))
        other = other.widened(state.widths)
        state.add(other)
        state.seen += other.seen

    def unlearn(self, state: Categories, rows: Rows) -> None:
        """Let `state` be as if it had never learnt `rows`."""
        super().unlearn(state, rows)
        self._see(state, rows, -1)

    def _see(self, state: Categories, rows: Rows, sign: int) -> None:
        for batch in self.batches(state, rows):
            state.seen += sign * np.bincount(batch.X.indices, minlength=len(state.seen))

    def predict(self, state: Categories, rows: Rows) -> Numbers:
        """The score of each class; NaN if some row has a category that there is nothing known of."""
        values = np.full((len(rows), self.classes), np.nan)
        if len(rows) and state.rows.any():
            part = slice(None) if rows.index is None else rows.index
            highest = np.asarray(rows.X[part]).max(axis=0).astype(np.int64)
            if (highest < self._categories(state)).all():
                values = super().predict(state, rows)
        return values

    def encoded(self, state: Categories, X: Any) -> csr_array:
        """A one in the line of each category; NaN for what is none."""
        codes = X.astype(np.int64)
        known = (codes >= 0) & (codes < state.widths)
        lines = np.where(known, codes + state.begins[:-1], 0)
        n, d = codes.shape
        ones = np.where(known, 1.0, np.nan).reshape(-1)
        return csr_array((ones, lines.reshape(-1), np.arange(0, n * d + 1, d)), (n, len(state.table)))

    def feature_aside(self, counts: Numbers, weight: Any, added: Numbers) -> Numbers:
        """No category of its own does."""
        return np.zeros_like(counts)

    def aside_of(self, whole: Whole, code: int, weight: float) -> float:
        """What the counts of a class are divided by: for each feature its weight, and what was added."""
        return -float(np.log(weight + np.asarray(self.alpha) * self._categories(whole.tally)).sum())

    def broken(self, held: Held) -> NDArray[np.bool_]:
        """The folds that hold all rows of a highest category: the others' model does not know it."""
        state, batch = held.whole.tally, held.batch
        tops = state.tops()
        top = np.zeros(len(state.table), np.bool_)
        top[(state.begins[:-1] + tops)[tops >= self._least]] = True
        here = top[batch.X.indices]
        keys = held.folds[batch.lines[here]] * len(top) + batch.X.indices[here]
        keys, counts = np.unique(keys, return_counts=True)
        folds, lines = np.divmod(keys, len(top))
        out = np.zeros(held.n_folds, np.bool_)
        out[folds[counts == state.seen[lines]]] = True
        return out

    @property
    def _least(self) -> Any:
        return 0 if self.least is None else np.array(self.least)

    def _categories(self, state: Categories) -> Widths:
        """How many each feature has."""
        sizes: Widths = np.maximum(state.tops() + 1, self._least)
        return sizes


def _become(state: Categories, other: Categories) -> None:
    state.widths, state.table, state.seen = other.widths, other.table, other.seen
