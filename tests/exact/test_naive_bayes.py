"""Naive Bayes by shortcuts is what scikit-learn's `fit` on each training part and `predict` give."""

import importlib
import itertools
import warnings

import mpmath
import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.model_selection import KFold, LeaveOneOut, StratifiedKFold
from sklearn.model_selection import cross_val_predict as their_predict
from sklearn.model_selection import cross_val_score as their_score
from sklearn.model_selection import cross_validate as their_validate
from sklearn.naive_bayes import BernoulliNB, CategoricalNB, ComplementNB, GaussianNB, MultinomialNB
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

import treecv
from treecv import kernels
from treecv.adapters.exact import exact_learner
from treecv.adapters.exact.naive_bayes import NaiveBayes, recognised
from treecv.adapters.steps import steps_of
from treecv.checks import iter_laws
from treecv.checks.laws import Case
from treecv.data import Chunks, Feed, Rows
from treecv.learner import Schema
from treecv.learners import without
from treecv.learners.categorical_bayes import CategoricalBayes
from treecv.learners.count_bayes import BernoulliBayes, ComplementBayes, MultinomialBayes
from treecv.learners.count_folds import stretches
from treecv.learners.gaussian_bayes import GaussianBayes, Moments

CASES = settings(max_examples=200, deadline=None)
CALL = dict.fromkeys(["weights", "index", "offsets", "priors"]) | {"smoothing": 1e-9, "centred": False, "scaled": False}


def schema_of(X, classes, dtype="float64"):
    labels = np.array([f"class {code}" for code in range(classes)])
    return Schema(X.shape[0], X.shape[1], dtype, labels, sparse=scipy.sparse.issparse(X))


def exact(estimator, X, classes):
    found = recognised(estimator, list(steps_of(estimator)), schema_of(X, classes))
    assert isinstance(found, NaiveBayes), found
    return found


def brute(estimator, X, y, feed, classes):
    """Trained by scikit-learn on each training part: the joint log probabilities; NaN where that fails."""
    index = np.arange(feed.n_rows) if feed.rows.index is None else feed.rows.index
    weights, before = feed.rows.weights, feed.chunks.before
    out = np.full((feed.n_rows - before, classes), np.nan)
    *_, (name, _) = steps_of(estimator)
    for fold in range(feed.k):
        begin, end = feed.chunks.span(fold, fold)
        train = np.concatenate([index[:begin], index[end:]])
        given = {} if weights is None else {f"{name}__sample_weight" if name else "sample_weight": weights[train]}
        values = np.full((end - begin, classes), -np.inf)
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                fitted = clone(estimator).fit(X[train], y[train], **given)
                Z = fitted[:-1].transform(X[index[begin:end]]) if name else X[index[begin:end]]
                values[:, fitted.classes_] = (fitted[-1] if name else fitted).predict_joint_log_proba(Z)
        except (ValueError, IndexError):
            continue
        model = fitted[-1] if name else fitted
        if isinstance(model, GaussianNB) and (model.var_ < 1e-20).any():
            continue  # a variance of 0, to rounding, leaves no number
        out[begin - before : end - before] = values
    return out


def held_out(estimator, X, y, feed, classes):
    found = exact(estimator, X, classes)
    return found.held_out(found.schema, feed)


def assert_equal(found, wanted, tolerance):
    """Row by row, relative to the largest number of a row; what has no number in scikit-learn has none here."""
    unclear = np.isnan(wanted).any(axis=1)
    assert np.isnan(found[unclear]).all()
    found, wanted = found[~unclear], wanted[~unclear]
    np.testing.assert_array_equal(np.isneginf(found), np.isneginf(wanted))
    known = np.isfinite(wanted)
    size = np.maximum(np.abs(np.where(known, wanted, 0)).max(axis=1, keepdims=True, initial=1), 1)
    assert np.isfinite(found[known]).all()
    np.testing.assert_allclose((np.where(known, found, 0) / size), (np.where(known, wanted, 0) / size), atol=tolerance)


@st.composite
def folds(draw, n):
    """An index or none; leave-one-out, or folds of any sizes with rows before them."""
    index = np.random.default_rng(draw(st.integers(0, 99))).permutation(n) if draw(st.booleans()) else None
    if draw(st.booleans()):
        return index, Chunks(n)
    cuts = draw(st.sets(st.integers(0, n - 1), min_size=1))
    return index, Chunks(n, np.array([*sorted(cuts), n], np.int64))


