"""`OnePass`: an estimator whose `fit` is one pass of `partial_fit`, and the reference for the tree."""

import pickle

import numpy as np
import pytest
import sklearn.model_selection as scikit_learn
from sklearn.base import clone, is_classifier, is_clusterer, is_regressor
from sklearn.cluster import MiniBatchKMeans
from sklearn.decomposition import IncrementalPCA
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, SGDClassifier, SGDRegressor
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from cases import table
from treecv import OnePass, Pegasos, cross_val_score, cross_validate
from treecv.errors import CapabilityError, InputError

X, y = table(90, 5)
LABELS = np.array(["no", "perhaps"])[y]


class TestFit:
    @pytest.mark.parametrize("estimator", [SGDClassifier(shuffle=False), MLPClassifier((3,), random_state=0)])
    def test_is_one_call_of_partial_fit(self, estimator):
        expected = clone(estimator).partial_fit(X, LABELS, classes=np.unique(LABELS))
        np.testing.assert_array_equal(OnePass(estimator).fit(X, LABELS).predict(X), expected.predict(X))

    def test_in_batches(self):
        expected = SGDClassifier(shuffle=False)
        for begin in range(0, 90, 20):
            part = slice(begin, begin + 20)
            expected.partial_fit(X[part], LABELS[part], classes=np.unique(LABELS))
        found = OnePass(SGDClassifier(shuffle=False), batch_size=20).fit(X, LABELS)
        np.testing.assert_array_equal(found.estimator_.coef_, expected.coef_)

    def test_forgets_what_was_learnt_before(self):
        model = OnePass(SGDClassifier(shuffle=False))
        one, two = (model.fit(X, y).estimator_.coef_ for _ in range(2))
        np.testing.assert_array_equal(one, two)
        assert not hasattr(model.estimator, "coef_")

    @pytest.mark.parametrize("estimator", [SGDClassifier(shuffle=False), Pegasos()])
    def test_a_seed_names_a_random_order(self, estimator):
        one, same, other = (
            OnePass(estimator, order="randomized", seed=seed).fit(X, y).estimator_.coef_ for seed in (1, 1, 2)
        )
        np.testing.assert_array_equal(one, same)
        assert (one != other).any()
        assert (one != OnePass(estimator).fit(X, y).estimator_.coef_).any()
        assert (OnePass(estimator, order="randomized").fit(X, y).estimator_.coef_ != one).any()

    def test_gaussian_nb_is_what_its_own_fit_gives(self):
        found, expected = OnePass(GaussianNB(), batch_size=7).fit(X, y), GaussianNB().fit(X, y)
        np.testing.assert_allclose(found.predict_proba(X), expected.predict_proba(X), rtol=1e-9)


class TestTheModelThatWasScored:
    """scikit-learn's function over the wrapper is ours over it, and ours over what it wraps."""

    @pytest.mark.parametrize("size", [None, 10])
    def test_is_what_standard_scores(self, size):
        wrapped = OnePass(SGDClassifier(shuffle=False), batch_size=size)
        expected = scikit_learn.cross_val_score(wrapped, X, LABELS)
        np.testing.assert_array_equal(cross_val_score(wrapped, X, LABELS, strategy="standard"), expected)

    def test_and_auto_is_the_tree(self):
        auto = cross_validate(OnePass(SGDClassifier(shuffle=False)), X, y, seed=1)
        tree = cross_validate(SGDClassifier(shuffle=False), X, y, strategy="tree", seed=1)
        np.testing.assert_array_equal(auto["test_score"], tree["test_score"])
        assert auto.strategy == tree.strategy == "tree"
        assert auto.what == tree.what
        assert auto.what.startswith("The score of one pass over the training rows, fold after fold")

    def test_its_order_is_not_overruled_by_a_default(self):
        wrapped = OnePass(SGDClassifier(shuffle=False), order="blocks")
        assert cross_validate(wrapped, X, y).record.order == "blocks"
        assert cross_validate(wrapped, X, y, order="fixed").record.order == "fixed"


