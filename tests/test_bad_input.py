"""What cannot be used is refused with one error that names it and says what to do."""

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.exceptions import FitFailedWarning, NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, make_scorer
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    LeaveOneGroupOut,
    LeavePOut,
    PredefinedSplit,
    ShuffleSplit,
    StratifiedKFold,
    TimeSeriesSplit,
)

from treecv import LSQSGD, Pegasos, cross_val_predict, cross_val_score, cross_validate, learners
from treecv.errors import CapabilityError, InputError, UpdateError

N = 60
ROWS = np.arange(N)
X, TARGET = np.random.default_rng(0).normal(size=(N, 4)), np.random.default_rng(1).normal(size=N)
LABELS = (X[:, 0] > 0).astype(int)
FUNCTIONS = [cross_validate, cross_val_score, cross_val_predict]
FIRST, LAST = ROWS[:30], ROWS[30:]


def with_value(values, value, row=3):
    changed = values.copy()
    changed[row] = value
    return changed


@pytest.fixture(params=FUNCTIONS, ids=lambda function: function.__name__)
def function(request):
    return request.param


class TestFeatures:
    @pytest.mark.parametrize("strategy", ["tree", "standard"])
    @pytest.mark.parametrize(("value", "words"), [(np.nan, "NaN"), (np.inf, "infinity"), (-np.inf, "infinity")])
    @pytest.mark.parametrize("dtype", ["float32", "float64"])
    @pytest.mark.parametrize("cv", ["loo", KFold(3, shuffle=True, random_state=0)], ids=["loo", "shuffled"])
    def test_not_finite(self, function, strategy, value, words, dtype, cv):
        bad = with_value(X, value).astype(dtype)
        with pytest.raises(ValueError, match=f"Input X contains {words}"):
            function(Pegasos(), bad, LABELS, cv=cv, strategy=strategy)
        options = {} if function is cross_val_predict else {"scoring": "neg_mean_squared_error"}
        with pytest.raises(ValueError, match=f"Input X contains {words}"):
            function(LSQSGD(0.1), bad, TARGET, cv=cv, strategy=strategy, **options)

    @pytest.mark.parametrize("column", range(4))
    @pytest.mark.parametrize("row", [0, 30, 59])
    def test_not_finite_anywhere(self, row, column):
        bad = X.copy()
        bad[row, column] = np.nan
        for order in ("fixed", "randomized"):
            with pytest.raises(ValueError, match="Input X contains NaN"):
                cross_validate(Pegasos(), bad, LABELS, cv="loo", order=order)

    def test_not_finite_with_a_scorer_of_ones_own(self):
        with pytest.raises(ValueError, match="Input X contains NaN"):
            cross_validate(LSQSGD(0.1), with_value(X, np.nan), TARGET, scoring="neg_max_error", error_score=0)

    @pytest.mark.parametrize(
        ("bad", "error", "match"),
        [
            (np.full((N, 2), "a"), ValueError, "could not convert string to float.*Encode the columns.*OrdinalEncoder"),
            (np.full((N, 2), "a", object), ValueError, "could not convert string.*Encode the columns"),
            ([["a", 1.0]] * N, ValueError, "could not convert string.*Encode the columns"),
            (pd.DataFrame({"c": ["u", "v"] * 30}), ValueError, "could not convert string.*Encode the columns"),
            (
                pd.DataFrame({"c": pd.date_range("2020", periods=N)}),
                InputError,
                "X has dtype datetime64.* give times as",
            ),
            (pd.DataFrame({"n": ROWS, "c": pd.to_timedelta(ROWS)}), InputError, "X has dtype timedelta64.* give times"),
            (pd.DataFrame({"n": [pd.NA, 1] * 30}, dtype=object), TypeError, "X has missing values: drop such rows"),
            (
                pd.DataFrame({"n": pd.array([1, None] * 30, "Int64")}),
                InputError,
                "Input X contains NaN at row 1, column 0",
            ),
            (np.full((N, 1), object(), object), TypeError, r"float\(\) argument must be.*Encode the columns"),
            (
                X + 1j,
                InputError,
                "X has dtype complex128: complex data are not supported; give real numbers, such as X.real",
            ),
            ((X + 1j).tolist(), TypeError, r"float\(\) argument must be a string or a real number"),
            (np.ones((N, 2), "M8[s]"), InputError, r"X has dtype datetime64\[s\]: give times as numbers"),
            (np.ones((N, 2), "m8[D]"), InputError, r"X has dtype timedelta64\[D\]: give times as numbers"),
            (scipy.sparse.csr_matrix(X), TypeError, "Sparse data was passed for X, but dense data is required"),
            (scipy.sparse.coo_array(X), TypeError, "Sparse data was passed for X, but dense data is required"),
            (X[:, 0], ValueError, "Expected 2D array, got 1D array instead"),
            (X[:, :, np.newaxis], ValueError, "Found array with dim 3, while dim <= 2 is required by Pegasos"),
            (
                X[:, :0],
                ValueError,
                r"0 feature\(s\) .* minimum of 1 is required by Pegasos.* Give X at least one column",
            ),
            (3.0, InputError, "X=3.0 must be a table of rows: an array, a data frame"),
            (None, InputError, "X=None must be a table of rows: an array, a data frame"),
            ([[1.0, 2.0], [3.0]] * 30, ValueError, "inhomogeneous"),
        ],
        ids=lambda value: type(value).__name__ if not isinstance(value, str) else value[:12],
    )
    def test_of_a_kind_that_is_no_table_of_numbers(self, function, bad, error, match):
        with pytest.raises(error, match=match):
            function(Pegasos(), bad, LABELS)

    def test_columns_are_only_to_be_encoded_where_that_helps(self):
        with pytest.raises(ValueError, match="Expected 2D") as caught:
            cross_validate(Pegasos(), X[:, 0], LABELS)
        assert "Encode" not in str(caught.value)

    def test_none_or_one(self, function):
        with pytest.raises(ValueError, match=r"Found array with 0 sample\(s\).* Look at how they were selected"):
            function(Pegasos(), X[:0], LABELS[:0])
        with pytest.raises(InputError, match=r"Found array with 1 sample\(s\): cross-validation needs at least 2 rows"):
            function(LSQSGD(0.1), X[:1], TARGET[:1], cv="loo")
        with pytest.raises(InputError, match="n_splits=5 greater than the number of samples: n_samples=1"):
            function(LSQSGD(0.1), X[:1], TARGET[:1])


