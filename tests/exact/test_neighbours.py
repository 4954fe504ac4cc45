"""Nearest neighbours: every fold as scikit-learn itself answers it, ties and all."""

import re

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import model_selection
from sklearn.base import clone
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor, RadiusNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import treecv
from exact.folds_from_scratch import Task, answers, labels, splits, steps
from treecv.adapters.exact import neighbours
from treecv.adapters.exact.neighbours import NearestNeighbours, recognised
from treecv.adapters.exact.table import Table
from treecv.errors import CapabilityError
from treecv.learners.neighbours import Found, Precision, close_votes, nearest

TABLES = ("normal", "grid", "duplicates", "constant", "shifted", "scales", "tenths", "near")


@st.composite
def tables(draw, widths=(1, 2, 3, 20)):
    """Features in which distances tie exactly, almost, or not at all."""
    n, d = draw(st.integers(4, 14)), draw(st.sampled_from(widths))
    random, kind = np.random.default_rng(draw(st.integers(0, 2**32))), draw(st.sampled_from(TABLES))
    X = random.normal(size=(n, d))
    if kind == "grid":
        X = random.integers(-2, 3, size=(n, d)).astype(float)
    elif kind == "tenths":
        X = random.integers(-2, 3, size=(n, d)) * 0.1
    elif kind == "duplicates":
        X = X[random.integers(0, max(n // 3, 1), size=n)]
    elif kind == "constant":
        X[:, : max(1, d - 1)] = 0.3
    elif kind == "shifted":
        X += 1e8
    elif kind == "scales":
        X *= 10.0 ** random.integers(-6, 7, size=d)
    elif kind == "near":
        X = X[random.integers(0, max(n // 2, 1), size=n)] + 1e-9 * random.normal(size=(n, d))
    return X, random


@st.composite
def classified(draw):
    X, random = draw(tables())
    n_classes = draw(st.integers(1, 4))
    y = random.integers(0, n_classes, size=len(X))
    y[0] = n_classes - 1
    offsets, index = draw(splits(len(X)))
    if draw(st.integers(0, 4)) == 0:
        X = X.astype(np.float32)
    return Task(X, y, None, index, offsets, np.array(["a", "b", "c", "d"])[:n_classes])


@st.composite
def measured(draw):
    X, random = draw(tables())
    y = random.normal(size=len(X)) if draw(st.booleans()) else random.normal(size=(len(X), 2))
    if draw(st.booleans()):
        y = np.round(y)
    offsets, index = draw(splits(len(X)))
    return Task(X, y, None, index, offsets)


SETTINGS = {
    "n_neighbors": st.sampled_from([1, 2, 3, 5]),
    "weights": st.sampled_from(["uniform", "distance", None]),
    "algorithm": st.sampled_from(["auto", "brute", "kd_tree", "ball_tree"]),
    "metric": st.sampled_from(["minkowski", "minkowski", "euclidean", "manhattan", "chebyshev"]),
    "p": st.sampled_from([1, 2, 2, 3]),
    "leaf_size": st.sampled_from([1, 30]),
}


def shortcut(estimator, task):
    exact = recognised(estimator, steps(estimator), task.schema)
    assert isinstance(exact, NearestNeighbours), exact
    values = exact.held_out(task.schema, task.feed)
    assert len(values) == task.n - task.feed.chunks.before
    return exact, values


def assert_as_scikit_learn(estimator, task, rtol=1e-8):
    """Weights of one over a distance are known to about 1e-9, as scikit-learn itself has them."""
    exact, values = shortcut(estimator, task)
    methods = ("predict", "predict_proba")[: 1 + exact.margins]
    begin = 0
    for (train, test), truth in zip(task.folds(), answers(estimator, task, *methods), strict=True):
        part, begin = values[begin : begin + len(test)], begin + len(test)
        if truth is None:
            assert np.isnan(part).all()
            continue
        if np.isnan(part).any():
            assert differs_for_integers(estimator, task, train, test, truth[-1])
            continue
        found = exact.answered("predict", part)
        if not exact.margins:
            np.testing.assert_allclose(found, truth[0], rtol=rtol, atol=rtol)
            continue
        np.testing.assert_array_equal(found, truth[0])
        known = np.isin(task.classes, labels(task)[train])
        np.testing.assert_array_equal(np.isneginf(part), np.broadcast_to(~known, part.shape))
        shares = exact.answered("predict_proba", part)
        np.testing.assert_allclose(shares[:, known], truth[1], rtol=rtol, atol=rtol)
        assert (shares[:, ~known] == 0).all()


def differs_for_integers(estimator, task, train, test, truth):
    """Whether scikit-learn says something else of the same numbers stored as integers, which nobody can tell then."""
    X = task.X.astype(np.int64)
    model = clone(estimator).fit(X[train], labels(task)[train])
    try:
        said = model.predict_proba(X[test]) if hasattr(model, "classes_") else model.predict(X[test])
    except ValueError:
        return True
    return (X != task.X).sum() == 0 and not np.allclose(said, truth)


@settings(max_examples=200, deadline=None)
@given(classified(), st.fixed_dictionaries(SETTINGS))
def test_a_classifier_votes_as_scikit_learn_does(task, chosen):
    assert_as_scikit_learn(KNeighborsClassifier(**chosen), task)


@settings(max_examples=200, deadline=None)
@given(measured(), st.fixed_dictionaries(SETTINGS))
def test_a_regressor_takes_means_as_scikit_learn_does(task, chosen):
    assert_as_scikit_learn(KNeighborsRegressor(**chosen), task)


@settings(max_examples=60, deadline=None)
@given(classified(), st.sampled_from([1, 3, 5]), st.sampled_from(["minkowski", "manhattan", "cosine"]))
def test_sparse_rows(task, n_neighbors, metric):
    task.X = scipy.sparse.csr_array(np.where(task.X > 0.5, task.X, 0))
    assert_as_scikit_learn(KNeighborsClassifier(n_neighbors, metric=metric), task)


@settings(max_examples=60, deadline=None)
@given(classified(), st.sampled_from([1, 3]), st.sampled_from(["minkowski", "cosine"]))
def test_whole_numbers_as_they_are_stored(task, n_neighbors, metric):
    task.X = np.clip(np.nan_to_num(task.X * 3), 0, 200).astype(np.uint8)
    assert_as_scikit_learn(KNeighborsClassifier(n_neighbors, metric=metric, algorithm="brute"), task)


class Counting:
    """How often scikit-learn was asked, and what was searched for."""

    def __init__(self, monkeypatch):
        self.asked, self.widths = 0, []
        ask, settle = neighbours.Answers._ask, neighbours.Answers._settle

        def asking(answers, fold, rows):
            self.asked += 1
            ask(answers, fold, rows)

        def settling(answers, rows, width):
            self.widths.append((len(rows), width))
            return settle(answers, rows, width)

        monkeypatch.setattr(neighbours.Answers, "_ask", asking)
        monkeypatch.setattr(neighbours.Answers, "_settle", settling)


def clouds(n, d, seed=0):
    random = np.random.default_rng(seed)
    y = random.integers(0, 3, size=n)
    return random.normal(size=(n, d)) + y[:, np.newaxis], y


@pytest.mark.parametrize("weights", ["uniform", "distance"])
@pytest.mark.parametrize("d", [2, 20])
@pytest.mark.parametrize("k", [None, 10])
def test_rows_without_ties_need_one_search(monkeypatch, k, d, weights):
    X, y = clouds(300, d)
    task = Task(X, y, offsets=k and np.linspace(0, 300, k + 1).astype(int), classes=np.arange(3))
    counting = Counting(monkeypatch)
    assert_as_scikit_learn(KNeighborsClassifier(weights=weights), task)
    assert counting.asked == 0
    assert counting.widths[0] == (300, 7 if k is None else 11)
    assert sum(rows for rows, _ in counting.widths[1:]) < 30


def test_neighbours_that_hide_in_the_own_fold_are_looked_for_farther_away(monkeypatch):
    X, y = clouds(400, 3)
    X[:10] = X[0] + 1e-3 * X[:10]  # of one fold, and near to each other
    counting = Counting(monkeypatch)
    assert_as_scikit_learn(KNeighborsClassifier(3), Task(X, y, offsets=np.arange(0, 401, 10), classes=np.arange(3)))
    assert len(counting.widths) > 1
    assert counting.asked == 0


@pytest.mark.parametrize("n", [400, 20_000])
def test_folds_that_lie_apart_are_left_to_scikit_learn(monkeypatch, n):
    X, y = clouds(n, 2)
    X[:, 0] = np.arange(n) // (n // 4) * 1e3 + X[:, 0]
    task = Task(X, y, offsets=np.arange(0, n + 1, n // 4), classes=np.arange(3))
    counting = Counting(monkeypatch)
    assert_as_scikit_learn(KNeighborsClassifier(3), task)
    assert counting.asked == 4
    assert sum(rows for rows, _ in counting.widths) < (n if n > 400 else 2 * n)


@pytest.mark.parametrize("before", [0, 30])
def test_identical_rows_of_one_class_are_no_tie(monkeypatch, before):
    X, y = clouds(120, 2)
    X[20:60], y[20:60] = X[20], y[20]
    counting = Counting(monkeypatch)
    task = Task(X, y, offsets=np.arange(before, 121) if before else None, classes=np.arange(3))
    assert_as_scikit_learn(KNeighborsClassifier(3), task)
    assert counting.asked == 0


def test_numbers_that_are_not_finite_leave_no_model():
    X, y = clouds(20, 2)
    X[3, 1] = np.nan
    task = Task(X, y, offsets=np.arange(0, 21, 5), classes=np.arange(3))
    assert answers(KNeighborsClassifier(), task, "predict") == [None] * 4
    assert np.isnan(shortcut(KNeighborsClassifier(), task)[1]).all()


def test_weights_are_refused():
    X, y = clouds(20, 2)
    with pytest.raises(CapabilityError, match="KNeighborsClassifier does not weigh rows, but got weights"):
        shortcut(KNeighborsClassifier(), Task(X, y, np.ones(20), classes=np.arange(3)))


class Own(KNeighborsClassifier):
    pass


@pytest.mark.parametrize(
    ("estimator", "reason"),
    [
        (Own(), "it is a subclass, whose own methods would not be asked"),
        (make_pipeline(StandardScaler(), KNeighborsClassifier()), "a transformer before it learns another scale"),
        (KNeighborsClassifier(weights=np.ones_like), "weights is a function, which may look at all rows of a fold"),
        (KNeighborsClassifier(metric="precomputed"), "metric='precomputed' is not one of manhattan"),
        (KNeighborsClassifier(metric="seuclidean"), "metric='seuclidean' is not one of manhattan"),
        (KNeighborsClassifier(metric=lambda a, b: 0), "metric=<function .* is not one of manhattan"),
        (KNeighborsClassifier(metric_params={"w": [1, 2]}), "metric_params may change the metric"),
        (KNeighborsClassifier(p=0.5), "p=0.5 makes no metric"),
        (KNeighborsClassifier(algorithm="kd_tree", metric="cosine"), "'kd_tree' does not know metric='cosine'"),
        (KNeighborsClassifier(weights="distance", metric="cosine"), "counts on digits that are rounding"),
        (KNeighborsClassifier(n_neighbors=0), "its settings are refused by `fit`"),
        (KNeighborsRegressor(weights="near"), "its settings are refused by `fit`"),
    ],
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_what_is_passed_over(estimator, reason):
    X, y = clouds(20, 2)
    found = recognised(estimator, steps(estimator), Task(X, y, classes=np.arange(3)).schema)
    assert isinstance(found, str)
    assert re.search(reason, found)


def test_several_columns_of_labels_are_passed_over():
    X, y = clouds(20, 2)
    schema = Task(X, y, classes=[np.arange(3), np.arange(2)]).schema
    assert "not one column of labels" in recognised(KNeighborsClassifier(), steps(KNeighborsClassifier()), schema)


def test_trees_do_not_read_sparse_rows():
    X, y = clouds(20, 2)
    schema, estimator = Task(scipy.sparse.csr_array(X), y, classes=np.arange(3)).schema, KNeighborsClassifier
    assert "does not read sparse rows" in recognised(estimator(), [("", estimator(algorithm="ball_tree"))], schema)


def test_others_are_no_nearest_neighbours():
    X, y = clouds(20, 2)
    assert recognised(RadiusNeighborsClassifier(), steps(RadiusNeighborsClassifier()), Task(X, y).schema) is None


def test_methods_are_those_of_the_estimator():
    X, y = clouds(20, 2)
    exact, values = shortcut(KNeighborsRegressor(), Task(X, y.astype(float)))
    assert exact.answered("predict", values) is values
    for estimator, task, method in (
        (KNeighborsRegressor(), Task(X, y.astype(float)), "predict_proba"),
        (KNeighborsClassifier(), Task(X, y, classes=np.arange(3)), "decision_function"),
    ):
        exact, values = shortcut(estimator, task)
        with pytest.raises(AttributeError, match=f"object has no attribute '{method}'"):
            exact.answered(method, values)


def test_the_cost_is_compared_with_plain_cross_validation():
    learner = shortcut(KNeighborsClassifier(), Task(*clouds(20, 2), classes=np.arange(3)))[0].learner
    cost = learner.held_out_trainings
    assert cost(10_000, 50, 10_000) < 10_000 / 30
    assert cost(10_000, 5, 10_000) < 10_000 / 300
    assert cost(10_000, 50, 100) > cost(10_000, 5, 100)
    assert 9 < cost(10_000, 50, 10) < 13
    assert cost(10_000, 5, 10) < 9


@pytest.mark.parametrize("algorithm", ["brute", "kd_tree", "ball_tree"])
@pytest.mark.parametrize("weights", ["uniform", "distance"])
@pytest.mark.parametrize("n_neighbors", [4, 5])
def test_distances_that_are_equal_but_for_rounding(n_neighbors, weights, algorithm):
    """Products of many rows are summed in another order than those of few, so equal distances differ."""
    random = np.random.default_rng(0)
    X, y = random.integers(-2, 3, size=(120, 3)) * 0.1 + 0.7, random.integers(0, 3, size=120)
    X = np.hstack([X, X, X, X]) + np.arange(12) * 1e4
    for offsets in (None, np.array([0, 1, 40, 55, 120])):
        task = Task(X, y, offsets=offsets, classes=np.arange(3))
        assert_as_scikit_learn(KNeighborsClassifier(n_neighbors, weights=weights, algorithm=algorithm), task)


def around(*distances, precision, last_is_same=True, complete=False):
    """What is said of a row with these distances to others, the second of which is the last that counts."""
    rows = np.arange(len(distances))[np.newaxis]
    targets = np.array([[0], [0], [0 if last_is_same else 1], [0]])[: len(distances)]
    found = Found(rows, np.array([distances]), np.ones_like(rows, bool), precision, complete)
    seen = nearest(found, targets, 2)
    return "short" if seen.short[0] else "tied" if seen.tied[0] else "settled"


def test_how_near_a_tie_is_decided_by_what_is_known_of_distances():
    known, none = Precision, np.zeros(1)
    near = 1 + 1e-12
    assert around(0.5, 1, near, 2, precision=known(none), last_is_same=False) == "settled"
    assert around(0.5, 1, near, 2, precision=known(none, relative=1e-11), last_is_same=False) == "tied"
    assert around(0.5, 1, near, 2, precision=known(none, absolute=1e-11), last_is_same=False) == "tied"
    assert around(0.5, 1, near, 2, precision=known(none + 100, cancels=1e-13), last_is_same=False) == "tied"
    assert around(0.5, 1, near, 2, precision=known(none + 100, cancels=1e-16), last_is_same=False) == "settled"
    assert around(0, 0, 1e-7, 2, precision=known(none + 100, cancels=1e-15), last_is_same=False) == "tied"
    assert around(0.5, 1, near, 2, precision=known(none, relative=1e-11)) == "settled"


def test_a_tie_that_may_go_on_behind_what_was_found_needs_more_neighbours():
    known = Precision(np.zeros(1), relative=1e-11)
    assert around(0.5, 1, 1, precision=known) == "short"
    assert around(0.5, 1, 1, precision=known, complete=True) == "settled"
    assert around(0.5, 1, 1, precision=known, last_is_same=False) == "tied"
    assert around(0.5, np.inf, precision=known) == "short"
    assert around(0.5, 1, 2, precision=Precision(np.full(1, np.nan), cancels=1.0)) == "short"


def test_votes_that_rounding_could_turn_are_close():
    shares = np.array([[0.5, 0.5], [0.5, 0.5], [0.4, 0.6], [0.5 + 1e-12, 0.5 - 1e-12]])
    weights = np.array([[1.0, 1.0], [3.0, 3.0], [2.0, 3.0], [1.0, 1.0 - 4e-12]])
    assert close_votes(shares, weights).tolist() == [False, True, False, True]
    assert close_votes(np.ones((2, 1)), np.full((2, 1), 0.3)).tolist() == [False, False]


def test_the_class_that_scikit_learn_predicts_has_the_largest_share():
    answers = np.array([[0.5, 0.5], [0.2, 0.8], [0.5, 0.5]])
    neighbours._prefer(answers, np.array([1, 1, 0]))
    assert answers.argmax(axis=1).tolist() == [1, 1, 0]
    np.testing.assert_allclose(answers, [[0.5, 0.5], [0.2, 0.8], [0.5, 0.5]], rtol=1e-15)


def test_what_is_known_of_distances_depends_on_how_they_are_found():
    X, y = clouds(20, 2)

    def precision(X, **chosen):
        task = Task(X, y, classes=np.arange(3))
        answers = neighbours.Answers(KNeighborsClassifier(**chosen), task.schema, Table.of(task.feed))
        return answers._precision

    assert precision(X, algorithm="brute").cancels > 1e-15
    assert precision(X, algorithm="brute", metric="manhattan").cancels == 0
    assert precision(X).cancels == 0
    assert precision(np.round(X), algorithm="brute").cancels == 0
    assert precision(np.round(X) * 2.0**23, algorithm="brute").cancels > 0
    assert precision(X, metric="cosine", algorithm="brute").absolute > 1e-15
    assert precision(X, algorithm="ball_tree").absolute > 1e-15
    narrow = scipy.sparse.csr_array(np.round(X).astype(np.float32))
    assert precision(narrow).relative > 1e-7 > precision(narrow.astype(float)).relative


def through_both_doors(estimator, X, y, cv, **options):
    for function in ("cross_val_score", "cross_val_predict"):
        ours = getattr(treecv, function)(estimator, X, y, cv=cv, **options)
        theirs = getattr(model_selection, function)(estimator, X, y, cv=cv)
        assert ours.shape == theirs.shape
        if ours.dtype.kind == "f":
            np.testing.assert_allclose(ours, theirs, rtol=1e-10)
        else:
            np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("strategy", ["auto", "closed_form"])
@pytest.mark.parametrize("dtype", [float, np.float32, np.int64])
def test_through_the_front_door(strategy, dtype):
    X, y = clouds(150, 3)
    X, names = (X * 10 if dtype is np.int64 else X).astype(dtype), np.array(["a", "b", "c"])[y]
    for cv in (model_selection.LeaveOneOut(), 5, model_selection.KFold(7, shuffle=True, random_state=0)):
        through_both_doors(KNeighborsClassifier(3, weights="distance"), X, names, cv, strategy=strategy)
    for targets in (X[:, 0] + y, X[:, :2] + y[:, np.newaxis]):
        cv = model_selection.KFold(7, shuffle=True, random_state=0)
        through_both_doors(KNeighborsRegressor(3), X, targets, cv, strategy=strategy)


def test_the_front_door_takes_one_search_for_leave_one_out(monkeypatch):
    X, y = clouds(300, 3)
    counting = Counting(monkeypatch)
    scores = treecv.cross_val_score(KNeighborsClassifier(), X, y, cv="loo")
    assert counting.widths == [(300, 7)]
    expected = model_selection.cross_val_score(KNeighborsClassifier(), X, y, cv=model_selection.LeaveOneOut())
    np.testing.assert_array_equal(scores, expected)
    shares = treecv.cross_val_predict(KNeighborsClassifier(), X, y, cv="loo", method="predict_proba")
    expected = model_selection.cross_val_predict(
        KNeighborsClassifier(), X, y, cv=model_selection.LeaveOneOut(), method="predict_proba"
    )
    np.testing.assert_allclose(shares, expected, rtol=1e-12)


@pytest.mark.parametrize("d", [1, 2])
def test_ties_of_integers_are_broken_as_for_integers(d):
    """By brute force scikit-learn takes other rows of several that are equally near if they are stored as integers."""
    random = np.random.default_rng(0)
    X, y = random.integers(0, 4, size=(60, d)), random.integers(0, 2, size=60)
    for stored in (X, X.astype(float)):
        for estimator in (KNeighborsClassifier(3, algorithm="brute"), KNeighborsClassifier(3)):
            through_both_doors(estimator, stored, y, model_selection.LeaveOneOut())
