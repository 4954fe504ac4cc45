"""Scores computed for all folds at once are those scikit-learn computes fold by fold."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.metrics import get_scorer, make_scorer
from sklearn.metrics._scorer import _SCORERS

from treecv import LSQSGD, Pegasos
from treecv.data import Chunks
from treecv.errors import InputError
from treecv.model_selection.scoring import Folds, as_scorers, check_sizes

REGRESSION = {
    "neg_mean_squared_error": lambda y, p: -metrics.mean_squared_error(y, p),
    "neg_root_mean_squared_error": lambda y, p: -metrics.root_mean_squared_error(y, p),
    "neg_mean_absolute_error": lambda y, p: -metrics.mean_absolute_error(y, p),
    "r2": metrics.r2_score,
}

number = st.floats(-1e6, 1e6, width=32)
quarter = st.integers(-8, 8).map(lambda i: i / 4)  # sums of these are exact: constant folds stay constant


def cut(sizes):
    return Chunks(sum(sizes), np.concatenate([[0], np.cumsum(sizes)]))


def of_each_fold(score, target, predicted, sizes):
    edges = np.cumsum(sizes)[:-1]
    return [score(y, p) for y, p in zip(np.split(target, edges), np.split(predicted, edges), strict=True)]


def only(estimator, scoring):
    (scorer,) = as_scorers(estimator, scoring)
    return scorer


@st.composite
def regressions(draw, numbers, smallest=1):
    sizes = draw(st.lists(st.integers(smallest, 6), min_size=1, max_size=8))
    column = st.lists(numbers, min_size=sum(sizes), max_size=sum(sizes)).map(lambda values: np.array(values, float))
    return draw(column), draw(column), sizes


@pytest.mark.parametrize("name", REGRESSION)
@given(data=st.data())
def test_regression(name, data):
    target, predicted, sizes = data.draw(regressions(number, smallest=2))
    scores = only(LSQSGD(), name).scores(Folds(target, predicted, cut(sizes)))
    expected = of_each_fold(REGRESSION[name], target, predicted, sizes)
    spread = [np.ptp(part) for part in np.split(target, np.cumsum(sizes)[:-1])]
    sound = [name != "r2" or s > 1e-3 * (1 + np.abs(target).max()) or s == 0 for s in spread]
    np.testing.assert_allclose(scores[sound], np.array(expected)[sound], rtol=1e-7, atol=1e-9)


@given(case=regressions(quarter, smallest=2), equal=st.booleans())
def test_r2_of_constant_targets_follows_scikit_learns_convention(case, equal):
    target, predicted, sizes = case
    target[: sizes[0]] = 0.75
    if equal:
        predicted[: sizes[0]] = 0.75
    scores = only(LSQSGD(), "r2").scores(Folds(target, predicted, cut(sizes)))
    np.testing.assert_allclose(scores, of_each_fold(metrics.r2_score, target, predicted, sizes), rtol=1e-12, atol=1e-12)
    if equal:
        assert scores[0] == 1


@pytest.mark.parametrize("name", [name for name in REGRESSION if name != "r2"])
@given(case=regressions(number))
def test_leave_one_out_is_a_fold_a_row(name, case):
    target, predicted, _ = case
    scores = only(LSQSGD(), name).scores(Folds(target, predicted, Chunks(len(target))))
    ones = cut([1] * len(target))
    np.testing.assert_allclose(scores, only(LSQSGD(), name).scores(Folds(target, predicted, ones)), rtol=1e-15)
    np.testing.assert_allclose(scores, of_each_fold(REGRESSION[name], target, predicted, ones.sizes), rtol=1e-12)


@given(
    case=st.lists(st.integers(1, 6), min_size=1, max_size=8).flatmap(
        lambda sizes: st.tuples(
            st.lists(st.integers(0, 1), min_size=sum(sizes), max_size=sum(sizes)),
            st.lists(st.sampled_from([-2.0, -0.0, 0.0, 1e-300, 3.0]), min_size=sum(sizes), max_size=sum(sizes)),
            st.just(sizes),
        )
    )
)
@pytest.mark.parametrize(
    "scoring", [None, "accuracy", make_scorer(metrics.accuracy_score)], ids=["none", "name", "made"]
)
def test_accuracy_is_the_share_of_right_classes(scoring, case):
    codes, predicted, sizes = np.array(case[0]), (np.array(case[1]) > 0) * 1, case[2]
    expected = of_each_fold(metrics.accuracy_score, codes, predicted, sizes)
    for labels in (np.array([0, 1]), np.array(["no", "yes"])):
        scores = only(Pegasos(), scoring).scores(Folds(labels[codes], labels[predicted], cut(sizes)))
        np.testing.assert_allclose(scores, expected, rtol=1e-15)


def test_scores_leave_targets_and_predictions_alone():
    target, predicted = np.array([1.0, 2.0, 4.0]), np.array([1.5, 2.0, 3.0])
    for chunks in (cut([2, 1]), Chunks(3)):
        for name in REGRESSION.keys() - {"r2"}:
            only(LSQSGD(), name).scores(Folds(target, predicted, chunks))
    assert target.tolist() == [1, 2, 4]
    assert predicted.tolist() == [1.5, 2, 3]


def test_r2_of_single_rows_is_refused():
    with pytest.raises(InputError, match="needs folds of at least 2 rows, and the smallest has 1"):
        check_sizes([only(LSQSGD(), "r2")], cut([2, 1]))
    check_sizes([only(LSQSGD(), "r2")], cut([2, 2]))
    check_sizes([only(LSQSGD(), "neg_mean_squared_error")], cut([2, 1]))


class TestWhatIsVectorised:
    @pytest.mark.parametrize("name", sorted(_SCORERS))
    def test_only_the_metrics_known_to_be_the_same(self, name):
        assert (only(LSQSGD(), name).vectorised is not None) == (name in REGRESSION)
        assert (only(Pegasos(), name).vectorised is not None) == (name == "accuracy")

    def test_the_estimators_own_scores(self):
        assert only(LSQSGD(), None).vectorised is only(LSQSGD(), "r2").vectorised
        assert only(Pegasos(), None).vectorised is only(Pegasos(), "accuracy").vectorised

        class Own(LSQSGD):
            def score(self, X, y):
                return 1.0

        assert only(Own(), None).vectorised is None

    @pytest.mark.parametrize(
        "scorer",
        [
            make_scorer(metrics.accuracy_score, normalize=False),
            make_scorer(metrics.mean_squared_error, multioutput="raw_values"),
            make_scorer(metrics.r2_score, force_finite=False),
            make_scorer(metrics.accuracy_score, response_method="decision_function"),
            make_scorer(lambda y, p: 0.0),
            metrics.accuracy_score,
            get_scorer("accuracy")._score,
        ],
        ids=str,
    )
    def test_a_metric_with_options_or_of_ones_own_is_called(self, scorer):
        assert only(Pegasos(), scorer).vectorised is None
        assert only(LSQSGD(), scorer).vectorised is None

    @pytest.mark.parametrize("greater", [True, False])
    def test_the_sign_is_the_scorers(self, greater):
        scorer = only(LSQSGD(), make_scorer(metrics.mean_squared_error, greater_is_better=greater))
        folds = Folds(np.array([0.0, 0.0]), np.array([1.0, 3.0]), cut([2]))
        assert scorer.scores(folds).tolist() == [5.0 if greater else -5.0]

    def test_what_is_not_vectorised_says_so(self):
        with pytest.raises(TypeError, match="score is not computed from predictions"):
            only(Pegasos(), "f1").scores(Folds(np.zeros(2), np.zeros(2), cut([2])))


class TestNames:
    def test_one_metric_is_the_score(self):
        assert [scorer.name for scorer in as_scorers(Pegasos(), "f1")] == ["score"]
        assert [scorer.name for scorer in as_scorers(Pegasos(), None)] == ["score"]

    @pytest.mark.parametrize(
        ("scoring", "names"),
        [
            (["f1", "accuracy"], ["f1", "accuracy"]),
            (("f1", "accuracy"), ["f1", "accuracy"]),
            ({"f1", "accuracy"}, ["accuracy", "f1"]),
            ({"z": "f1", "a": "accuracy"}, ["z", "a"]),
        ],
        ids=["list", "tuple", "set", "dict"],
    )
    def test_several_metrics_keep_their_order(self, scoring, names):
        assert [scorer.name for scorer in as_scorers(Pegasos(), scoring)] == names

    def test_an_estimator_without_a_score(self):
        class Silent(RegressorMixin, BaseEstimator):
            score = property()

            def fit(self, X, y):
                return self

        with pytest.raises(TypeError, match="should have a 'score' method"):
            as_scorers(Silent(), None)
