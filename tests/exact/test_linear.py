"""Least squares and ridge: what the shortcuts give is what scikit-learn's `fit` and `predict` give, fold by fold."""

import warnings
from dataclasses import replace

import mpmath
import numpy as np
import pytest
import sklearn.model_selection as scikit_learn
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.linear_model import Lasso, LinearRegression, Ridge, RidgeClassifier, RidgeCV
from sklearn.model_selection import KFold, LeaveOneOut
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import LabelBinarizer, MinMaxScaler, StandardScaler

import treecv
from treecv.adapters.exact.linear import recognised
from treecv.adapters.steps import steps_of
from treecv.data import Chunks, Feed, Rows
from treecv.learner import Schema
from treecv.learners import held_out, ridge

CASES = settings(max_examples=200, deadline=None)


def exact(estimator, feed, classes=None):
    y = feed.rows.y
    schema = Schema(
        feed.rows.n_stored, feed.rows.X.shape[1], str(feed.rows.X.dtype), classes, 1 if y.ndim == 1 else y.shape[1]
    )
    return recognised(estimator, list(steps_of(estimator)), schema)


def answers(estimator, feed, method="predict", classes=None):
    shortcut = exact(estimator, feed, classes)
    assert not isinstance(shortcut, str), shortcut
    values = shortcut.held_out(shortcut.schema, feed)
    return values, shortcut.answered(method, values)


def brute(estimator, feed, method="predict", classes=None):
    """scikit-learn, fold by fold; NaN where it refuses."""
    rows, found = feed.rows, {}
    name = "sample_weight" if not hasattr(estimator, "steps") else f"{estimator.steps[-1][0]}__sample_weight"
    order = np.arange(rows.n_stored) if rows.index is None else rows.index
    y = rows.y if classes is None else classes[rows.y]
    for fold in range(feed.k):
        begin, end = feed.chunks.span(fold, fold)
        train, test = np.concatenate([order[:begin], order[end:]]), order[begin:end]
        weights = {} if rows.weights is None else {name: rows.weights[train]}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                model = clone(estimator).fit(rows.X[train], y[train], **weights)
            except (ValueError, ZeroDivisionError):
                continue
            single = classes is not None and len(model.classes_) == 1 and method == "predict"
            # Without an intercept its scores of a single class may be above 0, and scikit-learn looks for a second one.
            said = np.repeat(model.classes_, end - begin) if single else getattr(model, method)(rows.X[test])
            found |= dict(zip(range(begin, end), said, strict=True))
    like = next(iter(found.values()), np.nan)
    missing = np.full(np.shape(like), np.nan) if np.asarray(like).dtype.kind == "f" else None
    return np.array([found.get(position, missing) for position in range(feed.chunks.before, feed.n_rows)])


def rounding(feed, alpha, intercept, scaled=False):
    """What double precision allows: systems of equations lose as many digits as their condition has, after scaling."""
    worst, positions = 1.0, np.arange(feed.n_rows) if feed.rows.index is None else feed.rows.index
    wide = len(positions) < feed.rows.X.shape[1]
    for fold in range(-1, feed.k):  # the shortcut starts from all rows
        train = positions if fold < 0 else np.delete(positions, np.arange(*feed.chunks.span(fold, fold)))
        X = feed.rows.X[train]
        w = np.ones(len(X)) if feed.rows.weights is None else feed.rows.weights[train]
        if len(X) == 0 or not w.any():
            continue
        X = X - w @ X / w.sum() if intercept else X
        if scaled:
            X = X / np.where(X.std(axis=0) > 1e-12, X.std(axis=0), 1)
        system = X.T @ (X * w[:, np.newaxis]) + alpha * np.eye(X.shape[1])
        roots = np.ones(len(system)) if wide else np.sqrt(np.diag(system))
        worst = max(worst, np.linalg.cond(system / roots / roots[:, np.newaxis]))
    return 1e-10 + 30 * np.finfo(float).eps * worst


def all_noise(feed):
    """Held-out rows whose training features are all constant: about their mean, scikit-learn finds rounding alone.

    What it then fits to that noise is not a number that anybody could ask for.
    """
    noise, positions = np.zeros(feed.n_rows, bool), np.arange(feed.n_rows)
    index = positions if feed.rows.index is None else feed.rows.index
    for fold in range(feed.k):
        span = feed.chunks.span(fold, fold)
        train = np.delete(index, np.arange(*span))
        if feed.rows.weights is not None:
            train = train[feed.rows.weights[train] > 0]
        X = feed.rows.X[train]
        noise[slice(*span)] = len(X) == 0 or np.ptp(X, axis=0).max() <= 1e-10 * np.abs(X).max()
    return noise[feed.chunks.before :]


