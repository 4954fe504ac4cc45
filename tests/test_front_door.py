"""The front door gives what scikit-learn's functions give, given the order in which a model learns its rows.

scikit-learn trains on the indices of a fold in the order they are listed, so its own functions are the
reference here for both truths: with the other folds listed one after another (`in_turn`), which is
`strategy="standard"`, and with the folds listed as the tree learns them (`tree_order`).
"""

import inspect
import math
import pickle
import sys

import numpy as np
import pandas as pd
import pytest
import sklearn.model_selection as theirs
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import is_classifier
from sklearn.metrics import f1_score, make_scorer, mean_squared_error
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    LeaveOneGroupOut,
    LeaveOneOut,
    PredefinedSplit,
    StratifiedKFold,
    check_cv,
)

import treecv as ours
from reference import k_fold, linear, lsqsgd, pegasos, tree_order
from treecv import LSQSGD, Pegasos, cross_val_predict, cross_val_score, cross_validate, learners
from treecv.data import Rows
from treecv.errors import InputError
from treecv.order import ORDERS
from treecv.strategies import Standard, Tree
from treecv.tree import chunk_updates

FUNCTIONS = ["cross_validate", "cross_val_score", "cross_val_predict"]


TRUTHS = {"standard": None, "tree": tree_order}