@st.composite
def labelled(draw, classes):
    """Codes of some classes, weights or none, and folds."""
    n = draw(st.integers(2, 24))
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    y = random.choice(classes, n, p=random.dirichlet(np.full(classes, 0.7)))
    weights = None
    if draw(st.booleans()):
        weights = random.integers(0, 3, n) * draw(st.sampled_from([1.0, 0.3]))
    index, chunks = draw(folds(n))
    return random, y.astype(np.int64), weights, index, chunks


@st.composite
def gaussian(draw):
    """Features of very different scales, shifted, with columns that are constant and rows that are repeated."""
    classes = draw(st.integers(1, 4))
    random, y, weights, index, chunks = draw(labelled(classes))
    d = draw(st.sampled_from([1, 2, 7, 8, 9, 17]))
    X = random.normal(size=(len(y), d)) + y[:, np.newaxis] * draw(st.sampled_from([0, 3]))
    X = X * 10.0 ** random.integers(-2, 3, d) + draw(st.sampled_from([0, 100])) * random.normal(size=d)
    if draw(st.booleans()):
        X = np.round(X)
    if draw(st.booleans()):
        X[:, random.integers(d)] = 3
        X = X[random.integers(0, len(X), len(X))]
    return X, y, weights, index, chunks, classes


def feed_of(case):
    X, y, weights, index, chunks, _ = case
    return Feed(Rows(X, y, weights, index), chunks)


@CASES
@given(gaussian(), st.sampled_from([1e-9, 1e-3]), st.booleans())
def test_gaussian(case, smoothing, given):
    X, y, *_, classes = case
    estimator = GaussianNB(var_smoothing=smoothing, priors=np.full(classes, 1 / classes) if given else None)
    feed = feed_of(case)
    # The moments that scikit-learn computes far from zero have lost digits; ours have not.
    assert_equal(held_out(estimator, X, y, feed, classes), brute(estimator, X, y, feed, classes), 1e-8)


@CASES
@given(gaussian(), st.booleans(), st.booleans())
def test_gaussian_behind_a_scaler(case, with_mean, with_std):
    X, y, *_, classes = case
    estimator = make_pipeline(StandardScaler(with_mean=with_mean, with_std=with_std), GaussianNB())
    feed = feed_of(case)
    assert_equal(held_out(estimator, X, y, feed, classes), brute(estimator, X, y, feed, classes), 1e-7)


@pytest.mark.skipif(kernels.core is None, reason="there is no core")
def test_every_level_gives_the_same_bits():
    random = np.random.default_rng(2)
    X, y = random.normal(size=(300, 19)) * 10.0 ** random.integers(-3, 4, 19), random.integers(0, 9, 300)
    X[5] *= 1e9
    found = []
    for level in kernels.levels():
        out = np.empty(300 * 9)
        importlib.import_module(f"treecv._core_{level}").gaussian_bayes_held_out(
            X, y.astype(np.int32), **CALL | {"scaled": True, "classes": 9, "out": out}
        )
        found.append(out.tobytes())
    assert set(found) == {found[0]}


@pytest.mark.skipif(kernels.core is None, reason="there is no core")
@CASES
@given(gaussian(), st.booleans())
def test_the_core_gives_what_the_reference_gives(case, scaled):
    X, *_, classes = case
    learner, schema, feed = GaussianBayes(classes, scaled=scaled, centred=scaled), schema_of(X, classes), feed_of(case)
    found, wanted = learner.held_out(schema, feed), without.held_out(learner, schema, feed)
    np.testing.assert_array_equal(np.isnan(found), np.isnan(wanted))
    both = np.isfinite(found) & np.isfinite(wanted)
    np.testing.assert_array_equal(found[~both], wanted[~both])
    np.testing.assert_allclose(found[both], wanted[both], rtol=1e-10, atol=1e-10)


