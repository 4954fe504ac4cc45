"""The rows of a feed in stored order: what scikit-learn would be given of them, fold by fold."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treecv.data import Feed
from treecv.data.tables import take


@dataclass
class Table:
    """The rows that take part, in stored order.

    Parameters
    ----------
    X, y
        Features and targets.
    weights : ndarray or None
    folds : ndarray of int64
        The fold of each row, -1 if it is in none.
    held_out : ndarray of int64
        The rows that are in a fold, in the order of positions.
    offsets : ndarray of int64
        Fold i is held_out[offsets[i] : offsets[i + 1]].
    """

    X: Any
    y: Any
    weights: NDArray[np.float64] | None
    folds: NDArray[np.int64]
    held_out: NDArray[np.int64]
    offsets: NDArray[np.int64]

    @classmethod
    def of(cls, feed: Feed) -> "Table":
        """The rows of a feed."""
        rows, chunks = feed.rows, feed.chunks
        k, n, before = chunks.k, len(rows), chunks.before
        fold_at = np.repeat(np.arange(-1, k), [before, *chunks.sizes])
        offsets = np.concatenate([[0], np.cumsum(chunks.sizes)])
        if rows.index is None:
            y = None if rows.y is None else np.asarray(rows.y)
            return cls(rows.X, y, rows.weights, fold_at, np.arange(before, n), offsets)
        order = np.argsort(rows.index, kind="stable")
        stored, places, folds = rows.index[order], np.empty(n, np.int64), fold_at[order]
        places[order] = np.arange(n)
        whole = n == rows.n_stored and bool((stored == np.arange(n)).all())
        X = rows.X if whole else take(rows.X, stored)
        y = None if rows.y is None else np.asarray(rows.y)[stored]
        weights = None if rows.weights is None else rows.weights[stored]
        return cls(X, y, weights, folds, places[before:], offsets)

    def __len__(self) -> int:
        return len(self.folds)

    @property
    def sizes(self) -> NDArray[np.int64]:
        """The rows of each fold."""
        return np.diff(self.offsets)

    def fold(self, fold: int) -> NDArray[np.int64]:
        """The rows of a fold."""
        return self.held_out[self.offsets[fold] : self.offsets[fold + 1]]