def assert_same(found, expected, y, tolerance):
    scale = 1 + np.abs(y).max()
    np.testing.assert_allclose(found / scale, expected / scale, atol=tolerance, rtol=tolerance)


@st.composite
def feeds(draw, most=24, widest=6, targets=1, weighed=True, classes=0, hard=True):
    """Rows that are often duplicated, constant, nearly collinear or of very different scales; folds of all kinds."""
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    n, d = draw(st.integers(3, most)), draw(st.integers(1, widest))
    X = random.normal(size=(n, d))
    if hard:
        X[:, random.random(d) < 0.15] = 3.25
        X = X[random.integers(0, n, n)] if random.random() < 0.2 else X
        X *= 10.0 ** random.integers(-2, 3, d)
        X += 10.0 ** random.integers(-1, 3, d) * (random.random(d) < 0.5)
        if d > 2 and random.random() < 0.2:
            X[:, 0] = X[:, 1] * 0.5
        if random.random() < 0.2:
            X[random.integers(n)] *= 50
    if classes:
        y = random.integers(0, classes, n)
        y[:classes] = np.arange(classes)[: len(y[:classes])]
    else:
        y = random.normal(size=(n, targets)) + X @ random.normal(size=(d, targets)) / (1 + np.abs(X).max())
        y = y[:, 0] if targets == 1 else y
    weights = None
    if weighed and random.random() < 0.5:
        weights = random.random(n) * 2
        weights[random.random(n) < 0.2] = 0
    kind = draw(st.sampled_from(["single", "folds", "folds", "before"]))
    offsets = None
    if kind != "single":
        k = draw(st.integers(2, min(n - 1, 6)))
        first = 1 if kind == "before" else 0
        cuts = np.sort(random.permutation(np.arange(first + 1, n))[: k - 1])
        offsets = np.concatenate([[first], cuts, [n]]).astype(np.int64)
    index = random.permutation(n) if random.random() < 0.5 else None
    return Feed(Rows(X, y, weights, index), Chunks(n, offsets))


@CASES
@given(feeds(), st.sampled_from([0.01, 1.0, 30.0]), st.booleans())
def test_ridge(feed, alpha, intercept):
    estimator = Ridge(alpha=alpha, fit_intercept=intercept)
    assert_same(answers(estimator, feed)[1], brute(estimator, feed), feed.rows.y, rounding(feed, alpha, intercept))


@CASES
@given(feeds(most=9, widest=30), st.sampled_from([0.1, 3.0]), st.booleans())
def test_ridge_of_wide_tables(feed, alpha, intercept):
    estimator = Ridge(alpha=alpha, fit_intercept=intercept)
    assert_same(answers(estimator, feed)[1], brute(estimator, feed), feed.rows.y, rounding(feed, alpha, intercept))


@CASES
@given(feeds(targets=3), st.booleans())
def test_ridge_of_several_targets_with_penalties_of_their_own(feed, intercept):
    estimator = Ridge(alpha=[0.1, 5.0, 0.1], fit_intercept=intercept)
    assert_same(answers(estimator, feed)[1], brute(estimator, feed), feed.rows.y, rounding(feed, 0.1, intercept))


@CASES
@given(feeds(), st.booleans())
def test_least_squares(feed, intercept):
    estimator = LinearRegression(fit_intercept=intercept)
    found, expected = answers(estimator, feed)[1], brute(estimator, feed)
    if intercept:
        assert np.array_equal(np.isnan(found), np.isnan(expected))
        found[all_noise(feed)] = expected[all_noise(feed)] = 0
    assert_same(found, expected, feed.rows.y, 1e-8)


@CASES
@given(feeds(weighed=False), st.sampled_from([0.1, 2.0]), st.booleans(), st.booleans(), st.booleans())
def test_ridge_after_a_scaler(feed, alpha, intercept, centres, scales):
    estimator = make_pipeline(
        StandardScaler(with_mean=centres, with_std=scales), Ridge(alpha=alpha, fit_intercept=intercept)
    )
    allowed = rounding(feed, alpha, intercept or centres, scales)
    assert_same(answers(estimator, feed)[1], brute(estimator, feed), feed.rows.y, allowed)


@CASES
@given(feeds(weighed=False), st.booleans(), st.booleans(), st.booleans())
def test_least_squares_after_a_scaler(feed, intercept, centres, scales):
    estimator = make_pipeline(
        StandardScaler(with_mean=centres, with_std=scales), LinearRegression(fit_intercept=intercept)
    )
    assert_same(answers(estimator, feed)[1], brute(estimator, feed), feed.rows.y, 1e-8)


