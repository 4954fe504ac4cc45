"""Discriminant analysis from moments: the same as scikit-learn's `fit` of every training part."""

import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from treecv.adapters.exact.discriminants import recognised
from treecv.adapters.exact.recognised import Exact
from treecv.adapters.steps import steps_of
from treecv.data import Chunks, Feed, Rows
from treecv.errors import CapabilityError
from treecv.learner import Schema

LABELS = np.array(["a", "b", "c", "d"])


def schema_of(X, classes, **others):
    return Schema(**({"n_rows": len(X), "n_features": X.shape[1], "dtype": "float64", "classes": classes} | others))


def exact_of(estimator, X, classes):
    found = recognised(estimator, list(steps_of(estimator)), schema_of(X, classes))
    assert isinstance(found, Exact), found
    return found


def table(seed, n, d, n_classes, kind):
    """Rows of several classes; `kind` says what is wrong with the features."""
    random = np.random.default_rng(seed)
    codes = random.integers(0, n_classes, n)
    codes[: 2 * n_classes] = np.arange(2 * n_classes) % n_classes
    if kind == "rare class":
        codes[codes == n_classes - 1] = 0
        codes[:2] = n_classes - 1, 0
    X = random.normal(size=(n, d)) @ random.normal(size=(d, d)) + random.normal(size=(n_classes, d))[codes]
    if kind == "repeated rows":
        X[n // 2 :] = X[: n - n // 2]
    if kind == "counts":
        X = np.round(X)
    if kind == "scales":
        X = X * 10.0 ** random.integers(-2, 4, d) + 10.0 ** random.integers(0, 4, d)
    if kind == "constant feature":
        X[:, 0] = random.choice([0.0, 3.0, 0.1])
    if kind == "constant within classes":
        X[:, 0] = codes * random.choice([2.0, 0.1])
    if kind == "collinear" and d > 2:
        X[:, 0] = X[:, 1] - X[:, 2]
    if kind == "nearly collinear" and d > 1:
        X[:, 0] = X[:, 1] + 10.0 ** random.integers(-7, -2) * random.normal(size=n)
    if kind == "one hot" and d > 2:
        X[:, :3] = np.eye(3)[random.integers(0, 3, n)]
    if kind == "rare value":
        X[:, 0] = 0
        X[random.integers(0, n), 0] = 1
    if kind == "means in a line":
        X += (codes * 1.0)[:, np.newaxis] - random.normal(size=(n_classes, d))[codes]
    return X, codes


KINDS = (
    "plain",
    "rare class",
    "repeated rows",
    "counts",
    "scales",
    "constant feature",
    "constant within classes",
    "collinear",
    "nearly collinear",
    "one hot",
    "rare value",
    "means in a line",
)


@st.composite
def problems(draw):
    """Rows, and folds over them: one by one, even, uneven or sorted by class; perhaps with rows in no fold."""
    n_classes = draw(st.integers(2, 4))
    n, d = draw(st.integers(4 * n_classes, 30)), draw(st.integers(1, 6))
    X, codes = table(draw(st.integers(0, 10**6)), n, d, n_classes, draw(st.sampled_from(KINDS)))
    random = np.random.default_rng(draw(st.integers(0, 99)))
    index = draw(st.sampled_from([None, random.permutation(n), np.argsort(codes, kind="stable")]))
    layout = draw(st.sampled_from(["loo", "loo", "even", "uneven", "pairs", "before", "ones before"]))
    cuts = np.sort(random.permutation(np.arange(1, n))[: random.integers(1, 8)])
    offsets = {
        "loo": None,
        "even": np.linspace(0, n, draw(st.integers(2, 6)) + 1).astype(int),
        "uneven": np.concatenate([[0], cuts, [n]]),
        "pairs": np.concatenate([np.arange(0, n, 2), [n]]),
        "before": np.concatenate([cuts, [n]]),
        "ones before": np.arange(3, n + 1),
    }[layout]
    return X, codes, index, Chunks(n, None if offsets is None else offsets.astype(np.int64)), n_classes


def priors(draw, n_classes):
    return draw(st.sampled_from([None, None, np.arange(1, n_classes + 1) / np.arange(1, n_classes + 1).sum()]))


@st.composite
def linear(draw, n_classes):
    solver = draw(st.sampled_from(["svd", "svd", "lsqr", "eigen"]))
    return LinearDiscriminantAnalysis(
        solver=solver,
        shrinkage=None if solver == "svd" else draw(st.sampled_from([None, 0.0, 0.1, 0.7, 1.0])),
        priors=priors(draw, n_classes),
        tol=draw(st.sampled_from([1e-4, 1e-4, 1e-2, 0.3, 0.0])),
        n_components=draw(st.sampled_from([None, None, 1])),
    )


@st.composite
def quadratic(draw, n_classes):
    solver = draw(st.sampled_from(["svd", "svd", "eigen"]))
    return QuadraticDiscriminantAnalysis(
        solver=solver,
        shrinkage=None if solver == "svd" else draw(st.sampled_from([None, 0.0, 0.1, 1.0])),
        reg_param=draw(st.sampled_from([0.0, 0.0, 1e-3, 0.5, 1.0])),
        priors=priors(draw, n_classes),
        tol=draw(st.sampled_from([1e-4, 1e-4, 1e-1, 0.0])),
    )


def scaled(draw, model):
    scaler = draw(st.sampled_from([None, None, {}, {"with_mean": False}, {"with_std": False}]))
    return model if scaler is None else make_pipeline(StandardScaler(**scaler), model)


def trained(estimator, X, y, train):
    """scikit-learn's model of a training part, or None."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return clone(estimator).fit(X[train], y[train])
        except (ValueError, IndexError):
            return None


def asked(model, X):
    """Its decision values as columns, and its other answers; None where it cannot say."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model.predict(X)
            return model.decision_function(X)
        except (ValueError, IndexError):
            return None


def folds_of(index, chunks):
    stored = np.arange(chunks.n_rows) if index is None else index
    for fold in range(chunks.k):
        begin, end = chunks.span(fold, fold)
        yield (
            slice(begin - chunks.before, end - chunks.before),
            np.sort(np.delete(stored, np.s_[begin:end])),
            stored[begin:end],
        )


def size_of(model, X, decision):
    """How large the terms are whose sum is a decision value: they round by so much."""
    size = max(1, np.abs(decision).max())
    last = model[-1] if hasattr(model, "steps") else model
    if isinstance(last, LinearDiscriminantAnalysis):
        X = X if last is model else model[:-1].transform(X)
        size = max(
            size, (np.abs(X) @ np.abs(last.coef_).T).max(), np.abs(last.intercept_[np.isfinite(last.intercept_)]).max()
        )
    return size


def assert_same_scores(values, decision, present, size, context):
    """Decision values of the present classes agree to what both arithmetics round."""
    assert np.isneginf(values[:, ~present]).all(), context
    values = values[:, present]
    if present.sum() == 2:
        values = values[:, 1] - values[:, 0]
    if present.sum() == 1:
        values = values[:, 0]
    np.testing.assert_allclose(values, decision, rtol=0, atol=RTOL * size, err_msg=str(context))


RTOL = 1e-7
"""Features may be collinear but for 1e-4 of their spread: then eigenvalues are known to 1e-8 of their size."""


def check(estimator, X, codes, index, chunks, n_classes):
    labels = LABELS[:n_classes]
    found = recognised(estimator, list(steps_of(estimator)), schema_of(X, labels))
    if isinstance(found, str):
        return
    values = found.held_out(found.schema, Feed(Rows(X, codes, None, index), chunks))
    for place, train, test in folds_of(index, chunks):
        model = trained(estimator, X, labels[codes], train)
        decision = None if model is None else asked(model, X[test])
        context = (estimator, place, chunks)
        if decision is None:
            assert np.isnan(values[place]).all(), context
            continue
        assert not np.isnan(values[place]).any(), context
        present = np.isin(labels, model.classes_)
        size = size_of(model, X[test], decision)
        assert_same_scores(values[place], decision, present, size, context)
        if present.sum() > 1:
            proba = found.answered("predict_proba", values[place])
            np.testing.assert_allclose(proba[:, present], model.predict_proba(X[test]), rtol=0, atol=RTOL * size)
            assert (proba[:, ~present] == 0).all()
        chosen, theirs = found.answered("predict", values[place]), model.predict(X[test])
        for i in np.flatnonzero(chosen != theirs):
            both = [values[place][i, np.flatnonzero(labels == label)[0]] for label in (chosen[i], theirs[i])]
            assert abs(both[0] - both[1]) <= 2 * RTOL * size, context


SLOW = settings(
    max_examples=200,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)


@SLOW
@given(st.data())
def test_linear_held_out_equals_training_every_fold(data):
    X, codes, index, chunks, n_classes = data.draw(problems())
    check(scaled(data.draw, data.draw(linear(n_classes))), X, codes, index, chunks, n_classes)


@SLOW
@given(st.data())
def test_quadratic_held_out_equals_training_every_fold(data):
    X, codes, index, chunks, n_classes = data.draw(problems())
    check(scaled(data.draw, data.draw(quadratic(n_classes))), X, codes, index, chunks, n_classes)


def assert_fitted(found, model, X, context):
    """Attributes and answers of a fitted estimator; axes may point either way, and turn among equal eigenvalues."""
    steps = zip(steps_of(found), steps_of(model), strict=True)
    for (_, mine), (_, theirs) in steps:
        assert {name for name in vars(mine) if name.endswith("_")} == {n for n in vars(theirs) if n.endswith("_")}
        for name, value in vars(theirs).items():
            if not name.endswith("_") or name in ("scalings_", "rotations_", "coef_", "intercept_"):
                continue
            if getattr(value, "dtype", np.dtype(float)).kind in "US" or value is None:
                assert np.array_equal(getattr(mine, name), value), (name, context)
            else:
                size = np.abs(np.asarray(value, float)).max(initial=1)
                np.testing.assert_allclose(getattr(mine, name), value, rtol=0, atol=1e-9 * size, err_msg=name)
    decision = model.decision_function(X)
    size = size_of(model, X, decision)
    for method in ("decision_function", "predict_proba"):
        np.testing.assert_allclose(getattr(found, method)(X), getattr(model, method)(X), rtol=0, atol=RTOL * size)
    if hasattr(model, "transform") and getattr(steps_last(model), "solver", "") in ("svd", "eigen"):
        mine, theirs = np.abs(found.transform(X)), np.abs(model.transform(X))
        assert mine.shape == theirs.shape


def steps_last(estimator):
    *_, (_, last) = steps_of(estimator)
    return last


def check_fitted(estimator, X, codes, n_classes, random):
    labels = LABELS[:n_classes]
    found = recognised(estimator, list(steps_of(estimator)), schema_of(X, labels))
    if isinstance(found, str):
        return
    parts = (
        np.split(random.permutation(len(X)), 3)[:2]
        if len(X) % 3 == 0
        else [np.arange(0, len(X), 2), np.arange(1, len(X), 2)]
    )
    states = [found.init(found.schema) for _ in parts]
    for state, part in zip(states, parts, strict=True):
        found.update(state, Rows(X, codes, None, part))
    found.merge(*states)
    train = np.sort(np.concatenate(parts))
    model = trained(estimator, X, labels[codes], train)
    if not found.certain(states[0]):
        with pytest.raises(CapabilityError, match="hangs on rounding"):
            found.fitted(states[0])
        with pytest.raises(CapabilityError, match="hangs on rounding"):
            found.predict(states[0], Rows(X))
        return
    scores = found.predict(states[0], Rows(X))
    decision = None if model is None else asked(model, X)
    if decision is None:
        assert np.isnan(scores).all()
        return
    present = np.isin(labels, model.classes_)
    assert_same_scores(scores, decision, present, size_of(model, X, decision), estimator)
    if present.sum() > 1:
        assert_fitted(found.fitted(states[0]), model, X, estimator)


@SLOW
@given(st.data())
def test_merged_states_become_the_fitted_estimator(data):
    X, codes, _, _, n_classes = data.draw(problems())
    model = data.draw(data.draw(st.sampled_from([linear, quadratic]))(n_classes))
    estimator = scaled(data.draw, model)
    for step in (last for _, last in steps_of(estimator)):
        if "store_covariance" in step.get_params():
            step.set_params(store_covariance=data.draw(st.booleans()))
    check_fitted(estimator, X, codes, n_classes, np.random.default_rng(data.draw(st.integers(0, 99))))
