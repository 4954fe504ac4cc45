"""Densities: every fold as training from scratch answers it."""

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf
from sklearn import model_selection
from sklearn.neighbors import KernelDensity
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import treecv
from exact.folds_from_scratch import Task, answers, splits, steps
from treecv.adapters.exact import densities
from treecv.adapters.exact.densities import KernelDensities, recognised
from treecv.checks import check_learner
from treecv.data import Rows
from treecv.errors import CapabilityError, InputError
from treecv.learner import Schema
from treecv.learners import Gaussian
from treecv.learners.histogram import Histogram

EPS = np.finfo(float).eps


@st.composite
def tables(draw, most=14):
    """Features of any scale; constant, collinear or doubled ones; weights of any kind, none of them negative."""
    n, d = draw(st.integers(3, most)), draw(st.integers(1, 5))
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    X = random.normal(size=(n, d))
    kind = draw(st.sampled_from(["normal", "scales", "constant", "collinear", "duplicates", "one"]))
    if kind == "scales":
        X *= 10.0 ** random.integers(-3, 4, size=d)
    elif kind == "constant":
        X[:, 0] = 0.1
    elif kind == "collinear":
        X[:, -1] = X[:, 0] * 2
    elif kind == "duplicates":
        X = X[random.integers(0, 3, size=n)]
    elif kind == "one":  # a single row makes all of the spread
        X[:, 0] = 0
        X[n // 2, 0] = 1e3
    weights = None
    if draw(st.booleans()):
        weights = random.exponential(size=n) ** draw(st.sampled_from([1, 6])) * random.integers(0, 3, size=n)
    offsets, index = draw(splits(n))
    return Task(X, None, weights, index, offsets)


def from_scratch(learner, task):
    """What each fold's own model says of its rows, and to how many digits that can be known.

    The covariance is known to the last digit or two of its diagonal. If directions are nearly without spread, these
    are the first digits of the spread in them.
    """
    found, known = [], []
    for train, test in task.folds():
        state = learner.init(task.schema)
        learner.update(state, Rows(task.X, None, task.weights, train))
        found.append(learner.predict(state, Rows(task.X, None, task.weights, test)))
        known.append(np.full(len(test), 1e-9 + 32 * EPS * condition(learner, state)))
    return np.concatenate(found), np.concatenate(known)


def condition(learner, state):
    covariance = learner.covariance(state)
    if not learner.full or not np.isfinite(covariance).all():
        return 1.0
    deviations = np.sqrt(np.diag(covariance))
    return np.linalg.cond(covariance / np.outer(deviations, deviations))


def assert_close(found, expected, known):
    np.testing.assert_array_equal(np.isnan(found), np.isnan(expected))
    missed = np.nan_to_num(np.abs(found - expected) / (1 + np.abs(expected)))
    assert (missed <= known).all(), (found, expected)


@settings(max_examples=200, deadline=None)
@given(tables(), st.booleans(), st.sampled_from([1e-6, 1e-2, 10.0]))
def test_the_gaussian_of_all_folds_at_once(task, full, floor):
    learner = Gaussian(full, floor)
    assert_close(learner.held_out(task.schema, task.feed), *from_scratch(learner, task))


@settings(max_examples=200, deadline=None)
@given(tables(), st.booleans(), st.sampled_from([1e-6, 1e-2, 10.0]))
def test_gaussians_without_a_fold_by_merging_and_by_unlearning(task, full, floor):
    learner = Gaussian(full, floor)
    whole = learner.init(task.schema)
    learner.update(whole, task.feed.rows)
    expected, known = from_scratch(learner, task)
    merged, unlearnt, safe = [], [], []
    for train, test in task.folds():
        rows = Rows(task.X, None, task.weights, test)
        parts = [trained(learner, task, part) for part in np.array_split(train, 3)]
        merged.append(learner.predict(learner.merge(learner.merge(parts[0], parts[1]), parts[2]), rows))
        safe.append(np.full(len(test), learner.unlearnable(whole, rows)))
        rest = learner.copy(whole)
        if safe[-1].all():
            learner.unlearn(rest, rows)
            assert rest["count"][0] == len(train)
        unlearnt.append(learner.predict(rest, rows))
    assert_close(np.concatenate(merged), expected, known)
    safe = np.concatenate(safe)
    assert_close(np.concatenate(unlearnt)[safe], expected[safe], known[safe])


def trained(learner, task, index):
    state = learner.init(task.schema)
    learner.update(state, Rows(task.X, None, task.weights, index))
    return state


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("full", [False, True])
def test_merging_and_unlearning_keep_the_digits_that_there_are(full, scale):
    """Beside 50 digits. A mean of 1e8 is known to 1e-8, so a deviation of 1e-6 is known to a digit or two."""
    random = np.random.default_rng(3)
    X, weights = 1e8 + scale * random.normal(size=(40, 3)), random.exponential(size=40)
    task, learner = Task(X, None, weights), Gaussian(full, 1e-300)
    known = 4 * EPS * (1 + 1e8 / scale)
    merged = learner.merge(trained(learner, task, np.arange(30)), trained(learner, task, np.arange(30, 40)))
    assert_moments(learner, merged, X, weights, known)
    rows = Rows(X, None, weights, np.arange(25, 40))
    assert learner.unlearnable(merged, rows)
    learner.unlearn(merged, rows)
    assert_moments(learner, merged, X[:25], weights[:25], known)


def assert_moments(learner, state, X, weights, known):
    mp.dps = 50
    exact = np.vectorize(mpf, otypes=[object])
    X, weights = exact(X), exact(weights)
    mean = weights @ X / weights.sum()
    spread = (X - mean).T @ ((X - mean) * weights[:, np.newaxis]) / weights.sum()
    own = learner.covariance(state) if learner.full else np.diag(learner.covariance(state))
    spread = spread if learner.full else np.diag(np.diag(spread))
    deviations = np.sqrt(np.diag(spread).astype(float))
    np.testing.assert_allclose((exact(learner.mean(state)) / mean - 1).astype(float), 0, atol=4 * EPS)
    np.testing.assert_allclose((exact(own) - spread).astype(float) / np.outer(deviations, deviations), 0, atol=known)


@pytest.mark.parametrize("full", [False, True])
def test_what_would_lose_its_digits_is_not_unlearnt(full):
    X = np.array([[0.0, 1.0], [0.0, 2.0], [0.0, 4.0], [1e3, 3.0]])
    learner, task = Gaussian(full), Task(X)
    state = trained(learner, task, np.arange(4))
    assert [learner.unlearnable(state, Rows(X, index=np.array([i]))) for i in range(4)] == [True, True, True, False]
    assert learner.unlearnable(state, Rows(X))
    weighted = Rows(X, None, np.array([1e-6, 0.0, 0.0, 1.0]))
    state = trained(learner, Task(X, None, weighted.weights), np.arange(4))
    assert not learner.unlearnable(state, Rows(X, None, weighted.weights, np.array([3])))
    assert learner.unlearnable(state, Rows(X, None, weighted.weights, np.array([1])))


def test_a_state_that_has_unlearnt_everything_has_learnt_nothing():
    X = np.random.default_rng(0).normal(size=(5, 2))
    learner = Gaussian()
    state = trained(learner, Task(X), np.arange(5))
    learner.unlearn(state, Rows(X))
    assert state.tobytes() == learner.init(Task(X).schema).tobytes()
    other = trained(learner, Task(X), np.arange(5))
    assert learner.merge(state, other).tobytes() == other.tobytes()
    empty = learner.init(Task(X).schema)
    assert learner.merge(learner.copy(empty), empty).tobytes() == empty.tobytes()


def test_a_spread_in_which_the_floor_is_lost_is_not_downdated():
    X = np.random.default_rng(0).normal(size=(30, 1)) * np.array([1e9, 1e9])
    learner, task = Gaussian(floor=1e-6), Task(X)
    assert not learner.unlearnable(trained(learner, task, np.arange(30)), Rows(X, index=np.array([1])))
    with np.errstate(invalid="ignore"):
        expected, _ = from_scratch(learner, task)
    np.testing.assert_array_equal(learner.held_out(task.schema, task.feed), expected)


def test_rows_without_weight_make_no_density():
    X = np.random.default_rng(0).normal(size=(6, 2))
    for weights in (np.zeros(6), np.array([1.0, 0, 0, 0, 0, 0])):
        task = Task(X, None, weights)
        found = Gaussian().held_out(task.schema, task.feed)
        np.testing.assert_array_equal(np.isnan(found), np.isnan(from_scratch(Gaussian(), task)[0]))


@pytest.mark.parametrize("full", [False, True])
def test_folds_of_many_rows_and_features(full):
    """More rows in a fold than features, and fewer; and more numbers than are worked on at once."""
    X = np.random.default_rng(0).normal(size=(3000, 40)).astype(np.float32)
    learner = Gaussian(full)
    for offsets in (np.array([0, 20, 1000, 1990, 3000]), None):
        task = Task(X, None, None, None, offsets)
        found = learner.held_out(task.schema, task.feed)
        for fold in (0, 1, 3) if offsets is not None else (0, 1234, 2999):
            begin, end = task.feed.chunks.span(fold, fold)
            state = learner.init(task.schema)
            learner.update(state, task.feed.all_but(fold))
            expected = learner.predict(state, task.feed.fold(fold))
            np.testing.assert_allclose(found[begin:end], expected, rtol=1e-11)


def test_what_all_folds_cost():
    assert Gaussian(False).held_out_trainings(1000, 10, 1000) == 8
    full = Gaussian().held_out_trainings
    assert full(1000, 10, 1000) < 3.1
    assert full(1000, 10, 10) < 3.3
    assert full(1000, 10, 100) == 5


KERNELS = ["gaussian", "exponential", "tophat", "epanechnikov", "linear", "cosine"]
METRICS = ["euclidean", "l2", "minkowski", "manhattan", "l1", "cityblock", "chebyshev", "infinity"]


@st.composite
def near_and_far(draw):
    """Rows among which a bandwidth of one is wide, fair or narrow; on a grid, some lie at the edge of the kernel."""
    n, d = draw(st.integers(3, 14)), draw(st.integers(1, 3))
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    X = random.normal(size=(n, d)) * draw(st.sampled_from([0.1, 1.0, 1.0, 10.0]))
    if draw(st.booleans()):
        X = np.round(X * 2) / draw(st.sampled_from([1.0, 2.0, 10.0]))
    if draw(st.booleans()):
        X = X[random.integers(0, n, size=n)] + draw(st.sampled_from([0.0, 1e8]))
    weights = random.exponential(size=n) if draw(st.booleans()) else None
    offsets, index = draw(splits(n))
    return Task(X.astype(draw(st.sampled_from([np.float64, np.float32]))), None, weights, index, offsets)


def density_shortcut(estimator, task):
    exact = recognised(estimator, steps(estimator), task.schema)
    assert isinstance(exact, KernelDensities), exact
    values = exact.held_out(task.schema, task.feed)
    return exact.answered("score_samples", values)


def assert_as_scikit_learn(estimator, task):
    """To 1e-8: scikit-learn subtracts bounds, and knows a density of 1e-4 to some 10 digits."""
    expected = [answer[0] for answer in answers(estimator, task, "score_samples")]
    np.testing.assert_allclose(density_shortcut(estimator, task), np.concatenate(expected), rtol=1e-8, atol=1e-8)


@settings(max_examples=300, deadline=None)
@given(
    near_and_far(),
    st.fixed_dictionaries(
        {
            "kernel": st.sampled_from(KERNELS),
            "metric": st.sampled_from(METRICS),
            "bandwidth": st.sampled_from([0.5, 1.0, 1.0, 2.0, "scott", "silverman"]),
            "leaf_size": st.sampled_from([1, 2, 40]),
            "algorithm": st.sampled_from(["auto", "kd_tree", "ball_tree"]),
            "breadth_first": st.booleans(),
        }
    ),
)
def test_kernel_densities_are_those_of_scikit_learn(task, chosen):
    assert_as_scikit_learn(KernelDensity(**chosen), task)


@pytest.mark.parametrize("kernel", KERNELS)
def test_only_rows_far_from_others_are_asked_of_scikit_learn(kernel, monkeypatch):
    X = np.random.default_rng(0).normal(size=(300, 2))
    X[7] = 40
    asked, ask = [], densities.LeavesOut._ask

    def counting(learner, table, fold, rows, values):
        asked.extend(rows)
        ask(learner, table, fold, rows, values)

    monkeypatch.setattr(densities.LeavesOut, "_ask", counting)
    assert_as_scikit_learn(KernelDensity(kernel=kernel), Task(X))
    assert 7 in asked
    assert len(asked) < 10


def test_weights_of_zero_are_left_to_scikit_learn():
    X, weights = np.random.default_rng(0).normal(size=(30, 2)), np.arange(30) % 3 * 1.0
    with np.errstate(divide="ignore"):
        assert_as_scikit_learn(KernelDensity(), Task(X, None, weights, offsets=np.array([0, 7, 30])))


def test_a_density_of_numbers_that_are_not_finite_is_none():
    X = np.array([[0.0], [1.0], [np.inf]])
    task = Task(X)
    assert answers(KernelDensity(), task, "score_samples") == [None] * 3
    assert np.isnan(density_shortcut(KernelDensity(), task)).all()


class Own(KernelDensity):
    pass


@pytest.mark.parametrize(
    ("estimator", "reason"),
    [
        (Own(), "it is a subclass"),
        (make_pipeline(StandardScaler(), KernelDensity()), "a transformer before it"),
        (KernelDensity(metric="haversine"), "metric='haversine' is not one of euclidean"),
        (KernelDensity(metric="minkowski", metric_params={"p": 3}), "metric_params may change"),
        (KernelDensity(rtol=1e-3), "let scikit-learn stop early"),
        (KernelDensity(atol=1e-3), "let scikit-learn stop early"),
        (KernelDensity(bandwidth=-1), "its settings are refused"),
        (KernelDensity(kernel="box"), "its settings are refused"),
    ],
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_kernel_densities_that_are_passed_over(estimator, reason):
    found = recognised(estimator, steps(estimator), Task(np.zeros((3, 2))).schema)
    assert reason in found


def test_other_models_and_methods():
    schema = Task(np.zeros((3, 2))).schema
    assert recognised(StandardScaler(), steps(StandardScaler()), schema) is None
    sparse = Task(scipy.sparse.csr_array(np.eye(3))).schema
    assert "sparse" in recognised(KernelDensity(), steps(KernelDensity()), sparse)
    with pytest.raises(AttributeError, match="'KernelDensity' object has no attribute 'predict'"):
        recognised(KernelDensity(), steps(KernelDensity()), schema).answered("predict", np.zeros(3))


@pytest.mark.parametrize(("kernel", "ten"), [("gaussian", True), ("linear", False)])
def test_the_cost_of_kernel_densities(kernel, ten):
    learner = density_shortcut_of(KernelDensity(kernel=kernel))
    assert (learner.held_out_trainings(2000, 2, 10) < 9) == ten
    assert learner.held_out_trainings(2000, 2, 2000) < 200
    assert learner.held_out_trainings(100_000, 2, 100_000) < 10_000


def density_shortcut_of(estimator):
    return recognised(estimator, steps(estimator), Task(np.zeros((3, 2))).schema).learner


@pytest.mark.parametrize("strategy", ["auto", "closed_form"])
def test_kernel_densities_through_the_front_door(strategy):
    X = np.random.default_rng(0).normal(size=(60, 2))
    for cv in (model_selection.LeaveOneOut(), 5):
        ours = treecv.cross_val_score(KernelDensity(bandwidth=0.5), X, cv=cv, strategy=strategy)
        theirs = model_selection.cross_val_score(KernelDensity(bandwidth=0.5), X, cv=cv)
        np.testing.assert_allclose(ours, theirs, rtol=1e-9)


@st.composite
def binned(draw):
    """Rows in few cells or beyond the edges, some of them on an edge."""
    n, d = draw(st.integers(3, 14)), draw(st.integers(1, 3))
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    X = random.uniform(-0.1, 1.1, size=(n, d))
    if draw(st.booleans()):
        X = np.round(X * 4) / 4
    weights = None
    if draw(st.booleans()):
        weights = random.exponential(size=n) ** draw(st.sampled_from([1, 9])) * random.integers(0, 3, size=n)
    offsets, index = draw(splits(n))
    return Task(X, None, weights, index, offsets)


EDGES = st.sampled_from([((0.0, 0.5, 1.0),), ((0.0, 0.25, 0.5, 1.0),), ((-1.0, 2.0),)])


@settings(max_examples=200, deadline=None)
@given(binned(), EDGES, st.sampled_from([0.0, 0.5, 1.0]))
def test_histograms_of_all_folds_by_every_way(task, edges, alpha):
    learner = Histogram(edges, alpha)
    whole = trained(learner, task, np.arange(task.n) if task.index is None else task.index)
    found, begin = learner.held_out(task.schema, task.feed), 0
    for train, test in task.folds():
        rows = Rows(task.X, None, task.weights, test)
        expected = learner.predict(trained(learner, task, train), rows)
        np.testing.assert_allclose(found[begin : begin + len(test)], expected, rtol=1e-9, atol=1e-9)
        begin += len(test)
        halves = [trained(learner, task, half) for half in np.array_split(train, 2)]
        merged = learner.predict(learner.merge(*halves), rows)
        np.testing.assert_allclose(merged, expected, rtol=1e-9, atol=1e-9)
        if learner.unlearnable(whole, rows):
            rest = learner.copy(whole)
            learner.unlearn(rest, rows)
            assert rest.count == len(train)
            np.testing.assert_allclose(learner.predict(rest, rows), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("d", [1, 2])
def test_a_histogram_is_that_of_numpy(d):
    X = np.random.default_rng(0).uniform(size=(500, d))
    X[:3], X[3:6] = 0, 1
    edges = [np.array([0, 0.2, 0.3, 0.7, 1.0]), np.array([0, 0.5, 1.0])][:d]
    density, _ = np.histogramdd(X, edges, density=True)
    places = tuple(
        np.minimum(np.searchsorted(along, x, "right") - 1, len(along) - 2) for along, x in zip(edges, X.T, strict=True)
    )
    model = treecv.HistogramDensity(edges, alpha=0).fit(X)
    np.testing.assert_allclose(np.exp(model.score_samples(X)), density[places], rtol=1e-12)
    assert [along.tolist() for along in model.edges_] == [along.tolist() for along in edges]
    assert model.t_ == 500
    smooth = treecv.HistogramDensity([4, 2][:d], range=[(0, 1)] * d).fit(X)
    grid = np.stack(np.meshgrid(*[(np.arange(8) + 0.5) / 8] * d), axis=-1).reshape(-1, d)
    assert np.exp(smooth.score_samples(grid)).mean() == pytest.approx(1)


def test_rows_beyond_the_edges_and_rows_that_are_no_numbers():
    learner = Histogram(((0.0, 1.0),), 1.0)
    state = learner.init(Schema(3, 1, "float64"))
    X = np.array([[0.5], [1.0], [1.5], [-0.1], [np.nan], [np.inf]])
    assert np.isnan(learner.predict(state, Rows(X))).all()
    learner.update(state, Rows(X[:3]))
    np.testing.assert_allclose(np.exp(learner.predict(state, Rows(X))), [0.75, 0.75, 0, 0, np.nan, np.nan])
    assert treecv.cross_val_score(treecv.HistogramDensity(1), X[:4], cv="loo")[:2].tolist() == [np.log(0.5)] * 2
    learner.unlearn(state, Rows(X[:3]))
    assert state == learner.init(Schema(3, 1, "float64"))


def test_histograms_keep_the_laws_of_learners():
    X = np.random.default_rng(0).normal(size=(40, 2))
    check_learner(Histogram(((-4.0, -1.0, 0.0, 1.0, 4.0),), 0.5), Rows(X), Schema(40, 2, "float64"))


@parametrize_with_checks([treecv.HistogramDensity()])
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("cv", ["loo", 5])
@pytest.mark.parametrize(
    "estimator",
    [treecv.HistogramDensity(5, range=(-4, 4)), treecv.GaussianDensity(), treecv.GaussianDensity("diagonal")],
    ids=repr,
)
def test_our_densities_through_the_front_door(estimator, cv):
    X = np.random.default_rng(0).normal(size=(80, 2))
    result = treecv.cross_validate(estimator, X, cv=cv)
    theirs = model_selection.cross_val_score(estimator, X, cv=model_selection.LeaveOneOut() if cv == "loo" else cv)
    np.testing.assert_allclose(result["test_score"], theirs, rtol=1e-9)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"bins": 0}, "bins=0 must be a whole number from 1 on"),
        ({"bins": [2, 3, 4]}, r"bins=\[2, 3, 4\] has 3 entries for 2 features"),
        ({"bins": [[0, 1], [1, 0]]}, r"edges=\[1.0, 0.0\] must be two or more finite numbers that rise"),
        ({"range": (1, 0)}, r"range=\(1, 0\) must be finite and rise"),
        ({"range": [(0, 1)] * 3}, "must be a pair, the first and the last edge, or 2 pairs"),
        ({"alpha": -1}, "alpha=-1 must be a finite number, 0 or more"),
    ],
)
def test_settings_of_histograms_that_cannot_be_used(options, message):
    with pytest.raises(InputError, match=message):
        treecv.HistogramDensity(**options).fit(np.zeros((3, 2)))


def test_rows_that_a_histogram_cannot_read():
    learner = Histogram(((0.0, 1.0),))
    state = learner.init(Schema(3, 1, "float64"))
    with pytest.raises(CapabilityError, match=r"use X.toarray\(\)"):
        learner.update(state, Rows(scipy.sparse.csr_array(np.eye(1))))
    with pytest.raises(InputError, match="a state of 1 features cannot read rows of 2"):
        learner.update(state, Rows(np.eye(2)))
    with pytest.raises(InputError, match=r"cannot read rows of float32: use X.astype\('float64'\)"):
        learner.predict(state, Rows(np.eye(1, dtype=np.float32)))
    with pytest.raises(InputError, match="2 rows of edges for 3 features"):
        Histogram(((0, 1), (0, 1))).init(Schema(3, 3, "float64"))
    with pytest.raises(InputError, match="must name the edges"):
        Histogram(())


def test_the_settings_of_a_histogram_make_the_same_one():
    learner = Histogram(((0, 1),), 2)
    assert Histogram(**learner.settings()) == learner
    assert learner.held_out_trainings(10, 1, 10) == 3
