"""From scikit-learn's `cv` to folds, without a Python object per fold.

The common splitters are recognised and laid out at once; any other one is iterated, and only what is needed of
its indices is kept. What comes out is one partition of the rows, several (repeated cross-validation), or a
succession of growing training sets (time series). Folds of any other kind share nothing that a tree could
use: they are an `Overlap`.
"""

import itertools
import numbers
import warnings
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import (
    BaseShuffleSplit,
    KFold,
    LeaveOneGroupOut,
    LeaveOneOut,
    LeavePGroupsOut,
    LeavePOut,
    PredefinedSplit,
    StratifiedKFold,
)
from sklearn.utils import check_array, check_random_state, column_or_1d

from treecv.data import Chunks
from treecv.errors import InputError
from treecv.model_selection.layouts import Index, Layout, Nested, Partition
from treecv.model_selection.lines import outside

Pair = tuple[Index, Index]


class Overlap(InputError):  # noqa: N818 - what it is, not that it is wrong
    """Folds that share no training rows in a way that a tree or a chain could use.

    `cv` is what makes the same folds again.
    """

    def __init__(self, name: str, why: str, cv: Any) -> None:
        super().__init__(
            f"{name}: {why}. Use strategy='auto', which leaves such folds to scikit-learn's function, or a splitter "
            "that holds out every row once."
        )
        self.cv = cv


def lay_out(cv: Any, X: Any, y: Any, codes: NDArray[np.int32] | None, n: int, **split: Any) -> list[Layout]:
    """The folds of `cv` over n rows, in one layout, or in several that are trained one after another.

    `codes` are the classes of a classifier's targets, which the stratified folds follow; None for a
    regressor. `split` are the further arguments of the splitter, such as `groups`.
    """
    splitter, groups = _as_splitter(cv, codes), split.get("groups")
    if groups is not None and len(groups) != n:
        raise InputError(f"groups has {len(groups)} entries, but X has {n} rows: give one a row.")
    _check_count(splitter, n)
    several = getattr(splitter, "p", getattr(splitter, "n_groups", 2)) != 1  # one left out at a time is a partition
    if isinstance(splitter, BaseShuffleSplit) or (isinstance(splitter, LeavePOut | LeavePGroupsOut) and several):
        raise Overlap(type(splitter).__name__, "its folds hold out some rows several times", splitter)
    if type(splitter) is LeaveOneOut or (type(splitter) is LeavePOut and not several):
        return [Partition(Chunks(n), None)]
    if type(splitter) is KFold:
        return [_k_fold(splitter, n)]
    if type(splitter) is StratifiedKFold and codes is not None:
        return [_by_fold(_stratified(splitter, codes), splitter.n_splits)]
    if type(splitter) is LeaveOneGroupOut and groups is not None:
        groups = check_array(groups, input_name="groups", ensure_2d=False, dtype=None)
        names, fold_of_row = np.unique(column_or_1d(groups), return_inverse=True)
        _check_at_least_two(len(names), "LeaveOneGroupOut")
        return [_by_fold(fold_of_row, len(names))]
    if type(splitter) is PredefinedSplit and len(splitter.test_fold) == n:
        names, fold_of_row = np.unique(splitter.test_fold, return_inverse=True)
        none = int(names[0] == -1)
        _check_some(len(names) - none, none, "PredefinedSplit")
        return [_by_fold(fold_of_row - none, len(names) - none)]
    return _iterated(splitter, X, y, n, split)


def _as_splitter(cv: Any, codes: NDArray[np.int32] | None) -> Any:
    cv = 5 if cv is None else cv
    if isinstance(cv, str):
        if cv != "loo":
            raise InputError(f"cv={cv!r} is not known: use 'loo', a number of folds, or a splitter.")
        return LeaveOneOut()
    if isinstance(cv, numbers.Integral) and not isinstance(cv, bool):
        if cv < 2:
            raise InputError(
                f"cv={cv}: cross-validation needs at least 2 folds. Use cv=2 or more, or cv='loo' for one fold a row."
            )
        return KFold(int(cv)) if codes is None else StratifiedKFold(int(cv))
    if isinstance(cv, type):
        raise InputError(f"cv={cv.__name__} is a class: pass an instance of it, such as {cv.__name__}().")
    if hasattr(cv, "split"):
        return cv
    if not isinstance(cv, Iterable):
        raise InputError(
            f"cv={cv!r} is not known: use 'loo', a number of folds, a splitter of sklearn.model_selection, or "
            "an iterable of (train, test) index arrays."
        )
    return _Pairs(list(cv))


