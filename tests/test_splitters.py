"""Every splitter of scikit-learn, against scikit-learn's own function or training from scratch."""

import tracemalloc

import numpy as np
import pytest
import sklearn.model_selection as theirs
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn import config_context
from sklearn.base import is_classifier
from sklearn.model_selection import (
    GroupKFold,
    GroupShuffleSplit,
    KFold,
    LeaveOneGroupOut,
    LeaveOneOut,
    LeavePGroupsOut,
    LeavePOut,
    PredefinedSplit,
    RepeatedKFold,
    RepeatedStratifiedKFold,
    ShuffleSplit,
    StratifiedGroupKFold,
    StratifiedKFold,
    StratifiedShuffleSplit,
    TimeSeriesSplit,
)
from sklearn.naive_bayes import GaussianNB

from reference import lsqsgd, tree_order
from treecv import LSQSGD, OnePass, Pegasos, cross_val_predict, cross_val_score, cross_validate
from treecv.errors import InputError

N = 60
RANDOM = np.random.default_rng(1)
LEFT_OUT = RANDOM.permutation(np.arange(N) % 5 - 1)
"""Folds 0 to 3, and rows that are in none."""

PARTITIONS = {
    "KFold": KFold(4),
    "KFold, shuffled": KFold(4, shuffle=True, random_state=3),
    "StratifiedKFold": StratifiedKFold(4),
    "StratifiedKFold, shuffled": StratifiedKFold(4, shuffle=True, random_state=3),
    "LeaveOneOut": LeaveOneOut(),
    "LeaveOneGroupOut": LeaveOneGroupOut(),
    "GroupKFold": GroupKFold(3),
    "GroupKFold, shuffled": GroupKFold(3, shuffle=True, random_state=3),
    "StratifiedGroupKFold": StratifiedGroupKFold(3),
    "PredefinedSplit": PredefinedSplit(np.arange(N) % 5),
}
LEFTOVERS = {
    "PredefinedSplit, some in none": PredefinedSplit(LEFT_OUT),
    "PredefinedSplit, in order": PredefinedSplit(np.sort(LEFT_OUT)),
    "PredefinedSplit, one fold": PredefinedSplit(np.where(np.arange(N) % 3, -1, 0)),
    "pairs, some in none": [(np.setdiff1d(np.arange(N), test), test) for test in (np.arange(9, 20), np.arange(30, 33))],
}
REPEATED = {
    "RepeatedKFold": RepeatedKFold(n_splits=4, n_repeats=3, random_state=3),
    "RepeatedStratifiedKFold": RepeatedStratifiedKFold(n_splits=3, n_repeats=2, random_state=3),
}
CHAINS = {
    "TimeSeriesSplit": TimeSeriesSplit(5),
    "TimeSeriesSplit, gap": TimeSeriesSplit(4, gap=3),
    "TimeSeriesSplit, test_size": TimeSeriesSplit(4, test_size=5),
    "TimeSeriesSplit, both": TimeSeriesSplit(3, gap=2, test_size=8),
    "a hold-out of a part": [(np.arange(10, 40), np.arange(45, 60))],
}
OVERLAPPING = {
    "TimeSeriesSplit, max_train_size": TimeSeriesSplit(4, max_train_size=20),
    "ShuffleSplit": ShuffleSplit(4, test_size=0.3, random_state=3),
    "StratifiedShuffleSplit": StratifiedShuffleSplit(4, random_state=3),
    "GroupShuffleSplit": GroupShuffleSplit(3, random_state=3),
    "LeavePGroupsOut": LeavePGroupsOut(2),
    "pairs that overlap": [(np.arange(30), np.arange(30, 60)), (np.arange(35, 60), np.arange(35))],
}
ALL = PARTITIONS | LEFTOVERS | REPEATED | CHAINS | OVERLAPPING


def table(n=N, n_features=4, seed=0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, n_features))
    return X, X @ random.normal(size=n_features) * 0.3 + random.normal(size=n) * 0.3


def problem(estimator, **options):
    X, y = table(**options)
    return (X, (y > 0).astype(int)) if is_classifier(estimator) else (X, y)


def groups_for(cv, n=N):
    return np.random.default_rng(5).permutation(np.arange(n) % 6) if "Group" in type(cv).__name__ else None


def splits_of(cv, X, y, groups=None):
    cv = theirs.check_cv(cv)
    return [(np.asarray(train), np.asarray(test)) for train, test in cv.split(X, y, groups)]


