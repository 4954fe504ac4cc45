"""What the nearest rows outside of a fold say: votes of classes, means of targets, and when they are in doubt.

Cover and Hart: Nearest neighbor pattern classification, IEEE Transactions on Information Theory 13 (1967).

Distances are known to rounding only, and a tie at the last neighbour is broken by whoever searches. So a row is
**settled* here only where every way to break its ties gives the same answer. Rows that need more neighbours to be
seen are *short*, the others are *tied*.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

SAME_VOTES = 1e-9
"""Votes whose shares differ by less could change places by rounding."""
SAME_WEIGHT = 1e-9
"""Weights must be known to this share of them."""
_USUAL = 8 * float(np.finfo(float).eps)

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Precision:
    """How well the distances from some rows are known.

    Parameters
    ----------
    squares : ndarray of shape (n_asked,)
        The squared length of each row.
    cancels : float
        The error of a squared distance, as a share of the squared lengths of both rows: it is found as their sum less
        twice their product. 0 where differences are taken first.
    absolute, relative : float
        By how much a search may mistake a distance, and as a share of it.
    """

    squares: Floats
    cancels: float = 0.0
    absolute: float = 0.0
    relative: float = 0.0

    def of(self, asked: NDArray[np.generic]) -> "Precision":
        """The same for some of the rows."""
        return replace(self, squares=self.squares[asked])

    def slack(self, distances: Floats) -> Floats:
        """Others that differ from these distances, one a row, by no more may be equal to them."""
        error = self._square_error(distances)
        below = distances - np.sqrt(np.maximum(distances**2 - error, 0))
        slack = np.maximum(below, np.sqrt(distances**2 + error) - distances)
        return np.nan_to_num(slack + self.absolute + self.relative * distances, nan=np.inf)

    def vague(self, distances: Floats) -> Bools:
        """Whether a weight that is one over this distance would be known to fewer digits than `SAME_WEIGHT`.

        The bound behind `slack` holds always; errors as large as this are what one meets.
        """
        error = np.minimum(self.cancels, _USUAL) * _lengths(self.squares, distances)
        vague: Bools = error > 2 * SAME_WEIGHT * distances**2
        return vague

    def _square_error(self, distances: Floats) -> Floats:
        return self.cancels * _lengths(self.squares, distances)


def _lengths(squares: Floats, distances: Floats) -> Floats:
    """The squared length of a row and, at the most, that of another at this distance."""
    total: Floats = squares + (np.sqrt(squares) + distances) ** 2
    return total


@dataclass(frozen=True, slots=True)
class Found:
    """What a search found near some rows, nearest first.

    Parameters
    ----------
    rows, distances : ndarray of shape (n_asked, n_found)
    outside : ndarray of bool, likewise
        Whether a found row is outside of the fold of the row that asks.
    precision : Precision
    complete : bool
        Whether these are all rows there are.
    """

    rows: Ints
    distances: Floats
    outside: Bools
    precision: Precision
    complete: bool


@dataclass(frozen=True, slots=True)
class Nearest:
    """The nearest rows outside of the fold, and how sure one can be of them.

    Parameters
    ----------
    rows, distances : ndarray of shape (n_asked, n_neighbors)
        Of no use where a row is short.
    short : ndarray of bool of shape (n_asked,)
        Too few were found to know.
    tied : ndarray of bool of shape (n_asked,)
        There are others just as near as the last one, with other targets.
    """

    rows: Ints
    distances: Floats
    short: Bools
    tied: Bools


def nearest(found: Found, y: NDArray[np.generic], n_neighbors: int) -> Nearest:
    """The first `n_neighbors` outside of each row's fold, of at least as many that were found.

    The rows whose distance is that of the last one, to rounding, must all have the same target, and none of them may
    be missing.
    """
    order = np.argsort(~found.outside, axis=1, kind="stable")
    rows = np.take_along_axis(found.rows, order, axis=1)
    distances = np.take_along_axis(np.where(found.outside, found.distances, np.inf), order, axis=1)
    last = distances[:, n_neighbors - 1]
    with np.errstate(invalid="ignore", over="ignore"):
        slack = found.precision.slack(last)
        alike = np.abs(distances - last[:, np.newaxis]) <= slack[:, np.newaxis]
        unseen = (found.distances[:, -1] <= last + slack) & (not found.complete)
    tied = alike[:, n_neighbors:].any(axis=1) & _differ(alike, rows, y)
    short = ~np.isfinite(last) | (unseen & ~tied)
    return Nearest(rows[:, :n_neighbors], distances[:, :n_neighbors], short, tied & ~short)


def _differ(alike: Bools, rows: Ints, y: NDArray[np.generic]) -> Bools:
    """Whether those alike have different targets."""
    targets = y[rows].reshape(*rows.shape, -1)
    first = np.take_along_axis(targets, np.argmax(alike, axis=1)[:, np.newaxis, np.newaxis], axis=1)
    differ: Bools = ((targets != first).any(axis=2) & alike).any(axis=1)
    return differ


def nearness(distances: Floats) -> Floats:
    """Weights that fall as distances grow: 1 / distance; where some are zero, only these count."""
    with np.errstate(divide="ignore"):
        weights = 1.0 / distances
    infinite = np.isinf(weights)
    equal = infinite.any(axis=1)
    weights[equal] = infinite[equal]
    return weights


def shares_of(codes: Ints, weights: Floats | None, n_classes: int) -> Floats:
    """The share of each class in the votes of the neighbours."""
    found, asked = np.zeros((len(codes), n_classes)), np.arange(len(codes))
    for i in range(codes.shape[1]):
        found[asked, codes[:, i]] += 1.0 if weights is None else weights[:, i]
    total = found.sum(axis=1, keepdims=True)
    total[total == 0] = 1
    shares: Floats = found / total
    return shares


def close_votes(shares: Floats, weights: Floats) -> Bools:
    """Where rounding could decide which class has the most votes."""
    if shares.shape[1] == 1:
        return np.zeros(len(shares), bool)
    top = np.partition(shares, -2, axis=1)[:, -2:]
    counted = ((weights == 0) | (weights == 1)).all(axis=1)  # sums of whole numbers are exact
    close: Bools = (top[:, 1] - top[:, 0] <= SAME_VOTES) & ~counted
    return close


def means(targets: Floats, weights: Floats | None) -> Floats:
    """The mean of the neighbours' targets, of shape (n_asked, n_neighbors, n_targets)."""
    if weights is None:
        plain: Floats = targets.mean(axis=1)
        return plain
    mean: Floats = (targets * weights[:, :, np.newaxis]).sum(axis=1) / weights.sum(axis=1, keepdims=True)
    return mean


def without_class(values: Floats, codes: Ints, folds: Ints) -> None:
    """Write -inf where a class has no row outside of a row's own fold; `folds` is -1 for rows in none."""
    n_classes = values.shape[1]
    first, last = np.full(n_classes, np.iinfo(np.int64).max), np.full(n_classes, -1)
    np.minimum.at(first, codes, folds)
    np.maximum.at(last, codes, folds)
    for code in np.flatnonzero((first == last) & (last >= 0)):
        values[folds == first[code], code] = -np.inf
    values[:, np.bincount(codes, minlength=n_classes) == 0] = -np.inf
