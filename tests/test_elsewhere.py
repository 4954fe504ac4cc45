"""strategy="auto" where `fit` is not one pass: scikit-learn's own function, and what ours adds to it."""

import logging
import warnings

import numpy as np
import pytest
import sklearn.model_selection as scikit_learn
from sklearn.linear_model import LogisticRegression, Ridge, SGDClassifier
from sklearn.metrics import accuracy_score, get_scorer, log_loss, r2_score
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from cases import table
from treecv import OnePass, cross_val_predict, cross_val_score, cross_validate
from treecv.errors import InputError

X, y = table(90, 5)
LABELS = np.array(["no", "perhaps"])[y]
NUMBERS = X @ np.arange(5.0) + y
LOO = scikit_learn.LeaveOneOut()


class TestTheSame:
    @pytest.mark.parametrize(
        "estimator", [SGDClassifier(random_state=0), LogisticRegression(), DecisionTreeClassifier(random_state=0)]
    )
    def test_scores_and_keys(self, estimator):
        asked = {"scoring": ["accuracy", "roc_auc"], "return_train_score": True, "return_indices": True}
        found, expected = (way(estimator, X, LABELS, **asked) for way in (cross_validate, scikit_learn.cross_validate))
        assert list(found) == list(expected)
        for name in expected:
            if name.startswith(("test", "train")):
                np.testing.assert_array_equal(found[name], expected[name])
        assert (found.strategy, found.exact) == ("scikit-learn", True)
        assert found.what.startswith("The score of `fit`; 5 folds of 90 rows")

    def test_an_order_of_the_estimators_own_is_not_ours(self):
        class Lagged(Ridge):
            def __init__(self, alpha=1.0, order=(1, 0, 0)):
                super().__init__(alpha)
                self.order = order

        expected = scikit_learn.cross_val_score(Ridge(), X, NUMBERS)
        np.testing.assert_array_equal(cross_val_score(Lagged(), X, NUMBERS), expected)

    def test_loo_is_leave_one_out(self):
        found = cross_val_predict(Ridge(), X, NUMBERS, cv="loo")
        np.testing.assert_allclose(found, scikit_learn.cross_val_predict(Ridge(), X, NUMBERS, cv=LOO), rtol=1e-10)


GROUPS = np.arange(90) % 6


class TestHint:
    @pytest.mark.parametrize(
        ("cv", "cheaper"),
        [
            (None, "1.7"),
            (10, "2.6"),
            ("loo", "13.5"),
            (LOO, "13.5"),
            (scikit_learn.RepeatedKFold(n_splits=10, n_repeats=3), "2.6"),
            (scikit_learn.LeaveOneGroupOut(), "1.9"),
            (scikit_learn.TimeSeriesSplit(5), "3.0"),
        ],
    )
    def test_says_what_the_tree_would_save(self, cv, cheaper, caplog):
        with caplog.at_level(logging.INFO, "treecv"):
            groups = GROUPS if "Group" in repr(cv) else None
            result = cross_validate(SGDClassifier(), X, y, cv=cv, groups=groups)
        assert result.hint.startswith("OnePass(SGDClassifier(...)) or strategy='tree' would score one pass")
        assert result.hint.endswith(f"about 1/{cheaper} of the training.")
        assert [record.getMessage() for record in caplog.records] == [f"cross_validate: {result.hint}"]

    @pytest.mark.parametrize(
        ("estimator", "cv"),
        [
            (LogisticRegression(), 5),
            (SGDClassifier(), 2),
            (SGDClassifier(), scikit_learn.ShuffleSplit(5, random_state=0)),
            (SGDClassifier(), scikit_learn.LeavePGroupsOut(2)),
            (SGDClassifier(), list(scikit_learn.KFold(5).split(X))),
            (OnePass(SGDClassifier()), 5),
        ],
    )
    def test_is_not_given_where_the_tree_saves_nothing(self, estimator, cv, caplog):
        with caplog.at_level(logging.INFO, "treecv"):
            groups = GROUPS if "Group" in repr(cv) else None
            assert cross_validate(estimator, X, y, cv=cv, groups=groups).hint == ""
        assert not caplog.records

    def test_folds_that_cannot_be_counted_are_complained_of_by_scikit_learn(self):
        with pytest.raises(ValueError, match="groups"):
            cross_validate(SGDClassifier(), X, y, cv=scikit_learn.LeaveOneGroupOut())