def as_the_tree_learns(splits, n):
    """The same folds, whose training rows are listed in the tree's order: what is in no fold, then fold after fold."""
    tests = [test for _, test in splits]
    before = np.setdiff1d(np.arange(n), np.concatenate(tests))
    k = len(tests)
    return [(np.concatenate([before, *(tests[i] for i in tree_order(fold, k))]), tests[fold]) for fold in range(k)]


def assert_agree(result, expected, rtol=0, atol=1e-9):
    assert list(result) == list(expected)
    for name, column in expected.items():
        if name == "indices":
            for side in ("train", "test"):
                assert len(result[name][side]) == len(column[side])
                for one, other in zip(result[name][side], column[side], strict=True):
                    np.testing.assert_array_equal(one, other)
        elif name == "estimator":
            assert len(result[name]) == len(column)
        elif name in ("fit_time", "score_time"):
            assert result[name].shape == column.shape
        else:
            assert result[name].dtype == column.dtype
            np.testing.assert_allclose(result[name], column, rtol=rtol, atol=atol, err_msg=name)


EVERYTHING = {"return_train_score": True, "return_estimator": True, "return_indices": True}


class TestOrderFree:
    """An estimator for which order and parts do not matter gives scikit-learn's numbers on every splitter."""

    @pytest.mark.parametrize("strategy", ["auto", "standard"])
    @pytest.mark.parametrize("name", ALL)
    def test_equals_scikit_learn(self, name, strategy):
        estimator, cv = OnePass(GaussianNB()), ALL[name]
        X, y = problem(estimator)
        options = {"cv": cv, "groups": groups_for(cv), "scoring": ["accuracy", "neg_log_loss"]} | EVERYTHING
        if isinstance(cv, LeaveOneOut):
            options["scoring"] = ["accuracy", "neg_mean_squared_error"]
        result = cross_validate(estimator, X, y, strategy=strategy, **options)
        expected = theirs.cross_validate(estimator, X, y, **options)
        assert_agree(result, expected)
        for one, other in zip(result["estimator"], expected["estimator"], strict=True):
            np.testing.assert_allclose(one.estimator_.theta_, other.estimator_.theta_, atol=1e-9)
            np.testing.assert_allclose(one.estimator_.var_, other.estimator_.var_, atol=1e-9)

    @pytest.mark.parametrize("name", PARTITIONS)
    def test_predictions_equal_scikit_learns(self, name):
        estimator, cv = OnePass(GaussianNB()), PARTITIONS[name]
        X, y = problem(estimator)
        options = {"cv": cv, "groups": groups_for(cv)}
        for method in ("predict", "predict_proba"):
            found = cross_val_predict(estimator, X, y, method=method, **options)
            expected = theirs.cross_val_predict(estimator, X, y, method=method, **options)
            assert found.dtype == expected.dtype
            np.testing.assert_allclose(found, expected, atol=1e-9)

    @pytest.mark.parametrize("name", [*LEFTOVERS, *REPEATED, *CHAINS])
    def test_predictions_need_a_partition_as_in_scikit_learn(self, name):
        estimator = OnePass(GaussianNB())
        X, y = problem(estimator)
        for function in (theirs.cross_val_predict, cross_val_predict):
            with pytest.raises(ValueError, match="only works for partitions"):
                function(estimator, X, y, cv=ALL[name])

    @pytest.mark.parametrize(
        ("kind", "strategy"),
        [
            (PARTITIONS, "tree"),
            (LEFTOVERS, "tree"),
            (REPEATED, "tree"),
            (CHAINS, "chain"),
            (OVERLAPPING, "scikit-learn"),
        ],
        ids=["partitions", "leftovers", "repeated", "chains", "overlapping"],
    )
    def test_the_result_says_the_way(self, kind, strategy):
        estimator = OnePass(GaussianNB())
        X, y = problem(estimator)
        for cv in kind.values():
            result = cross_validate(estimator, X, y, cv=cv, groups=groups_for(cv))
            assert result.strategy == strategy
            assert result.exact
            assert result.record.k == len(result["test_score"])


@pytest.fixture(params=[Pegasos(alpha=0.01), LSQSGD(0.05)], ids=["Pegasos", "LSQSGD"])
def estimator(request):
    return request.param


def scoring_of(estimator):
    return ["accuracy"] if is_classifier(estimator) else ["neg_mean_squared_error", "neg_max_error"]