@st.composite
def counted(draw, kind):
    """Counts, some of them fractions, dense or sparse; each of the discrete estimators with its settings."""
    classes = draw(st.integers(1, 4))
    random, y, weights, index, chunks = draw(labelled(classes))
    d = draw(st.integers(2 if kind is ComplementNB else 1, 10))
    X = random.poisson(0.7, (len(y), d)).astype(float)
    small = draw(st.sampled_from([1.0, 0.02, 1e-4]))
    chosen = {"alpha": small, "fit_prior": draw(st.booleans())}
    if draw(st.integers(0, 4)) == 0:
        chosen["class_prior"] = random.dirichlet(np.ones(classes))
    if kind is CategoricalNB:
        chosen["min_categories"] = draw(st.sampled_from([None, 3, [2] * d]))
        return clone(kind(**chosen)), (X, y, weights, index, chunks, classes)
    if kind is not BernoulliNB and draw(st.booleans()):
        chosen["alpha"] = small * (0.1 + random.random(d))
    if draw(st.integers(0, 3)) == 0:
        X *= 0.37 * 10.0 ** random.integers(-4, 4, (len(y), 1))
    if kind is BernoulliNB:
        chosen["binarize"] = draw(st.sampled_from([0.0, 0.5, None]))
        X = np.minimum(X, 1) if chosen["binarize"] is None else X
    if draw(st.booleans()):
        X = scipy.sparse.csr_array(X)
    return clone(kind(**chosen)), (X, y, weights, index, chunks, classes)


@pytest.mark.parametrize("kind", [MultinomialNB, BernoulliNB, ComplementNB, CategoricalNB])
def test_counts(kind):
    @CASES
    @given(counted(kind))
    def check(drawn):
        estimator, case = drawn
        X, y, *_, classes = case
        feed = feed_of(case)
        # What scikit-learn subtracts for a complement loses digits of a small alpha: one in 1e9 with 1e-4.
        tolerance = 1e-8 if kind is ComplementNB else 1e-10
        found = held_out(estimator, X, y, feed, classes)
        assert_equal(found, brute(estimator, X, y, feed, classes), tolerance)
        learner = exact(estimator, X, classes).learner
        slow = without.held_out(learner, schema_of(X, classes), feed)
        assert_equal(found, slow, 1e-10)

    check()


@pytest.mark.parametrize("kind", [MultinomialNB, BernoulliNB, ComplementNB, CategoricalNB, GaussianNB])
def test_states_are_merged_and_copied_and_give_what_fit_leaves(kind):
    random = np.random.default_rng(3)
    X, y, weights = random.poisson(1, (40, 6)).astype(float), random.integers(0, 3, 40), random.random(40)
    found = exact(kind(), X, 4)
    part, other = found.init(found.schema), found.init(found.schema)
    found.update(part, Rows(X[:13], y[:13], weights[:13]))
    untouched = found.copy(part)
    found.update(other, Rows(X[13:], y[13:], weights[13:]))
    found.merge(part, other)
    if found.unlearnable(part, Rows(X, y, weights, np.array([3, 4]))):
        found.unlearn(part, Rows(X, y, weights, np.array([3, 4])))
        found.update(part, Rows(X, y, weights, np.array([4, 3])))
    labels = found.schema.classes[y]
    assert_same_model(found.fitted(part), kind().fit(X, labels, weights))
    assert_same_model(found.fitted(untouched), kind().fit(X[:13], labels[:13], weights[:13]))
    values = found.predict(part, Rows(X))
    theirs = kind().fit(X, labels, weights)
    np.testing.assert_array_equal(found.answered("predict", values), theirs.predict(X))
    for method in ("predict_proba", "predict_log_proba", "predict_joint_log_proba"):
        np.testing.assert_allclose(found.answered(method, values)[:, :3], getattr(theirs, method)(X), rtol=1e-9)
    assert found.answered("predict_proba", values)[:, 3].tolist() == [0] * 40
    with pytest.raises(AttributeError, match=f"'{kind.__name__}' object has no attribute 'decision_function'"):
        found.answered("decision_function", values)


def assert_same_model(found, wanted):
    """Attribute by attribute."""
    assert type(found) is type(wanted)
    if isinstance(found, Pipeline):
        for (_, one), (_, other) in zip(found.steps, wanted.steps, strict=True):
            assert_same_model(one, other)
        return
    assert set(vars(found)) == set(vars(wanted))
    for name, value in vars(wanted).items():
        if not name.endswith("_") or value is None:
            continue
        mine = vars(found)[name]
        if name == "classes_":
            assert mine.tolist() == value.tolist()
            continue
        for one, other in zip(mine, value, strict=True) if isinstance(value, list) else [(mine, value)]:
            assert np.shape(one) == np.shape(other), name
            np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12, err_msg=name)


