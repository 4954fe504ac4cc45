"""Weight, mean and scatter of features and targets together: all that least squares needs of some rows.

Chan, Golub and LeVeque: Algorithms for computing the sample variance, The American Statistician 37 (1983). Rows are
read in blocks, each about a point of its own; means are kept as offsets from an origin near the data, so data far
from zero keep their digits. Of a scatter only the upper triangle is meant.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas

from treecv.data import Chunks, Rows

Array: TypeAlias = NDArray[np.float64]

_NUMBERS = 1 << 18
"""In a block: two megabytes, which a processor keeps near."""
_APART = 16
"""Of so many rows one will do to find a point near the mean: as they are among them, it costs a digit at the most."""


@dataclass(slots=True)
class Moments:
    """The moments of some rows of a table of width w; `origin + offset` is the mean."""

    count: int
    weight: float
    origin: Array
    offset: Array
    scatter: Array

    @classmethod
    def empty(cls, width: int) -> "Moments":
        """Those of no rows."""
        return cls(0, 0.0, np.zeros(width), np.zeros(width), np.zeros((width, width)))

    def copy(self) -> "Moments":
        """Independent ones."""
        return replace(self, origin=self.origin.copy(), offset=self.offset.copy(), scatter=self.scatter.copy())

    def add(self, other: "Moments") -> None:
        """Those of both."""
        self.count += other.count
        if other.weight == 0:
            return
        if self.weight == 0:
            self.weight, self.origin, self.offset = other.weight, other.origin, other.offset
            self.scatter = other.scatter.copy()
            return
        total = self.weight + other.weight
        away = (other.origin - self.origin) + (other.offset - self.offset)
        self.scatter += other.scatter
        self.scatter += np.outer(away * (self.weight * (other.weight / total)), away)
        self.offset = self.offset + away * (other.weight / total)
        self.weight = total

    def take_away(self, other: "Moments") -> None:
        """Those of the rows that `other` does not have; it has a part of these."""
        self.count -= other.count
        left = self.weight - other.weight
        if other.weight == 0:
            return
        away = (other.origin - self.origin) + (other.offset - self.offset)
        self.scatter = self.scatter - other.scatter
        self.scatter -= np.outer(away * (other.weight * (self.weight / left)), away)
        self.offset = self.offset - away * (other.weight / left)
        self.weight = left

    def spread(self, d: int) -> tuple[Array, Array]:
        """The means and variances of the first d columns."""
        return (self.origin + self.offset)[:d], np.diagonal(self.scatter)[:d] / self.weight

    def about(self, point: Array) -> Array:
        """The second moments about a point that lies anywhere."""
        away = (self.origin - point) + self.offset
        moments: Array = self.scatter + np.outer(self.weight * away, away)
        return moments


def merged(parts: list[Moments], width: int) -> Moments:
    """The moments of all of these rows."""
    total = Moments.empty(width)
    for part in parts:
        total.add(part)
    return total


def all_but_one(parts: list[Any], rest: Any) -> Iterator[Any]:
    """For each part the sum of all others and the rest: by additions only, so no digits are lost.

    A part and the rest have `copy` and `add`.
    """
    behind = [rest.copy()]
    for part in parts[:0:-1]:
        behind.append(behind[-1].copy())
        behind[-1].add(part)
    before = None
    for part in parts:
        others = behind.pop()
        if before is not None:
            others.add(before)
        yield others
        if before is None:
            before = part.copy()
        else:
            before.add(part)


def targets_of(y: NDArray[Any]) -> NDArray[Any]:
    """Targets as columns."""
    return y[:, np.newaxis] if y.ndim == 1 else y


class Room:
    """Memory that is used again and again: to ask the system for megabytes takes longer than to fill them."""

    def __init__(self, dtype: Any = np.float64) -> None:
        self._held = np.empty(0, dtype)

    def table(self, height: int, width: int) -> NDArray[Any]:
        """Room for so many numbers; what was there is lost."""
        if len(self._held) < height * width:
            self._held = np.empty(height * width, self._held.dtype)
        return self._held[: height * width].reshape(height, width)


def blocks(rows: Rows, width: int) -> Iterator[tuple[slice, Rows]]:
    """The rows a block at a time, without an index: where they are, and they, until the next ones are asked for."""
    size, room = max(64, _NUMBERS // max(width, 1)), Room(rows.X.dtype)
    for begin in range(0, len(rows), size):
        part = slice(begin, min(begin + size, len(rows)))
        yield part, stored(rows, part, room)


def stored(rows: Rows, part: "slice | NDArray[np.int64]", room: Room) -> Rows:
    """The rows at some positions, without an index."""
    where = part if rows.index is None else rows.index[part]
    y, weights = (None if column is None else column[where] for column in (rows.y, rows.weights))
    if isinstance(where, slice) or not rows.X.flags.c_contiguous:  # `take` would copy the whole of a table with gaps
        return Rows(rows.X[where], y, weights)
    table = room.table(len(where), rows.X.shape[1])
    return Rows(np.take(rows.X, where, axis=0, out=table, mode="clip"), y, weights)


def without_training(rows: Rows, chunks: Chunks) -> NDArray[np.bool_]:
    """The folds whose training rows have no weight at all."""
    if rows.weights is None:
        return np.zeros(chunks.k, bool)
    weighed = (rows.weights if rows.index is None else rows.weights[rows.index]) > 0
    inside = in_folds(chunks, weighed)
    found: NDArray[np.bool_] = inside == np.count_nonzero(weighed)
    return found


def in_folds(chunks: Chunks, chosen: NDArray[np.bool_]) -> NDArray[np.int64]:
    """How many of the chosen positions are in each fold."""
    if chunks.offsets is None:
        return chosen.astype(np.int64)
    sums = np.concatenate([[0], np.cumsum(chosen)])
    found: NDArray[np.int64] = np.diff(sums[chunks.offsets])
    return found


def moments_of(rows: Rows) -> Moments:
    """The moments of features and targets, side by side."""
    targets = targets_of(rows.y).shape[1]
    width = rows.X.shape[1] + targets
    total, room = Moments.empty(width), Room()
    for _, block in blocks(rows, width):
        total.add(_of_block(block, room.table(len(block), width + 1)))
    return total


def _of_block(rows: Rows, table: Array) -> Moments:
    """The moments about a point near the mean; a column of ones gives what that point is off."""
    width, d = table.shape[1] - 1, rows.X.shape[1]
    y = targets_of(rows.y)
    if rows.weights is not None and not rows.weights.any():
        return replace(Moments.empty(width), count=len(rows))
    origin = near(rows)
    np.subtract(rows.X, origin[:d], out=table[:, :d])
    np.subtract(y, origin[d:], out=table[:, d:width])
    table[:, width] = 1.0
    if rows.weights is not None:
        table *= np.sqrt(rows.weights)[:, np.newaxis]
    squares = blas.dsyrk(1.0, table.T)
    weight, sums = float(squares[width, width]), squares[:width, width]
    offset = sums / weight
    return Moments(len(rows), weight, origin, offset, squares[:width, :width] - np.outer(sums, offset))


def near(rows: Rows) -> Array:
    """A point near the mean of features and targets of some rows."""
    tables = (rows.X, targets_of(rows.y))
    if rows.weights is None or not rows.weights.any():
        return np.concatenate([table[::_APART].mean(axis=0, dtype=np.float64) for table in tables])
    shares = rows.weights / rows.weights.sum()
    return np.concatenate([shares @ table for table in tables])