class TestCompiled:
    """Row by row, in the core: scikit-learn's function is the reference, fed in the order of the tree."""

    @pytest.mark.parametrize("name", [*PARTITIONS, *LEFTOVERS])
    def test_the_tree_is_scikit_learns_function_in_the_trees_order(self, estimator, name):
        X, y = problem(estimator)
        cv = ALL[name]
        if type(cv).__name__.startswith("Stratified") and not is_classifier(estimator):
            cv = KFold(7)
        groups = groups_for(cv)
        options = {"scoring": scoring_of(estimator), "return_train_score": True, "return_estimator": True}
        result = cross_validate(estimator, X, y, cv=cv, groups=groups, strategy="tree", **options)
        splits = splits_of(cv, X, y, groups)
        expected = theirs.cross_validate(estimator, X, y, cv=as_the_tree_learns(splits, N), **options)
        assert_agree(result, expected, rtol=1e-12, atol=0)
        for one, other in zip(result["estimator"], expected["estimator"], strict=True):
            np.testing.assert_array_equal(one.coef_, other.coef_)
            assert one.t_ == other.t_

    @pytest.mark.parametrize("name", [*PARTITIONS, *LEFTOVERS, *REPEATED, *CHAINS])
    def test_standard_is_scikit_learns_function_as_it_stands(self, estimator, name):
        X, y = problem(estimator)
        cv = ALL[name]
        if "Stratified" in type(cv).__name__ and not is_classifier(estimator):
            cv = KFold(7)
        groups = groups_for(cv)
        options = {"cv": cv, "groups": groups, "scoring": scoring_of(estimator)} | EVERYTHING
        result = cross_validate(estimator, X, y, strategy="standard", **options)
        expected = theirs.cross_validate(estimator, X, y, **options)
        assert_agree(result, expected, rtol=1e-12, atol=0)
        assert (result.strategy, result.exact) == ("standard", True)
        for one, other in zip(result["estimator"], expected["estimator"], strict=True):
            np.testing.assert_array_equal(one.coef_, other.coef_)
            assert one.t_ == other.t_

    @pytest.mark.parametrize("name", CHAINS)
    def test_a_chain_is_scikit_learns_function_as_it_stands(self, estimator, name):
        X, y = problem(estimator)
        options = {"cv": CHAINS[name], "scoring": scoring_of(estimator)} | EVERYTHING
        result = cross_validate(estimator, X, y, **options)
        expected = theirs.cross_validate(estimator, X, y, **options)
        assert_agree(result, expected, rtol=1e-12, atol=0)
        for one, other in zip(result["estimator"], expected["estimator"], strict=True):
            np.testing.assert_array_equal(one.coef_, other.coef_)

    @pytest.mark.parametrize("name", CHAINS)
    def test_a_chain_learns_each_row_once(self, estimator, name):
        X, y = problem(estimator)
        result = cross_validate(estimator, X, y, cv=CHAINS[name], scoring="neg_mean_squared_error")
        learnt = set()
        for train, _ in splits_of(CHAINS[name], X, y):
            learnt |= set(train.tolist())
        assert (result.strategy, result.exact) == ("chain", True)
        assert result.record.counts.row_updates == len(learnt)

    @pytest.mark.parametrize("name", REPEATED)
    def test_repetitions_are_trees_one_after_another(self, estimator, name):
        X, y = problem(estimator)
        cv = REPEATED[name] if is_classifier(estimator) else REPEATED["RepeatedKFold"]
        options = {"scoring": "neg_mean_squared_error", "return_estimator": True, "return_predictions": True}
        result = cross_validate(estimator, X, y, cv=cv, **options)
        splits = splits_of(cv, X, y)
        repeats, k = cv.n_repeats, len(splits) // cv.n_repeats
        assert result["predictions"].shape == (repeats, N)
        assert (result.record.k, result.strategy) == (repeats * k, "tree")
        for part in range(repeats):
            folds = splits[part * k : (part + 1) * k]
            alone = cross_validate(estimator, X, y, cv=folds, **options)
            here = slice(part * k, (part + 1) * k)
            np.testing.assert_array_equal(result["test_score"][here], alone["test_score"])
            np.testing.assert_array_equal(result["predictions"][part], alone["predictions"])
            for one, other in zip(result["estimator"][here], alone["estimator"], strict=True):
                np.testing.assert_array_equal(one.coef_, other.coef_)

    def test_repetitions_draw_their_own_orders(self, estimator):
        X, y = problem(estimator)
        twice = [*KFold(4).split(X)] * 2
        options = {"cv": twice, "scoring": "neg_mean_squared_error", "seed": 7, "return_estimator": True}
        fixed = cross_validate(estimator, X, y, **options)["estimator"]
        drawn = cross_validate(estimator, X, y, order="randomized", **options)["estimator"]
        for fold in range(4):
            np.testing.assert_array_equal(fixed[fold].coef_, fixed[fold + 4].coef_)
            assert (drawn[fold].coef_ != drawn[fold + 4].coef_).any()