@CASES
@given(feeds(classes=3), st.booleans(), st.sampled_from([None, {0: 1.0, 1: 2.5, 2: 0.5}]))
def test_ridge_classifier(feed, intercept, weights):
    classes = np.array(["ant", "bee", "cat"])
    named = weights and {str(classes[code]): weight for code, weight in weights.items()}
    estimator = RidgeClassifier(alpha=0.5, fit_intercept=intercept, class_weight=named)
    values, found = answers(estimator, feed, classes=classes)
    expected = brute(estimator, feed, classes=classes)
    assert_labels(values, found, expected)


def assert_labels(values, found, expected):
    """The same, but where two scores are equal up to rounding, or training fails."""
    best = np.sort(values, axis=1)
    tied = best[:, -1] - best[:, -2] < 1e-6
    fails = np.array([label is None for label in expected])
    assert (np.isnan(values).all(axis=1) == fails).all()
    agree = found == expected
    assert (agree | tied | fails).all()


@CASES
@given(feeds(classes=2), st.booleans())
def test_ridge_classifier_of_two_classes(feed, intercept):
    classes = np.array([10, 20])
    estimator = RidgeClassifier(alpha=0.5, fit_intercept=intercept)
    values, found = answers(estimator, feed, classes=classes)
    assert_labels(values, found, brute(estimator, feed, classes=classes))
    _, decided = answers(estimator, feed, "decision_function", classes)
    expected = brute(estimator, feed, "decision_function", classes)
    allowed = rounding(feed, 0.5, intercept)
    expected = np.array([np.nan if score is None else np.ravel(score)[0] for score in expected])
    np.testing.assert_allclose(np.where(np.isnan(expected), np.nan, decided), expected, atol=allowed, rtol=allowed)


def plain(n=60, d=4, k=6, targets=1, seed=0, weights=False):
    random = np.random.default_rng(seed)
    X, y = random.normal(size=(n, d)), random.normal(size=(n, targets))
    rows = Rows(X, y[:, 0] if targets == 1 else y, random.random(n) if weights else None)
    return Feed(rows, Chunks(n, np.linspace(0, n, k + 1).astype(np.int64) if k else None))


@pytest.mark.parametrize("estimator", [Ridge(0.5), LinearRegression(), RidgeClassifier(0.5)])
@pytest.mark.parametrize("sizes", [[70, 75, 80, 3, 2, 1, 90], [100, 100, 100, 21]])
def test_folds_larger_and_smaller_than_the_rows_are_wide(estimator, sizes):
    random = np.random.default_rng(3)
    n = sum(sizes)
    X, y = random.normal(size=(n, 5)), random.normal(size=n)
    classes = None
    if isinstance(estimator, RidgeClassifier):
        classes, y = np.array(["a", "b", "c"]), random.integers(0, 3, n)
    offsets = np.cumsum([0, *sizes])
    for index in (None, random.permutation(n)):
        feed = Feed(Rows(X, y, random.random(n), index), Chunks(n, offsets))
        _, found = answers(estimator, feed, classes=classes)
        expected = brute(estimator, feed, classes=classes)
        if classes is None:
            np.testing.assert_allclose(found, expected, atol=1e-12)
        else:
            assert (found == expected).all()


def test_folds_in_several_groups_where_their_sums_would_be_too_large(monkeypatch):
    monkeypatch.setattr(held_out, "_HELD", 100)
    feed = plain(n=400, k=5, weights=True)
    np.testing.assert_allclose(answers(Ridge(), feed)[1], brute(Ridge(), feed), atol=1e-12)


def test_singular_values_near_the_cutoff_are_decided_fold_by_fold():
    """Some folds' models leave a direction out that others keep."""
    random = np.random.default_rng(0)
    X = random.normal(size=(40, 3))
    noise = 1e-6 * random.normal(size=40)
    X[:, 2] = X[:, 1] + noise
    values = np.linalg.svd(X - X.mean(axis=0), compute_uv=False)
    X[:, 2] = X[:, 1] + noise * (1e-6 * values[0] / values[-1])
    feed = Feed(Rows(X, random.normal(size=40)), Chunks(40))
    found, expected = answers(LinearRegression(), feed)[1], brute(LinearRegression(), feed)
    ranks = {LinearRegression().fit(np.delete(X, i, 0), np.delete(feed.rows.y, i)).rank_ for i in range(40)}
    assert ranks == {2, 3}
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-9)


