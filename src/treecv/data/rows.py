"""Rows: the only thing learners accept. They are read in place wherever that is not slower."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treecv import kernels


@dataclass(frozen=True, slots=True)
class Rows:
    """Features, targets and weights, and an optional index saying which rows in which order.

    Parameters
    ----------
    X : ndarray of shape (n_stored, n_features)
        Each row contiguous; the rows may lie apart.
    y : ndarray of shape (n_stored,), optional
        Targets; for a classifier, the codes of the classes.
    weights : ndarray of shape (n_stored,), optional
    index : ndarray of int64, optional
        Position to stored row. None: the stored order.
    """

    X: NDArray[Any]
    y: NDArray[Any] | None = None
    weights: NDArray[Any] | None = None
    index: NDArray[np.int64] | None = None

    def __len__(self) -> int:
        return len(self.X) if self.index is None else len(self.index)

    def order(self) -> Iterable[int]:
        """The stored rows, in order."""
        return range(len(self.X)) if self.index is None else self.index.tolist()

    def stretch(self, begin: int, end: int) -> "Rows":
        """The rows at positions begin .. end - 1: a view."""
        part = slice(begin, end)
        if self.index is not None:
            return replace(self, index=self.index[part])
        return Rows(self.X[part], _part(self.y, part), _part(self.weights, part))

    def pick(self, positions: NDArray[np.int64]) -> "Rows":
        """The rows at these positions, in this order: still no copy."""
        return replace(self, index=positions if self.index is None else self.index[positions])

    def gathered(self) -> "Rows":
        """The same rows without an index: copied, if there was one."""
        if self.index is None:
            return self
        X = kernels.gather(self.X, self.index)
        return Rows(X, _part(self.y, self.index), _part(self.weights, self.index))

    def scattered(self) -> bool:
        """Whether the index jumps about so much that a copy is cheaper than one walk through it.

        Stratified folds over mixed classes hardly jump and are read in place; a random partition is
        copied. A memory map never is, as it may be larger than memory, nor rows that are named again and again.
        """
        if self.index is None or _is_mapped(self.X) or not 2 <= len(self.index) <= len(self.X):
            return False
        jumps = np.abs(np.diff(self.index)) > _NEAR
        return bool(np.count_nonzero(jumps) > len(jumps) // 4)


_NEAR = 64
"""Rows apart that a processor's own prefetching bridges."""


def _is_mapped(X: Any) -> bool:
    """Whether the numbers lie in a file: scikit-learn's checks leave a plain view of a memory map."""
    while isinstance(X, np.ndarray):
        if isinstance(X, np.memmap):
            return True
        X = X.base
    return False


def _part(values: NDArray[Any] | None, part: Any) -> NDArray[Any] | None:
    return None if values is None else values[part]


def readable(X: NDArray[Any]) -> NDArray[Any]:
    """`X` itself where the core can read its rows in place, else a copy that it can."""
    item = X.itemsize
    side_by_side = X.shape[1] < 2 or X.strides[1] == item
    apart = len(X) < 2 or (X.strides[0] >= X.shape[1] * item and X.strides[0] % item == 0)
    if side_by_side and apart and X.flags.aligned and X.dtype.isnative:
        return X
    return np.array(X, dtype=X.dtype.newbyteorder("="), order="C")
