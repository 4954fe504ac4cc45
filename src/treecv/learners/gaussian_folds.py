"""Gaussian densities of rows by all rows outside of their own fold, from the moments of all rows.

Hager: Updating the inverse of a matrix, SIAM Review 31 (1989). Let T be the total weight of all rows, m their mean and
S their scatter about it. A fold has weights w_i of the sum w, rows m + z_i, and the mean m + z. Without it

    the total weight is    T' = T - w
    the mean               m' = m - (w / T') z
    the scatter            S' = S - F'F, where the rows of F are sqrt(w_i) z_i and w / sqrt(T') z.

A subtraction that would leave less than `DIGITS` of the spread in some direction is not made.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import log, pi
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from treecv.data import Feed, Rows
from treecv.learner import Schema

DIGITS = 1e-3
"""The share of the spread that must be left: its last three digits may be wrong then."""
_NUMBERS = 2**16
"""How many are worked on at once: what lies near a processor core."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Gone:
    """What folds of equal size take with them: arrays with an axis for the folds first.

    Parameters
    ----------
    weight, left, share : ndarray of shape (n_folds,)
        w, T' and T' / T. Where nothing is left, T' is T, so that numbers stay finite.
    mean : ndarray of shape (n_folds, n_features)
        z.
    factor : ndarray of shape (n_folds, n_rows + 1, n_features)
        F; of a single row, one row that does for both.
    """

    weight: Floats
    left: Floats
    share: Floats
    mean: Floats
    factor: Floats

    @classmethod
    def of(cls, away: Floats, weights: Floats, total: float) -> "Gone":
        """Of rows z_i of shape (n_folds, n_rows, n_features)."""
        weight = weights.sum(axis=1)
        total = total or 1.0
        share = 1 - weight / total
        left = np.where(share >= DIGITS, total - weight, total)
        if weights.shape[1] == 1:  # a row alone: one row of F is a multiple of the other
            scale = np.sqrt(weight * (1 + weight / left))[:, np.newaxis, np.newaxis]
            return cls(weight, left, share, away[:, 0], scale * away)
        mean = np.einsum("fr,frd->fd", weights, away) / np.where(weight > 0, weight, 1)[:, np.newaxis]
        last = (weight / np.sqrt(left))[:, np.newaxis] * mean
        factor = np.concatenate([np.sqrt(weights)[:, :, np.newaxis] * away, last[:, np.newaxis]], axis=1)
        return cls(weight, left, share, mean, factor)

    @property
    def shift(self) -> Floats:
        """How far the mean moves: m - m'."""
        shift: Floats = (self.weight / self.left)[:, np.newaxis] * self.mean
        return shift


class Full:
    """The spread S + floor T I of all rows, factored so that it can be had with any T' for T.

    It is L V I V'L'; with T' for T it is L V diag(1 - floor (T - T') b) V'L', where V and b are vectors and values of
    the inverse of L'L. Columns of any scale are no trouble: a Cholesky factor does not see them.
    """

    def __init__(self, scatter: Floats, total: float, floor: float) -> None:
        self.floor, self.total = floor, total
        self.lower = np.linalg.cholesky(scatter + floor * total * np.eye(len(scatter)))
        inverse = solve_triangular(self.lower, np.eye(len(scatter)), lower=True)
        self.values, self.vectors = np.linalg.eigh(inverse @ inverse.T)
        self.logs = 2 * float(np.log(np.diag(self.lower)).sum())

    def coordinates(self, away: Floats) -> Floats:
        """Rows in coordinates in which the spread is I."""
        coordinates: Floats = solve_triangular(self.lower, away.T, lower=True, check_finite=False).T @ self.vectors
        return coordinates

    def log_densities(self, away: Floats, weights: Floats) -> tuple[Floats, Floats]:
        """Of the rows of some folds by the others, and the least share of the spread that is left of each."""
        shape = away.shape
        away = self.coordinates(away.reshape(-1, shape[2])).reshape(shape)
        gone = Gone.of(away, weights, self.total)
        kept = self._kept(gone)
        scale = 1 / np.sqrt(kept)[:, np.newaxis]
        factor, rows = gone.factor * scale, (away + gone.shift[:, np.newaxis]) * scale
        values, squares = _downdated(factor, rows)
        logs = self.logs + np.log(kept).sum(axis=1) + np.log(values).sum(axis=1)
        found = _density(gone.left[:, np.newaxis] * squares, logs - shape[2] * np.log(gone.left), shape[2])
        return found, np.minimum(values[:, 0], gone.share)

    def _kept(self, gone: Gone) -> Floats:
        """diag(1 - floor (T - T') b); at least T' / T, but for rounding."""
        kept: Floats = np.maximum(1 - self.floor * gone.weight[:, np.newaxis] * self.values, DIGITS)
        return kept

    def least_left(self, gone: Gone) -> float:
        """The least share of the spread that is left in any direction, of the first fold."""
        factor = self.coordinates(gone.factor[0]) / np.sqrt(self._kept(gone))
        least = np.linalg.eigvalsh(_rest(factor[np.newaxis]))[0, 0]
        return float(min(least, gone.share[0]))