def table(n=71, n_features=5, seed=0):
    """Features, and targets that depend on them with noise."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, n_features))
    return X, X @ random.normal(size=n_features) * 0.3 + random.normal(size=n) * 0.3


def problem(estimator, **options):
    X, y = table(**options)
    return (X, (y > 0).astype(int)) if is_classifier(estimator) else (X, y)


def groups_of(n):
    return np.random.default_rng(5).integers(6, size=n)


def listed(estimator, cv, X, y, groups, order):
    """The folds of `cv` as pairs; for the tree, the training indices are listed in its order of folds."""
    if order is None:
        return list(check_cv(cv, y, classifier=is_classifier(estimator)).split(X, y, groups))
    tests = [test for _, test in check_cv(cv, y, classifier=is_classifier(estimator)).split(X, y, groups)]
    k = len(tests)
    return [(np.concatenate([tests[i] for i in order(fold, k)]), tests[fold]) for fold in range(k)]


@pytest.fixture(params=[Pegasos(alpha=0.01), LSQSGD(0.05)], ids=["Pegasos", "LSQSGD"])
def estimator(request):
    return request.param


@pytest.fixture(params=list(TRUTHS))
def strategy(request):
    return request.param


CV = {
    "a number": 4,
    "contiguous": KFold(7),
    "shuffled": KFold(6, shuffle=True, random_state=1),
    "stratified": StratifiedKFold(5),
    "stratified, shuffled": StratifiedKFold(5, shuffle=True, random_state=1),
    "groups": LeaveOneGroupOut(),
    "k groups": GroupKFold(3),
    "predefined": PredefinedSplit(np.arange(71) % 9),
    "leave-one-out": LeaveOneOut(),
}


def folds_of(name, estimator):
    cv = CV[name]
    return KFold(5) if isinstance(cv, StratifiedKFold) and not is_classifier(estimator) else cv


def groups_for(cv, n):
    return groups_of(n) if "Group" in type(cv).__name__ else None


class TestSignatures:
    @pytest.mark.parametrize("name", FUNCTIONS)
    def test_scikit_learns_parameters_come_first(self, name):
        mine = list(inspect.signature(getattr(ours, name)).parameters.values())
        model = list(inspect.signature(getattr(theirs, name)).parameters.values())
        for one, other in zip(mine, model, strict=False):
            assert (one.name, one.kind, repr(one.default)) == (other.name, other.kind, repr(other.default))
        assert len(mine) > len(model)
        assert {parameter.kind for parameter in mine[len(model) :]} == {inspect.Parameter.KEYWORD_ONLY}
        assert all(parameter.default is not inspect.Parameter.empty for parameter in mine[len(model) :])

    @pytest.mark.parametrize("name", FUNCTIONS)
    def test_the_functions_agree_on_our_own_parameters(self, name):
        model = inspect.signature(cross_validate).parameters
        for parameter in inspect.signature(getattr(ours, name)).parameters.values():
            if parameter.name != "method":
                assert repr(parameter.default) == repr(model[parameter.name].default)
                assert parameter.kind == model[parameter.name].kind


@pytest.mark.parametrize("name", CV)
class TestTheTwoTruths:
    def test_scores(self, estimator, strategy, name):
        X, y = problem(estimator)
        cv = folds_of(name, estimator)
        groups = groups_for(cv, len(X))
        scoring = "accuracy" if is_classifier(estimator) else "neg_mean_squared_error"
        result = cross_validate(estimator, X, y, groups=groups, cv=cv, scoring=scoring, strategy=strategy)
        folds = listed(estimator, cv, X, y, groups, TRUTHS[strategy])
        expected = theirs.cross_validate(estimator, X, y, cv=folds, scoring=scoring)
        assert list(result) == list(expected)
        np.testing.assert_allclose(result["test_score"], expected["test_score"], rtol=1e-12, atol=0)
        scores = cross_val_score(estimator, X, y, groups=groups, cv=cv, scoring=scoring, strategy=strategy)
        np.testing.assert_array_equal(scores, result["test_score"])

    def test_predictions(self, estimator, strategy, name):
        X, y = problem(estimator)
        cv = folds_of(name, estimator)
        groups = groups_for(cv, len(X))
        folds = listed(estimator, cv, X, y, groups, TRUTHS[strategy])
        for method in ("predict", "decision_function")[: 1 + is_classifier(estimator)]:
            predicted = cross_val_predict(estimator, X, y, groups=groups, cv=cv, method=method, strategy=strategy)
            expected = theirs.cross_val_predict(estimator, X, y, cv=folds, method=method)
            assert predicted.dtype == expected.dtype
            np.testing.assert_array_equal(predicted, expected)

    def test_fitted_models_are_the_same_to_the_last_bit(self, estimator, strategy, name):
        X, y = problem(estimator)
        cv = folds_of(name, estimator)
        groups = groups_for(cv, len(X))
        scoring = None if is_classifier(estimator) else "neg_mean_squared_error"
        options = {"scoring": scoring, "return_train_score": True, "return_estimator": True}
        result = cross_validate(estimator, X, y, groups=groups, cv=cv, strategy=strategy, **options)
        folds = listed(estimator, cv, X, y, groups, TRUTHS[strategy])
        expected = theirs.cross_validate(estimator, X, y, cv=folds, **options)
        assert list(result) == list(expected)
        np.testing.assert_allclose(result["train_score"], expected["train_score"], rtol=1e-12)
        for one, other in zip(result["estimator"], expected["estimator"], strict=True):
            assert type(one) is type(other)
            assert one.get_params() == other.get_params()
            np.testing.assert_array_equal(one.coef_, other.coef_)
            np.testing.assert_array_equal(one.intercept_, other.intercept_)
            assert one.t_ == other.t_
            assert one.n_features_in_ == 5

    def test_indices(self, estimator, strategy, name):
        X, y = problem(estimator)
        cv = folds_of(name, estimator)
        groups = groups_for(cv, len(X))
        options = {"cv": cv, "groups": groups, "scoring": "neg_mean_squared_error", "return_indices": True}
        indices = cross_validate(estimator, X, y, strategy=strategy, **options)["indices"]
        expected = theirs.cross_validate(estimator, X, y, **options)["indices"]
        assert list(indices) == list(expected)
        for side in expected:
            assert len(indices[side]) == len(expected[side])
            for one, other in zip(indices[side], expected[side], strict=True):
                np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("cv", [KFold(2), KFold(5), KFold(70), PredefinedSplit(np.repeat(range(7), 10))], ids=str)
def test_on_contiguous_folds_standard_is_scikit_learns_function_as_it_stands(estimator, cv):
    X, y = problem(estimator, n=70)
    options = {"cv": cv, "scoring": ["neg_mean_squared_error", "neg_mean_absolute_error"], "return_train_score": True}
    result = cross_validate(estimator, X, y, strategy="standard", **options)
    expected = theirs.cross_validate(estimator, X, y, **options)
    assert list(result) == list(expected)
    for name in set(expected) - {"fit_time", "score_time"}:
        np.testing.assert_allclose(result[name], expected[name], rtol=1e-12, err_msg=name)


@settings(deadline=None)
@given(n=st.integers(4, 40), k=st.integers(2, 40), seed=st.integers(0, 5))
def test_the_tree_against_arithmetic_written_down_from_the_papers(n, k, seed):
    X, y = table(n=n, n_features=3, seed=seed)
    k = min(k, n)
    folds = [test for _, test in KFold(k).split(X)]
    expected = k_fold(lambda X, y: lsqsgd(X, y, 0.05), linear, X, y, folds, tree_order)
    np.testing.assert_allclose(cross_val_predict(LSQSGD(0.05), X, y, cv=KFold(k)), expected, rtol=1e-11)
    labels = np.arange(n) % 2
    expected = k_fold(lambda X, y: pegasos(X, y, 0.1), linear, X, labels, folds, tree_order)
    values = cross_val_predict(Pegasos(0.1), X, labels, cv=KFold(k), method="decision_function")
    np.testing.assert_allclose(values, expected, rtol=1e-11, atol=1e-12)


def test_a_step_size_of_none_counts_the_rows_of_the_whole_data_set():
    X, y = table()
    for strategy in TRUTHS:
        scores = cross_val_score(LSQSGD(), X, y, cv=KFold(5), strategy=strategy)
        np.testing.assert_array_equal(scores, cross_val_score(LSQSGD(71**-0.5), X, y, cv=KFold(5), strategy=strategy))


class PythonPegasos(Pegasos):
    """PEGASOS by the learner's arithmetic in Python."""

    def __treecv_learner__(self, schema):
        return learners.Pegasos.reference(self.alpha, self.fit_intercept)


