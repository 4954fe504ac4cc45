"""`learning_curve`, `validation_curve` and `permutation_test_score` are scikit-learn's over the same models."""

import inspect

import numpy as np
import pytest
import sklearn.model_selection as scikit_learn
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.naive_bayes import GaussianNB

from cases import table
from treecv import OnePass, Pegasos, learning_curve, permutation_test_score, validation_curve
from treecv.errors import CapabilityError

X, y = table(120, 5)
GROUPS = np.arange(120) % 5
FOLDS = scikit_learn.KFold(4)
SIZES = {"train_sizes": [10, 30, 70]}
GROWING = SGDClassifier(shuffle=False)
VALUES = {"param_name": "alpha", "param_range": [1e-4, 1e-2, 1.0]}


def assert_all_equal(one, other):
    assert len(one) == len(other)
    for mine, theirs in zip(one, other, strict=True):
        np.testing.assert_array_equal(mine, theirs)


class TestLearningCurve:
    @pytest.mark.parametrize("more", [{}, {"shuffle": True, "random_state": 3}, {"scoring": "roc_auc"}, {"cv": FOLDS}])
    @pytest.mark.parametrize("estimator", [LogisticRegression(), GROWING])
    def test_auto_is_scikit_learns(self, estimator, more):
        found = learning_curve(estimator, X, y, **SIZES | more)
        assert_all_equal(found, scikit_learn.learning_curve(estimator, X, y, **SIZES | more))

    @pytest.mark.parametrize("cv", [None, 4, FOLDS, scikit_learn.ShuffleSplit(3, random_state=0)])
    def test_exploiting_incremental_learning_is_scikit_learns(self, cv):
        asked = SIZES | {"cv": cv, "exploit_incremental_learning": True}
        expected = scikit_learn.learning_curve(GROWING, X, y, **asked)
        assert_all_equal(learning_curve(GROWING, X, y, **asked), expected)
        # and the chain is that: a call of partial_fit for what each size adds
        asked["exploit_incremental_learning"] = False
        assert_all_equal(learning_curve(GROWING, X, y, strategy="tree", **asked), expected)

    @pytest.mark.parametrize(
        "more", [{}, {"shuffle": True, "random_state": 3}, {"scoring": "roc_auc", "groups": GROUPS}]
    )
    def test_where_order_does_not_matter_one_model_gives_all_sizes(self, more):
        cv = scikit_learn.GroupKFold(4) if "groups" in more else FOLDS
        asked = SIZES | more | {"cv": cv}
        for strategy in ("tree", "standard"):
            found = learning_curve(GaussianNB(), X, y, strategy=strategy, **asked)
            assert_all_equal(found, scikit_learn.learning_curve(GaussianNB(), X, y, **asked))

    def test_each_row_is_learnt_once(self):
        learnt = []

        class Counting(GaussianNB):
            def partial_fit(self, X, y, classes=None, sample_weight=None):
                learnt.append(len(X))
                return super().partial_fit(X, y, classes, sample_weight)

        learning_curve(OnePass(Counting()), X, y, cv=FOLDS, **SIZES)
        assert learnt == [10, 20, 40] * 4

    def test_times_and_sizes(self, capsys):
        found = learning_curve(OnePass(GROWING), X, y, cv=FOLDS, return_times=True, verbose=1, **SIZES)
        assert [array.shape for array in found] == [(3,)] + [(3, 4)] * 4
        assert (found[3] > 0).all()
        assert "Training set sizes: [10 30 70]" in capsys.readouterr().out

    def test_the_core(self):
        found = learning_curve(Pegasos(0.1), X, y, cv=FOLDS, **SIZES)
        assert_all_equal(found, scikit_learn.learning_curve(Pegasos(0.1), X, y, cv=FOLDS, **SIZES))

    def test_an_estimator_that_cannot_grow(self):
        with pytest.raises(CapabilityError, match="LogisticRegression has no `partial_fit`"):
            learning_curve(LogisticRegression(), X, y, strategy="tree")


