"""Kernel methods: what one inverse gives is what scikit-learn's `fit` and `predict` give, fold by fold."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, DotProduct, Kernel, Matern, WhiteKernel
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from treecv.adapters.exact.kernels import recognised
from treecv.adapters.steps import steps_of
from treecv.data import Chunks, Feed, Rows
from treecv.learner import Schema
from treecv.learners import kernel_ridge

CASES = settings(max_examples=200, deadline=None)
PROCESS = {"optimizer": None, "alpha": 1e-3}


def exact(estimator, rows):
    y = rows.y
    schema = Schema(rows.n_stored, rows.X.shape[1], "float64", None, 1 if y.ndim == 1 else y.shape[1])
    return recognised(estimator, list(steps_of(estimator)), schema)


def answers(estimator, feed, prepared=None):
    shortcut = exact(estimator, feed.rows)
    assert not isinstance(shortcut, str), shortcut
    return shortcut.answered("predict", shortcut.held_out(shortcut.schema, feed, prepared))


def brute(estimator, feed):
    rows, found = feed.rows, []
    order = np.arange(rows.n_stored) if rows.index is None else rows.index
    pairwise = getattr(estimator, "kernel", None) == "precomputed"
    for fold in range(feed.k):
        begin, end = feed.chunks.span(fold, fold)
        train, test = np.concatenate([order[:begin], order[end:]]), order[begin:end]
        weights = {} if rows.weights is None else {"sample_weight": rows.weights[train]}
        columns = train if pairwise else slice(None)
        try:
            model = clone(estimator).fit(rows.X[train][:, columns], rows.y[train], **weights)
        except (ValueError, np.linalg.LinAlgError):
            found.append(np.full((end - begin, *rows.y.shape[1:]), np.nan))
            continue
        found.append(model.predict(rows.X[test][:, columns]))
    return np.concatenate(found)


@st.composite
def feeds(draw, targets=1, weighed=True):
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    n, d = draw(st.integers(4, 20)), draw(st.integers(1, 5))
    X = random.normal(size=(n, d)) * 10.0 ** random.integers(-1, 2, d)
    if random.random() < 0.2:
        X = X[random.integers(0, n, n)]
    y = random.normal(size=(n, targets)) + 3
    weights = None
    if weighed and random.random() < 0.5:
        weights = random.random(n) + 0.1
        weights[random.random(n) < 0.25] = 0
    kind, offsets = draw(st.sampled_from(["single", "folds", "before"])), None
    if kind != "single":
        first = int(kind == "before")
        cuts = np.sort(random.permutation(np.arange(first + 1, n))[: draw(st.integers(1, min(4, n - 2)))])
        offsets = np.concatenate([[first], cuts, [n]]).astype(np.int64)
    index = random.permutation(n) if random.random() < 0.5 else None
    return Feed(Rows(X, y[:, 0] if targets == 1 else y, weights, index), Chunks(n, offsets))


def allowed(K, alpha):
    return 1e-10 + 30 * np.finfo(float).eps * np.linalg.cond(K + alpha * np.eye(len(K)))


@CASES
@given(feeds(), st.sampled_from(["linear", "rbf", "laplacian", "poly", "cosine", "sigmoid"]), st.sampled_from([0.1, 4]))
def test_kernel_ridge(feed, kernel, alpha):
    estimator = KernelRidge(kernel=kernel, alpha=alpha, gamma=0.2, degree=2)
    rows, roots = feed.rows, np.ones(feed.n_rows) if feed.rows.weights is None else np.sqrt(feed.rows.weights)
    K = estimator._get_kernel(rows.X) * np.outer(roots, roots)
    shifted = np.linalg.eigvalsh(K + alpha * np.eye(len(K)))
    if kernel == "sigmoid" and shifted[0] < 1e-3:
        return  # not positive definite: another test
    tolerance = allowed(K, alpha)
    np.testing.assert_allclose(answers(estimator, feed), brute(estimator, feed), atol=tolerance * 10, rtol=tolerance)


@CASES
@given(feeds(targets=2))
def test_kernel_ridge_of_several_targets(feed):
    estimator = KernelRidge(kernel="rbf", alpha=[0.2, 3.0], gamma=0.1)
    np.testing.assert_allclose(answers(estimator, feed), brute(estimator, feed), atol=1e-10)


@CASES
@given(feeds(weighed=False), st.booleans(), st.sampled_from([None, Matern(nu=1.5), DotProduct() + WhiteKernel(0.5)]))
def test_gaussian_process(feed, normalises, kernel):
    estimator = GaussianProcessRegressor(kernel, normalize_y=normalises, **PROCESS)
    np.testing.assert_allclose(answers(estimator, feed), brute(estimator, feed), atol=1e-8, rtol=1e-9)


@CASES
@given(feeds(), st.sampled_from([0.1, 5.0]))
def test_least_squares_support_vector_machine(feed, alpha):
    """With the linear kernel it is ridge regression with an intercept."""
    machine = kernel_ridge.KernelRidge(lambda X: X @ X.T, (alpha,), fit_intercept=True)
    found = machine.held_out(Schema(feed.n_rows, feed.rows.X.shape[1], "float64"), feed)
    np.testing.assert_allclose(found, brute(Ridge(alpha=alpha), feed), atol=1e-8, rtol=1e-8)


def plain(n=30, k=5, targets=1, seed=0):
    random = np.random.default_rng(seed)
    X, y = random.normal(size=(n, 3)), random.normal(size=(n, targets))
    return Feed(Rows(X, y[:, 0] if targets == 1 else y), Chunks(n, np.linspace(0, n, k + 1).astype(np.int64)))


def test_kernel_matrix_that_is_given():
    feed = plain()
    K = feed.rows.X @ feed.rows.X.T
    given_ = Feed(Rows(K, feed.rows.y, None, np.random.default_rng(1).permutation(30)), feed.chunks)
    estimator = KernelRidge(kernel="precomputed", alpha=0.3)
    np.testing.assert_allclose(answers(estimator, given_), brute(estimator, given_), atol=1e-11)


def test_rows_that_the_index_leaves_out_take_no_part():
    feed = plain()
    index = np.random.default_rng(1).permutation(30)[:20]
    part = Feed(Rows(feed.rows.X, feed.rows.y, None, index), Chunks(20, np.array([0, 7, 20])))
    estimator = KernelRidge(kernel="rbf", alpha=0.3)
    np.testing.assert_allclose(answers(estimator, part), brute(estimator, part), atol=1e-12)


@pytest.mark.parametrize("weights", [None, np.linspace(0.5, 2, 30)])
def test_system_without_inverse_is_solved_fold_by_fold(weights):
    feed = plain()
    feed = feed.over(Rows(feed.rows.X, feed.rows.y, weights))
    for alpha in (1e-13, 1e-9):
        estimator = GaussianProcessRegressor(RBF(3.0), optimizer=None, alpha=alpha)
        if weights is None:
            np.testing.assert_allclose(answers(estimator, feed), brute(estimator, feed), atol=1e-4)
    estimator = KernelRidge(kernel="sigmoid", alpha=0.01, gamma=3.0, coef0=-2.0)
    with pytest.warns(UserWarning, match="Singular matrix"):
        expected = brute(estimator, feed)
    np.testing.assert_allclose(answers(estimator, feed), expected, rtol=1e-8)


def test_process_without_positive_definite_kernel_fails_as_its_own_fit():
    feed = plain()
    feed = feed.over(Rows(np.ones((30, 2)), feed.rows.y))
    estimator = GaussianProcessRegressor(RBF(), optimizer=None, alpha=0.0)
    with pytest.raises(ValueError, match="alpha"):
        exact(GaussianProcessRegressor(optimizer=None, alpha=-1.0), feed.rows)
    assert np.isnan(brute(estimator, feed)).all()
    assert np.isnan(answers(estimator, feed)).all()


def test_one_inverse_serves_many_partitionings():
    feed = plain(60, targets=2)
    estimator = KernelRidge(kernel="rbf", alpha=0.5)
    shortcut = exact(estimator, feed.rows)
    prepared = shortcut.prepare(shortcut.schema, feed.rows)
    for seed in range(3):
        index = np.random.default_rng(seed).permutation(60)
        other = Feed(Rows(feed.rows.X, feed.rows.y, None, index), feed.chunks)
        np.testing.assert_allclose(answers(estimator, other, prepared), brute(estimator, other), atol=1e-12)


class Own(Kernel):
    """Somebody's kernel."""