def _rest(factor: Floats) -> Floats:
    """I - F'F, or I - FF' if that is smaller; their eigenvalues are the same but for ones."""
    turned = factor.transpose(0, 2, 1)
    product: Floats = turned @ factor if factor.shape[1] > factor.shape[2] else factor @ turned
    return np.eye(product.shape[1]) - product


def _downdated(factor: Floats, rows: Floats) -> tuple[Floats, Floats]:
    """The eigenvalues of I - F'F, from the least on, and r'(I - F'F)^-1 r for each row r."""
    values, vectors = np.linalg.eigh(_rest(factor))
    if factor.shape[1] > factor.shape[2]:
        return values, ((rows @ vectors) ** 2 / values[:, np.newaxis]).sum(axis=2)
    inside = rows @ factor.transpose(0, 2, 1) @ vectors
    return values, (rows**2).sum(axis=2) + (inside**2 / values[:, np.newaxis]).sum(axis=2)


class Diagonal:
    """The same for features on their own."""

    def __init__(self, scatter: Floats, total: float, floor: float) -> None:
        self.scatter, self.total, self.floor = scatter, total, floor

    def left(self, gone: Gone) -> tuple[Floats, Floats]:
        """S' + floor T' of each fold and feature, and the share of the spread that this is."""
        rest = self.scatter - (gone.factor**2).sum(axis=1) + self.floor * gone.left[:, np.newaxis]
        return rest, rest / (self.scatter + self.floor * self.total)

    def least_left(self, gone: Gone) -> float:
        """The least share of the spread that is left of any feature, of the first fold."""
        return float(min(self.left(gone)[1].min(), gone.share[0]))


def log_densities(learner: Any, schema: Schema, feed: Feed) -> Floats:
    """The log density of each held-out row, in the order of positions; NaN where no weight is outside of the fold."""
    moments = Moments.of(feed.rows)
    with np.errstate(all="ignore"):
        if not moments.total > 0 or not np.isfinite(moments.mean).all():
            return np.full(feed.chunks.held_out().n_rows, np.nan)
        return (_full if learner.full else _diagonal)(learner, schema, feed, moments)


@dataclass(frozen=True, slots=True)
class Moments:
    """Total weight and mean of all rows."""

    total: float
    mean: Floats

    @classmethod
    def of(cls, rows: Rows) -> "Moments":
        """In two passes: the second mends the first's rounding."""
        weights = _weights(rows, slice(None))
        total, mean = float(weights.sum()), np.zeros(rows.X.shape[1])
        if not total > 0:
            return cls(total, mean)
        for _ in range(2):
            mean = (
                mean + sum((weights[part] @ (away - mean) for part, away in _parts(rows)), np.zeros(len(mean))) / total
            )
        return cls(total, mean)


def _full(learner: Any, schema: Schema, feed: Feed, moments: Moments) -> Floats:
    rows, d = feed.rows, len(moments.mean)
    scatter, weights = np.zeros((d, d)), _weights(rows, slice(None))
    for part, X in _parts(rows):
        scaled = np.sqrt(weights[part])[:, np.newaxis] * (X - moments.mean)
        scatter += scaled.T @ scaled
    found, unsure = np.empty(feed.chunks.held_out().n_rows), np.ones(feed.chunks.k, bool)
    try:
        spread = Full(scatter, moments.total, learner.floor)
    except np.linalg.LinAlgError:  # the floor is lost beside the spread
        return _from_scratch(learner, schema, feed, found, unsure)
    for folds, places, away, own in _folds(feed, moments):
        densities, least = spread.log_densities(away, own)
        found[places] = densities
        unsure[folds] = least < DIGITS
    return _from_scratch(learner, schema, feed, found, unsure)


