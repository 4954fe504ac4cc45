"""Folds are scikit-learn's own, row by row, whichever way they were laid out."""

import warnings

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    LeaveOneGroupOut,
    LeaveOneOut,
    PredefinedSplit,
    StratifiedGroupKFold,
    StratifiedKFold,
    check_cv,
)

from treecv.data import encode
from treecv.model_selection import folds
from treecv.model_selection.folds import lay_out
from treecv.model_selection.layouts import Indices, train_rows
from treecv.model_selection.layouts import test_rows as rows_of_fold


def laid_out(cv, X, y, groups=None, classifier=True):
    codes = encode(np.asarray(y))[1] if classifier else None
    (layout,) = lay_out(cv, X, y, codes, len(X), groups=groups)
    return layout


def assert_folds_of(layout, splits, n):
    """The layout holds out exactly what `splits` test on, in the same order of folds and of rows."""
    splits = list(splits)
    assert layout.chunks.k == len(splits)
    assert layout.is_partition
    assert layout.chunks.n_rows == n
    for fold, (train, test) in enumerate(splits):
        np.testing.assert_array_equal(rows_of_fold(layout, fold), test)
        np.testing.assert_array_equal(train_rows(layout, fold), train)


def table(n, n_classes=2, seed=0):
    random = np.random.default_rng(seed)
    y = np.concatenate([np.arange(n_classes), random.integers(n_classes, size=n - n_classes)])
    return random.normal(size=(n, 2)), random.permutation(y)


SPLITTERS = {
    "KFold": KFold(4),
    "KFold, one row more than folds": KFold(22),
    "KFold, as many folds as rows": KFold(23),
    "KFold, shuffled": KFold(4, shuffle=True, random_state=7),
    "KFold, shuffled, as many folds as rows": KFold(23, shuffle=True, random_state=7),
    "StratifiedKFold": StratifiedKFold(3),
    "StratifiedKFold, shuffled": StratifiedKFold(3, shuffle=True, random_state=7),
    "LeaveOneOut": LeaveOneOut(),
    "LeaveOneGroupOut": LeaveOneGroupOut(),
    "GroupKFold": GroupKFold(3),
    "StratifiedGroupKFold": StratifiedGroupKFold(2),
    "PredefinedSplit": PredefinedSplit(np.arange(23) % 4),
    "PredefinedSplit, unordered": PredefinedSplit(np.random.default_rng(1).permutation(np.arange(23) % 4)),
}


@pytest.mark.parametrize("cv", SPLITTERS.values(), ids=SPLITTERS)
def test_a_splitter_is_laid_out_as_scikit_learn_splits(cv):
    X, y = table(23)
    groups = np.random.default_rng(2).permutation(np.arange(23) % 5) * 10
    used = groups if "Group" in type(cv).__name__ else None
    assert_folds_of(laid_out(cv, X, y, used), cv.split(X, y, used), 23)


@pytest.mark.parametrize("cv", [KFold(4, shuffle=True), StratifiedKFold(4, shuffle=True)], ids=str)
def test_a_random_state_is_drawn_from_as_often_as_scikit_learn_does(cv):
    X, y = table(30)
    ours, theirs = np.random.RandomState(3), np.random.RandomState(3)
    for _ in range(2):  # a splitter that was used before goes on with its generator
        layout = laid_out(cv.__class__(4, shuffle=True, random_state=ours), X, y)
        assert_folds_of(layout, cv.__class__(4, shuffle=True, random_state=theirs).split(X, y), 30)


@given(n=st.integers(2, 60), k=st.integers(2, 60), seed=st.none() | st.integers(0, 2**32 - 1))
def test_k_fold_of_any_size(n, k, seed):
    assume(k <= n)
    X = np.zeros((n, 1))
    cv = KFold(k, shuffle=seed is not None, random_state=seed)
    assert_folds_of(laid_out(cv, X, X[:, 0], classifier=False), cv.split(X), n)


