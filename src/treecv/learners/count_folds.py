"""What folds change in tables of counts.

Of the table that scores rows, a fold changes the entries of the features that its rows have, of the classes of these
rows (or, where a class is described by the counts of the others, of the other classes), and a few sums of each class;
so the work follows the values that are not zero, as in Izbicki, *Algebraic classifiers* (2013).
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from treecv.data import Feed

Numbers = NDArray[np.float64]
Places = NDArray[np.int64]

LOST = 1e-4
"""Where a difference leaves less than this share of a sum, its digits are not to be trusted."""
_TABLE = 1 << 22
"""The entries of the tables made for the folds that are looked at together."""


@dataclass(slots=True)
class Tally:
    """Counts of some rows: how many each class has, their weight, and by feature and class the weighed sums.

    `whole`: all numbers are integers, so that differences are exact.
    """

    rows: Numbers
    weight: Numbers
    table: Numbers
    whole: bool = True

    @classmethod
    def none(cls, width: int, classes: int) -> "Tally":
        """Those of no rows."""
        return cls(np.zeros(classes), np.zeros(classes), np.zeros((width, classes)))

    def copy(self) -> "Tally":
        """An independent copy."""
        return replace(self, rows=self.rows.copy(), weight=self.weight.copy(), table=self.table.copy())

    def add(self, other: "Tally", sign: int = 1) -> None:
        """Add the counts of other rows, or take them away."""
        self.rows += sign * other.rows
        self.weight += sign * other.weight
        self.table += sign * other.table
        self.whole = self.whole and other.whole


@dataclass(frozen=True)
class Batch:
    """Some rows side by side: values as compressed sparse rows of double precision, codes of classes, weights."""

    X: csr_array
    codes: Any
    weights: Numbers

    def __len__(self) -> int:
        return int(self.X.shape[0])

    @cached_property
    def lines(self) -> Places:
        """The row of each value."""
        return np.repeat(np.arange(len(self)), np.diff(self.X.indptr))

    @cached_property
    def lengths(self) -> Numbers:
        """The sum of each row's values."""
        return totals(self.lines, self.X.data, len(self))

    @cached_property
    def weighed(self) -> Numbers:
        """Each value times the weight of its row."""
        weighed: Numbers = self.X.data * self.weights[self.lines]
        return weighed

    @cached_property
    def filled(self) -> Numbers:
        """1 for each value that counts."""
        filled: Numbers = (self.weighed != 0).astype(np.float64)
        return filled

    def table(self, values: Numbers, classes: int) -> Numbers:
        """The sums of such values by feature and class."""
        places = self.X.indices * np.int64(classes) + self.codes[self.lines]
        width = self.X.shape[1]
        return totals(places, values, width * classes).reshape(width, classes)

    def tally(self, classes: int) -> Tally:
        """The counts of these rows."""
        rows = np.bincount(self.codes, minlength=classes).astype(np.float64)
        weight = totals(self.codes, self.weights, classes)
        whole = _are_whole(self.weighed) and _are_whole(self.weights)
        return Tally(rows, weight, self.table(self.weighed, classes), whole)


def totals(places: Places, values: Numbers, size: int) -> Numbers:
    """The sums of the values at each of so many places."""
    sums: Any = np.bincount(places, values, size)
    return sums  # type: ignore[no-any-return]  # numbers, as the values are


def _are_whole(numbers: Numbers) -> bool:
    return bool((numbers == np.rint(numbers)).all())


@dataclass(frozen=True)
class Whole:
    """What follows from the counts of all rows.

    Parameters
    ----------
    tally : Tally
    table, terms : ndarray of shape (n_features, classes)
        What logarithms are taken of, the counts of a class or of the others; and what values are multiplied with.
    added : ndarray of shape (n_features,)
        To every count.
    filled : ndarray of shape (n_features, classes), optional
        The rows that are in an entry of the table, where a difference may leave too few digits to tell.
    """

    tally: Any
    table: Numbers
    terms: Numbers
    added: Numbers
    filled: Numbers | None = None
    asides: dict[tuple[int, float], float] = field(default_factory=dict)

    @cached_property
    def sums(self) -> Numbers:
        """Those of the table, by class."""
        sums: Numbers = self.table.sum(axis=0)
        return sums


@dataclass(frozen=True, slots=True)
class Left:
    """The classes without some folds, arrays of shape (folds, classes): rows, weight, sums of the table, and asides."""

    rows: Numbers
    weight: Numbers
    sums: Numbers
    aside: Numbers

    @property
    def total(self) -> Numbers:
        """The weight of the classes that have rows."""
        total: Numbers = np.where(self.rows > 0, self.weight, 0.0).sum(axis=1, keepdims=True)
        return total


@dataclass(frozen=True, slots=True)
class Stretch:
    """Folds that are looked at together: the first one, their positions, and the fold of each, from 0."""

    first: int
    begin: int
    end: int
    folds: Places


def stretches(feed: Feed, values: float) -> Iterator[Stretch]:
    """All folds that have rows; `values` is what a row has."""
    size = max(1, int(_TABLE / max(1.0, values)))
    offsets = np.arange(feed.k + 1) if feed.chunks.offsets is None else feed.chunks.offsets
    first = 0
    while first < feed.k:
        begin = int(offsets[first])
        last = max(first + 1, int(np.searchsorted(offsets, begin + size, side="right")) - 1)
        end = int(offsets[last])
        if end > begin:
            sizes = np.diff(offsets[first : last + 1])
            yield Stretch(first, begin, end, np.repeat(np.arange(last - first), sizes))
        first = last