@pytest.mark.parametrize("order", ["fixed", "randomized", "blocks"])
@pytest.mark.parametrize("name", LEFTOVERS)
@pytest.mark.parametrize("strategy", ["tree", "standard"])
def test_rows_in_no_fold_are_learnt_by_every_model(name, strategy, order, estimator):
    """Each model has learnt exactly the rows that its fold does not hold out, in the core and in Python."""
    X, y = problem(estimator)
    options = {"cv": LEFTOVERS[name], "strategy": strategy, "order": order, "seed": 4, "return_indices": True}
    result = cross_validate(estimator, X, y, scoring="neg_mean_squared_error", return_estimator=True, **options)
    for fitted, train in zip(result["estimator"], result["indices"]["train"], strict=True):
        assert fitted.t_ == len(train)
    labels = (y > 0).astype(int)
    nb = cross_validate(OnePass(GaussianNB()), X, labels, return_estimator=True, **options)
    for fitted, train in zip(nb["estimator"], nb["indices"]["train"], strict=True):
        expected = GaussianNB().fit(X[train], labels[train])
        np.testing.assert_allclose(fitted.estimator_.theta_, expected.theta_, atol=1e-9)
        np.testing.assert_allclose(fitted.estimator_.class_count_, expected.class_count_)


class Ledger(GaussianNB):
    """Notes the first feature of each row that it learns, in order."""

    def partial_fit(self, X, y, classes=None, sample_weight=None):
        self.learnt_ = [*getattr(self, "learnt_", []), *X[:, 0].tolist()]
        return super().partial_fit(X, y, classes=classes, sample_weight=sample_weight)


class TestOrderOfRows:
    X = np.column_stack([np.arange(N), np.random.default_rng(0).normal(size=N)]).astype(float)
    y = np.arange(N) % 2

    def learnt(self, cv, **options):
        result = cross_validate(Ledger(), self.X, self.y, cv=cv, return_estimator=True, **options)
        return [np.array(fitted.learnt_, int) for fitted in result["estimator"]]

    @pytest.mark.parametrize("name", ["KFold, shuffled", *LEFTOVERS])
    def test_fixed_is_what_is_in_no_fold_and_then_the_trees_order(self, name):
        cv = ALL[name]
        expected = as_the_tree_learns(splits_of(cv, self.X, self.y), N)
        for one, (train, _) in zip(self.learnt(cv, strategy="tree"), expected, strict=True):
            np.testing.assert_array_equal(one, train)

    @pytest.mark.parametrize("name", ["KFold, shuffled", *LEFTOVERS, *CHAINS])
    def test_standard_is_the_stored_order(self, name):
        splits = splits_of(ALL[name], self.X, self.y)
        for one, (train, _) in zip(self.learnt(ALL[name], strategy="standard"), splits, strict=True):
            np.testing.assert_array_equal(one, np.sort(train))

    @pytest.mark.parametrize("order", ["randomized", "blocks"])
    @pytest.mark.parametrize("strategy", ["tree", "standard"])
    @pytest.mark.parametrize("name", ["PredefinedSplit, some in none", "PredefinedSplit, one fold"])
    def test_other_orders_permute_what_is_in_no_fold_as_well(self, name, strategy, order):
        cv = LEFTOVERS[name]
        before = np.setdiff1d(np.arange(N), np.concatenate([test for _, test in splits_of(cv, self.X, self.y)]))
        splits = splits_of(cv, self.X, self.y)
        for one, (train, _) in zip(self.learnt(cv, strategy=strategy, order=order, seed=1), splits, strict=True):
            assert sorted(one) == sorted(train)
            met = one[np.isin(one, before)]
            assert (met != before).any()
            if strategy == "tree" or order == "blocks":
                np.testing.assert_array_equal(one[: len(before)], met)

    @pytest.mark.parametrize("order", ["randomized", "blocks"])
    def test_in_a_chain_each_addition_is_permuted_by_itself(self, order):
        cv = TimeSeriesSplit(4)
        ends = [len(train) for train, _ in cv.split(self.X)]
        learnt = self.learnt(cv, strategy="tree", order=order, seed=1)
        for one, end in zip(learnt, ends, strict=True):
            begin = 0
            for until in [e for e in ends if e <= end]:
                assert sorted(one[begin:until]) == list(range(begin, until))
                assert (one[begin:until] != np.arange(begin, until)).any()
                begin = until