@given(
    labels=st.lists(st.integers(-3, 8), min_size=4, max_size=60),
    k=st.integers(2, 8),
    seed=st.none() | st.integers(0, 2**32 - 1),
)
def test_stratified_k_fold_of_any_labels(labels, k, seed):
    y = np.array(labels)
    counts = np.unique(y, return_counts=True)[1]
    assume(k <= counts.max())
    X = np.zeros((len(y), 1))
    cv = StratifiedKFold(k, shuffle=seed is not None, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        assert_folds_of(laid_out(cv, X, y), cv.split(X, y), len(y))


@given(groups=st.lists(st.integers(0, 6), min_size=2, max_size=40))
def test_leave_one_group_out_of_any_groups(groups):
    assume(len(set(groups)) > 1)
    X = np.zeros((len(groups), 1))
    layout = laid_out(LeaveOneGroupOut(), X, X[:, 0], groups, classifier=False)
    assert_folds_of(layout, LeaveOneGroupOut().split(X, groups=groups), len(groups))


@given(folds=st.lists(st.integers(0, 4), min_size=2, max_size=30), seed=st.integers(0, 99))
def test_pairs_keep_the_order_of_folds_and_rows(folds, seed):
    assume(len(set(folds)) > 1)
    folds, random = np.array(folds), np.random.default_rng(seed)
    X = np.zeros((len(folds), 1))
    names = random.permutation(np.unique(folds))
    pairs = [(np.flatnonzero(folds != i), random.permutation(np.flatnonzero(folds == i))) for i in names]
    assert_folds_of(laid_out(pairs, X, X[:, 0], classifier=False), pairs, len(folds))


def test_a_class_rarer_than_folds_gets_scikit_learns_warning():
    X, y = np.zeros((20, 1)), np.array([0] * 10 + [1] * 8 + [2] * 2)
    with pytest.warns(UserWarning, match="least populated class") as theirs:
        splits = list(StratifiedKFold(4).split(X, y))
    with pytest.warns(UserWarning, match="least populated class in y has only 2 members") as ours:
        layout = laid_out(StratifiedKFold(4), X, y)
    assert_folds_of(layout, splits, 20)
    assert [str(warning.message)[:60] for warning in ours] == [str(warning.message)[:60] for warning in theirs]


def test_labels_of_any_kind_are_stratified_in_order_of_first_appearance():
    y = np.array(["z", "b", "z", "a", "b", "z", "a", "b", "z", "z", "a", "b"])
    X, cv = np.zeros((12, 1)), StratifiedKFold(3, shuffle=True, random_state=0)
    assert_folds_of(laid_out(cv, X, y), cv.split(X, y), 12)


@pytest.mark.parametrize("cv", [None, 5, np.int64(3), np.uint8(2)], ids=repr)
@pytest.mark.parametrize("classifier", [True, False])
def test_a_number_is_stratified_for_classifiers_only(cv, classifier):
    X, y = table(31, 3)
    expected = check_cv(cv, y, classifier=classifier).split(X, y)
    assert_folds_of(laid_out(cv, X, y, classifier=classifier), expected, 31)


def test_loo_is_leave_one_out_and_needs_no_memory():
    X, y = table(12)
    layout = laid_out("loo", X, y)
    assert_folds_of(layout, LeaveOneOut().split(X), 12)
    assert layout.index is None
    assert layout.chunks.offsets is None


def test_as_many_shuffled_folds_as_rows_need_no_offsets():
    X, y = table(12)
    layout = laid_out(KFold(12, shuffle=True, random_state=0), X, y)
    assert layout.chunks.offsets is None
    assert sorted(layout.index) == list(range(12))


def test_boolean_masks_are_indices():
    X, y = table(9)
    masks = [np.arange(9) % 3 == i for i in range(3)]
    layout = laid_out([(~mask, mask) for mask in masks], X, y)
    assert_folds_of(layout, [(np.flatnonzero(~mask), np.flatnonzero(mask)) for mask in masks], 9)


@pytest.mark.parametrize("wrap", [iter, tuple, list], ids=["generator", "tuple", "list"])
@pytest.mark.parametrize("make", [list, np.array, np.uint8], ids=["lists", "arrays", "bytes"])
def test_pairs_come_in_any_container(wrap, make):
    X, y = table(6)
    pairs = [([3, 4, 5], [0, 1, 2]), ([0, 1, 2], [5, 4, 3])]
    layout = laid_out(wrap([(make(train), make(test)) for train, test in pairs]), X, y)
    assert_folds_of(layout, pairs, 6)


class Backwards(KFold):
    """A subclass that changes what its parent does."""

    def _iter_test_indices(self, X=None, y=None, groups=None):
        yield from reversed(list(super()._iter_test_indices(X, y, groups)))


class LastRowsFirst(LeaveOneOut):
    def split(self, X, y=None, groups=None):
        yield from reversed(list(super().split(X, y, groups)))


@pytest.mark.parametrize("cv", [Backwards(4), LastRowsFirst()], ids=["KFold", "LeaveOneOut"])
def test_a_subclass_is_asked_itself(cv):
    X, y = table(13)
    assert_folds_of(laid_out(cv, X, y), cv.split(X, y), 13)


def test_a_duck_typed_splitter_is_asked_with_data_targets_and_groups():
    class Halves:
        def split(self, X, y, groups):
            self.seen = X, y, groups
            yield np.arange(3, 6), np.arange(3)
            yield np.arange(3), np.arange(3, 6)

    X, y = table(6)
    groups, cv = np.arange(6), Halves()
    assert_folds_of(laid_out(cv, X, y, groups), [([3, 4, 5], [0, 1, 2]), ([0, 1, 2], [3, 4, 5])], 6)
    assert cv.seen[0] is X
    assert cv.seen[1] is y
    assert cv.seen[2] is groups


@pytest.mark.parametrize(
    ("cv", "in_place"),
    [
        (KFold(3), True),
        (StratifiedKFold(3), True),
        (LeaveOneGroupOut(), True),
        ([([4, 5, 6, 7, 8], [0, 1, 2, 3]), ([0, 1, 2, 3], [4, 5, 6, 7, 8])], True),
        (KFold(3, shuffle=True, random_state=0), False),
    ],
    ids=["KFold", "StratifiedKFold", "LeaveOneGroupOut", "pairs", "shuffled"],
)
def test_contiguous_folds_need_no_index(cv, in_place):
    layout = laid_out(cv, np.zeros((9, 1)), np.zeros(9, int), np.repeat([1, 2, 3], 3))
    assert (layout.index is None) == in_place


def test_common_splitters_are_never_iterated(monkeypatch):
    def refuse(*_):
        raise AssertionError("was iterated")

    monkeypatch.setattr(folds, "_iterated", refuse)
    X, y = table(23)
    for name in ("KFold", "KFold, shuffled", "StratifiedKFold", "LeaveOneOut", "LeaveOneGroupOut"):
        laid_out(SPLITTERS[name], X, y, np.arange(23) % 5 if "Group" in name else None)
    with pytest.raises(AssertionError, match="was iterated"):
        laid_out(Backwards(4), X, y)


class TestIndices:
    def test_is_a_lazy_sequence_of_arrays(self):
        X, y = table(10)
        cv = KFold(3, shuffle=True, random_state=0)
        splits = list(cv.split(X))
        layout = laid_out(cv, X, y)
        for side, rows_of in enumerate((train_rows, rows_of_fold)):
            indices = Indices([layout], rows_of)
            assert len(indices) == 3
            for one, other in zip(indices, splits, strict=True):
                np.testing.assert_array_equal(one, other[side])
            np.testing.assert_array_equal(indices[-1], splits[2][side])
            np.testing.assert_array_equal(indices[-3], splits[0][side])
            assert [part.tolist() for part in indices[1:]] == [split[side].tolist() for split in splits[1:]]
            assert [part.tolist() for part in indices[::-2]] == [splits[2][side].tolist(), splits[0][side].tolist()]

    @pytest.mark.parametrize("fold", [3, -4, 99])
    def test_ends(self, fold):
        X, y = table(10)
        with pytest.raises(IndexError, match=f"fold {fold} of 3"):
            Indices([laid_out(KFold(3), X, y)], train_rows)[fold]

    def test_makes_nothing_before_it_is_asked(self):
        calls = []

        def rows_of(layout, fold):
            calls.append(fold)
            return rows_of_fold(layout, fold)

        X, y = table(10)
        indices = Indices([laid_out("loo", X, y)], rows_of)
        assert not calls
        assert indices[4].tolist() == [4]
        assert calls == [4]