class PythonLSQSGD(LSQSGD):
    """The same for LSQSGD."""

    def __treecv_learner__(self, schema):
        return learners.LSQSGD.reference(self.step_size, self.radius, self.fit_intercept)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("cv", ["loo", KFold(6, shuffle=True, random_state=0)], ids=["loo", "shuffled"])
def test_the_core_and_python_agree_to_the_last_bit(estimator, strategy, order, dtype, cv):
    twin = {Pegasos: PythonPegasos, LSQSGD: PythonLSQSGD}[type(estimator)](**estimator.get_params())
    X, y = problem(estimator, n=24)
    options = {"cv": cv, "strategy": strategy, "order": order, "seed": 3, "return_train_score": True}
    options |= {"scoring": ["neg_mean_squared_error", "neg_median_absolute_error"], "return_estimator": True}
    native = cross_validate(estimator, X.astype(dtype), y, **options)
    python = cross_validate(twin, X.astype(dtype), y, **options)
    assert list(native) == list(python)
    for name in [name for name in native if name[:4] in ("test", "trai")]:
        np.testing.assert_array_equal(native[name], python[name], err_msg=name)
    for one, other in zip(native["estimator"], python["estimator"], strict=True):
        np.testing.assert_array_equal(one.state_, other.state_)
    assert native.record.counts == python.record.counts


def both_ways(score):
    """A scorer as a plain callable."""
    return lambda estimator, X, y: score(y, estimator.predict(X))