class TestSingleHoldOut:
    """One fold is enough where rows are left to learn."""

    train, test = np.arange(40), np.arange(40, 60)

    @pytest.mark.parametrize("strategy", ["auto", "tree", "standard"])
    @pytest.mark.parametrize("native", [True, False])
    def test_is_one_training(self, estimator, strategy, native):
        X, y = problem(estimator)
        options = {"cv": [(self.train, self.test)], "scoring": "neg_mean_squared_error", "return_estimator": True}
        result = cross_validate(estimator, X, y, strategy=strategy, native=native, **options)
        expected = theirs.cross_validate(estimator, X, y, **options)
        assert_agree(result, expected, rtol=1e-12, atol=0)
        np.testing.assert_array_equal(result["estimator"][0].coef_, expected["estimator"][0].coef_)
        assert result.record.counts.row_updates == 40

    def test_predefined(self, estimator):
        X, y = problem(estimator)
        cv = PredefinedSplit(np.repeat([-1, 0], [40, 20]))
        options = {"scoring": "neg_mean_squared_error", "return_train_score": True}
        result = cross_validate(estimator, X, y, cv=cv, **options)
        assert_agree(result, theirs.cross_validate(estimator, X, y, cv=cv, **options), rtol=1e-12)

    def test_all_rows_in_the_one_fold_leave_nothing_to_learn(self, estimator):
        X, y = problem(estimator)
        with pytest.raises(InputError, match=r"PredefinedSplit makes 1 fold\(s\): cross-validation needs at least 2"):
            cross_validate(estimator, X, y, cv=PredefinedSplit(np.zeros(N, int)))


class TestOverlapping:
    @pytest.mark.parametrize("name", OVERLAPPING)
    def test_auto_leaves_them_to_scikit_learn(self, estimator, name):
        X, y = problem(estimator)
        cv = OVERLAPPING[name]
        if isinstance(cv, StratifiedShuffleSplit) and not is_classifier(estimator):
            cv = ShuffleSplit(3, random_state=0)
        options = {"cv": cv, "groups": groups_for(cv), "scoring": scoring_of(estimator)} | EVERYTHING
        result = cross_validate(estimator, X, y, **options)
        assert_agree(result, theirs.cross_validate(estimator, X, y, **options), atol=0)
        assert (result.strategy, result.exact) == ("scikit-learn", True)
        scoring = scoring_of(estimator)[0]
        scores = cross_val_score(estimator, X, y, cv=cv, groups=groups_for(cv), scoring=scoring)
        np.testing.assert_array_equal(scores, result[f"test_{scoring}"])

    @pytest.mark.parametrize("name", OVERLAPPING)
    @pytest.mark.parametrize("function", [cross_validate, cross_val_score, cross_val_predict])
    def test_the_tree_refuses_them_with_a_cure(self, name, function):
        estimator, cv = Pegasos(alpha=0.01), OVERLAPPING[name]
        X, y = problem(estimator)
        with pytest.raises(
            InputError, match=r"Use strategy='auto', which leaves such folds to scikit-learn's function"
        ):
            function(estimator, X, y, cv=cv, groups=groups_for(cv), strategy="tree")

    @pytest.mark.parametrize("name", OVERLAPPING)
    def test_standard_trains_each_fold_in_one_pass(self, name):
        estimator, cv = GaussianNB(), OVERLAPPING[name]
        X, y = problem(estimator)
        options = {"cv": cv, "groups": groups_for(cv), "return_train_score": True}
        result = cross_validate(estimator, X, y, strategy="standard", **options)
        assert_agree(result, theirs.cross_validate(OnePass(estimator), X, y, **options))

    def test_leave_p_out(self, estimator):
        X, y = problem(estimator, n=12)
        options = {"cv": LeavePOut(2), "scoring": "neg_mean_squared_error"}
        assert_agree(cross_validate(estimator, X, y, **options), theirs.cross_validate(estimator, X, y, **options))
        with pytest.raises(InputError, match="LeavePOut: its folds hold out some rows several times"):
            cross_validate(estimator, X, y, strategy="tree", **options)

    def test_leave_p_out_of_many_rows_is_refused_without_listing_its_folds(self):
        X, y = problem(Pegasos(), n=20_000)
        with pytest.raises(InputError, match="LeavePOut: its folds hold out some rows several times"):
            cross_validate(Pegasos(), X, y, cv=LeavePOut(3), strategy="tree")

    def test_bootstrap_samples_under_auto(self, estimator):
        """A row that is drawn twice is learnt twice."""
        X, y = problem(estimator)
        random = np.random.default_rng(0)
        drawn = [random.integers(N, size=N) for _ in range(4)]
        cv = [(train, np.setdiff1d(np.arange(N), train)) for train in drawn]
        options = {"cv": cv, "scoring": "neg_mean_squared_error"}
        expected = theirs.cross_validate(estimator, X, y, **options)
        assert_agree(cross_validate(estimator, X, y, **options), expected)

    def test_folds_that_change_their_kind_halfway(self, estimator):
        X, y = problem(estimator)
        partition = list(KFold(3).split(X))
        for odd in [(np.arange(5), np.arange(50, 60)), (np.arange(50), np.arange(55, 60))]:
            options = {"cv": [*partition, odd], "scoring": "neg_mean_squared_error"}
            assert_agree(cross_validate(estimator, X, y, **options), theirs.cross_validate(estimator, X, y, **options))
        growing = [*TimeSeriesSplit(3).split(X), (np.arange(20, 30), np.arange(3))]
        options = {"cv": growing, "scoring": "neg_mean_squared_error", "return_indices": True}
        assert_agree(cross_validate(estimator, X, y, **options), theirs.cross_validate(estimator, X, y, **options))