def _check_count(splitter: Any, n: int) -> None:
    k = getattr(splitter, "n_splits", None)
    if isinstance(splitter, KFold | StratifiedKFold) and k is not None and k > n:
        raise InputError(
            f"Cannot have number of splits n_splits={k} greater than the number of samples: n_samples={n}. "
            "Use cv='loo' for one fold a row."
        )
    if n < 2:
        raise InputError(f"Found array with {n} sample(s): cross-validation needs at least 2 rows. Give more of them.")


def _k_fold(splitter: KFold, n: int) -> Partition:
    k = splitter.n_splits
    sizes = np.full(k, n // k, np.int64)
    sizes[: n % k] += 1
    chunks = Chunks(n, np.concatenate([[0], np.cumsum(sizes)]))
    if not splitter.shuffle:
        return Partition(chunks, None)
    # scikit-learn cuts a permutation into folds and sorts the rows of each.
    permuted = np.arange(n)
    check_random_state(splitter.random_state).shuffle(permuted)
    if k == n:
        return Partition(Chunks(n), permuted)
    fold_of_row = np.empty(n, np.int64)
    fold_of_row[permuted] = np.repeat(np.arange(k), sizes)
    return _by_fold(fold_of_row, k)


def _stratified(splitter: StratifiedKFold, codes: NDArray[np.int32]) -> NDArray[np.int32]:
    """The fold of each row: scikit-learn's round robin over the rows sorted by class."""
    k, counts = splitter.n_splits, np.bincount(codes)
    if (counts < k).all():
        raise InputError(
            f"n_splits={k} cannot be greater than the number of members in each class, at most {counts.max()}. "
            "Use fewer folds, KFold, or cv='loo' for one fold a row."
        )
    if k > counts.min():
        warnings.warn(
            f"The least populated class in y has only {counts.min()} members, which is less than n_splits={k}.",
            UserWarning,
            stacklevel=outside(),
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


def _by_fold(fold_of_row: NDArray[Any], k: int) -> Partition:
    """Chunks from the number of each row's fold, -1 for none; the rows of a fold keep their order."""
    sizes = np.bincount(fold_of_row + 1, minlength=k + 1)
    chunks = Chunks(len(fold_of_row), np.cumsum(sizes))
    if (np.diff(fold_of_row) >= 0).all():
        return Partition(chunks, None)
    narrow = (fold_of_row + 1).astype(np.min_scalar_type(k + 1))  # NumPy sorts 8 and 16 bits by counting
    return Partition(chunks, np.argsort(narrow, kind="stable"))


class _Pairs:
    """Pairs of index arrays, as the user listed them."""

    def __init__(self, pairs: list[Any]) -> None:
        self.pairs = pairs

    def split(self, X: Any, y: Any = None, **_: Any) -> Iterator[Any]:
        """The pairs."""
        return iter(self.pairs)


def _iterated(splitter: Any, X: Any, y: Any, n: int, split: dict[str, Any]) -> list[Layout]:
    """Any splitter: by its first fold it is taken for partitions, or for growing training sets."""
    name = "cv" if isinstance(splitter, _Pairs) else type(splitter).__name__
    folds = splitter.split(X, y, **{key: value for key, value in split.items() if value is not None or key != "groups"})
    pairs: Iterator[Pair] = (_pair(sides, fold, n, name) for fold, sides in enumerate(folds))
    first = next(pairs, None)
    if first is None:
        raise InputError(
            f"{name} makes 0 folds: cross-validation needs at least one. An iterator can be used once only: pass a "
            "list."
        )
    pairs = itertools.chain([first], pairs)
    return _partitions(pairs, n, name) if _is_rest(*first, n) else [_succession(pairs, n, name)]


def _is_rest(train: Index, test: Index, n: int) -> bool:
    """Whether a fold trains on all rows but those it tests on."""
    if len(train) + len(test) != n or _repeats(train):
        return False
    held_out = np.zeros(n, bool)
    held_out[test] = True
    return not held_out[train].any()


def _partitions(pairs: Iterator[Pair], n: int, name: str) -> list[Layout]:
    """Folds that train on all they do not test on: a new partition begins where a row is held out again."""
    parts: list[list[Index]] = [[]]
    unsorted: list[Index | None] = []  # training rows, where they cannot be had again from the others
    seen = np.zeros(n, bool)

    def as_they_were() -> Iterator[Pair]:
        for train, test in zip(unsorted, itertools.chain.from_iterable(parts), strict=True):
            yield np.setdiff1d(np.arange(n), test) if train is None else train, test

    for train, test in pairs:
        if not _is_rest(train, test, n):
            rest = itertools.chain(as_they_were(), [(train, test)], pairs)
            raise Overlap(name, f"a fold trains on {len(train)} and tests on {len(test)} of {n} rows", rest)
        if seen[test].any():
            seen[:] = False
            parts.append([])
        seen[test] = True
        parts[-1].append(test)
        unsorted.append(None if (np.diff(train) > 0).all() else train)
    held_out = [np.sort(np.concatenate(part)) for part in parts]
    if any(len(part) < 2 for part in parts[1:]) or not all(np.array_equal(rows, held_out[0]) for rows in held_out):
        raise Overlap(name, "the folds must hold out every row once, but some rows are in several", as_they_were())
    before = np.setdiff1d(np.arange(n), held_out[0])
    _check_some(len(parts[0]), len(before), name)
    return [_partition(before, part) for part in parts]


def _partition(before: Index, tests: list[Index]) -> Partition:
    index = np.concatenate([before, *tests])
    chunks = Chunks(len(index), np.cumsum([len(before), *(len(test) for test in tests)]))
    return Partition(chunks, None if (np.diff(index) == 1).all() else index)


def _succession(pairs: Iterator[Pair], n: int, name: str) -> Nested:
    """Folds each of which trains on all that the one before trained on, and more."""
    met: list[Pair] = []
    learnt = np.zeros(n, bool)
    tested = np.zeros(n, bool)
    growth: list[Index] = []
    for train, test in pairs:
        met.append((train, test))
        new = train[~learnt[train]]
        grows = len(train) - len(new) == np.count_nonzero(learnt) and not _repeats(train)
        if tested[test].any() or np.isin(train, test).any() or not grows:
            raise Overlap(
                name,
                f"fold {len(met) - 1} tests on {len(test)} rows and trains on {len(train)} of {n}; folds must train on "
                "all other rows, or on all that the fold before trained on, and test on rows that neither it nor "
                "another one has seen",
                itertools.chain(met, pairs),
            )
        learnt[new] = True
        tested[test] = True
        growth.append(new)
    return Nested(np.concatenate(growth), np.cumsum([len(new) for new in growth]), [test for _, test in met])


def _pair(sides: Any, fold: int, n: int, name: str) -> Pair:
    if not isinstance(sides, Sequence | np.ndarray) or len(sides) != 2:
        what = f"{len(sides)} of them" if isinstance(sides, Sequence) else repr(sides)
        raise InputError(f"{name}: fold {fold} must be a pair (train, test) of index arrays, not {what}.")
    train, test = (_indices(side, n, fold, name) for side in sides)
    if _repeats(test):
        raise InputError(f"{name}: fold {fold} names a row twice; each must be held out once.")
    if len(test) == 0 or len(train) == 0:
        raise InputError(
            f"{name}: fold {fold} tests on {len(test)} rows and trains on {len(train)} of {n}; it must do both on some."
        )
    return train, test


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
    return named


def _repeats(rows: Index) -> bool:
    """Whether a row is named more than once."""
    return len(np.unique(rows)) != len(rows)


def _check_some(k: int, before: int, name: str) -> None:
    """A single fold is enough where some rows are in none."""
    _check_at_least_two(k + (before > 0), name)


def _check_at_least_two(k: int, name: str) -> None:
    if k < 2:
        raise InputError(
            f"{name} makes {k} fold(s): cross-validation needs at least 2. Name more groups or folds, or use cv='loo'."
        )