def test_rows_of_all_the_weight_in_a_direction():
    """Without such a row a feature is constant: a shortcut would divide nothing by nothing."""
    X, y = np.zeros((50, 3)), np.random.default_rng(1).normal(size=50)
    X[:, 0] = np.random.default_rng(2).normal(size=50)
    X[7, 1], X[9, 2], X[11, 2] = 5.0, 1.0, 1.0
    for offsets in (None, np.array([0, 5, 9, 12, 50])):
        for estimator in (LinearRegression(), Ridge(1e-6), make_pipeline(StandardScaler(), LinearRegression())):
            feed = Feed(Rows(X, y), Chunks(50, offsets))
            np.testing.assert_allclose(answers(estimator, feed)[1], brute(estimator, feed), rtol=1e-8)


@pytest.mark.parametrize("dtype", ["int16", "bool"])
def test_numbers_of_other_types_are_read_in_place(dtype):
    random = np.random.default_rng(0)
    X, y = random.integers(0, 2, (30, 4)).astype(dtype), random.normal(size=30)
    feed, wide = Feed(Rows(X, y), Chunks(30)), Feed(Rows(X.astype(float), y), Chunks(30))
    np.testing.assert_allclose(answers(Ridge(), feed)[1], brute(Ridge(), wide), atol=1e-12)
    np.testing.assert_allclose(answers(LinearRegression(), feed)[1], brute(LinearRegression(), wide), atol=1e-12)


def test_nothing_is_written_to_the_data():
    feed = plain(weights=True)
    before = feed.rows.X.copy(), feed.rows.y.copy(), feed.rows.weights.copy()
    for estimator in (Ridge(), LinearRegression()):
        answers(estimator, feed)
        answers(estimator, replace(feed, chunks=Chunks(60)))
    for table, was in zip((feed.rows.X, feed.rows.y, feed.rows.weights), before, strict=True):
        np.testing.assert_array_equal(table, was)


ALPHAS = np.logspace(-3, 3, 7)


@pytest.mark.parametrize("targets", [1, 2])
@pytest.mark.parametrize("k", [None, 4])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("d", [4, 80])
def test_many_penalties_at_once(targets, k, intercept, d):
    feed = plain(d=d, k=k, targets=targets, weights=True)
    shortcut = exact(Ridge(fit_intercept=intercept), feed)
    found = shortcut.held_out_path(shortcut.schema, feed, ALPHAS)
    for i, alpha in enumerate(ALPHAS):
        estimator = Ridge(alpha, fit_intercept=intercept)
        np.testing.assert_allclose(found[..., i], brute(estimator, feed), atol=1e-9)


def test_penalties_along_a_path_where_a_row_has_a_direction_for_itself():
    feed = plain(k=None)
    feed.rows.X[:, 0] = 0
    feed.rows.X[3, 0] = 100.0
    shortcut = exact(Ridge(), feed)
    found = shortcut.held_out_path(shortcut.schema, feed, [1e-3, 1.0])
    np.testing.assert_allclose(found[:, 0], brute(Ridge(1e-3), feed), atol=1e-9)


def test_errors_are_those_of_ridge_cv():
    feed = plain(k=None)
    shortcut = exact(Ridge(), feed)
    found = shortcut.held_out_path(shortcut.schema, feed, ALPHAS)
    squared = RidgeCV(ALPHAS, store_cv_results=True).fit(feed.rows.X, feed.rows.y).cv_results_
    np.testing.assert_allclose((feed.rows.y[:, np.newaxis] - found) ** 2, squared, rtol=1e-9)


@pytest.mark.parametrize("intercept", [True, False])
def test_generalised_cross_validation_is_what_its_formula_says(intercept):
    feed = plain(targets=2)
    shortcut, n = exact(Ridge(fit_intercept=intercept), feed), 60
    found = shortcut.generalised(shortcut.schema, feed.rows, ALPHAS)
    middle = np.eye(n) - intercept / n
    X, y = middle @ feed.rows.X, middle @ feed.rows.y
    for alpha, scores in zip(ALPHAS, found, strict=True):
        hat = X @ np.linalg.solve(X.T @ X + alpha * np.eye(4), X.T) + (np.eye(n) - middle)
        errors = y - hat @ y
        expected = (errors**2).sum(axis=0) * n / (n - np.trace(hat)) ** 2
        np.testing.assert_allclose(scores, expected, rtol=1e-10)


