"""`params`: to training, to the splitter and to the scorers, with and without scikit-learn's metadata routing."""

import numpy as np
import pandas
import pytest
import sklearn
import sklearn.model_selection as scikit_learn
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.linear_model import SGDClassifier
from sklearn.metrics import accuracy_score, get_scorer
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from cases import table
from treecv import OnePass, Pegasos, cross_val_predict, cross_val_score, cross_validate
from treecv.errors import InputError

X, y = table(120, 5)
WEIGHTS = np.random.default_rng(1).uniform(0.1, 2, len(y))
GROUPS = np.arange(len(y)) % 7
WAYS = ["auto", "tree", "standard"]


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def weighted(estimator, score=True):
    estimator = estimator.set_partial_fit_request(sample_weight=True).set_fit_request(sample_weight=True)
    return estimator.set_score_request(sample_weight=score)


class TestTraining:
    @pytest.mark.parametrize("make", [np.asarray, list, pandas.Series])
    @pytest.mark.parametrize("strategy", WAYS)
    def test_weights_of_rows(self, strategy, make):
        asked = {"method": "predict_proba", "cv": 7}
        params = {"sample_weight": make(WEIGHTS)}
        found = cross_val_predict(GaussianNB(), X, y, params=params, strategy=strategy, **asked)
        expected = scikit_learn.cross_val_predict(GaussianNB(), X, y, params={"sample_weight": WEIGHTS}, **asked)
        np.testing.assert_allclose(found, expected, rtol=1e-9)
        unweighted = cross_val_predict(GaussianNB(), X, y, strategy=strategy, **asked)
        assert not np.allclose(found, unweighted)

    def test_weights_on_scattered_folds(self):
        folds = scikit_learn.KFold(6, shuffle=True, random_state=0)
        asked = {"params": {"sample_weight": WEIGHTS}, "cv": folds, "method": "predict_proba"}
        found = cross_val_predict(GaussianNB(), X, y, strategy="tree", **asked)
        np.testing.assert_allclose(found, scikit_learn.cross_val_predict(GaussianNB(), X, y, **asked), rtol=1e-9)

    @pytest.mark.parametrize("strategy", ["tree", "standard"])
    def test_a_step_of_a_pipeline(self, strategy):
        estimator = make_pipeline(StandardScaler(), SGDClassifier(shuffle=False))
        params = {"sgdclassifier__sample_weight": WEIGHTS}
        found = cross_val_score(estimator, X, y, params=params, strategy=strategy)
        assert not np.array_equal(found, cross_val_score(estimator, X, y, strategy=strategy))
        if strategy == "standard":
            expected = scikit_learn.cross_val_score(OnePass(estimator), X, y, params=params)
            np.testing.assert_array_equal(found, expected)

    @pytest.mark.parametrize(
        ("value", "match"),
        [
            (WEIGHTS[1:], r"one entry a row, 120 in all, but this has \(119,\)"),
            (2.0, r"but this has a single value"),
            (np.where(np.arange(120) == 7, -0.5, WEIGHTS), r"holds -0.5 at row 7: weights must be finite and not neg"),
            (np.where(np.arange(120) == 7, np.nan, WEIGHTS), r"holds nan at row 7"),
            (np.where(np.arange(120) == 7, np.inf, WEIGHTS), r"holds inf at row 7"),
            (["heavy"] * 120, r"must hold numbers, one weight a row"),
        ],
    )
    @pytest.mark.parametrize("strategy", ["tree", "standard"])
    def test_weights_that_are_none(self, strategy, value, match):
        with pytest.raises(InputError, match=match):
            cross_val_score(GaussianNB(), X, y, params={"sample_weight": value}, strategy=strategy)
        if np.ndim(value):
            pipeline, params = make_pipeline(StandardScaler(), GaussianNB()), {"gaussiannb__sample_weight": value}
            with pytest.raises(InputError, match=match):
                cross_val_score(pipeline, X, y, params=params, strategy=strategy)

    @pytest.mark.parametrize(
        ("estimator", "name", "match"),
        [
            (GaussianNB(), "colour", r"GaussianNB.partial_fit takes no colour"),
            (make_pipeline(StandardScaler(), GaussianNB()), "sample_weight", r"Name the step as well"),
            (make_pipeline(StandardScaler(), GaussianNB()), "nobody__sample_weight", r"Name the step as well"),
            (Pegasos(), "sample_weight", r"Pegasos takes no further parameters"),
        ],
    )
    def test_what_nobody_takes(self, estimator, name, match):
        with pytest.raises(InputError, match=match):
            cross_val_score(estimator, X, y, params={name: WEIGHTS}, strategy="tree")