class Duck:
    """Nothing but `split`, and no base class."""

    def __init__(self, cv):
        self.cv = cv
        self.calls = 0

    def split(self, X, y=None, groups=None):
        self.calls += 1
        return self.cv.split(X, y, groups)

    def get_n_splits(self, X=None, y=None, groups=None):
        return self.cv.get_n_splits(X, y, groups)


class Odd(KFold):
    """A subclass that holds out every n_splits-th row."""

    def _iter_test_masks(self, X=None, y=None, groups=None):
        for fold in range(self.n_splits):
            yield np.arange(len(X)) % self.n_splits == fold


@pytest.mark.parametrize("wrap", [iter, list], ids=["generator", "list"])
@pytest.mark.parametrize("name", ["TimeSeriesSplit", "ShuffleSplit"])
def test_listed_folds_are_learnt_in_the_order_of_their_rows(estimator, name, wrap):
    X, y = problem(estimator)
    options = {"scoring": "neg_mean_squared_error", "return_indices": True}
    result = cross_validate(estimator, X, y, cv=wrap([*ALL[name].split(X, y)]), **options)
    assert_agree(result, theirs.cross_validate(estimator, X, y, cv=ALL[name].split(X, y), **options))


@pytest.mark.parametrize("name", ["KFold, shuffled", "RepeatedKFold", "TimeSeriesSplit", "ShuffleSplit"])
class TestForeignSplitters:
    def test_generators(self, name):
        estimator = OnePass(GaussianNB())
        X, y = problem(estimator)
        result = cross_validate(estimator, X, y, cv=ALL[name].split(X, y), return_train_score=True)
        expected = theirs.cross_validate(estimator, X, y, cv=ALL[name].split(X, y), return_train_score=True)
        assert_agree(result, expected)

    def test_duck_typed(self, name):
        estimator, duck = OnePass(GaussianNB()), Duck(ALL[name])
        X, y = problem(estimator)
        result = cross_validate(estimator, X, y, cv=duck)
        assert_agree(result, theirs.cross_validate(estimator, X, y, cv=ALL[name]))

    def test_duck_typed_under_auto_for_an_estimator_of_scikit_learn(self, name):
        duck = Duck(ALL[name])
        X, y = problem(GaussianNB())
        result = cross_validate(GaussianNB(), X, y, cv=duck)
        assert_agree(result, theirs.cross_validate(GaussianNB(), X, y, cv=ALL[name]), atol=0)
        assert duck.calls == 1


@pytest.mark.parametrize("strategy", ["tree", "standard"])
def test_a_subclass_makes_its_own_folds(strategy):
    estimator = OnePass(GaussianNB())
    X, y = problem(estimator)
    options = {"cv": Odd(4), "return_indices": True}
    expected = theirs.cross_validate(estimator, X, y, **options)
    assert_agree(cross_validate(estimator, X, y, strategy=strategy, **options), expected)
    assert expected["indices"]["test"][1][:3].tolist() == [1, 5, 9]