class TestTargets:
    @pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
    def test_not_finite(self, function, value):
        with pytest.raises(InputError, match=f"y contains {value} at row 3: targets must be finite numbers"):
            function(LSQSGD(0.1), X, with_value(TARGET, value))
        with pytest.raises(InputError, match="y contains NaN or infinity: drop these rows"):
            function(Pegasos(), X, with_value(LABELS.astype(float), value))

    def test_of_another_length(self, function):
        for estimator, y in ((Pegasos(), LABELS), (LSQSGD(0.1), TARGET)):
            with pytest.raises(ValueError, match=r"X and y differ in length: .*samples: \[60, 59\]. Give one"):
                function(estimator, X, y[:-1])

    def test_missing(self, function):
        for estimator in (Pegasos(), LSQSGD(0.1)):
            with pytest.raises(InputError, match=f"y=None, but {type(estimator).__name__} learns from targets"):
                function(estimator, X)

    @pytest.mark.parametrize("y", [np.c_[LABELS, LABELS], 3, [[[0]], [[1]]] * 30], ids=["two", "scalar", "three"])
    def test_of_another_shape(self, function, y):
        for estimator in (Pegasos(), LSQSGD(0.1)):
            with pytest.raises(
                ValueError, match=r"y should be a 1d array, got an array of shape|dim 3|y=3 must be one"
            ):
                function(estimator, X, y)

    def test_one_column_is_taken_with_a_warning(self):
        with pytest.warns(match="A column-vector y was passed when a 1d array was expected"):
            predicted = cross_val_predict(LSQSGD(0.1), X, TARGET[:, np.newaxis])
        np.testing.assert_array_equal(predicted, cross_val_predict(LSQSGD(0.1), X, TARGET))

    @pytest.mark.parametrize(
        ("y", "label"), [(LABELS * 0, "0"), (LABELS * 0 + 7.0, "7.0"), (["a"] * N, "'a'"), (LABELS < 5, "True")]
    )
    def test_one_label_only(self, function, y, label):
        with pytest.raises(
            InputError, match=f"y holds the one label {label}: a classifier needs at least two classes. Add"
        ):
            function(Pegasos(), X, y)

    def test_three_labels(self, function):
        with pytest.raises(InputError, match=r"Pegasos tells two classes apart, but y holds 3: .*one class against"):
            function(Pegasos(), X, ROWS % 3)

    def test_numbers_for_a_classifier(self, function):
        with pytest.raises(InputError, match=f"Unknown label type: continuous. y holds {TARGET.min()}: a classifier"):
            function(Pegasos(), X, TARGET)

    @pytest.mark.parametrize(
        ("y", "match"),
        [
            ([None, "a"] * 30, r"y mixes labels of the types \w+, \w+, which have no order: make them"),
            ([1, "a"] * 30, r"y mixes labels of the types \w+, \w+, which have no order: make them"),
            ([np.nan, "a", "b"] * 20, "y contains NaN or infinity: drop these rows, or give them a class"),
            ([np.nan, 0, 1] * 20, "y contains NaN or infinity: drop these rows, or give them a class"),
            ([pd.NA, "a", "b"] * 20, "y contains NaN or infinity: drop these rows, or give them a class"),
        ],
        ids=["None", "int", "nan among strings", "nan among numbers", "NA among strings"],
    )
    def test_labels_without_an_order(self, function, y, match):
        with pytest.raises(InputError, match=match):
            function(Pegasos(), X, np.array(y, object))

    @pytest.mark.parametrize(
        "y",
        [
            np.array(["1", "2"] * 30),
            np.array([b"1", b"2"] * 30),
            ROWS.astype("M8[s]"),
            ROWS.astype("m8[s]"),
            np.array(["a", 1.0] * 30, object),
            np.array([None, 1j] * 30, object),
        ],
        ids=lambda y: str(y.dtype) + str(y[0]),
    )
    def test_no_numbers_for_a_regressor(self, function, y):
        with pytest.raises(InputError, match=r"y has dtype .*: the targets of a regressor must be numbers[.:] "):
            function(LSQSGD(0.1), X, y)

    def test_complex(self, function):
        for estimator in (Pegasos(), LSQSGD(0.1)):
            with pytest.raises(ValueError, match="Complex data not supported"):
                function(estimator, X, TARGET + 1j)