@pytest.mark.usefixtures("routing")
class TestRouting:
    @pytest.mark.parametrize("strategy", WAYS)
    @pytest.mark.parametrize("estimator", [GaussianNB(), Pegasos()])
    def test_without_anything_to_route(self, estimator, strategy):
        with sklearn.config_context(enable_metadata_routing=False):
            expected = cross_val_score(estimator, X, y, strategy=strategy)
        np.testing.assert_array_equal(cross_val_score(estimator, X, y, strategy=strategy), expected)

    @pytest.mark.parametrize("wrap", [lambda estimator: estimator, OnePass])
    @pytest.mark.parametrize("strategy", WAYS)
    def test_weights_in_training_and_in_the_estimators_own_score(self, strategy, wrap):
        asked = {"params": {"sample_weight": WEIGHTS}}
        found = cross_val_score(wrap(weighted(GaussianNB())), X, y, strategy=strategy, **asked)
        np.testing.assert_allclose(found, scikit_learn.cross_val_score(weighted(GaussianNB()), X, y, **asked))
        plain = cross_val_score(weighted(GaussianNB(), score=False), X, y, strategy=strategy, **asked)
        assert not np.allclose(found, plain)

    @pytest.mark.parametrize("estimator", [GaussianNB(), make_pipeline(StandardScaler(), GaussianNB())])
    def test_one_pass_hands_on_what_is_for_the_score(self, estimator):
        *before, last = getattr(estimator, "steps", [("", estimator)])
        weighted(last[1])
        for _, scaler in before:
            scaler.set_partial_fit_request(sample_weight=False)
        asked = {"params": {"sample_weight": WEIGHTS}}
        found = cross_val_score(OnePass(estimator), X, y, strategy="standard", **asked)
        np.testing.assert_array_equal(found, scikit_learn.cross_val_score(OnePass(estimator), X, y, **asked))

    @pytest.mark.parametrize("strategy", WAYS)
    @pytest.mark.parametrize("aggregate", ["folds", "pooled"])
    def test_weights_in_scoring_alone(self, strategy, aggregate):
        silent = GaussianNB().set_partial_fit_request(sample_weight=False).set_fit_request(sample_weight=False)
        asked = {"params": {"sample_weight": WEIGHTS}, "cv": 6}
        scorer = get_scorer("accuracy").set_score_request(sample_weight=True)
        found = cross_val_score(silent, X, y, scoring=scorer, strategy=strategy, aggregate=aggregate, **asked)
        if aggregate == "folds":
            expected = scikit_learn.cross_val_score(silent, X, y, scoring=scorer, **asked)
        else:
            predicted = scikit_learn.cross_val_predict(GaussianNB(), X, y, cv=6)
            expected = [accuracy_score(y, predicted, sample_weight=WEIGHTS)]
        np.testing.assert_allclose(found, expected)

    @pytest.mark.parametrize("strategy", ["auto", "tree"])
    def test_a_pooled_score_of_the_estimators_own_has_its_weights(self, strategy):
        asked = {"params": {"sample_weight": WEIGHTS}, "strategy": strategy}
        found = cross_val_score(weighted(GaussianNB()), X, y, aggregate="pooled", **asked)
        predicted = cross_val_predict(weighted(GaussianNB()), X, y, **asked)
        np.testing.assert_allclose(found, [accuracy_score(y, predicted, sample_weight=WEIGHTS)])

    def test_groups_to_the_splitter(self):
        asked = {"params": {"groups": GROUPS}, "cv": scikit_learn.GroupKFold(3)}
        found = cross_val_score(GaussianNB(), X, y, strategy="tree", **asked)
        np.testing.assert_array_equal(found, scikit_learn.cross_val_score(GaussianNB(), X, y, **asked))

    def test_what_was_not_asked_for_is_refused(self):
        with pytest.raises(UnsetMetadataPassedError, match=r"GaussianNB.partial_fit, which is used within cross_val"):
            cross_val_score(GaussianNB(), X, y, params={"sample_weight": WEIGHTS}, strategy="tree")
        with pytest.raises(ValueError, match="`groups` can only be passed if metadata routing is not enabled"):
            cross_validate(GaussianNB(), X, y, groups=GROUPS, strategy="tree")
