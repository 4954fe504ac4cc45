"""Discriminant analysis from moments: the same as scikit-learn's `fit` of every training part."""

import pickle
import warnings

import mpmath
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.covariance import EmpiricalCovariance
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.model_selection import KFold, LeaveOneOut
from sklearn.model_selection import cross_val_predict as their_predict
from sklearn.model_selection import cross_validate as their_validate
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import treecv
from treecv.adapters.exact.discriminants import recognised
from treecv.adapters.exact.recognised import Exact
from treecv.adapters.steps import steps_of
from treecv.checks import check_learner
from treecv.data import Chunks, Feed, Rows
from treecv.errors import CapabilityError, InputError
from treecv.learner import Schema
from treecv.learners import class_moments, left_out
from treecv.learners.lda import LDA
from treecv.learners.qda import QDA

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


LEARNERS = [
    LDA(2),
    LDA(3, priors=(0.2, 0.3, 0.5)),
    LDA(3, solver="lsqr", priors=(0.2, 0.3, 0.5), centred=True, scaled=True),
    LDA(3, solver="eigen", shrinkage=0.3),
    LDA(2, solver="lsqr", shrinkage=0.3, scaled=True),
    QDA(2),
    QDA(3, regularization=0.1),
    QDA(3, scaled=True, priors=(0.2, 0.3, 0.5), tol=0.0),
    QDA(2, solver="eigen", shrinkage=0.5, scaled=True),
]


@pytest.mark.parametrize("learner", LEARNERS, ids=repr)
def test_the_learners_keep_the_laws(learner):
    X, codes = table(3, 60, 4, learner.classes, "plain")
    check_learner(learner, Rows(X, codes), schema_of(X, LABELS[: learner.classes]))


def exact_scores(learner, X, codes, asked):
    """The scores in 50 digits, by the textbook."""
    with mpmath.workdps(50):
        classes, d, n = range(learner.classes), X.shape[1], len(X)
        rows = [[[mpmath.mpf(x) for x in row] for row in X[codes == label].tolist()] for label in classes]
        means = [mpmath.matrix([mpmath.fsum(column) / len(own) for column in zip(*own, strict=True)]) for own in rows]
        scatters = [mpmath.zeros(d) for _ in classes]
        for label in classes:
            for row in rows[label]:
                away = mpmath.matrix(row) - means[label]
                scatters[label] += away * away.T
        shares = [mpmath.mpf(len(own)) / n for own in rows]
        middle = sum((share * mean for share, mean in zip(shares, means, strict=True)), mpmath.zeros(d, 1))
        if isinstance(learner, LDA):
            inverses = [mpmath.inverse(sum(scatters, mpmath.zeros(d)) / n)] * learner.classes
        else:
            inverses = [mpmath.inverse(scatters[label] / len(rows[label])) for label in classes]
        found = []
        for row in asked.tolist():
            x = mpmath.matrix([mpmath.mpf(value) for value in row])
            found.append([])
            for label, share in enumerate(shares):
                to_mean, to_middle = x - means[label], x - middle
                distance = (to_mean.T * inverses[label] * to_mean)[0]
                if isinstance(learner, LDA):
                    rest = -(to_middle.T * inverses[label] * to_middle)[0]
                else:
                    rest = -mpmath.log(mpmath.det(inverses[label]))
                found[-1].append(float(mpmath.log(share) - (distance + rest) / 2))
        return np.array(found)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("learner", [LDA(3), QDA(3, tol=0.0)], ids=["linear", "quadratic"])
@pytest.mark.parametrize("shift", [0.0, 1e8])
def test_merging_and_unlearning_keep_the_digits_of_shifted_and_badly_scaled_rows(learner, shift, seed):
    """50 digits know what the stored numbers mean; near 1e8 the smallest spread has two digits left, none of them lost.

    The tolerance is a part of the numbers summed up: distances of some thousands from means that far apart.
    """
    random = np.random.default_rng(seed)
    X, codes = table(seed, 40, 4, 3, "plain")
    X = X * np.array([1e-6, 1e-2, 1e3, 1e6])[random.permutation(4)] + shift
    parts = np.array_split(random.permutation(40), [5, 9, 30])
    states = []
    for part in parts:
        states.append(learner.init(schema_of(X, LABELS[:3])))
        learner.update(states[-1], Rows(X, codes, None, part))
    for other in states[1:]:
        learner.merge(states[0], other)
    wanted = exact_scores(learner, X, codes, X)
    size = np.abs(wanted).max()
    np.testing.assert_allclose(learner.predict(states[0], Rows(X)), wanted, rtol=0, atol=1e-11 * size)
    gone = Rows(X, codes, None, parts[2][:12])
    assert learner.unlearnable(states[0], gone)
    learner.unlearn(states[0], gone)
    kept = np.setdiff1d(np.arange(40), parts[2][:12])
    wanted = exact_scores(learner, X[kept], codes[kept], X)
    size = np.abs(wanted).max()
    np.testing.assert_allclose(learner.predict(states[0], Rows(X)), wanted, rtol=0, atol=1e-11 * size)