class TestValidationCurve:
    @pytest.mark.parametrize("strategy", ["auto", "standard"])
    def test_is_scikit_learns(self, strategy):
        found = validation_curve(GROWING, X, y, strategy=strategy, cv=FOLDS, **VALUES)
        expected = GROWING
        name = "alpha"
        if strategy == "standard":
            expected, name = OnePass(GROWING), "estimator__alpha"
        asked = VALUES | {"param_name": name, "cv": FOLDS}
        assert_all_equal(found, scikit_learn.validation_curve(expected, X, y, **asked))

    def test_parameters_inside_one_pass(self):
        asked = {"param_name": "estimator__var_smoothing", "param_range": [1e-9, 1e-1, 1e3], "cv": FOLDS}
        found = validation_curve(OnePass(GaussianNB()), X, y, **asked)
        assert_all_equal(found, scikit_learn.validation_curve(OnePass(GaussianNB()), X, y, **asked))

    def test_all_values_see_the_same_folds(self):
        folds = scikit_learn.KFold(4, shuffle=True, random_state=np.random.RandomState(0))
        asked = {"param_name": "var_smoothing", "param_range": [1e-9, 1e-9], "cv": folds}
        train, test = validation_curve(GaussianNB(), X, y, strategy="tree", **asked)
        np.testing.assert_array_equal(train[0], train[1])
        np.testing.assert_array_equal(test[0], test[1])

    def test_overlapping_folds(self):
        folds = scikit_learn.ShuffleSplit(3, random_state=0)
        found = validation_curve(GROWING, X, y, strategy="standard", cv=folds, **VALUES)
        asked = VALUES | {"param_name": "estimator__alpha", "cv": folds}
        assert_all_equal(found, scikit_learn.validation_curve(OnePass(GROWING), X, y, **asked))


class TestPermutations:
    @pytest.mark.parametrize("groups", [None, GROUPS])
    @pytest.mark.parametrize("strategy", ["auto", "tree", "standard"])
    def test_scores_are_scikit_learns(self, groups, strategy):
        asked = {"cv": scikit_learn.KFold(5), "n_permutations": 8, "random_state": 2, "groups": groups}
        if groups is not None:
            asked["cv"] = scikit_learn.GroupKFold(5)
        found = permutation_test_score(GaussianNB(), X, y, strategy=strategy, **asked)
        assert_all_equal(found, scikit_learn.permutation_test_score(GaussianNB(), X, y, **asked))

    def test_a_score_that_failed_is_not_significant(self):
        first = X[0, 0]

        class Picky(GaussianNB):
            def partial_fit(self, X, y, classes=None, sample_weight=None):
                if (X[:, 0] == first).any():
                    raise ValueError("not this one")
                return super().partial_fit(X, y, classes, sample_weight)

        with pytest.raises(ValueError, match="not this one"):
            permutation_test_score(Picky(), X, y, strategy="tree", n_permutations=3)

    def test_folds_that_were_listed_are_used_again(self):
        asked = {"n_permutations": 4, "random_state": 0}
        listed = (fold for fold in scikit_learn.KFold(5).split(X))
        found = permutation_test_score(GaussianNB(), X, y, cv=listed, strategy="tree", **asked)
        expected = permutation_test_score(GaussianNB(), X, y, cv=scikit_learn.KFold(5), strategy="tree", **asked)
        assert_all_equal(found, expected)


@pytest.mark.parametrize("function", [learning_curve, validation_curve, permutation_test_score])
def test_defaults_are_scikit_learns(function):
    theirs = inspect.signature(getattr(scikit_learn, function.__name__)).parameters
    ours = inspect.signature(function).parameters
    assert list(ours)[: len(theirs)] == list(theirs)
    for name, parameter in theirs.items():
        assert ours[name].kind == parameter.kind
        np.testing.assert_equal(ours[name].default, parameter.default)