class TestPooled:
    @pytest.mark.parametrize("scoring", [None, "r2"])
    def test_r2_of_single_rows_without_a_warning(self, scoring):
        found = cross_val_score(Ridge(), X, NUMBERS, cv="loo", scoring=scoring, aggregate="pooled")
        predicted = scikit_learn.cross_val_predict(Ridge(), X, NUMBERS, cv=LOO)
        np.testing.assert_allclose(found, [r2_score(NUMBERS, predicted)], rtol=1e-12)

    def test_several_metrics(self):
        names = ["accuracy", "neg_log_loss"]
        found = cross_validate(LogisticRegression(), X, LABELS, scoring=names, aggregate="pooled")
        shares = scikit_learn.cross_val_predict(LogisticRegression(), X, LABELS, method="predict_proba")
        np.testing.assert_allclose(found["test_neg_log_loss"], [-log_loss(LABELS, shares)], rtol=1e-12)
        predicted = scikit_learn.cross_val_predict(LogisticRegression(), X, LABELS)
        assert found["test_accuracy"] == [accuracy_score(LABELS, predicted)]
        assert "estimator" not in found
        assert "indices" not in found

    @pytest.mark.parametrize("strategy", ["auto", "tree"])
    def test_once_for_each_repetition(self, strategy):
        folds = scikit_learn.RepeatedKFold(n_splits=4, n_repeats=3, random_state=0)
        asked = {"cv": folds, "aggregate": "pooled", "return_predictions": True, "strategy": strategy}
        found = cross_validate(GaussianNB(), X, LABELS, **asked)
        assert found["predictions"].shape == (3, 90)
        expected = [accuracy_score(LABELS, predicted) for predicted in found["predictions"]]
        np.testing.assert_array_equal(found["test_score"], expected)
        tests = [test for _, test in folds.split(X)]
        one = [GaussianNB().fit(np.delete(X, test, 0), np.delete(LABELS, test)).predict(X[test]) for test in tests]
        for repetition in range(3):
            rows = np.concatenate(tests[4 * repetition : 4 * repetition + 4])
            predicted = np.concatenate(one[4 * repetition : 4 * repetition + 4])
            np.testing.assert_array_equal(found["predictions"][repetition][rows], predicted)

    def test_overlapping_folds_count_a_row_as_often_as_it_is_held_out(self):
        folds = scikit_learn.ShuffleSplit(4, test_size=0.5, random_state=0)
        found = cross_val_score(Ridge(), X, NUMBERS, cv=folds, aggregate="pooled")
        pairs = [(test, Ridge().fit(X[train], NUMBERS[train]).predict(X[test])) for train, test in folds.split(X)]
        tests, predicted = (np.concatenate(parts) for parts in zip(*pairs, strict=True))
        np.testing.assert_allclose(found, [r2_score(NUMBERS[tests], predicted)], rtol=1e-12)


class TestPredictions:
    @pytest.mark.parametrize("target", [NUMBERS, y, LABELS])
    def test_are_those_of_cross_val_predict(self, target):
        estimator = Ridge() if target is NUMBERS else LogisticRegression()
        found = cross_validate(estimator, X, target, return_predictions=True)["predictions"]
        expected = scikit_learn.cross_val_predict(estimator, X, target)
        if target is NUMBERS:  # by a shortcut, to rounding
            np.testing.assert_allclose(found, expected, rtol=1e-10)
        else:
            np.testing.assert_array_equal(found, expected)

    @pytest.mark.parametrize("listed", [False, True])
    def test_of_overlapping_folds_have_no_place(self, listed):
        folds = scikit_learn.ShuffleSplit(4, test_size=0.5, random_state=0)
        folds = list(folds.split(X)) if listed else folds
        with pytest.raises(InputError, match=r"return_predictions=True needs folds that hold out every row equally"):
            cross_validate(Ridge(), X, NUMBERS, cv=folds, return_predictions=True)


@pytest.mark.parametrize("cv", ["loo", LOO, scikit_learn.LeavePOut(1), 90])
@pytest.mark.parametrize("function", [cross_validate, cross_val_score])
def test_r2_of_single_rows_is_an_error_and_not_a_warning_a_row(function, cv):
    with pytest.raises(InputError, match=r"needs folds of at least 2 rows.*aggregate='pooled'"):
        function(Ridge(), X, NUMBERS, cv=cv)
    assert len(cross_val_score(Ridge(), X, NUMBERS, cv=cv, scoring="neg_mean_squared_error")) == 90


class Picky(LogisticRegression):
    """Fails where the first row is among those to learn."""

    def fit(self, X, y):
        if (X == FIRST).all(axis=1).any():
            raise ValueError("not this one")
        return super().fit(X, y)


FIRST = X[0]


@pytest.mark.filterwarnings("ignore:\\n*4 fits failed")
class TestFailures:
    def test_a_pooled_score_needs_all_folds(self):
        found = cross_val_score(Picky(), X, y, cv=5, aggregate="pooled", error_score=-1)
        np.testing.assert_array_equal(found, [-1.0])

    def test_other_folds_keep_their_predictions(self):
        folds = scikit_learn.KFold(5)
        found = cross_validate(Picky(), X, y, cv=folds, return_predictions=True)["predictions"]
        expected = LogisticRegression().fit(X[18:], y[18:]).predict(X[:18])
        np.testing.assert_array_equal(found[:18], expected)
        assert np.isnan(found[18:]).all()

    def test_the_error_is_raised_if_that_is_asked_for(self):
        with pytest.raises(ValueError, match="not this one"):
            cross_validate(Picky(), X, y, return_predictions=True, error_score="raise")

    def test_so_is_that_of_a_prediction(self):
        class Mute(LogisticRegression):
            def predict(self, X):
                raise ValueError("no word")

        asked = {"return_predictions": True, "scoring": get_scorer("neg_log_loss")}
        with pytest.raises(ValueError, match="no word"):
            cross_validate(Mute(), X, y, error_score="raise", **asked)
        assert np.isnan(cross_validate(Mute(), X, y, **asked)["predictions"]).all()


def test_other_warnings_are_not_swallowed():
    class Loud(Ridge):
        def fit(self, X, y):
            warnings.warn("here", UserWarning, stacklevel=1)
            return super().fit(X, y)

    with pytest.warns(UserWarning, match="here"):
        cross_val_score(Loud(), X, NUMBERS, aggregate="pooled")