@pytest.mark.parametrize("estimator", [Ridge(0.1), LinearRegression(), Ridge(0.1, fit_intercept=False)])
def test_partitionings_share_what_was_prepared(estimator):
    feed = plain(k=20)
    shortcut = exact(estimator, feed)
    prepared = shortcut.prepare(shortcut.schema, feed.rows)
    for seed in range(3):
        index = np.random.default_rng(seed).permutation(60)
        other = feed.over(replace(feed.rows, index=index))
        found = shortcut.held_out(shortcut.schema, other, prepared)
        np.testing.assert_allclose(found, brute(estimator, other), atol=1e-12)


@pytest.mark.parametrize(
    ("estimator", "classes", "reason"),
    [
        (type("Sub", (Ridge,), {})(), None, "subclass"),
        (Ridge(solver="sag"), None, "tolerance"),
        (Ridge(solver="saga"), None, "tolerance"),
        (Ridge(solver="lsqr"), None, "tolerance"),
        (Ridge(solver="sparse_cg"), None, "tolerance"),
        (Ridge(positive=True), None, "positive"),
        (Ridge(positive=True, solver="lbfgs"), None, "positive"),
        (LinearRegression(positive=True), None, "positive"),
        (Ridge(alpha=0.0), None, "alpha=0"),
        (Ridge(alpha=[1.0, 2.0]), None, "one for each target"),
        (make_pipeline(MinMaxScaler(), Ridge()), None, "StandardScaler"),
        (make_pipeline(StandardScaler(), StandardScaler(), Ridge()), None, "StandardScaler"),
        (RidgeClassifier(class_weight="balanced"), np.arange(2), "balanced"),
        (RidgeClassifier(class_weight={0: 2.0}), np.arange(2), "each class"),
        (RidgeClassifier(alpha=[1.0, 2.0]), np.arange(2), "penalty for each"),
        (RidgeClassifier(), np.arange(1), "single class"),
        (RidgeClassifier(), [np.arange(2), np.arange(2)], "one column"),
    ],
)
def test_passed_over(estimator, classes, reason):
    assert reason in exact(estimator, plain(), classes)


def test_sparse_rows_are_passed_over_as_their_solver_is_iterative():
    schema = Schema(10, 3, "float64", sparse=True)
    assert "sparse" in recognised(Ridge(), list(steps_of(Ridge())), schema)


@pytest.mark.parametrize("solver", ["auto", "cholesky", "svd"])
def test_exact_solvers_are_recognised(solver):
    feed = plain()
    np.testing.assert_allclose(answers(Ridge(solver=solver), feed)[1], brute(Ridge(solver=solver), feed), atol=1e-12)


def test_invalid_settings_are_refused_as_by_scikit_learn():
    with pytest.raises(ValueError, match="fit_intercept"):
        exact(Ridge(fit_intercept="yes"), plain())


def test_other_estimators_are_of_other_families():
    assert exact(Lasso(), plain()) is None


def test_other_methods_are_missing():
    for estimator, classes in ((Ridge(), None), (RidgeClassifier(), np.arange(3))):
        with pytest.raises(AttributeError, match="predict_proba"):
            exact(estimator, plain(), classes).answered("predict_proba", np.zeros((3, 3)))


def test_a_single_column_of_targets_keeps_the_shape_that_scikit_learn_gives_it():
    feed = plain()
    feed = feed.over(replace(feed.rows, y=feed.rows.y[:, np.newaxis]))
    for estimator in (Ridge(), LinearRegression()):
        assert answers(estimator, feed)[1].shape == brute(estimator, feed).shape


def trained(shortcut, rows, parts=3):
    state = shortcut.init(shortcut.schema)
    for part in np.array_split(np.arange(len(rows)), parts):
        other = shortcut.init(shortcut.schema)
        shortcut.update(other, rows.pick(part))
        shortcut.merge(state, other)
    return shortcut.copy(state)


@pytest.mark.parametrize(
    "estimator",
    [
        Ridge(0.3),
        Ridge([0.1, 2.0]),
        Ridge(0.3, fit_intercept=False),
        LinearRegression(),
        LinearRegression(fit_intercept=False),
    ],
)
@pytest.mark.parametrize("targets", [1, 2])
def test_fitted_estimator_is_what_fit_leaves(estimator, targets):
    feed = plain(targets=targets, weights=True)
    if np.size(getattr(estimator, "alpha", 1)) not in (1, targets):
        return
    shortcut = exact(estimator, feed)
    state = trained(shortcut, feed.rows)
    mine = shortcut.fitted(state)
    theirs = clone(estimator).fit(feed.rows.X, feed.rows.y, feed.rows.weights)
    assert_same_attributes(mine, theirs)
    np.testing.assert_allclose(shortcut.predict(state, feed.rows), theirs.predict(feed.rows.X), atol=1e-12)