OVERLAP = [(LAST, FIRST), (FIRST, LAST), (FIRST, LAST)]


class TestFolds:
    @pytest.mark.parametrize(
        ("cv", "match"),
        [
            (1, "cv=1: cross-validation needs at least 2 folds. Use cv=2 or more, or cv='loo'"),
            (0, "cv=0: cross-validation needs at least 2 folds"),
            (-3, "cv=-3: cross-validation needs at least 2 folds"),
            (61, "n_splits=61 greater than the number of samples: n_samples=60. Use cv='loo'"),
            (KFold(61), "n_splits=61 greater than the number of samples: n_samples=60"),
            (StratifiedKFold(61), "n_splits=61 greater than the number of samples: n_samples=60"),
            (StratifiedKFold(58), "n_splits=58 cannot be greater than the number of members in each class, at most"),
            (2.5, "cv=2.5 is not known: use 'loo', a number of folds, a splitter"),
            (True, "cv=True is not known: use 'loo'"),
            ("LOO", "cv='LOO' is not known: use 'loo', a number"),
            ("", "cv='' is not known: use 'loo'"),
            (KFold, r"cv=KFold is a class: pass an instance of it, such as KFold\(\)"),
            ([], "cv makes 0 folds: cross-validation needs at least one. .* pass a list"),
            (iter([]), "cv makes 0 folds: .* An iterator can be used once only: pass a list"),
            (
                PredefinedSplit(ROWS * 0),
                r"PredefinedSplit makes 1 fold\(s\): cross-validation needs at least 2. Name more",
            ),
            (OVERLAP, "cv: the folds must hold out every row once, but some rows are in several. Use strategy='auto'"),
            (ShuffleSplit(3, random_state=0), "ShuffleSplit: its folds hold out some rows several times. Use"),
            (LeavePOut(59), "LeavePOut: its folds hold out some rows several times. Use strategy='auto'"),
            (TimeSeriesSplit(3, max_train_size=9), "TimeSeriesSplit: fold 1 tests on 15 rows and trains on 9 of 60; "),
            ([(ROWS, FIRST[:0]), *OVERLAP[:2]], "fold 0 tests on 0 rows and trains on 60 of 60; it must do both"),
            ([(ROWS, []), *OVERLAP[:2]], "fold 0 tests on 0 rows and trains on 60 of 60; it must do both"),
            ([(LAST[1:], FIRST), (FIRST, LAST)], "fold 1 tests on 30 rows and trains on 30 of 60; folds must train on"),
            ([(FIRST, FIRST), (FIRST, LAST)], "fold 0 tests on 30 rows and trains on 30 of 60; folds must train on"),
            ([*OVERLAP[:2], (FIRST[1:], LAST)], "a fold trains on 29 and tests on 30 of 60 rows"),
            ([(LAST, FIRST), (FIRST, LAST + 1)], "fold 1 names row 60, but X has 60 rows: use 0 .. 59"),
            ([(LAST, FIRST - 1), (FIRST, LAST)], "fold 0 names row -1, but X has 60 rows: use 0 .. 59"),
            ([(LAST, np.r_[FIRST, 0]), (FIRST, LAST)], "fold 0 names a row twice; each must be held out once"),
            ([(LAST, FIRST + 0.5), (FIRST, LAST)], "fold 0 names rows by an array of dtype float64 and shape"),
            ([(["a"], ["b"]), (FIRST, LAST)], "fold 0 names rows by an array of dtype <U1 and shape"),
            ([(LAST, FIRST[:, np.newaxis]), (FIRST, LAST)], r"an array of dtype int64 and shape \(30, 1\); use a one"),
            ([(LAST, FIRST, 3)], r"cv: fold 0 must be a pair \(train, test\) of index arrays, not 3 of them"),
            ([1, 2, 3], r"cv: fold 0 must be a pair \(train, test\) of index arrays, not 1"),
        ],
        ids=lambda value: str(value)[:24].replace("\n", " "),
    )
    def test_that_are_no_partition(self, function, cv, match):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of a class rarer than the folds
            with pytest.raises(InputError, match=match):
                function(Pegasos(), X, LABELS, cv=cv, strategy="tree")

    def test_more_folds_than_members_of_any_class(self):
        most = np.bincount(LABELS).max()
        with pytest.raises(InputError, match=f"n_splits={most + 1} cannot be greater .* at most {most}. Use fewer"):
            cross_validate(Pegasos(), X, LABELS, cv=most + 1)

    def test_stratified_by_numbers(self, function):
        with pytest.raises(ValueError, match="Supported target types are"):
            function(LSQSGD(0.1), X, TARGET, cv=StratifiedKFold(3))

    @pytest.mark.parametrize("cv", [LeaveOneGroupOut(), GroupKFold(3)], ids=str)
    def test_groups_that_are_missing(self, function, cv):
        with pytest.raises(ValueError, match="The 'groups' parameter should not be None"):
            function(Pegasos(), X, LABELS, cv=cv)

    @pytest.mark.parametrize("cv", [LeaveOneGroupOut(), GroupKFold(3), KFold(3), "loo", 3], ids=str)
    def test_groups_of_another_length(self, function, cv):
        with pytest.raises(InputError, match="groups has 59 entries, but X has 60 rows: give one a row"):
            function(Pegasos(), X, LABELS, cv=cv, groups=ROWS[1:] % 3)

    @pytest.mark.parametrize(
        ("groups", "match"),
        [
            (ROWS * 0, r"LeaveOneGroupOut makes 1 fold\(s\)"),
            (np.where(ROWS < 3, np.nan, ROWS % 3), "Input groups contains NaN"),
            (np.c_[ROWS % 3, ROWS % 3], r"y should be a 1d array, got an array of shape \(60, 2\)"),
        ],
        ids=["one", "NaN", "two columns"],
    )
    def test_groups_that_name_no_folds(self, function, groups, match):
        with pytest.raises(ValueError, match=match):
            function(Pegasos(), X, LABELS, cv=LeaveOneGroupOut(), groups=groups)