class TestScoring:
    SCORING = {  # noqa: RUF012 - a table
        "none": None,
        "a name": "neg_mean_squared_error",
        "another name": "neg_max_error",
        "a list": ["neg_mean_squared_error", "explained_variance", "neg_max_error"],
        "a tuple in another order": ("neg_root_mean_squared_error", "neg_mean_absolute_error"),
        "a dict of names": {"b": "neg_mean_squared_error", "a": "neg_max_error"},
        "a dict of scorers": {"x": make_scorer(mean_squared_error, greater_is_better=False), "y": "max_error"},
        "a dict of callables": {"x": both_ways(mean_squared_error), "y": "neg_mean_squared_error"},
        "make_scorer": make_scorer(mean_squared_error),
        "a callable": both_ways(mean_squared_error),
        "a callable with a dict": lambda estimator, X, y: {"rows": len(X), "first": float(y[0])},
    }
    SCORING["a dict of scorers"]["y"] = "neg_max_error"

    @pytest.mark.parametrize("scoring", SCORING.values(), ids=SCORING)
    @pytest.mark.parametrize("train", [False, True])
    def test_scores_and_keys_are_scikit_learns(self, estimator, strategy, scoring, train):
        X, y = problem(estimator)
        options = {"scoring": scoring, "return_train_score": train, "return_estimator": True, "return_indices": True}
        result = cross_validate(estimator, X, y, cv=KFold(4), strategy=strategy, **options)
        folds = listed(estimator, KFold(4), X, y, None, TRUTHS[strategy])
        if callable(scoring) and train and "rows" in self.SCORING["a callable with a dict"](None, X, y):
            folds = [(np.sort(train_rows), test) for train_rows, test in folds] if strategy == "standard" else folds
        expected = theirs.cross_validate(estimator, X, y, cv=folds, **options)
        assert list(result) == list(expected)
        for name in expected:
            if name == "train_first":
                continue  # the first of the training rows: theirs in the order learnt, ours in stored order
            if name.startswith(("test_", "train_")):
                assert result[name].dtype == np.float64
                np.testing.assert_allclose(result[name], expected[name], rtol=1e-12, err_msg=name)

    @pytest.mark.parametrize("scoring", ["f1", "roc_auc", "balanced_accuracy", make_scorer(f1_score, pos_label="n")])
    def test_scorers_of_classes_see_the_users_labels(self, strategy, scoring):
        X, y = table()
        y = np.where(y > 0, "y", "n") if not isinstance(scoring, str) else (y > 0).astype(int)
        scores = cross_val_score(Pegasos(0.01), X, y, cv=4, scoring=scoring, strategy=strategy)
        folds = listed(Pegasos(), 4, X, y, None, TRUTHS[strategy])
        np.testing.assert_allclose(scores, theirs.cross_val_score(Pegasos(0.01), X, y, cv=folds, scoring=scoring))
        assert not np.isnan(scores).any()

    def test_scores_made_of_predictions_ask_no_estimator(self, estimator, strategy, monkeypatch):
        X, y = problem(estimator)
        options = {"cv": KFold(4), "scoring": "accuracy" if is_classifier(estimator) else "r2", "strategy": strategy}
        expected = cross_validate(estimator, X, y, **options)
        monkeypatch.setattr(type(estimator), "predict", None)
        result = cross_validate(estimator, X, y, return_estimator=True, **options)
        np.testing.assert_array_equal(result["test_score"], expected["test_score"])

    def test_an_estimator_with_a_score_of_its_own_is_asked(self, strategy):
        class Shy(LSQSGD):
            def score(self, X, y):
                return -float(np.abs(self.predict(X) - y).max())

        X, y = table()
        scores = cross_val_score(Shy(0.05), X, y, cv=KFold(4), strategy=strategy)
        expected = cross_val_score(LSQSGD(0.05), X, y, cv=KFold(4), scoring="neg_max_error", strategy=strategy)
        np.testing.assert_array_equal(scores, expected)


LABELS = {
    "strings": np.array(["no", "yes"]),
    "objects": np.array(["no", "yes"], object),
    "booleans": np.array([False, True]),
    "3 and 7": np.array([3, 7]),
    "negative": np.array([-1, 1], np.int8),
    "far apart": np.array([-(2**62), 2**62]),
    "whole floats": np.array([1.0, 2.0]),
    "bytes": np.array([b"a", b"b"]),
}


