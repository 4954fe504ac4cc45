"""Count, mean and scatter of each class, which states may add up and take apart again.

Chan, Golub and LeVeque: Updating formulae and a pairwise algorithm for computing sample variances, COMPSTAT (1982).

Means are kept as distances from an origin, which is the first row learnt: of numbers near 1e8 that differ by 1e-6 no
digit is lost, because what all have in common is subtracted before anything is added up.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from treecv.data import Rows

Floats = NDArray[np.float64]

BLOCK = 1 << 20
"""The numbers of a block of rows, so that memory does not grow with the data."""


@dataclass(slots=True)
class ClassMoments:
    """What was learnt of each class.

    Parameters
    ----------
    origin : ndarray of shape (n_features,)
        NaN before there are rows.
    counts : ndarray of shape (n_classes,)
    means : ndarray of shape (n_classes, n_features)
        Counted from the origin.
    scatters : ndarray of shape (n_classes, n_features, n_features)
        Sums of the products of the distances from the mean of the class.
    """

    origin: Floats
    counts: Floats
    means: Floats
    scatters: Floats

    @classmethod
    def blank(cls, n_classes: int, n_features: int) -> "ClassMoments":
        """Nothing learnt."""
        means, scatters = np.zeros((n_classes, n_features)), np.zeros((n_classes, n_features, n_features))
        return cls(np.full(n_features, np.nan), np.zeros(n_classes), means, scatters)

    def copy(self) -> "ClassMoments":
        """The same moments apart."""
        return ClassMoments(self.origin.copy(), self.counts.copy(), self.means.copy(), self.scatters.copy())

    @property
    def total_mean(self) -> Floats:
        """The mean of all rows, from the origin."""
        mean: Floats = self.counts @ self.means / self.counts.sum()
        return mean

    def learn(self, rows: Rows) -> None:
        """Add rows."""
        if not len(rows):
            return
        if np.isnan(self.origin[0]):
            self.origin[:] = rows.X[next(iter(rows.stretch(0, 1).order()))]
        for label, stored in by_class(rows):
            for block in blocks(stored, rows.X.shape[1]):
                self._add(label, *_moments(rows.X[block] - self.origin))

    def merge(self, other: "ClassMoments") -> None:
        """Add what another one has learnt."""
        if np.isnan(other.origin[0]):
            return
        if np.isnan(self.origin[0]):
            self.origin[:] = other.origin
        shift = other.origin - self.origin
        for label in np.flatnonzero(other.counts).tolist():
            self._add(label, other.counts[label], other.means[label] + shift, other.scatters[label])

    def unlearn(self, rows: Rows) -> None:
        """Take rows away that were learnt before."""
        for label, stored in by_class(rows):
            count, away, scatter = self.share(label, rows.X[stored])
            left = self.counts[label] - count
            self.counts[label] = left
            if left > 0:
                self.means[label] -= away / left
            else:
                self.means[label] = 0
            self.scatters[label] -= scatter if left > 1 else self.scatters[label]

    def share(self, label: int, X: Floats) -> tuple[int, Floats, Floats]:
        """What rows of a class have to do with its moments.

        Their count, the sum of their distances from its mean, and what its scatter loses without them.
        """
        away = self.away(label, X)
        total, left = away.sum(axis=0), self.counts[label] - len(X)
        return len(X), total, away.T @ away + (np.outer(total, total) / left if left > 0 else 0)

    def away(self, label: int, X: Floats) -> Floats:
        """The distances of rows from the mean of a class."""
        away: Floats = X - self.origin
        away -= self.means[label]
        return away

    def _add(self, label: int, count: float, mean: Floats, scatter: Floats) -> None:
        total = self.counts[label] + count
        apart = mean - self.means[label]
        self.scatters[label] += scatter
        self.scatters[label] += np.outer(apart, apart * (self.counts[label] * count / total))
        self.means[label] += apart * (count / total)
        self.counts[label] = total


def by_class(rows: Rows) -> Iterator[tuple[int, NDArray[np.int64]]]:
    """Each class that is there, and its stored rows."""
    stored = np.arange(rows.n_stored) if rows.index is None else rows.index
    codes = rows.y[stored]
    for label in np.flatnonzero(np.bincount(codes)):
        yield int(label), stored[codes == label]


def blocks(stored: NDArray[np.int64], width: int) -> Iterator[NDArray[np.int64]]:
    """The same rows, not too many at a time."""
    step = max(BLOCK // max(width, 1), 1)
    for begin in range(0, len(stored), step):
        yield stored[begin : begin + step]


def _moments(away: Floats) -> tuple[int, Floats, Floats]:
    """Count, mean and scatter of rows; the second look at the mean finds the digits that the first one dropped."""
    mean = away.mean(axis=0)
    away -= mean
    rest = away.mean(axis=0)
    return len(away), mean + rest, away.T @ away - np.outer(rest, len(away) * rest)