@pytest.mark.parametrize("with_mean", [False, True])
@pytest.mark.parametrize("with_std", [False, True])
def test_a_pipeline_is_given_back(with_mean, with_std):
    random = np.random.default_rng(4)
    X, y = random.normal(size=(30, 4)) * [1, 10, 100, 0] + 5, random.integers(0, 3, 30)
    estimator = make_pipeline(StandardScaler(with_mean=with_mean, with_std=with_std), "passthrough", GaussianNB())
    found = exact(estimator, X, 3)
    state = found.init(found.schema)
    found.update(state, Rows(X, y))
    fitted, wanted = found.fitted(state), clone(estimator).fit(X, found.schema.classes[y])
    for (_, one), (_, other) in zip(steps_of(fitted), steps_of(wanted), strict=True):
        assert_same_model(one, other)
    np.testing.assert_array_equal(fitted.predict(X), wanted.predict(X))


LEARNERS = [
    GaussianBayes(3, 1e-3),
    GaussianBayes(3, 1e-3, centred=True, scaled=True),
    MultinomialBayes(3, 0.5),
    BernoulliBayes(3, 0.5, threshold=1.0),
    ComplementBayes(3, 0.5),
    ComplementBayes(3, (0.5, 1.0, 2.0, 0.1), norm=True),
    CategoricalBayes(3, 0.5, least=(9, 9, 9, 9)),
]


@pytest.mark.parametrize("learner", LEARNERS, ids=repr)
def test_learners_keep_the_laws(learner):
    random = np.random.default_rng(9)
    X, y = random.integers(0, 5, (40, 4)).astype(float), np.arange(40) % 3
    if isinstance(learner, GaussianBayes):
        X += random.random((40, 4))
    laws = list(iter_laws(learner))
    if not isinstance(learner, GaussianBayes):  # counts are neither shifted nor as large as 1e12
        laws = [law for law in laws if law.__name__ != "check_unlearn_keeps_digits"]
    for law in laws:
        law(Case(learner, Schema(40, 4, "float64", np.arange(3)), Rows(X, y)))


def moments_in_mpmath(X, weights):
    """Mean and variance of one column, to 50 digits."""
    with mpmath.workdps(50):
        x, w = [mpmath.mpf(float(v)) for v in X], [mpmath.mpf(float(v)) for v in weights]
        total = mpmath.fsum(w)
        mean = mpmath.fsum(a * b for a, b in zip(w, x, strict=True)) / total
        return mean, mpmath.fsum(a * (b - mean) ** 2 for a, b in zip(w, x, strict=True)) / total


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([0.0, 1e8, -1e8]), st.sampled_from([1e-6, 1e-2, 1.0, 1e6]))
def test_moments_in_50_digits(seed, shift, scale):
    """Data shifted by 1e8 keeps the digits that it has: the mean errs by a share of the spread."""
    random = np.random.default_rng(seed)
    n = int(random.integers(6, 30))
    X, weights = random.normal(size=(n, 1)) * scale + shift, random.random(n) + 0.1
    cuts = sorted(random.integers(1, n, 2).tolist())
    learner, y = GaussianBayes(1), np.zeros(n, np.int64)
    state = learner.init(Schema(n, 1, "float64"))
    for begin, end in zip([0, *cuts], [*cuts, n], strict=True):
        other = learner.init(Schema(n, 1, "float64"))
        learner.update(other, Rows(X[begin:end], y[begin:end], weights[begin:end]))
        learner.merge(state, other)
    check_moments(state, X, weights)
    gone = Rows(X[:2], y[:2], weights[:2])
    if learner.unlearnable(state, gone):
        learner.unlearn(state, gone)
        check_moments(state, X[2:], weights[2:])


def check_moments(state: Moments, X, weights):
    mean, variance = moments_in_mpmath(X[:, 0], weights)
    with mpmath.workdps(50):
        spread = mpmath.sqrt(variance)
        away = mpmath.mpf(float(state.mean[0, 0])) + mpmath.mpf(float(state.rest[0, 0])) - mean
        assert abs(away) <= 1e-12 * spread
        assert abs(mpmath.mpf(float(state.variance[0, 0])) - variance) <= 1e-11 * variance