class TestGroups:
    @pytest.mark.parametrize(
        "cv", [LeaveOneGroupOut(), GroupKFold(3), StratifiedGroupKFold(3), LeavePGroupsOut(1)], ids=str
    )
    @pytest.mark.parametrize("labels", [np.arange(6) * 7 - 3, np.array(list("fbdace"))], ids=["numbers", "strings"])
    def test_groups_of_any_kind(self, cv, labels):
        estimator = OnePass(GaussianNB())
        X, y = problem(estimator)
        groups = labels[groups_for(LeaveOneGroupOut())]
        options = {"cv": cv, "groups": groups, "return_indices": True}
        result = cross_validate(estimator, X, y, **options)
        assert_agree(result, theirs.cross_validate(estimator, X, y, **options))
        for train, test in zip(*(result["indices"][side] for side in ("train", "test")), strict=True):
            assert not set(groups[train]) & set(groups[test])

    @pytest.mark.parametrize(
        ("cv", "message"),
        [
            (LeaveOneGroupOut(), "The 'groups' parameter should not be None"),
            (GroupKFold(3), "The 'groups' parameter should not be None"),
            (StratifiedGroupKFold(3), "n_splits=3 greater than the number of groups: 1"),
        ],
        ids=str,
    )
    def test_without_groups_the_error_is_scikit_learns(self, cv, message):
        X, y = problem(Pegasos())
        for function in (theirs.cross_validate, cross_validate):
            with pytest.raises(ValueError, match=message):
                function(Pegasos(), X, y, cv=cv)

    @pytest.mark.parametrize("cv", [LeaveOneGroupOut(), GroupKFold(3), GroupShuffleSplit(3, random_state=0)], ids=str)
    @pytest.mark.parametrize("estimator", [Pegasos(alpha=0.01), OnePass(GaussianNB()), GaussianNB()], ids=repr)
    def test_groups_are_routed_as_metadata(self, cv, estimator):
        X, y = problem(estimator)
        groups = groups_for(LeaveOneGroupOut())
        plain = cross_validate(estimator, X, y, cv=cv, groups=groups)
        with config_context(enable_metadata_routing=True):
            routed = cross_validate(estimator, X, y, cv=cv, params={"groups": groups})
            expected = theirs.cross_validate(estimator, X, y, cv=cv, params={"groups": groups})
            predicted = None
            if not isinstance(cv, GroupShuffleSplit):
                predicted = cross_val_predict(estimator, X, y, cv=cv, params={"groups": groups})
            with pytest.raises(ValueError, match="groups"):
                cross_validate(estimator, X, y, cv=cv, groups=groups)
        np.testing.assert_array_equal(routed["test_score"], plain["test_score"])
        assert len(routed["test_score"]) == len(expected["test_score"])
        if predicted is not None:
            np.testing.assert_array_equal(predicted, cross_val_predict(estimator, X, y, cv=cv, groups=groups))


def from_scratch(X, y, train, test):
    """Predictions of the paper's learner, trained on these rows in this order."""
    weights = lsqsgd(X[train], y[train], 0.05)
    return X[test] @ weights[:-1] + weights[-1]


@settings(deadline=None, max_examples=60)
@given(folds=st.lists(st.integers(-1, 4), min_size=4, max_size=30), seed=st.integers(0, 99))
def test_any_partition_with_rows_in_no_fold_against_from_scratch(folds, seed):
    folds = np.array(folds)
    names = np.unique(folds[folds >= 0])
    assume(len(names) > 1 or (len(names) == 1 and (folds < 0).any()))
    X, y = table(n=len(folds), n_features=2, seed=seed)
    splits = [(np.flatnonzero(folds != name), np.flatnonzero(folds == name)) for name in names]
    options = {"scoring": "neg_mean_squared_error", "return_predictions": True}
    for cv in (PredefinedSplit(folds), splits):
        for strategy, listed in (("tree", as_the_tree_learns(splits, len(X))), ("standard", splits)):
            result = cross_validate(LSQSGD(0.05), X, y, cv=cv, strategy=strategy, **options)
            for fold, (train, test) in enumerate(listed):
                expected = from_scratch(X, y, train, test)
                np.testing.assert_allclose(result["predictions"][test], expected, rtol=1e-9)
                np.testing.assert_allclose(result["test_score"][fold], -np.mean((expected - y[test]) ** 2), rtol=1e-9)