class TestCheckFolds:
    @pytest.mark.parametrize("m", [1, 4, 9])
    def test_retrains_random_folds_from_scratch(self, m):
        asked = {"cv": scikit_learn.KFold(9), "seed": 2, "return_predictions": True}
        estimator = OnePass(SGDClassifier(shuffle=False))
        result = cross_validate(estimator, X, y, check_folds=m, **asked)
        scratch = cross_validate(estimator, X, y, strategy="standard", **asked)
        folds = list(result.check.folds)
        assert folds == sorted(set(folds))
        assert len(folds) == m
        expected = np.abs(scratch["test_score"][folds] - result["test_score"][folds]).mean()
        assert result.check.differences == {"test_score": pytest.approx(expected)}
        rows = np.concatenate([np.arange(10 * fold, 10 * fold + 10) for fold in folds])
        same = (scratch["predictions"][rows] == result["predictions"][rows]).mean()
        assert result.check.agreement == pytest.approx(same)

    def test_of_any_scorer(self):
        asked = {"scoring": ["roc_auc", "accuracy"], "check_folds": 3, "seed": 2}
        result = cross_validate(OnePass(SGDClassifier(shuffle=False)), X, y, **asked)
        assert list(result.check.differences) == ["test_roc_auc", "test_accuracy"]

    @pytest.mark.parametrize("m", [-1, 6])
    def test_numbers_that_make_no_sense(self, m):
        with pytest.raises(InputError, match=r"check_folds=.* must be a number of folds from 1 to 5"):
            cross_validate(OnePass(GaussianNB()), X, y, check_folds=m)


class TestShape:
    def test_is_what_it_wraps(self):
        assert is_classifier(OnePass(SGDClassifier()))
        assert is_regressor(OnePass(SGDRegressor()))
        assert is_clusterer(OnePass(MiniBatchKMeans()))
        assert is_classifier(OnePass(make_pipeline(StandardScaler(), SGDClassifier())))

    @pytest.mark.parametrize(
        ("estimator", "has", "lacks"),
        [
            (SGDClassifier(loss="log_loss"), ["predict_proba", "decision_function", "score"], ["transform"]),
            (SGDClassifier(loss="hinge"), ["decision_function"], ["predict_proba", "predict_log_proba"]),
            (IncrementalPCA(2), ["transform", "inverse_transform", "get_feature_names_out"], ["predict", "score"]),
        ],
    )
    def test_has_the_methods_of_what_it_wraps(self, estimator, has, lacks):
        model = OnePass(estimator)
        assert all(hasattr(model, name) for name in has)
        assert not any(hasattr(model, name) for name in lacks)

    def test_methods_say_what_the_trained_estimator_says(self):
        model = OnePass(IncrementalPCA(2)).fit(X)
        inside = model.estimator_
        np.testing.assert_array_equal(model.transform(X), inside.transform(X))
        np.testing.assert_array_equal(
            model.inverse_transform(model.transform(X)), inside.inverse_transform(inside.transform(X))
        )
        assert list(model.get_feature_names_out()) == ["incrementalpca0", "incrementalpca1"]
        model = OnePass(SGDClassifier(loss="log_loss", random_state=0)).fit(X, LABELS)
        for name in ("predict", "predict_proba", "decision_function"):
            np.testing.assert_array_equal(getattr(model, name)(X), getattr(model.estimator_, name)(X))
        logarithms = OnePass(GaussianNB()).fit(X, LABELS).predict_log_proba(X)
        np.testing.assert_allclose(logarithms, GaussianNB().fit(X, LABELS).predict_log_proba(X))
        assert model.score(X, LABELS) == model.estimator_.score(X, LABELS)
        assert list(model.classes_) == ["no", "perhaps"]
        assert model.n_features_in_ == 5

    def test_before_fit(self):
        with pytest.raises(NotFittedError):
            OnePass(GaussianNB()).predict(X)

    def test_clones_pickles_and_is_searched(self):
        model = OnePass(SGDClassifier(shuffle=False), batch_size=8)
        assert clone(model).get_params()["batch_size"] == 8
        fitted = pickle.loads(pickle.dumps(model.fit(X, y)))  # noqa: S301 - made just here
        np.testing.assert_array_equal(fitted.predict(X), model.predict(X))
        search = scikit_learn.GridSearchCV(model, {"estimator__alpha": [1e-4, 1.0], "batch_size": [None, 8]}).fit(X, y)
        assert isinstance(search.best_estimator_, OnePass)

    @pytest.mark.parametrize(
        ("settings", "match"),
        [
            ({"batch_size": 0}, "OnePass: batch_size=0 must be"),
            ({"batch_size": True}, "OnePass: batch_size=True must be"),
            ({"batch_size": 2.5}, "OnePass: batch_size=2.5 must be"),
            ({"order": "backwards"}, "order='backwards' is not known"),
        ],
    )
    def test_settings_that_mean_nothing(self, settings, match):
        for call in (lambda model: model.fit(X, y), lambda model: cross_val_score(model, X, y)):
            with pytest.raises(InputError, match=match):
                call(OnePass(GaussianNB(), **settings))

    def test_an_estimator_that_cannot(self):
        with pytest.raises(CapabilityError, match="LogisticRegression has no `partial_fit`"):
            OnePass(LogisticRegression()).fit(X, y)