@pytest.mark.parametrize("model", [Ridge(0.3), LinearRegression(), Ridge(0.3, fit_intercept=False), RidgeClassifier()])
@pytest.mark.parametrize("scaler", [StandardScaler(), StandardScaler(with_mean=False), StandardScaler(with_std=False)])
def test_fitted_pipeline_is_what_fit_leaves(model, scaler):
    feed, classes = plain(), None
    if isinstance(model, RidgeClassifier):
        classes = np.array([3, 5])
        feed = feed.over(replace(feed.rows, y=(feed.rows.y > 0).astype(int)))
    feed.rows.X[:, 1] = 7.5
    feed.rows.X[:, 2] += 1e3
    estimator = make_pipeline(scaler, model)
    shortcut = exact(estimator, feed, classes)
    mine = shortcut.fitted(trained(shortcut, feed.rows))
    theirs = clone(estimator).fit(feed.rows.X, feed.rows.y if classes is None else classes[feed.rows.y])
    for one, other in zip(mine, theirs, strict=True):
        assert_same_attributes(one, other)
    np.testing.assert_allclose(*(np.asarray(m.predict(feed.rows.X), float) for m in (mine, theirs)), atol=1e-11)


def assert_same_attributes(mine, theirs):
    assert set(vars(mine)) == set(vars(theirs))
    for name, value in vars(theirs).items():
        if isinstance(value, LabelBinarizer):
            assert_same_attributes(getattr(mine, name), value)
        elif isinstance(value, np.ndarray | float) and np.asarray(value).dtype.kind == "f":
            assert np.shape(getattr(mine, name)) == np.shape(value), name
            np.testing.assert_allclose(getattr(mine, name), value, rtol=1e-9, atol=1e-9, err_msg=name)
        else:
            assert np.array_equal(getattr(mine, name), value), name


@pytest.mark.parametrize("present", [[0, 1, 2], [0, 2], [1]])
def test_fitted_classifier_is_what_fit_leaves(present):
    random, classes = np.random.default_rng(0), np.array(["ant", "bee", "cat"])
    rows = Rows(random.normal(size=(40, 3)), random.choice(present, 40))
    shortcut = exact(RidgeClassifier(0.4), Feed(rows, Chunks(40)), classes)
    state = trained(shortcut, rows)
    theirs = RidgeClassifier(0.4).fit(rows.X, classes[rows.y])
    assert_same_attributes(shortcut.fitted(state), theirs)
    scores = shortcut.predict(state, rows)
    assert (shortcut.answered("predict", scores) == theirs.predict(rows.X)).all()
    assert shortcut.outputs == 3
    assert shortcut.margins


def test_states_without_rows_predict_nothing():
    feed = plain()
    for estimator in (Ridge(), LinearRegression()):
        shortcut = exact(estimator, feed)
        state = shortcut.init(shortcut.schema)
        assert np.isnan(shortcut.predict(state, feed.rows)).all()
        with pytest.raises(ValueError, match="no coefficients"):
            shortcut.fitted(state)


def test_what_was_unlearnt_leaves_no_trace():
    rows = plain(weights=True).rows
    for estimator in (Ridge(0.3), Ridge(0.3, fit_intercept=False), make_pipeline(StandardScaler(), Ridge(0.3))):
        rows = replace(rows, weights=None) if hasattr(estimator, "steps") else rows
        shortcut = exact(estimator, Feed(rows, Chunks(60)))
        state, fresh = (shortcut.init(shortcut.schema) for _ in range(2))
        shortcut.update(state, rows)
        part, rest = rows.pick(np.arange(20)), rows.pick(np.arange(20, 60))
        assert shortcut.unlearnable(state, part)
        shortcut.unlearn(state, part)
        shortcut.update(fresh, rest)
        np.testing.assert_allclose(shortcut.predict(state, rows), shortcut.predict(fresh, rows), atol=1e-12)


def test_digits_that_a_difference_would_lose_are_not_unlearnt():
    rows = plain().rows
    rows.X[3, 1] = 1e6
    shortcut = exact(Ridge(1e-3), Feed(rows, Chunks(60)))
    state = shortcut.init(shortcut.schema)
    shortcut.update(state, rows)
    assert shortcut.unlearnable(state, rows.pick(np.array([4])))
    assert not shortcut.unlearnable(state, rows.pick(np.array([3])))
    assert not shortcut.unlearnable(state, rows.pick(np.arange(58)))
    assert shortcut.unlearnable(state, replace(rows.pick(np.array([3])), weights=np.zeros(60)))
    scaled = exact(make_pipeline(StandardScaler(), Ridge(1e9)), Feed(rows, Chunks(60)))
    assert not scaled.unlearnable(state, rows.pick(np.array([3])))


