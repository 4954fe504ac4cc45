"""From scikit-learn's `cv` to chunks, without a Python object per fold.

The common splitters are recognised and laid out at once; any other one is iterated, and only its test
indices are kept. Either way the folds must partition the rows.
"""

import numbers
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import KFold, LeaveOneGroupOut, LeaveOneOut, StratifiedKFold
from sklearn.utils import check_array, check_random_state, column_or_1d

from treecv.data import Chunks
from treecv.errors import InputError


@dataclass(frozen=True, slots=True)
class Layout:
    """Folds over positions, and the stored row at each position (None: the same)."""

    chunks: Chunks
    index: NDArray[np.int64] | None


def lay_out(cv: Any, X: Any, y: Any, groups: Any, codes: NDArray[np.int32] | None) -> Layout:
    """The folds of `cv` over the rows of X.

    `codes` are the classes of a classifier's targets, which the stratified folds follow; None for a
    regressor.
    """
    n = len(X)
    splitter = _as_splitter(cv, codes)
    if groups is not None and len(groups) != n:
        raise InputError(f"groups has {len(groups)} entries, but X has {n} rows: give one a row.")
    _check_count(splitter, n)
    if type(splitter) is LeaveOneOut:
        return Layout(Chunks(n), None)
    if type(splitter) is KFold:
        return _k_fold(splitter, n)
    if type(splitter) is StratifiedKFold and codes is not None:
        return _by_fold(_stratified(splitter, codes), splitter.n_splits)
    if type(splitter) is LeaveOneGroupOut and groups is not None:
        groups = check_array(groups, input_name="groups", ensure_2d=False, dtype=None)
        names, fold_of_row = np.unique(column_or_1d(groups), return_inverse=True)
        _check_at_least_two(len(names), "LeaveOneGroupOut")
        return _by_fold(fold_of_row, len(names))
    return _iterated(splitter, X, y, groups)


def _as_splitter(cv: Any, codes: NDArray[np.int32] | None) -> Any:
    cv = 5 if cv is None else cv
    if isinstance(cv, str):
        if cv != "loo":
            raise InputError(f"cv={cv!r} is not known: use 'loo', a number of folds, or a splitter.")
        return LeaveOneOut()
    if isinstance(cv, numbers.Integral) and not isinstance(cv, bool):
        if cv < 2:
            raise InputError(f"cv={cv}: cross-validation needs at least 2 folds.")
        return KFold(int(cv)) if codes is None else StratifiedKFold(int(cv))
    if hasattr(cv, "split"):
        return cv
    if not isinstance(cv, Iterable):
        raise InputError(
            f"cv={cv!r} is not known: use 'loo', a number of folds, a splitter of sklearn.model_selection, or "
            "an iterable of (train, test) index arrays."
        )
    return list(cv)


def _check_count(splitter: Any, n: int) -> None:
    k = getattr(splitter, "n_splits", None)
    if isinstance(splitter, KFold | StratifiedKFold) and k is not None and k > n:
        raise InputError(
            f"Cannot have number of splits n_splits={k} greater than the number of samples: n_samples={n}. "
            "Use cv='loo' for one fold a row."
        )
    if n < 2:
        raise InputError(f"Found array with {n} sample(s): cross-validation needs at least 2 rows.")