def test_counts_in_50_digits():
    """What is left of fractions is right to the digits that `unlearnable` promises."""
    random = np.random.default_rng(0)
    X = random.random((9, 3)) * 10.0 ** random.integers(-6, 6, (9, 1))
    y = np.zeros(9, np.int64)
    found = exact(MultinomialNB(alpha=1e-3), X, 1)
    state = found.init(found.schema)
    found.update(state, Rows(X, y))
    for row in range(9):
        rows = Rows(X, y, None, np.array([row]))
        if found.unlearnable(state, rows):
            left = found.copy(state)
            found.unlearn(left, rows)
            with mpmath.workdps(50):
                wanted = [float(mpmath.fsum(map(mpmath.mpf, np.delete(X[:, j], row).tolist()))) for j in range(3)]
            np.testing.assert_allclose(left.table[:, 0] + 1e-3, np.array(wanted) + 1e-3, rtol=1e-11)


def test_a_row_that_is_all_of_the_spread_is_read_around():
    """What is left of a class is tiny beside the row that is taken away: the difference would be rounding alone."""
    random = np.random.default_rng(5)
    X, y = random.normal(size=(60, 3)) * 1e-3, random.integers(0, 2, 60)
    X[7] += [1e7, -1e6, 1e8]
    weights = np.where(np.arange(60) == 7, 1e9, 1.0)
    for weighed in (None, weights):
        feed = Feed(Rows(X, y, weighed), Chunks(60))
        estimator = GaussianNB(var_smoothing=1e-3)
        found, wanted = held_out(estimator, X, y, feed, 2), brute(estimator, X, y, feed, 2)
        np.testing.assert_allclose(found[7], wanted[7], rtol=1e-12)
        assert not GaussianBayes(2, 1e-3).unlearnable(learnt(GaussianBayes(2, 1e-3), feed), feed.fold(7))


def learnt(learner, feed):
    state = learner.init(Schema(feed.n_rows, feed.rows.X.shape[1], "float64"))
    learner.update(state, feed.rows)
    return state


def test_a_count_that_is_all_of_a_sum_is_read_around():
    X = scipy.sparse.csr_array(np.array([[1e12, 1.0], [0.3, 1e13], [0.1, 0.7], [0, 0.9]]))
    y = np.array([0, 0, 1, 1])
    feed, estimator = Feed(Rows(X, y, np.array([0.1, 0.7, 1.0, 0.9])), Chunks(4)), MultinomialNB(alpha=1e-9)
    found, wanted = held_out(estimator, X, y, feed, 2), brute(estimator, X, y, feed, 2)
    np.testing.assert_allclose(found, wanted, rtol=1e-12)
    learner = exact(estimator, X, 2).learner
    assert not learner.unlearnable(learnt(learner, feed), feed.fold(0))


@pytest.mark.parametrize("shift", [0, 1e8])
def test_a_shift_costs_no_digits(shift):
    """Multiples of 2^-20 keep all digits beside 1e8, so the answer must not change."""
    random = np.random.default_rng(6)
    X, y = np.round(random.normal(size=(200, 5)) * 2**20) / 2**20, random.integers(0, 3, 200)
    feed = [Feed(Rows(Z, y), Chunks(200)) for Z in (X, X + shift)]
    learner = GaussianBayes(3)
    plain, shifted = (learner.held_out(schema_of(X, 3), one) for one in feed)
    np.testing.assert_allclose(shifted, plain, rtol=1e-12)


def test_many_folds_are_taken_in_stretches():
    feed = Feed(Rows(np.zeros((1000, 1)), np.zeros(1000)), Chunks(1000, np.array([3, 3, 4, 500, 501, 501, 1000])))
    found = list(stretches(feed, 1 << 20))
    assert found[0].begin == 3
    assert found[-1].end == 1000
    assert all(one.end == other.begin for one, other in itertools.pairwise(found))
    first = np.concatenate([one.first + one.folds for one in found])
    np.testing.assert_array_equal(first, np.repeat(np.arange(6), feed.chunks.sizes))