@st.composite
def successions(draw):
    """Nested training sets in random order, and disjoint tests that no fold has learnt."""
    n = draw(st.integers(6, 30))
    rows = np.array(draw(st.permutations(range(n))))
    k = draw(st.integers(1, 4))
    k = min(k, n // 3)
    held_out = draw(st.integers(k, n - k - 1))
    tests = np.array_split(rows[:held_out], k)
    ends = sorted(draw(st.lists(st.integers(1, n - held_out), min_size=k, max_size=k)))
    return n, [(rows[held_out:][:end], test) for end, test in zip(ends, tests, strict=True)]


@settings(deadline=None, max_examples=60)
@given(drawn=successions(), seed=st.integers(0, 99))
def test_any_succession_against_from_scratch(drawn, seed):
    n, splits = drawn
    X, y = table(n=n, n_features=2, seed=seed)
    options = {"scoring": "neg_mean_squared_error", "return_indices": True}
    whole = len(splits) > 0 and all(len(train) + len(test) == n for train, test in splits)
    result = cross_validate(LSQSGD(0.05), X, y, cv=iter(splits), strategy="tree", **options)
    for fold, (train, test) in enumerate(splits):
        np.testing.assert_array_equal(result["indices"]["test"][fold], test)
        assert sorted(result["indices"]["train"][fold]) == sorted(train)
        expected = from_scratch(X, y, np.sort(train) if whole else train, test)
        np.testing.assert_allclose(result["test_score"][fold], -np.mean((expected - y[test]) ** 2), rtol=1e-9)
    if not whole:
        assert result.strategy == "chain"
        assert result.record.counts.row_updates == len(splits[-1][0])


def test_a_chain_that_calls_itself_exact_gives_what_standard_gives():
    X, y = table(n=30)
    random = np.random.default_rng(0)
    rows = random.permutation(30)
    cv = [(rows[:10], rows[20:25]), (rows[:20], rows[25:])]
    options = {"cv": cv, "scoring": "neg_mean_squared_error"}
    chain = cross_validate(LSQSGD(0.05), X, y, **options)
    standard = cross_validate(LSQSGD(0.05), X, y, strategy="standard", **options)
    assert chain.exact == np.allclose(chain["test_score"], standard["test_score"], rtol=1e-9)


@pytest.mark.parametrize("cv", [LeavePGroupsOut(1), LeavePOut(1)], ids=str)
def test_leaving_one_out_is_a_partition_whatever_it_is_called(cv):
    X, y = problem(GaussianNB())
    groups = groups_for(cv)
    result = cross_validate(GaussianNB(), X, y, cv=cv, groups=groups, strategy="tree")
    assert_agree(result, theirs.cross_validate(OnePass(GaussianNB()), X, y, cv=cv, groups=groups))


@pytest.mark.parametrize("strategy", ["auto", "tree", "standard"])
def test_lists_of_rows_on_scattered_folds(strategy):
    """What an int means for a classifier: stratified folds, whose rows do not lie side by side."""
    X, y = problem(GaussianNB())
    cv = KFold(4, shuffle=True, random_state=0)
    result = cross_validate(OnePass(GaussianNB()), X.tolist(), y.tolist(), cv=cv, strategy=strategy)
    assert_agree(result, theirs.cross_validate(OnePass(GaussianNB()), X, y, cv=cv))


class TestNoListOfIndices:
    """scikit-learn's indices of leave-one-out would need 320 GB here."""

    @pytest.mark.parametrize(
        "cv", [LeaveOneOut(), "loo", KFold(200_000), PredefinedSplit(np.arange(200_000))], ids=repr
    )
    def test_leave_one_out_of_many_rows_takes_a_few_arrays(self, cv):
        n = 200_000
        random = np.random.default_rng(0)
        X = random.normal(size=(n, 2))
        y = (X[:, 0] > 0).astype(int)
        cross_validate(Pegasos(), X[:50], y[:50], cv="loo", return_indices=True)
        tracemalloc.start()
        try:
            result = cross_validate(Pegasos(), X, y, cv=cv, return_indices=True)
            blocks = sum(stat.count for stat in tracemalloc.take_snapshot().statistics("filename"))
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert result["test_score"].shape == (n,)
        assert blocks < 20_000
        assert peak < 40 * n * 4  # a few arrays of a number a row
        assert len(result["indices"]["train"]) == n
        assert result["indices"]["test"][77].tolist() == [77]
        assert result["indices"]["train"][77].shape == (n - 1,)

    def test_many_shuffled_folds_make_no_object_each(self):
        n = 50_000
        X, y = table(n=n, n_features=2)
        cv = KFold(n // 2, shuffle=True, random_state=0)
        tracemalloc.start()
        try:
            result = cross_validate(LSQSGD(0.05), X, y, cv=cv, scoring="neg_mean_squared_error")
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert result["test_score"].shape == (n // 2,)
        assert peak < 400 * n