def test_cost_is_that_of_a_few_trainings():
    learner = exact(Ridge(), plain()).learner
    assert learner.held_out_trainings(500_000, 50, 500_000) < 5
    assert learner.held_out_trainings(500_000, 50, 100) < 5
    scaled = exact(make_pipeline(StandardScaler(), Ridge()), plain()).learner
    assert scaled.held_out_trainings(500_000, 50, 500_000) > 100
    assert scaled.held_out_trainings(500_000, 50, 100) < 5
    assert not scaled.weighs
    plane = exact(LinearRegression(), plain()).learner
    assert plane.held_out_trainings(10_000, 20, 10_000) < 10


def in_fifty_digits(X, y, weights, alpha, intercept, at):
    """The prediction of ridge regression."""
    with mpmath.workdps(50):
        rows = [[mpmath.mpf(float(value)) for value in row] for row in X]
        w, y = ([mpmath.mpf(float(value)) for value in column] for column in (weights, y))
        total, d = sum(w), len(rows[0])
        means = [sum(w[i] * rows[i][j] for i in range(len(w))) / total * intercept for j in range(d)]
        middle = sum(a * b for a, b in zip(w, y, strict=True)) / total * intercept
        away = [[row[j] - means[j] for j in range(d)] for row in rows]
        squares = mpmath.matrix(d, d)
        products = mpmath.matrix(d, 1)
        for i in range(len(w)):
            for j in range(d):
                products[j] += w[i] * away[i][j] * (y[i] - middle)
                for other in range(d):
                    squares[j, other] += w[i] * away[i][j] * away[i][other]
        for j in range(d):
            squares[j, j] += mpmath.mpf(float(alpha))
        coef = mpmath.lu_solve(squares, products)
        return [float(middle + sum(coef[j] * (mpmath.mpf(float(row[j])) - means[j]) for j in range(d))) for row in at]


@pytest.mark.parametrize("shift", [0.0, 1e8])
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("alpha", [1e-3, 1.0])
def test_merged_and_unlearnt_moments_agree_with_fifty_digits(shift, scale, alpha):
    """Data far from zero keep the digits that they have: the limit is that of numbers near the origin."""
    random = np.random.default_rng(5)
    X = shift + scale * random.normal(size=(30, 3)) * [1.0, 0.1, 10.0]
    y, weights = random.normal(size=30), random.random(30) + 0.1
    rows, learner = Rows(X, y, weights), exact(Ridge(alpha * scale**2), Feed(Rows(X, y), Chunks(30))).learner
    schema = Schema(30, 3, "float64")
    state = learner.init(schema)
    for part in np.array_split(np.arange(30), 4):
        other = learner.init(schema)
        learner.update(other, rows.pick(part))
        learner.merge(state, other)
    expected = in_fifty_digits(X, y, weights, alpha * scale**2, True, X[:5])
    np.testing.assert_allclose(learner.predict(state, Rows(X[:5])), expected, rtol=1e-11, atol=1e-13)
    assert learner.unlearnable(state, rows.pick(np.arange(8)))
    learner.unlearn(state, rows.pick(np.arange(8)))
    expected = in_fifty_digits(X[8:], y[8:], weights[8:], alpha * scale**2, True, X[:5])
    np.testing.assert_allclose(learner.predict(state, Rows(X[:5])), expected, rtol=1e-11, atol=1e-13)
    feed = Feed(rows, Chunks(30, np.array([0, 8, 9, 30])))
    found = learner.held_out(schema, feed)
    np.testing.assert_allclose(found[:5], expected, rtol=1e-10, atol=1e-12)


def test_moments_about_zero_agree_with_fifty_digits():
    random = np.random.default_rng(5)
    X, y = 1e4 + random.normal(size=(30, 3)), random.normal(size=30)
    learner = exact(Ridge(1.0, fit_intercept=False), Feed(Rows(X, y), Chunks(30))).learner
    state = learner.init(Schema(30, 3, "float64"))
    learner.update(state, Rows(X, y))
    expected = in_fifty_digits(X, y, np.ones(30), 1.0, False, X[:5])
    np.testing.assert_allclose(learner.predict(state, Rows(X[:5])), expected, rtol=1e-6)