@pytest.mark.parametrize(
    ("estimator", "reason"),
    [
        (type("Own", (GaussianNB,), {})(), "Own is a subclass"),
        (GaussianNB(var_smoothing=-1), "its settings are not valid"),
        (GaussianNB(priors=[1.0]), "its priors do not fit"),
        (GaussianNB(priors=[0.3, 0.3, 0.3]), "its priors do not fit"),
        (GaussianNB(priors=[1.3, -0.6, 0.3]), "its priors do not fit"),
        (make_pipeline(MinMaxScaler(), GaussianNB()), "one StandardScaler is known"),
        (make_pipeline(StandardScaler(), StandardScaler(), GaussianNB()), "one StandardScaler is known"),
        (make_pipeline(StandardScaler(), MultinomialNB()), "no transformer before it"),
        (MultinomialNB(alpha=0), "alpha=0 leaves logarithms of 0"),
        (MultinomialNB(alpha=[1.0, 1.0]), "alpha is not one number for each feature"),
        (MultinomialNB(alpha=[1.0, 0.0, 1.0, 1.0]), "alpha=0 leaves"),
        (MultinomialNB(class_prior=[0.5, 0.5]), "its class_prior does not fit"),
        (BernoulliNB(alpha=1e-12), "so small an alpha"),
        (BernoulliNB(alpha=[1.0] * 4), "adds an alpha for each feature to the classes"),
        (BernoulliNB(binarize=-1.0), "its settings are not valid"),
        (ComplementNB(alpha=1e-6), "so small an alpha"),
        (CategoricalNB(alpha=[1.0] * 4), "its settings are not valid"),
        (CategoricalNB(min_categories=[2, 2]), "min_categories"),
        (CategoricalNB(min_categories=np.full(4, 2.5)), "min_categories"),
    ],
)
def test_what_is_passed_over(estimator, reason):
    found = recognised(estimator, list(steps_of(estimator)), schema_of(np.zeros((20, 4)), 3))
    assert isinstance(found, str)
    assert reason in found


def test_what_data_is_passed_over():
    X = np.zeros((20, 1))
    for schema, estimator, reason in [
        (schema_of(X, 3, "float32"), GaussianNB(), "in single precision"),
        (schema_of(scipy.sparse.csr_array(X), 3), GaussianNB(), "no sparse rows"),
        (schema_of(scipy.sparse.csr_array(X), 3), CategoricalNB(), "no sparse rows"),
        (schema_of(X, 3), ComplementNB(norm=True), "ties"),
        (Schema(20, 1, "float64"), GaussianNB(), "not one column of labels"),
    ]:
        assert reason in recognised(estimator, list(steps_of(estimator)), schema)
    assert recognised(StandardScaler(), [("", StandardScaler())], schema_of(X, 3)) is None


def test_a_small_alpha_is_lifted_as_scikit_learn_lifts_it():
    assert exact(MultinomialNB(alpha=1e-20, force_alpha=False), np.zeros((9, 2)), 2).learner.alpha == 1e-10
    assert exact(MultinomialNB(alpha=1e-20), np.zeros((9, 2)), 2).learner.alpha == 1e-20


@pytest.mark.parametrize(
    ("estimator", "value"),
    [(MultinomialNB(), -1.0), (ComplementNB(), -1.0), (CategoricalNB(), -1.0), (BernoulliNB(binarize=None), 2.0)],
)
@pytest.mark.parametrize("sparse", [False, True])
def test_rows_that_cannot_be_counted_have_no_answer_here(estimator, value, sparse):
    """Then scikit-learn's own function does the work, which raises or not."""
    X = np.random.default_rng(0).integers(0, 2, (12, 3)).astype(float)
    X[5, 1] = value
    table = scipy.sparse.csr_array(X) if sparse and not isinstance(estimator, CategoricalNB) else X
    feed = Feed(Rows(table, np.arange(12) % 2), Chunks(12))
    assert np.isnan(held_out(estimator, table, feed.rows.y, feed, 2)).all()


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("estimator", [GaussianNB(), MultinomialNB()])
def test_numbers_that_are_none_give_none(estimator, value):
    X = np.ones((6, 2))
    X[2, 1] = value
    feed = Feed(Rows(X, np.arange(6) % 2), Chunks(6))
    with np.errstate(invalid="ignore"):
        assert np.isnan(held_out(estimator, X, feed.rows.y, feed, 2)).all()