class TestKindsOfData:
    @pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
    def test_labels(self, strategy, labels):
        X, y = problem(Pegasos())
        codes = cross_val_predict(Pegasos(), X, y, cv=5, strategy=strategy)
        predicted = cross_val_predict(Pegasos(), X, labels[y], cv=5, strategy=strategy)
        assert predicted.dtype == labels.dtype
        np.testing.assert_array_equal(predicted, labels[codes])
        options = {"cv": 5, "strategy": strategy}
        np.testing.assert_array_equal(
            cross_val_score(Pegasos(), X, labels[y], **options), cross_val_score(Pegasos(), X, y, **options)
        )

    @pytest.mark.parametrize(
        "convert",
        [
            pd.DataFrame,
            lambda X: X.tolist(),
            np.asfortranarray,
            lambda X: np.repeat(X, 2, axis=0)[::2],
            lambda X: np.repeat(X, 2, axis=1)[:, ::2],
            lambda X: X[::-1].copy()[::-1],
            lambda X: X.astype(">f8"),
            lambda X: X.astype(object),
            lambda X: X.astype(np.longdouble),
        ],
        ids=["frame", "lists", "Fortran", "rows", "columns", "reversed", "swapped", "objects", "longdouble"],
    )
    def test_features_of_any_container(self, estimator, convert):
        X, y = problem(estimator)
        for cv in (KFold(5), KFold(5, shuffle=True, random_state=0)):
            expected = cross_val_predict(estimator, X, y, cv=cv)
            np.testing.assert_array_equal(cross_val_predict(estimator, convert(X), y, cv=cv), expected)

    @pytest.mark.parametrize("convert", [pd.Series, list, lambda y: pd.Series(y, index=range(70, -1, -1))])
    def test_targets_of_any_container(self, estimator, convert):
        X, y = problem(estimator)
        options = {"cv": KFold(5), "scoring": ["neg_mean_squared_error", "neg_max_error"]}
        result, expected = (
            cross_validate(estimator, X, convert(y), **options),
            cross_validate(estimator, X, y, **options),
        )
        np.testing.assert_array_equal(result["test_neg_max_error"], expected["test_neg_max_error"])
        np.testing.assert_array_equal(result["test_neg_mean_squared_error"], expected["test_neg_mean_squared_error"])

    def test_single_precision_is_kept_and_integers_become_double(self, estimator):
        X, y = problem(estimator)
        options = {"cv": KFold(3), "scoring": "neg_mean_squared_error", "return_estimator": True}
        for dtype, expected in [("float32", "float32"), ("float64", "float64"), ("int16", "float64"), ("?", "float64")]:
            fitted = cross_validate(estimator, (X * 4).astype(dtype), y, **options)["estimator"][0]
            assert fitted.schema_.dtype == expected
        single = cross_val_score(estimator, X.astype("float32"), y, cv=KFold(3), scoring="neg_mean_squared_error")
        double = cross_val_score(estimator, X, y, cv=KFold(3), scoring="neg_mean_squared_error")
        np.testing.assert_allclose(single, double, rtol=1e-4)
        if not is_classifier(estimator):
            assert (single != double).any()

    def test_a_memory_map_is_read_in_place(self, estimator, tmp_path, monkeypatch):
        X, y = problem(estimator)
        X.tofile(tmp_path / "X")
        mapped = np.memmap(tmp_path / "X", float, mode="r", shape=X.shape)
        cv = KFold(5, shuffle=True, random_state=0)
        expected = cross_val_predict(estimator, X, y, cv=cv)
        monkeypatch.setattr("treecv.data.rows._NEAR", 0)  # every jump counts
        monkeypatch.setattr(Rows, "gathered", None)  # no copy is made
        np.testing.assert_array_equal(cross_val_predict(estimator, mapped, y, cv=cv), expected)
        with pytest.raises(TypeError, match="not callable"):
            cross_val_predict(estimator, X, y, cv=cv)

    def test_the_users_arrays_are_left_alone(self, estimator):
        X, y = problem(estimator)
        before = X.copy(), y.copy()
        X.flags.writeable = y.flags.writeable = False
        cross_validate(estimator, X, y, cv=KFold(5, shuffle=True), scoring="neg_max_error", return_train_score=True)
        np.testing.assert_array_equal(X, before[0])
        np.testing.assert_array_equal(y, before[1])
        assert not hasattr(estimator, "state_")


def test_rows_copied_into_the_order_of_the_folds_and_rows_in_place_are_one(estimator, strategy, monkeypatch):
    X, y = problem(estimator)
    cv, scoring = KFold(6, shuffle=True, random_state=0), ["neg_mean_squared_error", "neg_max_error"]
    options = {"cv": cv, "strategy": strategy, "order": "randomized", "seed": 1}
    found = []
    for copied in (True, False):
        monkeypatch.setattr(Rows, "scattered", lambda rows, copied=copied: copied)
        result = cross_validate(
            estimator, X, y, scoring=scoring, return_train_score=True, return_estimator=True, **options
        )
        found.append((result, cross_val_predict(estimator, X, y, **options)))
    (one, predicted), (other, expected) = found
    np.testing.assert_array_equal(predicted, expected)
    for name in ("test_neg_mean_squared_error", "test_neg_max_error", "train_neg_max_error"):
        np.testing.assert_array_equal(one[name], other[name])
    for model, twin in zip(one["estimator"], other["estimator"], strict=True):
        np.testing.assert_array_equal(model.coef_, twin.coef_)