class TestSettings:
    @pytest.mark.parametrize("value", [0, -1.0, np.nan, np.inf, "a", [1.0], 1j, np.array([1.0, 2.0])], ids=repr)
    @pytest.mark.parametrize(
        ("make", "name"),
        [(Pegasos, "alpha"), (LSQSGD, "step_size"), (lambda radius: LSQSGD(0.1, radius=radius), "radius")],
        ids=["alpha", "step_size", "radius"],
    )
    def test_a_number_out_of_range_or_none_at_all(self, function, make, name, value):
        estimator = make(value)
        match = f"{type(estimator).__name__}: {name}=.*must be a finite number greater than 0"
        with pytest.raises(InputError, match=match):
            function(estimator, X, LABELS)
        with pytest.raises(InputError, match=match):
            estimator.fit(X, LABELS)

    @pytest.mark.parametrize("estimator", [Pegasos(None), LSQSGD(0.1, radius=None)], ids=["alpha", "radius"])
    def test_none_where_it_means_nothing(self, estimator):
        with pytest.raises(InputError, match="=None must be a finite number greater than 0"):
            estimator.fit(X, LABELS)

    @pytest.mark.parametrize("value", ["no", None, 2])
    def test_a_switch_that_is_none(self, value):
        for estimator in (Pegasos(fit_intercept=value), LSQSGD(0.1, fit_intercept=value)):
            with pytest.raises(InputError, match=f"fit_intercept={value!r} must be True or False"):
                estimator.fit(X, LABELS)


