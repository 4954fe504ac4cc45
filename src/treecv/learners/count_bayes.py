"""Naive Bayes from counts: multinomial, Bernoulli and complement.

Rennie, Shih, Teevan and Karger, *Tackling the poor assumptions of naive Bayes text classifiers* (2003), for the
complement. Every fold's model is the whole minus the fold: Izbicki, *Algebraic classifiers* (2013). The scores of rows
are a product of rows and a table of logarithms, of which a fold changes little (`count_folds`).
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import csr_array, issparse

from treecv.data import Feed, Rows
from treecv.learner import Schema
from treecv.learners import without
from treecv.learners.count_folds import LOST, Batch, Held, Left, Numbers, Tally, Whole, stretches

_BLOCK = 1 << 23
"""The values of rows that are learnt together."""


@dataclass(frozen=True)
class CountBayes:
    """What all of them have in common; predicts the logarithm of the joint probability of each class.

    Parameters
    ----------
    classes : int
        How many there are.
    alpha : float or tuple of float
        Greater than 0; added to every count, or a number for each feature.
    fit_prior : bool
        Whether the probabilities of the classes are their shares of the weight that was learnt; else they are equal.
    priors : tuple of float, optional
        The probabilities of the classes. Where they are given and a class was not learnt, there is no model.
    """

    classes: int
    alpha: float | tuple[float, ...] = 1.0
    fit_prior: bool = True
    priors: tuple[float, ...] | None = None

    order_free: ClassVar[bool] = True
    call_free: ClassVar[bool] = True
    margins: ClassVar[bool] = True
    weighs: ClassVar[bool] = True
    sparse: ClassVar[bool] = True
    others: ClassVar[bool] = False  # the table of a class has the counts of the other classes
    has_aside: ClassVar[bool] = False  # features add something to a class, whatever the row

    @property
    def outputs(self) -> int:
        """A number for each class."""
        return self.classes

    def init(self, schema: Schema) -> Any:
        """A state that has learnt nothing."""
        return Tally.none(schema.n_features, self.classes)

    def copy(self, state: Any) -> Any:
        """An independent state."""
        return state.copy()

    def update(self, state: Any, rows: Rows) -> None:
        """Let `state` learn `rows`."""
        for batch in self.batches(state, rows):
            state.add(batch.tally(self.classes))

    def merge(self, state: Any, other: Any) -> None:
        """Let `state` learn what `other` has."""
        state.add(other)

    def unlearn(self, state: Any, rows: Rows) -> None:
        """Let `state` be as if it had never learnt `rows`."""
        for batch in self.batches(state, rows):
            state.add(batch.tally(self.classes), -1)

    def unlearnable(self, state: Any, rows: Rows) -> bool:
        """Whether unlearning these rows leaves enough of the digits."""
        left = self.copy(state)
        self.unlearn(left, rows)
        if left.whole:
            return True
        kept = left.table + self.added(left)[:, np.newaxis] >= LOST * state.table
        weights = left.weight >= LOST * state.weight
        return bool(kept.all() and weights[left.rows > 0].all())

    def predict(self, state: Any, rows: Rows) -> Numbers:
        """The score of each class; NaN where there is no model, -inf for classes not learnt."""
        out = np.full((len(rows), self.classes), np.nan)
        if not self.is_counted(state):
            return out
        whole = self.tables(state)
        weight = state.weight[np.newaxis]
        left = Left(state.rows[np.newaxis], weight, whole.sums[np.newaxis], self.aside(whole, weight))
        begin = 0
        for batch in self.batches(state, rows):
            scores, folds = batch.X @ whole.terms, np.zeros(len(batch), np.int64)
            out[begin : begin + len(batch)] = self.finished(scores, batch, left, folds)
            begin += len(batch)
        return out

    def held_out(self, schema: Schema, feed: Feed) -> Numbers:
        """The predictions at all positions in folds, each by the model that has learnt all rows but its fold's."""
        state = self.init(schema)
        self.update(state, feed.rows)
        before = feed.chunks.before
        out = np.full((feed.n_rows - before, self.classes), np.nan)
        if not self.is_counted(state):
            return out
        whole = self.tables(state)
        if not state.whole and whole.added.min() < LOST * whole.table.max():
            whole = replace(whole, filled=self._filled(state, feed.rows))
        for stretch in stretches(feed, self._values(feed.rows.X) * (1 + self.classes / 8)):
            batch = self.batch(state, feed.rows.stretch(stretch.begin, stretch.end))
            scores, worn = Held(self, whole, batch, stretch.folds).scores()
            out[stretch.begin - before : stretch.end - before] = scores
            for fold in stretch.first + np.flatnonzero(worn):
                without.retrain(self, schema, feed, int(fold), out)
        return out

    def held_out_trainings(self, n_rows: int, n_features: int, k: int) -> float:
        """What `held_out` costs, in trainings: more, the more classes a fold changes, and the less its rows share."""
        together = n_rows / k
        changed = self.classes if self.others else min(self.classes, together)
        return 3 + changed * max(0.25, min(1.2, 20 / together)) * (1.5 if self.has_aside else 1)

    # What they differ in.

    def encoded(self, state: Any, X: Any) -> Any:
        """The values to be counted; NaN for those that cannot be."""
        return _only(X, lambda values: values >= 0)

    def term(self, counts: Numbers, weight: Numbers, added: Numbers) -> Numbers:
        """What a value is multiplied with, from a class's counts of the feature and its weight."""
        return np.log(counts + added)

    def feature_aside(self, counts: Numbers, weight: Any, added: Numbers) -> Numbers:
        """What a feature adds to a class, whatever the row."""
        return np.zeros_like(counts)

    def aside_of(self, whole: Whole, code: int, weight: float) -> float:
        """What all features add to a class of such a weight."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return float(self.feature_aside(whole.table[:, code], weight, whole.added).sum())

    def joined(self, scores: Numbers, lengths: Numbers, sums: Numbers, asides: tuple[Numbers, int]) -> Numbers:
        """The scores of rows from the products, the sums that a class's values are divided by, and what lies aside.

        Aside lies what features add to a class, and the number of features.
        """
        return scores + asides[0]

    def log_priors(self, left: Left) -> Numbers:
        """Of the classes, by fold."""
        if self.priors is not None:
            return np.broadcast_to(np.log(self.priors), left.rows.shape)
        if self.fit_prior:
            return np.log(left.weight) - np.log(left.total)
        return np.broadcast_to(-np.log((left.rows > 0).sum(axis=1, keepdims=True)), left.rows.shape)

    def broken(self, held: Held) -> Any:
        """The folds whose rows the others' model cannot score."""
        return np.zeros(held.n_folds, np.bool_)

    # What they share.

    def is_counted(self, state: Any) -> bool:
        """Whether the counts say all that there is to know."""
        return bool(np.isfinite(state.table).all())

    def added(self, state: Any) -> Numbers:
        """What is added to the counts of each feature."""
        return np.broadcast_to(np.asarray(self.alpha, np.float64), len(state.table))

    def tables(self, state: Any) -> Whole:
        """The tables that follow from counts."""
        table = state.table.sum(axis=1, keepdims=True) - state.table if self.others else state.table
        added = self.added(state)
        with np.errstate(divide="ignore", invalid="ignore"):
            return Whole(state, table, self.term(table, state.weight, added[:, np.newaxis]), added)

    def aside(self, whole: Whole, weight: Numbers) -> Numbers:
        """What all features add to classes of such weights, one line a fold."""
        out = np.zeros(weight.shape)
        if self.has_aside:
            for code in range(self.classes):
                found, place = np.unique(weight[:, code], return_inverse=True)
                out[:, code] = np.array([self._aside(whole, code, one) for one in found.tolist()])[place]
        return out

    def _aside(self, whole: Whole, code: int, weight: float) -> float:
        if (code, weight) not in whole.asides:
            whole.asides[code, weight] = self.aside_of(whole, code, weight)
        return whole.asides[code, weight]

    def finished(self, scores: Numbers, batch: Batch, left: Left, folds: Any) -> Numbers:
        """What rows score, from the products of their values and the terms."""
        sums = left.sums + self.total_added(batch)
        present, total = left.rows > 0, left.total
        with np.errstate(divide="ignore", invalid="ignore"):
            asides = left.aside[folds], batch.X.shape[1]
            values = self.joined(scores, batch.lengths[:, np.newaxis], sums[folds], asides)
            values += np.where(present, self.log_priors(left), -np.inf)[folds]
        lost = ~(total[:, 0] > 0)
        if self.priors is not None:
            lost |= ~present.all(axis=1)
        values[~present[folds]] = -np.inf
        values[lost[folds]] = np.nan
        return values

    def total_added(self, batch: Batch) -> float:
        """To all counts of a class."""
        alpha = np.asarray(self.alpha, np.float64)
        return float(alpha.sum() if alpha.ndim else alpha * batch.X.shape[1])

    def batches(self, state: Any, rows: Rows) -> Iterator[Batch]:
        """The rows, some at a time."""
        step = max(1, int(_BLOCK / max(1.0, self._values(rows.X))))
        for begin in range(0, len(rows), step):
            yield self.batch(state, rows.stretch(begin, min(begin + step, len(rows))))

    def batch(self, state: Any, rows: Rows) -> Batch:
        """These rows, read together."""
        part = slice(None) if rows.index is None else rows.index
        codes, weights = (None if table is None else np.asarray(table)[part] for table in (rows.y, rows.weights))
        X = csr_array(self.encoded(state, rows.X[part]), dtype=np.float64)
        return Batch(X, codes, np.ones(len(rows)) if weights is None else weights.astype(np.float64))

    def _values(self, X: Any) -> float:
        """How many a row has."""
        return float(X.nnz / max(1, X.shape[0]) if issparse(X) else X.shape[1])

    def _filled(self, state: Any, rows: Rows) -> Numbers:
        """In how many rows of each class (or of the others) a feature counts."""
        table = np.zeros_like(state.table)
        for batch in self.batches(state, rows):
            table += batch.table(batch.filled, self.classes)
        others: Numbers = table.sum(axis=1, keepdims=True) - table
        return others if self.others else table