def _from_scratch(learner: Any, schema: Schema, feed: Feed, found: Floats, unsure: NDArray[np.bool_]) -> Floats:
    """Train the models of these folds one by one."""
    for fold in np.flatnonzero(unsure).tolist():
        state = learner.init(schema)
        learner.update(state, feed.all_but(fold))
        begin, end = feed.chunks.held_out().span(fold, fold)
        found[begin:end] = learner.predict(state, feed.fold(fold))
    return found


def _diagonal(learner: Any, schema: Schema, feed: Feed, moments: Moments) -> Floats:
    weights, scatter = _weights(feed.rows, slice(None)), np.zeros(len(moments.mean))
    for part, X in _parts(feed.rows):
        scatter += weights[part] @ (X - moments.mean) ** 2
    spread = Diagonal(scatter, moments.total, learner.floor)
    found, unsure = np.empty(feed.chunks.held_out().n_rows), np.zeros(feed.chunks.k, bool)
    for folds, places, away, own in _folds(feed, moments):
        gone = Gone.of(away, own, moments.total)
        unsure[folds] = gone.share < DIGITS
        rest, share = spread.left(gone)
        variance, beside = rest / gone.left[:, np.newaxis], away + gone.shift[:, np.newaxis]
        for i, feature in np.argwhere((share < DIGITS) & ~unsure[folds, np.newaxis]).tolist():
            mean, variance[i, feature] = _others(feed, int(folds[i]), feature, learner.floor)
            beside[i, :, feature] = feed.fold(int(folds[i])).gathered().X[:, feature] - mean
        squares = (beside**2 / variance[:, np.newaxis]).sum(axis=2)
        found[places] = _density(squares, np.log(variance).sum(axis=1), len(moments.mean))
    return _from_scratch(learner, schema, feed, found, unsure)


def _others(feed: Feed, fold: int, feature: int, floor: float) -> tuple[float, float]:
    """Mean and variance of a feature over the rows outside of a fold."""
    begin, end = feed.chunks.span(fold, fold)
    rows = feed.rows
    column = rows.X[:, feature] if rows.index is None else rows.X[rows.index, feature]
    outside, weights = np.delete(column.astype(float), slice(begin, end)), _weights(rows, slice(None))
    weights = np.delete(weights, slice(begin, end))
    start = outside[np.argmax(weights > 0)]
    mean = start + weights @ (outside - start) / weights.sum()
    return float(mean), float(weights @ (outside - mean) ** 2 / weights.sum() + floor)


def _density(squares: Floats, logs: Floats, d: int) -> Floats:
    density: Floats = -0.5 * (squares + logs[:, np.newaxis] + d * log(2 * pi))
    return density


def _weights(rows: Rows, part: slice) -> Floats:
    if rows.weights is None:
        return np.ones(len(range(*part.indices(len(rows)))))
    weights: Floats = (rows.weights if rows.index is None else rows.weights[rows.index])[part].astype(float)
    return weights


def _table(rows: Rows, positions: Any) -> Floats:
    table: Floats = rows.X[positions if rows.index is None else rows.index[positions]].astype(float)
    return table


def _parts(rows: Rows) -> Iterator[tuple[slice, Floats]]:
    """All rows, some at a time, with their positions."""
    step = max(1, _NUMBERS // rows.X.shape[1])
    for begin in range(0, len(rows), step):
        part = slice(begin, begin + step)
        yield part, _table(rows, part)


def _folds(feed: Feed, moments: Moments) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64], Floats, Floats]]:
    """Some folds of equal size at a time: which, the places of their rows among the held-out ones, z_i and w_i."""
    sizes, d, before = feed.chunks.sizes, len(moments.mean), feed.chunks.before
    begins, weights = np.cumsum(sizes) - sizes, _weights(feed.rows, slice(None))
    for size in np.unique(sizes).tolist():
        folds = np.flatnonzero(sizes == size)
        step = max(1, _NUMBERS // (max(size, 1) * d + min(size + 1, d) ** 2))
        for some in (folds[begin : begin + step] for begin in range(0, len(folds), step)):
            places = begins[some, np.newaxis] + np.arange(size)
            yield some, places, _table(feed.rows, places + before) - moments.mean, weights[places + before]