@pytest.mark.parametrize("learner", [LDA(2), LDA(2, solver="lsqr", priors=(0.5, 0.5)), QDA(2)], ids=repr)
def test_what_would_lose_digits_is_not_unlearnable(learner):
    X, codes = table(1, 30, 3, 2, "plain")
    X[:5] *= 1e7
    state = learner.init(schema_of(X, LABELS[:2]))
    learner.update(state, Rows(X, codes))
    assert learner.unlearnable(state, Rows(X, codes, None, np.arange(0)))
    assert all(learner.unlearnable(state, Rows(X, codes, None, np.array([row]))) for row in range(5, 30))
    assert not learner.unlearnable(state, Rows(X, codes, None, np.arange(5)))


@pytest.mark.parametrize("kind", [LDA, QDA])
def test_all_rows_of_a_class_can_be_unlearnt_and_learnt_again(kind):
    X, codes = table(2, 40, 3, 3, "plain")
    learner = kind(3)
    state = learner.init(schema_of(X, LABELS[:3]))
    learner.update(state, Rows(X, codes))
    whole = learner.predict(state, Rows(X))
    last = Rows(X, codes, None, np.flatnonzero(codes == 2))
    assert learner.unlearnable(state, last)
    learner.unlearn(state, last)
    assert np.isneginf(learner.predict(state, Rows(X))[:, 2]).all()
    assert not state.scatters[2].any()
    learner.update(state, last)
    np.testing.assert_allclose(learner.predict(state, Rows(X)), whole, rtol=1e-10)


