"""Rows: the only thing learners accept. They are read in place wherever that is not slower."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treecv import kernels
from treecv.data.tables import take
from treecv.errors import InputError
from treecv.order import Stream


@dataclass(slots=True)
class Rows:
    """Features, targets and weights, and an optional index saying which rows in which order.

    Parameters
    ----------
    X : ndarray of shape (n_stored, n_features), or any table
        For the core: each row contiguous; the rows may lie apart. A learner that takes rows `as_given` gets
        what the user passed: a sparse matrix, a data frame, a list.
    y : ndarray of shape (n_stored,), optional
        Targets; for a classifier, the codes of the classes. As given: the user's own labels, in any shape.
    weights : ndarray of shape (n_stored,), optional
    index : ndarray of int64, optional
        Position to stored row. None: the stored order.
    metadata : mapping of str to table, optional
        What else an update is told about its rows, under the name of the argument that it becomes.
    stream : Stream, optional
        The random numbers of the place where these rows are learnt, for learners that draw some.
    """

    X: Any
    y: Any = None
    weights: Any = None
    index: NDArray[np.int64] | None = None
    metadata: Mapping[str, Any] | None = None
    stream: Stream | None = None

    def __len__(self) -> int:
        return self.n_stored if self.index is None else len(self.index)

    @property
    def n_stored(self) -> int:
        """The rows of the table, whether the index names them or not."""
        return self.X.shape[0] if hasattr(self.X, "shape") else len(self.X)

    def order(self) -> Iterable[int]:
        """The stored rows, in order."""
        return range(len(self)) if self.index is None else self.index.tolist()

    def stretch(self, begin: int, end: int) -> "Rows":
        """The rows at positions begin .. end - 1: a view."""
        X, y = self.X, self.y
        if type(X) is type(y) is _ARRAY and self.index is self.weights is self.metadata is None:  # at every node
            return Rows(X[begin:end], y[begin:end], None, None, None, self.stream)
        part = slice(begin, end)
        if self.index is not None:
            return replace(self, index=self.index[part])
        return self._with(take(X, part), part)

    def pick(self, positions: NDArray[np.int64]) -> "Rows":
        """The rows at these positions, in this order: still no copy."""
        return replace(self, index=positions if self.index is None else self.index[positions])

    def gathered(self) -> "Rows":
        """The same rows without an index: copied, if there was one."""
        if self.index is None:
            return self
        fast = isinstance(self.X, np.ndarray) and self.X.ndim == 2
        return self._with(kernels.gather(self.X, self.index) if fast else take(self.X, self.index), self.index)

    def _with(self, X: Any, part: Any) -> "Rows":
        """These features, and the same part of everything else."""
        metadata = self.metadata and {name: take(table, part) for name, table in self.metadata.items()}
        return Rows(X, _part(self.y, part), _part(self.weights, part), None, metadata, self.stream)

    def scattered(self) -> bool:
        """Whether the index jumps about so much that a copy is cheaper than one walk through it.

        Stratified folds over mixed classes hardly jump and are read in place; a random partition is
        copied. A memory map never is, as it may be larger than memory, nor rows that are named again and again.
        """
        if self.index is None or _is_mapped(self.X) or not 2 <= len(self.index) <= self.n_stored:
            return False
        jumps = np.abs(np.diff(self.index)) > _NEAR
        return bool(np.count_nonzero(jumps) > len(jumps) // 4)


_ARRAY = np.ndarray
_NEAR = 64
"""Rows apart that a processor's own prefetching bridges."""


def _is_mapped(X: Any) -> bool:
    """Whether the numbers lie in a file: scikit-learn's checks leave a plain view of a memory map."""
    while isinstance(X, np.ndarray):
        if isinstance(X, np.memmap):
            return True
        X = X.base
    return False


def _part(table: Any, part: Any) -> Any:
    return None if table is None else take(table, part)


def nonfinite(X: Any) -> tuple[int, int] | None:
    """Row and column of the first number that is NaN or infinite; None if all are finite."""
    values = X if isinstance(X, np.ndarray) else X.data
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(values.sum(dtype=np.float64)):  # almost always, and cheap
            return None
    bad = np.argwhere(~np.isfinite(values))
    if len(bad) == 0:
        return None
    if values is X:
        return int(bad[0, 0]), int(bad[0, 1])
    place = int(bad[0, 0])
    return int(np.searchsorted(X.indptr, place, side="right")) - 1, int(X.indices[place])


def readable(X: Any) -> Any:
    """`X` itself where the core can read its rows in place, else a copy that it can."""
    if not isinstance(X, np.ndarray):
        return _canonical(X)
    item = X.itemsize
    side_by_side = X.shape[1] < 2 or X.strides[1] == item
    apart = len(X) < 2 or (X.strides[0] >= X.shape[1] * item and X.strides[0] % item == 0)
    if side_by_side and apart and X.flags.aligned and X.dtype.isnative:
        return X
    return np.array(X, dtype=X.dtype.newbyteorder("="), order="C")


def _canonical(X: Any) -> Any:
    """Compressed sparse rows whose indices rise, each named once, and nothing behind the last row."""
    if X.shape[1] > np.iinfo(np.int32).max:
        raise InputError(
            f"X has {X.shape[1]:,} columns: the core reads {np.iinfo(np.int32).max:,} at most. Hash the features into "
            "fewer, or use native=False."
        )
    stored = int(X.indptr[-1])
    if len(X.data) != stored:  # SciPy reads no further; a view
        X = type(X)((X.data[:stored], X.indices[:stored], X.indptr), X.shape)
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X