def test_the_core_says_what_it_was_given():
    if kernels.core is None:
        pytest.skip("there is no core")
    X, y, out = np.zeros((4, 2)), np.zeros(4, np.int32), np.zeros(8)
    given = CALL | {"classes": 2, "out": out}
    call = kernels.core.gaussian_bayes_held_out
    for changed, complaint in [
        ({"out": out[:6]}, "a number for each class"),
        ({"weights": np.ones(3)}, "X and weights differ in length"),
        ({"priors": np.ones(3)}, "a prior is needed for each class"),
        ({"index": np.array([4])}, "a row that X does not have"),
        ({"offsets": np.array([0, 3])}, "offsets of the chunks must rise"),
    ]:
        with pytest.raises(ValueError, match=complaint):
            call(X, y, **(given | changed))
    with pytest.raises(ValueError, match="X and y differ"):
        call(X, y[:3], **given)
    for code in (2, -1):
        with pytest.raises(ValueError, match="codes of the classes"):
            call(X, np.full(4, code, np.int32), **given)


# Through the front door.

RANDOM = np.random.default_rng(8)
LABELS = np.array(["a", "b", "c"])[RANDOM.integers(0, 3, 90)]
COUNTS = RANDOM.poisson(1.0, (90, 5)) + (LABELS == "b")[:, np.newaxis]
ESTIMATORS = [
    GaussianNB(),
    make_pipeline(StandardScaler(), GaussianNB()),
    MultinomialNB(),
    BernoulliNB(),
    ComplementNB(),
    CategoricalNB(min_categories=20),
]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda one: type(one).__name__)
@pytest.mark.parametrize("cv", [LeaveOneOut(), StratifiedKFold(5, shuffle=True, random_state=1), KFold(7)], ids=str)
def test_the_front_door_gives_what_scikit_learn_gives(estimator, cv):
    given = {"cv": cv, "strategy": "merge"}
    found, wanted = (
        treecv.cross_val_score(estimator, COUNTS, LABELS, **given),
        their_score(estimator, COUNTS, LABELS, cv=cv),
    )
    np.testing.assert_allclose(found, wanted, rtol=1e-12)
    found = treecv.cross_val_predict(estimator, COUNTS, LABELS, **given)
    np.testing.assert_array_equal(found, their_predict(estimator, COUNTS, LABELS, cv=cv))
    for method in ("predict_proba", "predict_log_proba"):
        found = treecv.cross_val_predict(estimator, COUNTS, LABELS, method=method, **given)
        np.testing.assert_allclose(found, their_predict(estimator, COUNTS, LABELS, cv=cv, method=method), rtol=1e-9)


@pytest.mark.parametrize("method", ["predict", "predict_proba", "predict_log_proba"])
@pytest.mark.filterwarnings("ignore:Number of classes in training fold")
def test_a_class_of_one_row_is_lacking_where_it_is_held_out(method):
    labels = np.where(np.arange(90) == 7, "rare", LABELS)
    found = treecv.cross_val_predict(MultinomialNB(), COUNTS, labels, cv="loo", method=method)
    wanted = their_predict(MultinomialNB(), COUNTS, labels, cv=LeaveOneOut(), method=method)
    if method == "predict":
        np.testing.assert_array_equal(found, wanted)
    else:
        np.testing.assert_allclose(found, wanted, rtol=1e-9)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda one: type(one).__name__)
def test_scores_of_probabilities(estimator):
    given = {"cv": 5, "scoring": ["neg_log_loss", "roc_auc_ovr"]}
    found = treecv.cross_validate(estimator, COUNTS, LABELS, strategy="merge", **given)
    wanted = their_validate(estimator, COUNTS, LABELS, **given)
    for name in ("test_neg_log_loss", "test_roc_auc_ovr"):
        np.testing.assert_allclose(found[name], wanted[name], rtol=1e-9)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda one: type(one).__name__)
def test_leave_one_out_takes_a_shortcut_by_itself(estimator):
    result = treecv.cross_validate(estimator, COUNTS, LABELS, cv="loo")
    assert result.record.strategy in ("merge", "tree")  # of few rows the tree is as cheap
    assert isinstance(exact_learner(estimator, schema_of(COUNTS, 3)), NaiveBayes)


def test_models_of_the_folds_and_weights():
    weights = RANDOM.random(90)
    given = {"cv": 4, "params": {"sample_weight": weights}, "return_estimator": True}
    found = treecv.cross_validate(MultinomialNB(), COUNTS, LABELS, strategy="merge", **given)
    for (train, _), fitted in zip(StratifiedKFold(4).split(COUNTS, LABELS), found["estimator"], strict=True):
        assert_same_model(fitted, MultinomialNB().fit(COUNTS[train], LABELS[train], weights[train]))
