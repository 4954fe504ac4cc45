"""The rows that folds hold out, read many folds at a time."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treecv.data import Feed, Rows


@dataclass(frozen=True, slots=True)
class LeftOut:
    """The rows of a feed with the fold that holds each of them out.

    Parameters
    ----------
    X : ndarray of shape (n_stored, n_features)
    codes : ndarray of int
        The class of each position.
    stored : ndarray of int64
        The stored row of each position.
    starts, sizes : ndarray of int64
        Of each fold: its first position, and how many there are.
    before : int
        The positions that no fold holds out.
    """

    X: Any
    codes: NDArray[np.int64]
    stored: NDArray[np.int64]
    starts: NDArray[np.int64]
    sizes: NDArray[np.int64]
    before: int

    @classmethod
    def of(cls, feed: Feed) -> "LeftOut":
        """What a feed holds out."""
        rows, chunks = feed.rows, feed.chunks
        stored = np.arange(rows.n_stored) if rows.index is None else rows.index
        codes = np.asarray(rows.y)[stored].astype(np.int64)
        starts = np.arange(chunks.k) if chunks.offsets is None else np.asarray(chunks.offsets)[:-1]
        return cls(rows.X, codes, stored, starts, chunks.sizes, chunks.before)

    @property
    def one_by_one(self) -> NDArray[np.int64]:
        """The folds of a single row."""
        return np.flatnonzero(self.sizes == 1)

    def counts(self, n_classes: int) -> NDArray[np.float64]:
        """How many rows of each class each fold holds out."""
        fold = np.repeat(np.arange(len(self.sizes)), self.sizes)
        places = fold * n_classes + self.codes[self.before :]
        return np.bincount(places, minlength=len(self.sizes) * n_classes).reshape(-1, n_classes).astype(np.float64)

    def blocks(self, folds: NDArray[np.int64], numbers: int) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """Folds of one size, as many as fit into a block of memory, with the positions of the rows of each.

        Parameters
        ----------
        folds : ndarray of int
            Those that are asked for.
        numbers : int
            How many numbers a fold needs, besides one for each feature of its rows.
        """
        width = self.X.shape[1]
        for size in np.unique(self.sizes[folds]):
            alike = folds[self.sizes[folds] == size]
            step = max(_BLOCK // (int(size) * width + numbers), 1)
            for begin in range(0, len(alike), step):
                part = alike[begin : begin + step]
                yield part, self.starts[part][:, np.newaxis] + np.arange(size)

    def read(self, positions: NDArray[np.int64]) -> NDArray[np.float64]:
        """The features at these positions, along a further axis."""
        features: NDArray[np.float64] = self.X[self.stored[positions]].astype(np.float64, copy=False)
        return features


_BLOCK = 1 << 20
"""The numbers of a block, so that memory does not grow with the folds."""


def columns(positions: NDArray[np.int64], width: int) -> Iterator[NDArray[np.int64]]:
    """The same positions, some rows of each fold at a time where a fold is larger than a block."""
    step = max(_BLOCK // max(len(positions) * width, 1), 1)
    for begin in range(0, positions.shape[1], step):
        yield positions[:, begin : begin + step]


def all_but(feed: Feed, fold: int) -> Rows:
    """What the model of a fold learns, in stored order; copied."""
    begin, end = feed.chunks.span(fold, fold)
    positions = np.concatenate([np.arange(begin), np.arange(end, feed.n_rows)])
    stored = positions if feed.rows.index is None else feed.rows.index[positions]
    stored = np.sort(stored)
    return Rows(feed.rows.X[stored], feed.rows.y[stored])