class TestLargeK:
    def test_leave_one_out_calls_nothing_per_fold(self, estimator, strategy):
        def calls(n):
            count = 0

            def note(*_):
                nonlocal count
                count += 1

            X, y = problem(estimator, n=n)
            sys.setprofile(note)
            try:
                cross_validate(estimator, X, y, cv="loo", scoring="neg_mean_absolute_error", return_indices=True)
                cross_val_predict(estimator, X, y, cv="loo")
            finally:
                sys.setprofile(None)
            return count

        estimator = LSQSGD(0.05)  # whose scores are computed from predictions
        calls(40)
        assert calls(4000) <= calls(40) + 20

    def test_leave_one_out_keeps_no_object_per_fold(self, estimator):
        X, y = problem(estimator, n=20_000)
        scoring = "accuracy" if is_classifier(estimator) else "neg_mean_squared_error"
        cross_validate(estimator, X[:50], y[:50], cv="loo", scoring=scoring)
        before = sys.getallocatedblocks()
        result = cross_validate(estimator, X, y, cv="loo", scoring=scoring, return_indices=True)
        assert sys.getallocatedblocks() - before < 2000
        assert result["test_score"].shape == (20_000,)
        assert len(result["indices"]["train"]) == 20_000

    @pytest.mark.parametrize(
        "wish",
        [{"return_estimator": True}, {"return_train_score": True}, {"scoring": "neg_max_error"}],
        ids=lambda wish: next(iter(wish)),
    )
    def test_objects_per_fold_are_refused_above_a_limit(self, estimator, wish):
        X, y = problem(estimator)
        options = {"cv": "loo", "scoring": "neg_mean_absolute_error"} | wish
        with pytest.raises(InputError, match=r"71 folds would need 71 fitted estimators.*Raise max_objects=70"):
            cross_validate(estimator, X, y, max_objects=70, **options)
        assert len(cross_validate(estimator, X, y, max_objects=71, **options)["fit_time"]) == 71

    def test_the_limit_holds_for_cross_val_score_and_not_for_predictions(self):
        X, y = table()
        with pytest.raises(InputError, match="Raise max_objects=10 "):
            cross_val_score(LSQSGD(0.05), X, y, cv="loo", scoring="neg_max_error", max_objects=10)
        scores = cross_val_score(LSQSGD(0.05), X, y, cv="loo", scoring="neg_mean_squared_error", max_objects=10)
        assert np.isfinite(scores).all()


class TestSeeds:
    @pytest.mark.parametrize("order", ["randomized", "blocks"])
    def test_a_seed_names_the_numbers(self, estimator, strategy, order):
        X, y = problem(estimator)

        def values(seed):
            method = "decision_function" if is_classifier(estimator) else "predict"
            options = {"cv": KFold(7), "strategy": strategy, "order": order, "seed": seed}
            return cross_val_predict(estimator, X, y, method=method, **options)

        np.testing.assert_array_equal(values(3), values(3))
        np.testing.assert_array_equal(values(3), values(np.int64(3)))
        assert (values(3) != values(4)).any()
        assert (values(2**64 - 1) != values(4)).any()

    def test_the_orders_differ(self, estimator, strategy):
        X, y = problem(estimator)
        scoring = "neg_mean_squared_error"
        fixed, randomized, blocks = (
            cross_validate(
                estimator, X, y, cv=KFold(3), scoring=scoring, strategy=strategy, order=order, seed=1,
                return_estimator=True,
            )["estimator"][0].coef_
            for order in ORDERS
        )  # fmt: skip
        assert (fixed != randomized).any()
        assert (fixed != blocks).any()
        assert (randomized != blocks).any()

    def test_a_new_seed_is_recorded_and_reproduces(self, estimator):
        X, y = problem(estimator)
        options = {"cv": 5, "order": "randomized", "scoring": "neg_mean_squared_error"}
        one, other = cross_validate(estimator, X, y, **options), cross_validate(estimator, X, y, **options)
        assert one.record.seed != other.record.seed
        again = cross_validate(estimator, X, y, seed=one.record.seed, **options)
        assert again.record.seed == one.record.seed
        np.testing.assert_array_equal(one["test_score"], again["test_score"])

    def test_stored_order_draws_nothing(self, estimator):
        X, y = problem(estimator)
        one = cross_val_predict(estimator, X, y, seed=1)
        np.testing.assert_array_equal(one, cross_val_predict(estimator, X, y, seed=2))
        assert cross_validate(estimator, X, y, cv=2).record.seed == 0