class Held:
    """What some folds hold of the counts, and what their rows score without it."""

    def __init__(self, learner: Any, whole: Whole, batch: Batch, folds: Places) -> None:
        self.learner, self.whole, self.batch, self.folds = learner, whole, batch, folds
        self.classes = learner.classes
        self.n_folds = int(folds[-1]) + 1
        rows = self._by_fold(np.ones(len(batch)))
        sums = self._others(self._by_fold(batch.lengths * batch.weights))
        tally = whole.tally
        weight = tally.weight - self._by_fold(batch.weights)
        self.left = Left(tally.rows - rows, weight, whole.sums - sums, learner.aside(whole, weight))
        self.changed = self._others(rows) > 0
        self.alone = not learner.others and bool((self.changed.sum(axis=1) <= 1).all())
        self._find()

    def scores(self) -> tuple[Numbers, NDArray[np.bool_]]:
        """The scores of all rows, and the folds of which too few digits are left."""
        learner, whole, left = self.learner, self.whole, self.left
        features, owner = self.features[self.spots], self.owner[self.spots]
        before, added = whole.table[features, self.columns], whole.added[features]
        weight = left.weight[owner, self.columns]
        counts, worn = self._counts(before, features, owner, added)
        with np.errstate(divide="ignore", invalid="ignore"):
            terms = learner.term(counts, weight, added)
        if learner.has_aside:
            moved = learner.feature_aside(counts, weight, added) - learner.feature_aside(before, weight, added)
            places = owner * self.classes + self.columns
            left.aside[:] += totals(places, moved, left.aside.size).reshape(left.aside.shape)
        values = learner.finished(self._products(terms), self.batch, left, self.folds)
        values[learner.broken(self)[self.folds]] = np.nan
        return values, worn

    def _find(self) -> None:
        """The entries that are changed: `spots` and `columns` say of which feature of a fold, and of which class."""
        batch, width = self.batch, len(self.whole.table)
        if self.n_folds == len(batch):  # folds of one row: every value is a feature of its own
            self.spot, self.features, self.owner = np.arange(batch.X.nnz), batch.X.indices, batch.lines
        else:
            keys = self.folds[batch.lines] * width + batch.X.indices
            keys, self.spot = np.unique(keys, return_inverse=True)
            self.owner, self.features = np.divmod(keys, width)
        if self.alone:
            codes = np.zeros(self.n_folds, np.int64)
            codes[self.folds] = batch.codes
            self.spots, self.columns = np.arange(len(self.owner)), codes[self.owner]
        else:
            self.spots, self.columns = np.nonzero(self.changed[self.owner])

    def _by_fold(self, values: Numbers) -> Numbers:
        """The sums of rows' values by fold and class."""
        places = self.folds * self.classes + self.batch.codes
        return totals(places, values, self.n_folds * self.classes).reshape(self.n_folds, self.classes)

    def _others(self, table: Numbers) -> Numbers:
        return table.sum(axis=1, keepdims=True) - table if self.learner.others else table

    def _entries(self, values: Numbers) -> Numbers:
        """The sums of such values over the rows of a fold, for each entry that is changed."""
        size = len(self.owner)
        if self.alone:
            return totals(self.spot, values, size)
        places = self.spot * self.classes + self.batch.codes[self.batch.lines]
        table = totals(places, values, size * self.classes).reshape(size, self.classes)
        return self._others(table)[self.spots, self.columns]

    def _counts(
        self, before: Numbers, features: Places, owner: Places, added: Numbers
    ) -> tuple[Numbers, NDArray[np.bool_]]:
        """What is left of the entries; and the folds that have taken nearly all of some sum."""
        tally, left, filled = self.whole.tally, self.left, self.whole.filled
        counts = np.maximum(before - self._entries(self.batch.weighed), 0.0)
        worn = np.zeros(self.n_folds, np.bool_)
        if tally.whole:
            return counts, worn
        lost = counts + added < LOST * before
        if filled is not None:
            empty = filled[features, self.columns] == self._entries(self.batch.filled)
            counts[empty] = 0.0
            lost &= ~empty
        worn[owner[lost]] = True
        total = self.whole.added.sum()
        light = (left.weight < LOST * tally.weight) | (left.sums + total < LOST * self.whole.sums)
        worn |= (light & (left.rows > 0)).any(axis=1)
        return counts, worn

    def _products(self, terms: Numbers) -> Numbers:
        """Rows times terms: those of the whole, but for the entries that are changed."""
        batch, codes = self.batch, self.batch.codes
        if self.alone:
            scores: Numbers = batch.X @ self.whole.terms
            scores[np.arange(len(batch)), codes] = totals(batch.lines, batch.X.data * terms[self.spot], len(batch))
            return scores
        table = np.zeros((len(self.owner), self.classes))
        table[self.spots, self.columns] = terms
        own: Numbers = csr_array((batch.X.data, self.spot, batch.X.indptr), (len(batch), len(table))) @ table
        changed = self.changed[self.folds]
        return own if changed.all() else np.where(changed, own, batch.X @ self.whole.terms)