class TestArguments:
    def test_strategy(self, function):
        with pytest.raises(
            InputError, match=r"strategy='foo' is not known: use one of \['auto', 'tree', 'standard', 'merge'"
        ):
            function(Pegasos(), X, LABELS, strategy="foo")

    @pytest.mark.parametrize("order", ["foo", 3, ["fixed"]], ids=str)
    def test_order(self, function, order):
        with pytest.raises(InputError, match=r"order=.* is not known: use one of \['fixed', 'randomized', 'blocks'\]"):
            function(Pegasos(), X, LABELS, order=order)

    @pytest.mark.parametrize("seed", [-1, 1.5, 2**64, "a", np.random.default_rng(0)], ids=str)
    def test_seed(self, function, seed):
        with pytest.raises(InputError, match=r"seed=.* must be an integer from 0 to 2\*\*64 - 1, or None for a new"):
            function(Pegasos(), X, LABELS, seed=seed)

    def test_params(self, function):
        with pytest.raises(InputError, match=r"params=\['sample_weight'\]: Pegasos takes no further parameters in fit"):
            function(Pegasos(), X, LABELS, params={"sample_weight": ROWS})

    @pytest.mark.parametrize(
        ("scoring", "match"),
        [
            ("foo", "'foo' is not a valid scoring value"),
            (3, "scoring=3 is not callable: use a name of sklearn.metrics or a scorer"),
            ([], r"scoring=\[\] must be a name, a callable, or different names in a list"),
            (["foo"], "'foo' is not a valid scoring value"),
            (["accuracy", 3], "scoring=.* must be a name, a callable, or different names in a list"),
            (["f1", "f1"], "scoring=.* must be a name, a callable, or different names in a list"),
            ([accuracy_score], "scoring=.* must be a name, a callable, or different names in a list"),
            ({}, "scoring={} names no metric: give at least one"),
            ({"a": 3}, "scoring=3 is not callable"),
            ({"a": "foo"}, "'foo' is not a valid scoring value"),
        ],
        ids=str,
    )
    def test_scoring(self, scoring, match):
        with pytest.raises(ValueError, match=match):
            cross_validate(Pegasos(), X, LABELS, scoring=scoring)

    @pytest.mark.parametrize("scoring", [["accuracy"], {"a": "accuracy"}, ("f1",), {"f1"}], ids=str)
    def test_cross_val_score_takes_one_metric(self, scoring):
        with pytest.raises(InputError, match=r"scoring=.*: cross_val_score takes one metric; cross_validate takes"):
            cross_val_score(Pegasos(), X, LABELS, scoring=scoring)

    def test_cross_val_score_takes_one_number(self):
        with pytest.raises(InputError, match=r"must return a number, got a dict of \['test_u', 'test_v'\]"):
            cross_val_score(Pegasos(), X, LABELS, scoring=lambda *_: {"u": 1.0, "v": 2.0})

    @pytest.mark.parametrize("method", ["predict_proba", "foo", "predict_log_proba", None, 3])
    def test_a_method_that_is_not_there(self, method):
        with pytest.raises(AttributeError, match=f"This 'Pegasos' has no method {method!r}: use 'predict'"):
            cross_val_predict(Pegasos(), X, LABELS, method=method)
        with pytest.raises(AttributeError, match="This 'LSQSGD' has no method 'decision_function': use 'predict'"):
            cross_val_predict(LSQSGD(0.1), X, TARGET, method="decision_function")

    @pytest.mark.parametrize("method", ["fit", "score"])
    def test_a_method_that_predicts_nothing(self, method):
        with pytest.raises(InputError, match=f"method='{method}' is not known: use 'predict' or 'decision_function'"):
            cross_val_predict(Pegasos(), X, LABELS, method=method)

    @pytest.mark.parametrize("error_score", ["foo", None, [0]], ids=str)
    def test_error_score(self, error_score):
        for function in (cross_validate, cross_val_score):
            with pytest.raises(InputError, match=r"error_score=.*: error_score must be the string 'raise' or a num"):
                function(Pegasos(), X, LABELS, error_score=error_score)

    @pytest.mark.parametrize("cv", ["loo", KFold(59), 40], ids=str)
    def test_r2_of_one_row(self, cv):
        for scoring in (None, "r2"):
            with pytest.raises(InputError, match=r"needs folds of at least 2 rows, and the smallest has 1: R² of one"):
                cross_val_score(LSQSGD(0.1), X, TARGET, cv=cv, scoring=scoring)