class TestOtherArguments:
    @pytest.mark.parametrize("n_jobs", [None, 1, 2, -1])
    def test_n_jobs_and_pre_dispatch_change_nothing(self, estimator, n_jobs):
        X, y = problem(estimator)
        one = cross_val_score(estimator, X, y, n_jobs=n_jobs, pre_dispatch=2)
        np.testing.assert_array_equal(one, cross_val_score(estimator, X, y))

    def test_verbose_says_one_line(self, estimator, strategy, capsys):
        X, y = problem(estimator)
        options = {"cv": KFold(5), "strategy": strategy}
        cross_validate(estimator, X, y, **options)
        assert capsys.readouterr().out == ""
        passes = {"tree": "2.4", "standard": "4.0"}[strategy]
        for call in (cross_validate, cross_val_score, cross_val_predict):
            call(estimator, X[:70], y[:70], verbose=1, **options)
            out = capsys.readouterr().out
            assert out.startswith(f"[CV] {strategy}: 5 folds, {passes} passes, ")
            assert out.count("\n") == 1

    def test_more_verbose_says_a_line_a_fold_if_they_are_few(self, estimator, capsys):
        X, y = problem(estimator)
        options = {"scoring": "accuracy" if is_classifier(estimator) else "neg_mean_squared_error", "verbose": 2}
        result = cross_validate(estimator, X, y, cv=KFold(5), **options)
        lines = capsys.readouterr().out.splitlines()
        assert [line[:16] for line in lines[:5]] == [f"[CV] END fold {i}/" for i in range(1, 6)]
        assert lines[1].endswith(f"score={result['test_score'][1]:.3f}")
        assert len(lines) == 6
        X, y = np.tile(X, (15, 1)), np.tile(y, 15)
        cross_validate(estimator, X, y, cv="loo", **options)
        assert capsys.readouterr().out.count("\n") == 1

    def test_empty_params_are_no_params(self, estimator):
        X, y = problem(estimator)
        np.testing.assert_array_equal(
            cross_val_score(estimator, X, y, params={}), cross_val_score(estimator, X, y, params=None)
        )

    @pytest.mark.parametrize(("name", "strategy"), [("tree", Tree()), ("standard", Standard())])
    def test_a_strategy_may_be_given_itself(self, estimator, name, strategy):
        X, y = problem(estimator)
        one, other = (cross_validate(estimator, X, y, cv=KFold(5), strategy=given) for given in (name, strategy))
        np.testing.assert_array_equal(one["test_score"], other["test_score"])
        assert one.strategy == other.strategy == name

    def test_auto_is_the_tree(self, estimator):
        X, y = problem(estimator)
        assert cross_validate(estimator, X, y, cv=2).strategy == "tree"


class TestSomeFoldsOnly:
    def test_the_others_have_no_score(self, estimator):
        X, y = problem(estimator)
        scoring = ["neg_mean_squared_error", "neg_max_error"]
        options = {"cv": KFold(5), "scoring": scoring, "return_train_score": True, "return_estimator": True}
        result = cross_validate(estimator, X, y, strategy=Standard(folds=[3, 1]), **options)
        whole = cross_validate(estimator, X, y, strategy="standard", **options)
        assert list(result) == list(whole)
        for name in [f"{side}_{metric}" for metric in scoring for side in ("test", "train")]:
            assert np.isnan(result[name][[0, 2, 4]]).all()
            np.testing.assert_array_equal(result[name][[1, 3]], whole[name][[1, 3]])
        assert [fitted is None for fitted in result["estimator"]] == [True, False, True, False, True]
        assert result.record.trainings == pytest.approx(8 / 5, abs=0.02)

    def test_no_folds_at_all(self, estimator):
        X, y = problem(estimator)
        options = {"cv": KFold(5), "scoring": "neg_max_error", "return_estimator": True}
        result = cross_validate(estimator, X, y, strategy=Standard(folds=[]), **options)
        assert np.isnan(result["test_score"]).all()
        assert result["estimator"] == [None] * 5

    def test_there_is_no_prediction_without_a_model(self, estimator):
        X, y = problem(estimator)
        with pytest.raises(InputError, match=r"Standard\(folds=\[0\]\) leaves fold 1 out: cross_val_predict"):
            cross_val_predict(estimator, X, y, cv=KFold(5), strategy=Standard(folds=[0]))

    @pytest.mark.parametrize("fold", [5, -1])
    def test_folds_that_do_not_exist(self, estimator, fold):
        X, y = problem(estimator)
        with pytest.raises(InputError, match=rf"folds=\[{fold}\] do not exist: with k=5 they run from 0 to 4"):
            cross_validate(estimator, X, y, cv=KFold(5), strategy=Standard(folds=[fold]))