@pytest.mark.parametrize(
    ("estimator", "reason"),
    [
        (type("Sub", (KernelRidge,), {})(), "subclass"),
        (KernelRidge(kernel=np.dot), "symmetric"),
        (KernelRidge(alpha=[1.0, 2.0]), "one alpha"),
        (GaussianProcessRegressor(), "optimizer=None"),
        (GaussianProcessRegressor(optimizer=None, alpha=np.ones(30)), "alpha for each row"),
        (GaussianProcessRegressor(optimizer=None, n_targets=2), "number of targets"),
        (GaussianProcessRegressor(type("Own", (RBF,), {})() + RBF(), optimizer=None), "does not know"),
        (make_pipeline(StandardScaler(), KernelRidge()), "step before"),
    ],
)
def test_passed_over(estimator, reason):
    assert reason in exact(estimator, plain().rows)


def test_other_estimators_are_of_other_families():
    assert exact(Ridge(), plain().rows) is None


def test_other_methods_are_missing():
    shortcut = exact(KernelRidge(), plain().rows)
    with pytest.raises(AttributeError, match="predict_proba"):
        shortcut.answered("predict_proba", np.zeros(3))


def test_cost_falls_below_plain_cross_validation():
    learner = exact(KernelRidge(), plain().rows).learner
    assert learner.held_out_trainings(1000, 5, 1000) < 6
    assert learner.held_out_trainings(1000, 5, 10) < 6


def test_no_inverse_where_a_system_has_too_few_digits():
    K = plain().rows.X @ plain().rows.X.T
    assert kernel_ridge.Dual.of(K, None, 1e-9, False).inverse is None
    assert kernel_ridge.Dual.of(K, None, 1e-3, False).inverse is not None