X3, CODES3 = table(0, 60, 4, 3, "plain")
PASSED_OVER = [
    (type("Own", (LinearDiscriminantAnalysis,), {})(), {}, "subclass"),
    (type("Own", (QuadraticDiscriminantAnalysis,), {})(), {}, "subclass"),
    (make_pipeline(type("Own", (StandardScaler,), {})(), QuadraticDiscriminantAnalysis()), {}, "only a StandardScaler"),
    (make_pipeline(StandardScaler(), StandardScaler(), LinearDiscriminantAnalysis()), {}, "only a StandardScaler"),
    (make_pipeline(PCA(2), LinearDiscriminantAnalysis()), {}, "only a StandardScaler"),
    (LinearDiscriminantAnalysis(), {"classes": None}, "not one column of labels"),
    (LinearDiscriminantAnalysis(), {"classes": [np.arange(2)] * 2}, "not one column of labels"),
    (LinearDiscriminantAnalysis(), {"classes": np.arange(1)}, "only one class"),
    (QuadraticDiscriminantAnalysis(), {"sparse": True}, "sparse"),
    (QuadraticDiscriminantAnalysis(), {"dtype": "float32"}, "single precision"),
    (LinearDiscriminantAnalysis(), {"n_rows": 7}, "its rank depends on every row"),
    (LinearDiscriminantAnalysis(solver="qr"), {}, "refuses its parameters"),
    (QuadraticDiscriminantAnalysis(reg_param=2.0), {}, "refuses its parameters"),
    (LinearDiscriminantAnalysis(shrinkage=0.5), {}, "refuses shrinkage with solver='svd'"),
    (QuadraticDiscriminantAnalysis(shrinkage=0.5), {}, "refuses shrinkage with solver='svd'"),
    (LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto"), {}, "shrinkage='auto'"),
    (QuadraticDiscriminantAnalysis(solver="eigen", shrinkage="auto"), {}, "shrinkage='auto'"),
    (LinearDiscriminantAnalysis(solver="lsqr", covariance_estimator=EmpiricalCovariance()), {}, "covariance_estimator"),
    (QuadraticDiscriminantAnalysis(covariance_estimator=EmpiricalCovariance()), {}, "covariance_estimator"),
    (LinearDiscriminantAnalysis(priors=[0.5, 0.5]), {}, "priors"),
    (LinearDiscriminantAnalysis(priors=[0.5, 0.5, 0.5]), {}, "priors"),
    (QuadraticDiscriminantAnalysis(priors=[1.0, 0.0, 0.0]), {}, "priors"),
    (LinearDiscriminantAnalysis(n_components=3), {}, "so many components"),
]


@pytest.mark.parametrize(("estimator", "known", "reason"), PASSED_OVER, ids=lambda each: str(each)[:60])
def test_what_is_passed_over(estimator, known, reason):
    schema = schema_of(X3, **({"classes": LABELS[:3]} | known))
    found = recognised(estimator, list(steps_of(estimator)), schema)
    assert isinstance(found, str), found
    assert reason in found


def test_other_estimators_are_of_no_concern():
    for estimator in (GaussianNB(), make_pipeline(LinearDiscriminantAnalysis(), GaussianNB())):
        assert recognised(estimator, list(steps_of(estimator)), schema_of(X3, LABELS[:3])) is None


@pytest.mark.parametrize("model", [LinearDiscriminantAnalysis(), QuadraticDiscriminantAnalysis()])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("method", ["predict", "decision_function", "predict_proba", "predict_log_proba"])
def test_every_method_answers_as_scikit_learns(model, n_classes, method):
    X, codes = table(5, 60, 4, n_classes, "plain")
    labels = LABELS[:n_classes]
    found = exact_of(model, X, labels)
    state = found.init(found.schema)
    found.update(state, Rows(X, codes))
    values = found.predict(state, Rows(X))
    mine, theirs = found.answered(method, values), getattr(clone(model).fit(X, labels[codes]), method)(X)
    assert mine.shape == theirs.shape
    assert mine.dtype.kind == theirs.dtype.kind
    if method == "predict":
        assert (mine == theirs).all()
    else:
        np.testing.assert_allclose(mine, theirs, rtol=1e-8, atol=1e-10)


def test_tiny_and_missing_probabilities():
    linear, quadratic = (
        exact_of(model(), X3, LABELS[:3]) for model in (LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis)
    )
    values = np.array([[0.0, -800.0, -np.inf]])
    smallest = np.log(np.finfo(float).smallest_normal)
    assert linear.answered("predict_log_proba", values).tolist() == [[0.0, smallest, -np.inf]]
    assert quadratic.answered("predict_log_proba", values).tolist() == [[0.0, -800.0, -np.inf]]
    for found in (linear, quadratic):
        assert found.answered("predict_proba", values).tolist() == [[1.0, 0.0, 0.0]]
        assert found.answered("predict", values).tolist() == ["a"]
        with pytest.raises(AttributeError, match="no attribute 'score_samples'"):
            found.answered("score_samples", values)


def test_bad_rows_are_refused():
    found = exact_of(LinearDiscriminantAnalysis(), X3, LABELS[:3])
    state = found.init(found.schema)
    with pytest.raises(CapabilityError, match="LDA does not weigh rows, but got weights: leave them out"):
        found.update(state, Rows(X3, CODES3, np.ones(60)))
    with pytest.raises(CapabilityError, match=r"LDA does not read sparse rows: use X\.toarray\(\)"):
        found.update(state, Rows(csr_array(X3), CODES3))
    with pytest.raises(InputError, match="a state of 4 features cannot read rows of 3"):
        found.learner.predict(state, Rows(X3[:, :3]))
    with pytest.raises(InputError, match="must be codes 0"):
        found.update(state, Rows(X3, CODES3 + 1))
    with pytest.raises(InputError, match="cannot be trained on rows of"):
        found.fitted(state)
    with pytest.raises(InputError, match="solver='qr' must be one of"):
        LDA(3, solver="qr")
    with pytest.raises(InputError, match="solver='lsqr' must be one of"):
        QDA(3, solver="lsqr")
    assert np.isnan(found.predict(state, Rows(X3))).all()


def test_what_is_recognised_survives_a_pickle():
    found = exact_of(make_pipeline(StandardScaler(), LinearDiscriminantAnalysis()), X3, LABELS[:3])
    feed = Feed(Rows(X3, CODES3), Chunks(60))
    again = pickle.loads(pickle.dumps(found))  # noqa: S301 - made just here
    assert np.array_equal(found.held_out(found.schema, feed), again.held_out(again.schema, feed))


def test_large_folds_are_read_in_parts(monkeypatch):
    """Blocks of a few rows give what blocks of many do."""
    X, codes = table(7, 200, 3, 3, "plain")
    for model in (LinearDiscriminantAnalysis(), QuadraticDiscriminantAnalysis()):
        found = exact_of(make_pipeline(StandardScaler(), model), X, LABELS[:3])
        for offsets in (None, [0, 90, 180, 200], list(range(0, 201, 10))):
            feed = Feed(Rows(X, codes), Chunks(200, None if offsets is None else np.array(offsets)))
            whole = found.held_out(found.schema, feed)
            with monkeypatch.context() as patch:
                patch.setattr(left_out, "_BLOCK", 64)
                patch.setattr(class_moments, "BLOCK", 64)
                np.testing.assert_allclose(found.held_out(found.schema, feed), whole, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    "estimator",
    [
        LinearDiscriminantAnalysis(),
        make_pipeline(StandardScaler(), QuadraticDiscriminantAnalysis(reg_param=0.1)),
        LinearDiscriminantAnalysis(solver="eigen", shrinkage=0.2),
    ],
    ids=lambda estimator: str(estimator)[:40],
)
@pytest.mark.parametrize("cv", [12, KFold(12, shuffle=True, random_state=0)])
def test_the_front_door_takes_the_shortcut(estimator, cv):
    X, codes = table(9, 300, 4, 3, "plain")
    y = LABELS[:3][codes]
    scoring = ["accuracy", "neg_log_loss", "roc_auc_ovr"]
    ours = treecv.cross_validate(estimator, X, y, cv=cv, scoring=scoring, strategy="merge")
    theirs = their_validate(estimator, X, y, cv=cv, scoring=scoring)
    for name in scoring:
        np.testing.assert_allclose(ours[f"test_{name}"], theirs[f"test_{name}"], rtol=1e-9)
    for method in ("predict", "predict_proba", "decision_function"):
        mine = treecv.cross_val_predict(estimator, X, y, cv=cv, method=method)
        other = their_predict(estimator, X, y, cv=cv, method=method)
        assert (mine == other).all() if method == "predict" else np.allclose(mine, other, rtol=1e-8, atol=1e-9)
    models = treecv.cross_validate(estimator, X, y, cv=cv, strategy="merge", return_estimator=True)["estimator"]
    again = their_validate(estimator, X, y, cv=cv, return_estimator=True)["estimator"]
    for mine, other in zip(models, again, strict=True):
        assert_fitted(mine, other, X, estimator)


def test_leave_one_out_through_the_front_door():
    X, codes = table(11, 60, 3, 2, "plain")
    result = treecv.cross_validate(LinearDiscriminantAnalysis(), X, codes, cv="loo")
    assert (result.strategy, result.exact) == ("merge", True)
    theirs = their_validate(LinearDiscriminantAnalysis(), X, codes, cv=LeaveOneOut())
    assert result["test_score"].tolist() == theirs["test_score"].tolist()


@pytest.mark.parametrize("order", ["C", "F"])
def test_rows_may_lie_in_memory_as_they_like(order):
    X, codes = table(4, 40, 3, 2, "rare value")
    found = exact_of(LinearDiscriminantAnalysis(), X, LABELS[:2])
    plain = found.held_out(found.schema, Feed(Rows(X, codes), Chunks(40)))
    wide = np.zeros((80, 6), order=order)
    wide[::2, ::2] = X
    again = found.held_out(found.schema, Feed(Rows(wide[::2, ::2], codes), Chunks(40)))
    np.testing.assert_allclose(again, plain, rtol=1e-9)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(
    "estimator",
    [
        *(LinearDiscriminantAnalysis(solver=solver) for solver in ("svd", "lsqr", "eigen")),
        LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.5),
        QuadraticDiscriminantAnalysis(),
    ],
    ids=str,
)
def test_a_class_of_one_row(estimator, n_classes):
    """Without it one class is left of two, which linear analysis accepts."""
    X, codes = table(6, 20, 2, n_classes, "rare class")
    assert (codes == n_classes - 1).sum() == 1
    for offsets in (None, np.array([0, 5, 12, 20])):
        check(estimator, X, codes, None, Chunks(20, offsets), n_classes)


def test_states_of_little():
    """Nothing learnt, equal rows, and collinear features where the solver refuses them."""
    X = np.ones((6, 2))
    codes = np.array([0, 1, 0, 1, 0, 1])
    for learner in (LDA(2), LDA(2, solver="eigen"), QDA(2)):
        state = learner.init(schema_of(X, LABELS[:2]))
        learner.update(state, Rows(X[:0], codes[:0]))
        learner.merge(state, learner.copy(state))
        assert np.isnan(state.origin).all()
        learner.update(state, Rows(X, codes))
        assert learner.unlearnable(state, Rows(X[:2], codes[:2]))
        assert np.isnan(learner.predict(state, Rows(X))).all()