def _only(X: Any, allowed: Any) -> Any:
    """A table in which what is not allowed is NaN."""
    if not issparse(X):
        return X if allowed(X).all() else np.where(allowed(X), X, np.nan)
    if allowed(X.data).all():
        return X
    return csr_array((np.where(allowed(X.data), X.data, np.nan), X.indices, X.indptr), X.shape)


class MultinomialBayes(CountBayes):
    """Each value is how often a feature was drawn, with a class's probabilities.

    Examples
    --------
    >>> import numpy as np
    >>> from treecv.data import Rows
    >>> learner = MultinomialBayes(classes=2)
    >>> state = learner.init(Schema(n_rows=2, n_features=2, dtype="float64"))
    >>> learner.update(state, Rows(np.array([[3.0, 0.0], [1.0, 2.0]]), np.array([0, 1])))
    >>> learner.predict(state, Rows(np.array([[1.0, 0.0]]))).round(3)
    array([[-0.916, -1.609]])
    """

    def joined(self, scores: Numbers, lengths: Numbers, sums: Numbers, asides: tuple[Numbers, int]) -> Numbers:
        """Each value is divided by the sum of its class."""
        return scores - lengths * np.log(sums)


@dataclass(frozen=True)
class BernoulliBayes(CountBayes):
    """Each feature is there or not, with a class's probability.

    Parameters
    ----------
    threshold : float, optional
        It is there where its value is greater. None: values are 0 or 1, or between them.
    """

    threshold: float | None = 0.0

    has_aside: ClassVar[bool] = True

    def encoded(self, state: Any, X: Any) -> Any:
        """Ones where a feature is there."""
        threshold = self.threshold
        if threshold is None:
            return _only(X, lambda values: (values >= 0) & (values <= 1))
        return (
            csr_array((X.data > threshold, X.indices, X.indptr), X.shape) if issparse(X) else np.greater(X, threshold)
        )

    def is_counted(self, state: Any) -> bool:
        """Not where so little is added that a feature's absence gets lost beside its presence."""
        return super().is_counted(state) and bool(self.added(state).min() > 1e-12 * state.weight.max())

    def term(self, counts: Numbers, weight: Numbers, added: Numbers) -> Numbers:
        """The logarithm of the odds."""
        return _log_share(counts, weight, added) - self.feature_aside(counts, weight, added)

    def feature_aside(self, counts: Numbers, weight: Any, added: Numbers) -> Numbers:
        """The log probability that it is not there; 0 where a class has not the weight for its counts."""
        absent = 1 - np.exp(_log_share(counts, weight, added))
        logs: Numbers = np.log(absent, out=np.zeros_like(absent), where=absent > 0)
        return logs


