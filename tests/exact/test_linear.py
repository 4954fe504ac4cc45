"""Least squares and ridge: what the shortcuts give is what scikit-learn's `fit` and `predict` give, fold by fold."""

import warnings

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.linear_model import LinearRegression, Ridge, RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from treecv.adapters.exact.linear import recognised
from treecv.adapters.steps import steps_of
from treecv.data import Chunks, Feed, Rows
from treecv.learner import Schema

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