class TestEstimators:
    @pytest.mark.parametrize(
        ("estimator", "name"), [(Pegasos, "Pegasos"), (LogisticRegression(), "LogisticRegression"), (None, "NoneType")]
    )
    def test_of_another_kind(self, function, estimator, name):
        match = f"{name} is a class: pass an instance|{name} has no `partial_fit`.*Use strategy='auto'"
        with pytest.raises(CapabilityError, match=match):
            function(estimator, X, LABELS, strategy="tree")
        with pytest.raises(TypeError, match=name):
            function(estimator, X, LABELS, strategy="tree")

    def test_a_learner_that_lacks_a_method_is_told_which(self):
        class Stateless(Pegasos):
            def __treecv_learner__(self, schema):
                class NoCopy:
                    def init(self, schema):
                        return []

                    def update(self, state, rows):
                        """Learn nothing."""

                    def predict(self, state, rows):
                        return np.zeros(len(rows))

                return NoCopy()

        with pytest.raises(CapabilityError, match=r"strategy='tree' needs 'copy \| save \+ revert', which NoCopy"):
            cross_validate(Stateless(), X, LABELS)
        assert cross_val_predict(Stateless(), X, LABELS, strategy="standard").sum() == 0

    @pytest.mark.parametrize("estimator", [Pegasos(), LSQSGD(0.1)], ids=["Pegasos", "LSQSGD"])
    def test_asked_before_they_have_learnt(self, estimator):
        for ask in (
            estimator.predict,
            lambda _: estimator.coef_,
            lambda _: estimator.intercept_,
            lambda _: estimator.t_,
        ):
            with pytest.raises(NotFittedError, match="instance is not fitted yet"):
                ask(X)
        assert not hasattr(estimator, "coef_")

    @pytest.mark.parametrize("estimator", [Pegasos(), LSQSGD(0.1)], ids=["Pegasos", "LSQSGD"])
    def test_asked_about_rows_of_another_width(self, estimator):
        fitted = type(estimator)(0.1).fit(X, LABELS)
        for ask in (fitted.predict, lambda X: fitted.partial_fit(X, LABELS)):
            with pytest.raises(ValueError, match=r"X has 3 features, but .* is expecting 4 features as input"):
                ask(X[:, :3])

    def test_a_stream_without_its_labels(self):
        with pytest.raises(InputError, match="classes=None; the first call needs the list of both labels"):
            Pegasos().partial_fit(X, LABELS)
        with pytest.raises(InputError, match=r"y holds \[3, 4\], which is not among classes=\[0, 1\]"):
            Pegasos().partial_fit(X, LABELS + 3, classes=[0, 1])
        with pytest.raises(InputError, match=r"classes=\[0, 2\] differ from those of the first call, \[0, 1\]. Leave"):
            Pegasos().fit(X, LABELS).partial_fit(X, LABELS, classes=[0, 2])
        with pytest.raises(
            InputError, match=r"Only binary classification is supported. y holds 3 classes: \[0, 1, 2\]"
        ):
            Pegasos().partial_fit(X, LABELS, classes=[0, 1, 2])
        with pytest.raises(InputError, match="Pegasos needs two classes, but y holds the one class 0"):
            Pegasos().partial_fit(X, LABELS, classes=[0])
        with pytest.raises(InputError, match=r"Pegasos needs two classes, but y holds the one class 'a'\. Add rows"):
            Pegasos().fit(X, ["a"] * N)

    def test_a_stream_without_a_step_size(self):
        for error in (AttributeError, InputError):
            with pytest.raises(error, match=r"step_size=None means 1/sqrt\(rows\).*Give a number"):
                LSQSGD().partial_fit(X, TARGET)
        assert not hasattr(LSQSGD(), "partial_fit")
        assert hasattr(LSQSGD(0.1), "partial_fit")


class PythonLSQSGD(LSQSGD):
    """Learns by the arithmetic in Python."""

    def __treecv_learner__(self, schema):
        return learners.LSQSGD.reference(self.step_size, self.radius, self.fit_intercept)