def _log_share(counts: Numbers, weight: Any, added: Numbers) -> Numbers:
    share: Numbers = np.log(counts + added) - np.log(weight + 2 * added)
    return share


@dataclass(frozen=True)
class ComplementBayes(CountBayes):
    """A class is what the others are not: its score is the less, the more often they have a row's features.

    Parameters
    ----------
    norm : bool
        Whether the weights of a class are divided by their sum.
    """

    norm: bool = False

    others: ClassVar[bool] = True

    @property
    def has_aside(self) -> bool:  # type: ignore[override]
        """The sum of the logarithms is needed to divide by."""
        return self.norm

    def feature_aside(self, counts: Numbers, weight: Any, added: Numbers) -> Numbers:
        """The logarithm."""
        return np.log(counts + added)

    def joined(self, scores: Numbers, lengths: Numbers, sums: Numbers, asides: tuple[Numbers, int]) -> Numbers:
        """Each value is divided by the sum of its class."""
        logs = scores - lengths * np.log(sums)
        aside, width = asides
        return logs / (aside - width * np.log(sums)) if self.norm else -logs

    def log_priors(self, left: Left) -> Numbers:
        """They count where there is one class alone."""
        single = (left.rows > 0).sum(axis=1, keepdims=True) == 1
        return np.where(single, super().log_priors(left), 0.0)