X, NUMBERS = plain(n=90, weights=False).rows.X, plain(n=90).rows.y
LABELS = np.array(["ant", "bee", "cat"])[np.digitize(NUMBERS, [-0.5, 0.7])]
FRONT = [
    (Ridge(0.3), NUMBERS),
    (Ridge([0.3, 2.0]), np.column_stack([NUMBERS, NUMBERS**2])),
    (LinearRegression(), NUMBERS),
    (RidgeClassifier(), LABELS),
    (RidgeClassifier(), LABELS == "ant"),
    (make_pipeline(StandardScaler(), Ridge()), NUMBERS),
    (make_pipeline(StandardScaler(), RidgeClassifier()), LABELS),
]


@pytest.mark.parametrize(("estimator", "y"), FRONT)
@pytest.mark.parametrize("cv", [5, LeaveOneOut(), KFold(7, shuffle=True, random_state=0)], ids=["5", "loo", "random"])
def test_front_door_gives_what_scikit_learn_gives(estimator, y, cv):
    scoring = "accuracy" if y.dtype.kind != "f" else "neg_mean_squared_error"
    found = treecv.cross_validate(estimator, X, y, cv=cv, scoring=scoring)
    assert found.record.strategy != "elsewhere"
    expected = scikit_learn.cross_validate(estimator, X, y, cv=cv, scoring=scoring)
    np.testing.assert_allclose(found["test_score"], expected["test_score"], rtol=1e-9)
    predicted = treecv.cross_val_predict(estimator, X, y, cv=cv)
    theirs = scikit_learn.cross_val_predict(estimator, X, y, cv=cv)
    if y.dtype.kind == "f":
        np.testing.assert_allclose(predicted, theirs, rtol=1e-9)
    else:
        assert (predicted == theirs).all()


def test_front_door_hands_out_fitted_models():
    found = treecv.cross_validate(Ridge(0.3), X, NUMBERS, return_estimator=True, return_train_score=True)
    expected = scikit_learn.cross_validate(Ridge(0.3), X, NUMBERS, return_estimator=True, return_train_score=True)
    np.testing.assert_allclose(found["train_score"], expected["train_score"], rtol=1e-10)
    for mine, theirs in zip(found["estimator"], expected["estimator"], strict=True):
        assert_same_attributes(mine, theirs)


def test_front_door_weighs_rows():
    params = {"sample_weight": np.random.default_rng(0).random(90)}
    found = treecv.cross_val_score(Ridge(0.3), X, NUMBERS, params=params, scoring="neg_mean_squared_error")
    expected = scikit_learn.cross_val_score(Ridge(0.3), X, NUMBERS, params=params, scoring="neg_mean_squared_error")
    np.testing.assert_allclose(found, expected, rtol=1e-10)


@pytest.mark.parametrize("estimator", [Ridge(solver="lsqr"), RidgeClassifier(class_weight="balanced")])
def test_what_is_passed_over_is_left_to_scikit_learn(estimator):
    y = NUMBERS if isinstance(estimator, Ridge) else LABELS
    found = treecv.cross_validate(estimator, X, y)
    np.testing.assert_array_equal(found["test_score"], scikit_learn.cross_val_score(estimator, X, y))
    assert found.record.strategy not in ("merge", "closed_form", "tree")


def test_no_leverages_where_a_system_has_too_few_digits():
    """Each fold is then solved from the other folds' sums."""
    X = np.random.default_rng(0).normal(size=(40, 2))
    X = np.column_stack([X, X[:, 0] + 1e-9 * X[:, 1]])
    feed = Feed(Rows(X, X[:, 1]), Chunks(40))
    learner = exact(Ridge(1e-13), feed).learner
    model = ridge.Penalised(1e-13, 3)
    assert model.basis(learner.prepare(None, feed.rows)) is None
    assert ridge.Penalised(1e-3, 3).basis(learner.prepare(None, feed.rows)) is not None
    np.testing.assert_allclose(learner.held_out(None, feed), X[:, 1], atol=1e-5)


@pytest.mark.parametrize("layout", [np.asfortranarray, lambda X: np.hstack([X, X])[:, : X.shape[1]]])
def test_tables_may_lie_in_memory_as_they_like(layout):
    feed = plain(n=200, k=2)
    index = np.random.default_rng(0).permutation(200)
    rows = Rows(layout(feed.rows.X), feed.rows.y, None, index)
    found = answers(Ridge(), feed.over(rows))[1]
    np.testing.assert_allclose(found, brute(Ridge(), feed.over(rows)), atol=1e-12)