class Choking(LSQSGD):
    """Its learner raises at one row."""

    def __treecv_learner__(self, schema):
        class Learner(learners.LSQSGD.reference):
            __slots__ = ()

            def update(self, state, rows):
                learnt = rows.X if rows.index is None else rows.X[rows.index]
                if (learnt > 1e29).any():
                    raise FloatingPointError("choked")
                super().update(state, rows)

        return Learner(self.step_size, self.radius, self.fit_intercept)


class TestFailingFolds:
    """A row near the end of single precision makes NaN in an update: only its own fold has a model."""

    X = with_value(X, 1e30, row=33).astype(np.float32)

    @pytest.mark.parametrize("strategy", ["tree", "standard"])
    @pytest.mark.parametrize(
        "estimator", [LSQSGD(0.1), PythonLSQSGD(0.1), Choking(0.1)], ids=["core", "python", "raises"]
    )
    @pytest.mark.parametrize("error_score", [np.nan, -7.0, 0])
    @pytest.mark.parametrize("train", [False, True])
    def test_exactly_the_folds_that_train_on_the_row_fail(self, estimator, strategy, error_score, train):
        options = {"cv": KFold(6), "strategy": strategy, "scoring": ["r2", "neg_mean_absolute_error", "neg_max_error"]}
        with pytest.warns(FitFailedWarning, match=f"5 of 6 folds failed and get the score {error_score}") as caught:
            result = cross_validate(
                estimator, self.X, TARGET, error_score=error_score, return_train_score=train, **options
            )
        assert len(caught) == 1
        assert caught[0].filename == __file__
        assert "Use error_score='raise' to stop there" in str(caught[0].message)
        sides = ("test_", "train_") if train else ("test_",)
        names = [name for name in result if name.startswith(sides)]
        assert len(names) == 3 * len(sides)
        for name in names:
            assert np.isfinite(result[name][3])
            np.testing.assert_array_equal(np.delete(result[name], 3), error_score)

    @pytest.mark.parametrize("strategy", ["tree", "standard"])
    def test_every_row_in_turn(self, strategy):
        options = {"cv": KFold(6), "scoring": "neg_mean_squared_error", "strategy": strategy}
        for row in (0, 9, 10, 45, 59):
            with pytest.warns(FitFailedWarning, match="5 of 6 folds failed"):
                scores = cross_val_score(LSQSGD(0.1), with_value(X, 1e30, row).astype("f4"), TARGET, **options)
            assert np.flatnonzero(np.isfinite(scores)).tolist() == [row // 10]

    def test_leave_one_out(self):
        options = {"cv": "loo", "scoring": "neg_mean_squared_error"}
        with pytest.warns(FitFailedWarning, match="59 of 60 folds failed"):
            scores = cross_val_score(LSQSGD(0.1), self.X, TARGET, **options)
        assert np.flatnonzero(np.isfinite(scores)).tolist() == [33]

    def test_no_fold_has_a_model(self):
        hopeless = with_value(self.X, 1e30, row=3)
        options = {"cv": KFold(6), "scoring": ["neg_max_error", "r2"], "return_estimator": True}
        for estimator in (LSQSGD(0.1), Choking(0.1)):
            with pytest.raises(UpdateError, match="All the 6 fits failed"):
                cross_validate(estimator, hopeless, TARGET, **options)

    @pytest.mark.parametrize("strategy", ["tree", "standard"])
    @pytest.mark.parametrize("estimator", [LSQSGD(0.1), PythonLSQSGD(0.1)], ids=["core", "python"])
    def test_an_overflow_is_raised_if_that_is_asked_for(self, estimator, strategy):
        match = "fold 0 has predictions that are not finite: an update overflowed, or its model has learnt too few rows"
        options = {"cv": KFold(6), "strategy": strategy}
        for function in (cross_validate, cross_val_score):
            with pytest.raises(UpdateError, match=match):
                function(estimator, self.X, TARGET, error_score="raise", **options)
        with pytest.raises(UpdateError, match=match):
            cross_val_predict(estimator, self.X, TARGET, **options)

    @pytest.mark.parametrize(("strategy", "folds"), [("tree", "folds 0..2 have"), ("standard", "fold 0 has")])
    def test_the_learners_own_error_is_raised_with_its_folds(self, strategy, folds):
        with pytest.raises(FloatingPointError, match="choked") as caught:
            cross_validate(Choking(0.1), self.X, TARGET, cv=KFold(6), error_score="raise", strategy=strategy)
        assert caught.value.__notes__ == [f"{folds} no model."]


def choosy(estimator, X, y):
    """A scorer that fails on folds that begin with class 1."""
    if y[0] == 1:
        raise RuntimeError("no score for this")
    return 0.5


class TestFailingScorers:
    FAILING = LABELS[::10] == 1

    @pytest.mark.parametrize("error_score", [np.nan, -1.0])
    @pytest.mark.parametrize("scoring", [choosy, {"a": choosy, "b": "accuracy", "c": "f1"}], ids=["one", "several"])
    def test_only_the_scores_it_should_have_given_are_lost(self, scoring, error_score):
        count = self.FAILING.sum()
        assert 0 < count < 6
        match = f"Scoring failed on {count} of 6 folds.*become {error_score}.*RuntimeError: no score for this"
        with pytest.warns(UserWarning, match=match) as caught:
            result = cross_validate(Pegasos(), X, LABELS, cv=KFold(6), scoring=scoring, error_score=error_score)
        assert len(caught) == 1
        assert caught[0].filename == __file__
        lost = result["test_a"] if isinstance(scoring, dict) else result["test_score"]
        np.testing.assert_array_equal(lost, np.where(self.FAILING, error_score, 0.5))
        if isinstance(scoring, dict):
            good = cross_validate(Pegasos(), X, LABELS, cv=KFold(6), scoring={"b": "accuracy", "c": "f1"})
            np.testing.assert_array_equal(result["test_b"], good["test_b"])
            np.testing.assert_array_equal(result["test_c"], good["test_c"])

    def test_a_scorer_that_never_works_still_has_its_column(self):
        def broken(*_):
            raise ZeroDivisionError("never")

        with pytest.warns(UserWarning, match=r"Scoring failed on 6 of 6 folds, whose scores by \['score'\]"):
            scores = cross_val_score(Pegasos(), X, LABELS, cv=KFold(6), scoring=broken)
        assert np.isnan(scores).all()

    def test_training_scores_are_lost_alike(self):
        with pytest.warns(UserWarning, match="Scoring failed on"):
            result = cross_validate(Pegasos(), X, LABELS, cv=KFold(6), scoring=choosy, return_train_score=True)
        starts = np.where(np.arange(6) == 0, LABELS[10], LABELS[0])
        np.testing.assert_array_equal(np.isnan(result["train_score"]), starts == 1)

    def test_the_error_itself_is_raised_if_that_is_asked_for(self):
        fold = int(self.FAILING.argmax())
        with pytest.raises(RuntimeError, match="no score for this") as caught:
            cross_validate(Pegasos(), X, LABELS, cv=KFold(6), scoring={"a": choosy}, error_score="raise")
        assert caught.value.__notes__ == [f"This was scorer 'a' on the test rows of fold {fold}."]

    @pytest.mark.parametrize("value", ["abc", None, [1.0, 2.0], np.ones(2), 1j], ids=str)
    def test_a_score_that_is_no_number_is_refused_whatever_error_score_says(self, value):
        with pytest.raises(InputError, match=r"scoring must return a number, got .* for 'score'"):
            cross_validate(Pegasos(), X, LABELS, scoring=lambda *_: value)

    def test_a_metric_of_classes_asked_about_numbers_is_not_taken_for_its_fast_twin(self):
        scorer = make_scorer(accuracy_score, response_method="decision_function")
        with pytest.warns(UserWarning, match="Scoring failed on 5 of 5 folds.*mix of binary and continuous"):
            scores = cross_val_score(Pegasos(), X, LABELS, scoring=scorer)
        assert np.isnan(scores).all()


class TestSubclasses:
    """A learner stands for the methods of the class that names it; a subclass that changes them is not asked."""

    @pytest.mark.parametrize("method", ["fit", "partial_fit", "predict", "decision_function"])
    def test_changed_methods_are_refused(self, method):
        changed = type("Changed", (Pegasos,), {method: getattr(Pegasos, method)})
        with pytest.raises(CapabilityError, match=rf"Changed overrides {method}, but inherits a `__treecv_learner__`"):
            cross_val_score(changed(), X, LABELS, cv=KFold(3))

    def test_other_methods_and_a_learner_of_its_own_are_fine(self):
        other = type("Other", (Pegasos,), {"describe": lambda self: "svm"})
        own = type("Own", (other,), {"predict": Pegasos.predict, "__treecv_learner__": Pegasos.__treecv_learner__})
        expected = cross_val_score(Pegasos(), X, LABELS, cv=KFold(3))
        for estimator in (other(), own()):
            np.testing.assert_array_equal(cross_val_score(estimator, X, LABELS, cv=KFold(3)), expected)