class TestResult:
    def test_says_how_the_scores_came_about(self, estimator):
        X, y = problem(estimator, n=80)
        tree = cross_validate(estimator, X, y, cv=KFold(8))
        assert (tree.strategy, tree.exact) == ("tree", False)
        assert (tree.record.k, tree.record.n_rows, tree.record.order, tree.record.seed) == (8, 80, "fixed", 0)
        assert tree.record.trainings == chunk_updates(8) / 8 == 3
        assert tree.record.counts.row_updates == 240
        assert tree.what.startswith("The score of one pass over the training rows, fold after fold")
        assert "8 folds of 80 rows, models that share" in tree.what
        standard = cross_validate(estimator, X, y, cv=KFold(8), strategy="standard")
        assert (standard.strategy, standard.exact, standard.record.trainings) == ("standard", True, 7)
        assert "from scratch" in standard.what.rpartition(";")[2]
        assert "in stored order" in standard.what
        assert "share" not in standard.what

    @pytest.mark.parametrize(("order", "words"), [("randomized", "drawn anew"), ("blocks", "each fold permuted")])
    def test_says_the_order(self, estimator, order, words):
        X, y = problem(estimator)
        assert words in cross_validate(estimator, X, y, cv=KFold(3), order=order).what

    @pytest.mark.parametrize("n", [10, 33, 100])
    def test_leave_one_out_costs_what_the_formula_says(self, n):
        X, y = table(n=n)
        result = cross_validate(LSQSGD(0.1), X, y, cv="loo", scoring="neg_mean_squared_error")
        depth = math.ceil(math.log2(n))
        assert result.record.trainings == (n * (depth + 1) - 2**depth) / n

    def test_times_are_the_whole_by_folds(self, estimator):
        X, y = problem(estimator)
        result = cross_validate(estimator, X, y, cv=KFold(4), scoring="neg_max_error")
        assert result["fit_time"].shape == result["score_time"].shape == (4,)
        assert result["fit_time"].sum() == pytest.approx(result.record.seconds)
        assert (result["score_time"] > 0).all()

    def test_is_a_dict_that_pickles_with_its_record(self, estimator):
        X, y = problem(estimator)
        result = cross_validate(estimator, X, y, cv=KFold(4), return_estimator=True)
        restored = pickle.loads(pickle.dumps(result))  # noqa: S301 - made just here
        assert isinstance(restored, dict)
        assert restored.record == result.record
        np.testing.assert_array_equal(restored["test_score"], result["test_score"])
        assert pd.DataFrame({"score": result["test_score"]}).shape == (4, 1)


class TestNamedColumns:
    """A data frame stays one for whoever sees the user's data; nobody warns about names that went missing."""

    X, y = table()
    frame = pd.DataFrame(X, columns=list("abcde"))

    def test_fitted_estimators_know_the_names(self, estimator):
        y = (self.y > 0) if is_classifier(estimator) else self.y
        for fitted in cross_validate(estimator, self.frame, y, cv=KFold(3), return_estimator=True)["estimator"]:
            assert fitted.feature_names_in_.tolist() == list("abcde")
            fitted.predict(self.frame)

    def test_scorers_and_splitters_get_the_frame(self, estimator):
        seen = []

        class Splitter(KFold):
            def split(self, X, y=None, groups=None):
                seen.append(type(X))
                return super().split(X, y, groups)

        def scorer(fitted, X, y):
            seen.append(type(X))
            return float(fitted.predict(X).mean())

        y = (self.y > 0) if is_classifier(estimator) else self.y
        scores = cross_val_score(estimator, self.frame, y, cv=Splitter(3), scoring=scorer)
        assert seen == [pd.DataFrame] * 4
        np.testing.assert_array_equal(scores, cross_val_score(estimator, self.X, y, cv=KFold(3), scoring=scorer))