def _k_fold(splitter: KFold, n: int) -> Layout:
    k = splitter.n_splits
    sizes = np.full(k, n // k, np.int64)
    sizes[: n % k] += 1
    chunks = Chunks(n, np.concatenate([[0], np.cumsum(sizes)]))
    if not splitter.shuffle:
        return Layout(chunks, None)
    # scikit-learn cuts a permutation into folds and sorts the rows of each.
    permuted = np.arange(n)
    check_random_state(splitter.random_state).shuffle(permuted)
    if k == n:
        return Layout(Chunks(n), permuted)
    fold_of_row = np.empty(n, np.int64)
    fold_of_row[permuted] = np.repeat(np.arange(k), sizes)
    return _by_fold(fold_of_row, k)


def _stratified(splitter: StratifiedKFold, codes: NDArray[np.int32]) -> NDArray[np.int32]:
    """The fold of each row: scikit-learn's round robin over the rows sorted by class."""
    k, counts = splitter.n_splits, np.bincount(codes)
    if (counts < k).all():
        raise InputError(
            f"n_splits={k} cannot be greater than the number of members in each class, at most {counts.max()}. "
            "Use fewer folds, or KFold."
        )
    if k > counts.min():
        warnings.warn(
            f"The least populated class in y has only {counts.min()} members, which is less than n_splits={k}.",
            UserWarning,
            stacklevel=5,
        )
    # Classes in order of their first appearance, as scikit-learn draws for them.
    classes = np.argsort([np.argmax(codes == code) for code in range(len(counts))])
    edges = np.concatenate([[0], np.cumsum(counts[classes])])
    below = (edges - np.arange(k)[:, np.newaxis] + k - 1) // k  # sorted rows of each fold before each edge
    allocation = np.diff(below, axis=1)
    fold_of_row = np.empty(len(codes), np.int32)
    random = check_random_state(splitter.random_state) if splitter.shuffle else None
    for place, code in enumerate(classes):
        folds = np.arange(k, dtype=np.int32).repeat(allocation[:, place])
        if random is not None:
            random.shuffle(folds)
        fold_of_row[codes == code] = folds
    return fold_of_row


def _by_fold(fold_of_row: NDArray[Any], k: int) -> Layout:
    """Chunks from the number of each row's fold; the rows of a fold keep their order."""
    sizes = np.bincount(fold_of_row, minlength=k)
    chunks = Chunks(len(fold_of_row), np.concatenate([[0], np.cumsum(sizes)]))
    if (np.diff(fold_of_row) >= 0).all():
        return Layout(chunks, None)
    narrow = fold_of_row.astype(np.min_scalar_type(k))  # NumPy sorts 8 and 16 bits by counting
    return Layout(chunks, np.argsort(narrow, kind="stable"))


def _iterated(splitter: Any, X: Any, y: Any, groups: Any) -> Layout:
    """Any splitter: its folds are checked to hold out every row once and to train on all others."""
    n, name = len(X), "cv" if isinstance(splitter, list) else type(splitter).__name__
    times = np.zeros(n, np.int64)
    parts: list[NDArray[np.int64]] = []
    for fold, sides in enumerate(splitter if isinstance(splitter, list) else splitter.split(X, y, groups)):
        if not isinstance(sides, Sequence | np.ndarray) or len(sides) != 2:
            what = f"{len(sides)} of them" if isinstance(sides, Sequence) else repr(sides)
            raise InputError(f"{name}: fold {fold} must be a pair (train, test) of index arrays, not {what}.")
        train, test = (_indices(side, n, fold, name) for side in sides)
        held_out = np.zeros(n, bool)
        held_out[test] = True
        if len(test) == 0 or len(train) != n - len(test) or held_out[train].any():
            raise InputError(
                f"{name}: fold {fold} tests on {len(test)} rows and trains on {len(train)} of {n}; it must test on "
                "some and train on all others. Use a splitter that partitions the rows, or scikit-learn's function."
            )
        times[test] += 1
        parts.append(test)
    _check_at_least_two(len(parts), name)
    if (times != 1).any():
        raise InputError(
            f"{name}: the folds must hold out every row once, but {np.count_nonzero(times == 0)} rows are in no "
            f"test fold and {np.count_nonzero(times > 1)} in several. Use a splitter that partitions the rows, or "
            "scikit-learn's function."
        )
    index = np.concatenate(parts)
    chunks = Chunks(n, np.concatenate([[0], np.cumsum([len(part) for part in parts])]))
    return Layout(chunks, None if (np.diff(index) == 1).all() else index)


def _indices(rows: Any, n: int, fold: int, name: str) -> NDArray[np.int64]:
    rows = np.asarray(rows)
    if rows.size and (rows.dtype.kind not in "iub" or rows.ndim != 1):
        raise InputError(
            f"{name}: fold {fold} names rows by an array of dtype {rows.dtype} and shape {rows.shape}; use a "
            "one-dimensional array of row numbers, or a boolean mask."
        )
    named: NDArray[np.int64] = np.flatnonzero(rows) if rows.dtype == bool else rows.astype(np.int64)
    outside = named[(named < 0) | (named >= n)]
    if len(outside):
        raise InputError(f"{name}: fold {fold} names row {outside[0]}, but X has {n} rows: use 0 .. {n - 1}.")
    if len(np.unique(named)) != len(named):
        raise InputError(f"{name}: fold {fold} names a row twice; each must be named once.")
    return named


def _check_at_least_two(k: int, name: str) -> None:
    if k < 2:
        raise InputError(f"{name} makes {k} fold(s): cross-validation needs at least 2.")


def test_rows(layout: Layout, fold: int) -> NDArray[np.int64]:
    """The stored rows that a fold holds out."""
    begin, end = layout.chunks.span(fold, fold)
    return np.arange(begin, end) if layout.index is None else layout.index[begin:end]


def train_rows(layout: Layout, fold: int) -> NDArray[np.int64]:
    """The stored rows that a fold trains on, sorted."""
    kept = np.ones(layout.chunks.n_rows, bool)
    kept[test_rows(layout, fold)] = False
    return np.flatnonzero(kept)


@dataclass(frozen=True, slots=True)
class Indices(Sequence[NDArray[np.int64]]):
    """The rows of every fold, each array made when it is asked for."""

    layout: Layout
    rows_of: Callable[[Layout, int], NDArray[np.int64]]

    def __len__(self) -> int:
        return self.layout.chunks.k

    def __getitem__(self, fold: Any) -> Any:
        if isinstance(fold, slice):
            return [self[i] for i in range(*fold.indices(len(self)))]
        if not -len(self) <= fold < len(self):
            raise IndexError(f"fold {fold} of {len(self)}")
        return self.rows_of(self.layout, fold % len(self))
