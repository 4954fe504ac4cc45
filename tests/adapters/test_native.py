"""Native twins: fed the same rows in the same calls, they are what scikit-learn's own `partial_fit` makes."""

import itertools
import warnings

import numpy as np
import pandas
import pytest
import scipy.sparse
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.base import clone, is_classifier
from sklearn.linear_model import Perceptron, SGDClassifier, SGDOneClassSVM, SGDRegressor
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, PolynomialFeatures, StandardScaler

from cases import PYTHON
from treecv import OnePass, cross_val_predict, cross_val_score, cross_validate
from treecv.adapters import as_learner, fitted_estimator
from treecv.adapters.schemas import describe
from treecv.adapters.third_party import is_twin
from treecv.data import Rows

pytestmark = pytest.mark.skipif(PYTHON, reason="the reference arithmetic is slow; test_walk compares it with the core")

N, D = 60, 9
CALLS = [slice(0, 7), slice(7, 8), slice(8, 30), slice(30, 31), slice(31, N)]
LOSSES = {
    SGDClassifier: ["hinge", "log_loss", "modified_huber", "squared_hinge", "perceptron"],
    SGDRegressor: ["squared_error", "huber", "epsilon_insensitive", "squared_epsilon_insensitive"],
}
LOSSES[SGDClassifier] += LOSSES[SGDRegressor]
AGGRESSIVE = {SGDClassifier: "hinge", SGDRegressor: "epsilon_insensitive"}
SCHEDULES = ["optimal", "constant", "adaptive", "invscaling"]
PENALTIES = ["l2", "l1", "elasticnet", None]
AVERAGES = [False, True, 20]
TOLERANCE = {"float64": 1e-9, "float32": 2e-3}


def features(seed=0, n=N, d=D, sparse=False, dtype="float64"):
    random = np.random.default_rng([seed, n])
    X = random.normal(size=(n, d))
    X[random.random((n, d)) < 0.4] = 0
    X[3 % n] = 0  # "pa1" passes over a row of zeros
    return scipy.sparse.csr_array(X.astype(dtype)) if sparse else X.astype(dtype)


def labels(k, seed=0, n=N):
    """Names of classes, all of which are there."""
    codes = np.r_[np.arange(k), np.random.default_rng([seed, k]).integers(0, k, n - k)]
    return np.array(["a", "bb", "ccc", "d"])[codes]


def numbers(seed=0, n=N):
    return np.random.default_rng([seed, 1]).normal(size=n)


class Twins:
    """An estimator by its own `partial_fit`, and its learner in the core."""

    def __init__(self, estimator, X, y=None):
        self.classes = np.unique(y) if is_classifier(estimator) else None
        self.schema = describe(estimator, X, y, self.classes)
        self.learner = as_learner(estimator, self.schema)
        assert is_twin(estimator, self.learner)
        self.estimator, self.own = estimator, clone(estimator)
        self.X, self.y, self.state = X, y, self.learner.init(self.schema)

    def learn(self, call, weights=None):
        told = {} if weights is None else {"sample_weight": weights[call]}
        y = None if self.y is None else self.y[call]
        codes = y if self.classes is None else np.searchsorted(self.classes, y)
        self.learner.update(self.state, Rows(self.X[call], codes, None if weights is None else weights[call]))
        *scalers, (_, model) = getattr(self.own, "steps", [("", self.own)])
        X = self.X[call]
        for _, scaler in scalers:
            X = scaler.partial_fit(X).transform(X)
        model.partial_fit(X, y, **told, **({} if self.classes is None else {"classes": self.classes}))

    @property
    def restored(self):
        return fitted_estimator(self.estimator, self.learner, self.state, self.schema)

    def check(self, name=""):
        """Coefficients, intercepts, steps and predictions are the same."""
        restored = self.restored
        for (_, own), (_, found) in zip(steps(self.own), steps(restored), strict=True):
            for attribute in sorted(name for name in vars(own) if name.endswith("_") and name[0] != "_"):
                if attribute != "n_iter_":
                    self.assert_close(getattr(found, attribute), getattr(own, attribute), f"{attribute} of {name}")
        ask = "predict" if isinstance(steps(self.own)[-1][1], SGDRegressor) else "decision_function"
        expected = getattr(self.own, ask)(self.X)
        self.assert_close(getattr(restored, ask)(self.X), expected, f"{ask} of {name}")
        self.assert_close(self.learner.predict(self.state, Rows(self.X)), expected, f"predict of {name}")

    def assert_close(self, found, expected, name):
        if expected is None or np.asarray(expected).dtype.kind not in "iuf":
            np.testing.assert_array_equal(found, expected, name)
            return
        assert np.shape(found) == np.shape(expected), name
        assert np.isfinite(expected).all(), name
        size = max(1, np.abs(expected).max(initial=0))
        np.testing.assert_allclose(found, expected, rtol=0, atol=TOLERANCE[self.X.dtype.name] * size, err_msg=name)


def steps(estimator):
    return getattr(estimator, "steps", [("", estimator)])


def conform(estimator, X, y=None, weights=None, calls=CALLS):
    twins = Twins(estimator, X, y)
    for call in calls:
        twins.learn(call, weights)
    with warnings.catch_warnings():
        twins.check(str(estimator).replace("\n", " "))
    return twins


def grid(cls, loss, *choices):
    aggressive = ["pa1", "pa2"] if AGGRESSIVE[cls] == loss else []
    for penalty, schedule, average, *more in itertools.product(PENALTIES, SCHEDULES + aggressive, AVERAGES, *choices):
        told = {"penalty": penalty, "learning_rate": schedule, "average": average, "shuffle": False}
        yield told | {"loss": loss, "alpha": 0.01, "l1_ratio": 0.3, "eta0": 0.05, "power_t": 0.4}, *more


SHRINKING = {"alpha": 4.0, "learning_rate": "constant", "eta0": 0.17, "shuffle": False}
WEIGHTS = 2 * np.random.default_rng(5).random(N)


class TestCallsOfPartialFit:
    @pytest.mark.parametrize("sparse", [False, True])
    @pytest.mark.parametrize("k", [2, 3])
    @pytest.mark.parametrize("loss", LOSSES[SGDClassifier])
    def test_classifiers(self, loss, k, sparse):
        X, y = features(sparse=sparse), labels(k)
        weighted = dict(zip(np.unique(y), (1.0, 1.3, 0.6), strict=False))
        for told, intercept in grid(SGDClassifier, loss, [True, False]):
            plain = told["average"] == 1  # with weights of classes and rows otherwise
            estimator = SGDClassifier(fit_intercept=intercept, class_weight=None if plain else weighted, **told)
            conform(estimator, X, y, None if plain else WEIGHTS)

    @pytest.mark.parametrize("sparse", [False, True])
    @pytest.mark.parametrize("loss", LOSSES[SGDRegressor])
    def test_regressors(self, loss, sparse):
        X, y = features(sparse=sparse), numbers()
        for told, intercept in grid(SGDRegressor, loss, [True, False]):
            weights = WEIGHTS if told["average"] else None
            conform(SGDRegressor(fit_intercept=intercept, epsilon=0.2, **told), X, y, weights)

    @pytest.mark.parametrize("sparse", [False, True])
    def test_one_class(self, sparse):
        for schedule, average, intercept, weights in itertools.product(
            SCHEDULES, AVERAGES, [True, False], [None, WEIGHTS]
        ):
            told = {"learning_rate": schedule, "average": average, "fit_intercept": intercept, "shuffle": False}
            conform(SGDOneClassSVM(nu=0.3, eta0=0.05, **told), features(sparse=sparse), weights=weights)

    @pytest.mark.parametrize("sparse", [False, True])
    def test_perceptrons(self, sparse):
        for penalty, k, intercept in itertools.product(PENALTIES, [2, 3], [True, False]):
            told = {"penalty": penalty, "alpha": 0.01, "l1_ratio": 0.3, "eta0": 0.7, "fit_intercept": intercept}
            conform(Perceptron(shuffle=False, **told), features(sparse=sparse), labels(k))

    @pytest.mark.parametrize("sparse", [False, True])
    def test_single_precision(self, sparse):
        X = features(sparse=sparse, dtype="float32")
        for told, fit_intercept in grid(SGDClassifier, "log_loss", [True, False]):
            conform(SGDClassifier(fit_intercept=fit_intercept, **told), X, labels(3), WEIGHTS)
        for told, fit_intercept in grid(SGDRegressor, "huber", [True, False]):
            conform(SGDRegressor(fit_intercept=fit_intercept, **told), X, numbers())

    @pytest.mark.parametrize("average", AVERAGES)
    @pytest.mark.parametrize("k", [2, 3])
    def test_one_row_a_call(self, k, average):
        one_each = [slice(i, i + 1) for i in range(N)]
        for sparse, penalty in itertools.product([False, True], PENALTIES):
            estimator = SGDClassifier(loss="log_loss", penalty=penalty, alpha=0.02, average=average, shuffle=False)
            conform(estimator, features(sparse=sparse), labels(k), calls=one_each)

    @pytest.mark.parametrize(
        ("penalty", "average", "calls"),
        [("l2", False, CALLS), ("l2", 50, CALLS), ("elasticnet", False, CALLS), ("elasticnet", 50, CALLS)],
    )
    def test_a_scale_that_is_multiplied_out(self, penalty, average, calls):
        """Steps that shrink all weights by much: soon they would have no digits left."""
        for sparse, k, intercept in itertools.product([False, True], [2, 3], [True, False]):
            estimator = SGDClassifier(penalty=penalty, average=average, fit_intercept=intercept, **SHRINKING)
            conform(estimator, features(sparse=sparse), labels(k), calls=calls)


@st.composite
def models(draw):
    """An estimator with any settings, and the number of its classes."""
    cls = draw(st.sampled_from([SGDClassifier, SGDRegressor, SGDOneClassSVM, Perceptron]))
    told = {"eta0": draw(st.sampled_from([0.013, 0.047, 0.31])), "fit_intercept": draw(st.booleans())}
    if cls is not SGDOneClassSVM:
        told |= {"penalty": draw(st.sampled_from(PENALTIES)), "alpha": draw(st.sampled_from([1e-4, 0.013, 0.23]))}
        told |= {"l1_ratio": draw(st.sampled_from([0.15, 0.6]))}
    if cls is not Perceptron:
        told |= {"average": draw(st.sampled_from([False, True, 2, 11, 40]))}
        told |= {"power_t": draw(st.sampled_from([0.25, 0.5, 0.37]))}
        told |= {"learning_rate": draw(st.sampled_from(SCHEDULES))}
    k = draw(st.integers(2, 4)) if cls in (SGDClassifier, Perceptron) else 0
    if k and draw(st.booleans()):
        told["class_weight"] = dict(
            zip(["a", "bb", "ccc", "d"][:k], draw(st.permutations([0.4, 1.0, 1.7, 2.9])), strict=False)
        )
    if cls in LOSSES:
        told |= {"loss": draw(st.sampled_from(LOSSES[cls])), "epsilon": draw(st.sampled_from([0.07, 0.3]))}
        if AGGRESSIVE[cls] == told["loss"]:
            told["learning_rate"] = draw(st.sampled_from([*SCHEDULES, "pa1", "pa2"]))
        if "squared" in told["loss"]:  # else it may diverge
            told["eta0"] = 0.013
    return cls(shuffle=False, **told), k


SCALERS = [
    StandardScaler(),
    StandardScaler(with_mean=False),
    StandardScaler(with_std=False),
    MinMaxScaler((-1, 2)),
    MinMaxScaler(clip=True),
    MaxAbsScaler(),
]
SIZES = st.lists(st.sampled_from([1, 1, 2, 3, 8, 20]), min_size=1, max_size=12)


def cut(sizes):
    ends = np.cumsum(sizes).tolist()
    return [slice(end - size, end) for size, end in zip(sizes, ends, strict=True)]


class TestAnySettings:
    @settings(max_examples=200, deadline=None)
    @given(model=models(), sizes=SIZES, d=st.integers(1, 12), seed=st.integers(0, 10**6), data=st.data())
    def test_and_any_calls(self, model, sizes, d, seed, data):
        (estimator, k), n = model, max(sum(sizes), 4)
        y = labels(k, seed, n) if k else None if isinstance(estimator, SGDOneClassSVM) else numbers(seed, n)
        X = features(seed, n, d, data.draw(st.booleans()))
        weights = data.draw(st.sampled_from([None, 3 * np.random.default_rng(seed).random(n)]))
        if isinstance(estimator, Perceptron):
            weights = None  # its own partial_fit takes none
        conform(estimator, X, y, weights, cut(sizes))

    @settings(max_examples=60, deadline=None)
    @given(model=models(), scaler=st.sampled_from(SCALERS), sizes=SIZES, seed=st.integers(0, 10**6))
    def test_behind_a_scaler(self, model, scaler, sizes, seed):
        (estimator, k), n = model, max(sum(sizes), 4)
        y = labels(k, seed, n) if k else None if isinstance(estimator, SGDOneClassSVM) else numbers(seed, n)
        X = features(seed, n) * np.logspace(-2, 1, D) + 5
        X[:, 2] = 7  # a constant
        # Without its own, the intercept stays 1, where the hinge has its kink: there rounding decides.
        assume(not isinstance(estimator, SGDOneClassSVM) or estimator.fit_intercept)
        conform(make_pipeline(clone(scaler), estimator), X, y, calls=cut(sizes))


class TestRestored:
    """`return_estimator` gives what a user's own would be, which may go on."""

    X, y = features(), labels(3)

    @pytest.mark.parametrize("sparse", [False, True])
    @pytest.mark.parametrize("average", AVERAGES)
    @pytest.mark.parametrize("k", [0, 1, 2, 3])
    def test_it_goes_on_by_partial_fit(self, k, average, sparse):
        X = features(sparse=sparse)
        y = labels(k) if k > 1 else None if k == 1 else numbers()
        told = {"average": average, "shuffle": False}
        for penalty, known in itertools.product(["l2", "elasticnet"] if k != 1 else [None], [5, 19, 40]):
            more = {} if k == 1 else {"penalty": penalty, "alpha": 0.02}
            cls = SGDOneClassSVM if k == 1 else SGDClassifier if k else SGDRegressor
            twins = Twins(cls(**told, **more), X, y)
            for call in (slice(0, 3), slice(3, known)):
                twins.learn(call)
            restored, own = twins.restored, twins.own
            for call in (slice(known, known + 1), slice(known + 1, N)):
                for model in (restored, own):
                    model.partial_fit(X[call], None if y is None else y[call])
            for name in ("offset_" if k == 1 else "intercept_", "coef_", "t_"):
                twins.assert_close(getattr(restored, name), getattr(own, name), f"{name} of {own}, {known}")

    def test_a_pipeline_goes_on(self):
        for scaler in SCALERS:
            twins = Twins(make_pipeline(scaler, SGDClassifier(shuffle=False)), self.X, self.y)
            for call in CALLS[:3]:
                twins.learn(call)
            restored, own = twins.restored, twins.own
            for pipeline in (restored, own):
                rows = pipeline[0].partial_fit(self.X[30:]).transform(self.X[30:])
                pipeline[1].partial_fit(rows, self.y[30:])
            twins.assert_close(restored[1].coef_, own[1].coef_, f"coef_ behind {scaler}")
            twins.assert_close(restored.decision_function(self.X), own.decision_function(self.X), f"{scaler}")

    @pytest.mark.parametrize(
        "estimator",
        [
            SGDClassifier(shuffle=False, average=10, loss="log_loss"),
            Perceptron(shuffle=False),
            OnePass(SGDClassifier(shuffle=False), batch_size=5),
            make_pipeline(StandardScaler(), SGDClassifier(shuffle=False, penalty="l1", alpha=0.01)),
        ],
        ids=repr,
    )
    @pytest.mark.parametrize("strategy", ["tree", "standard"])
    def test_those_of_a_cross_validation(self, estimator, strategy):
        asked = {"cv": KFold(7), "strategy": strategy, "return_estimator": True, "return_train_score": True}
        found = cross_validate(estimator, self.X, self.y, **asked)
        own = cross_validate(estimator, self.X, self.y, native=False, **asked)
        for side in ("test_score", "train_score"):
            np.testing.assert_array_equal(found[side], own[side])
        for one, other in zip(found["estimator"], own["estimator"], strict=True):
            inner = [getattr(model, "estimator_", model) for model in (one, other)]
            inner = [model[-1] if hasattr(model, "steps") else model for model in inner]
            np.testing.assert_allclose(inner[0].coef_, inner[1].coef_, rtol=1e-9, atol=1e-9)
            np.testing.assert_allclose(inner[0].intercept_, inner[1].intercept_, rtol=1e-9, atol=1e-9)
            assert inner[0].t_ == inner[1].t_
            np.testing.assert_array_equal(one.predict(self.X), other.predict(self.X))


class TestNamesOfFeatures:
    """A fitted estimator knows them where scikit-learn's own does, and answers without a warning."""

    FRAME = pandas.DataFrame(features(), columns=list("abcdefghi"))

    @pytest.mark.parametrize(
        "estimator",
        [
            SGDClassifier(shuffle=False),
            OnePass(SGDClassifier(shuffle=False)),
            make_pipeline(SGDClassifier(shuffle=False)),
            make_pipeline(StandardScaler(), SGDClassifier(shuffle=False)),
            make_pipeline(MinMaxScaler().set_output(transform="pandas"), SGDClassifier(shuffle=False)),
            OnePass(make_pipeline(MaxAbsScaler(), SGDClassifier(shuffle=False))),
        ],
        ids=repr,
    )
    def test_go_to_the_step_that_sees_them(self, estimator):
        asked = {"cv": KFold(4), "strategy": "tree", "return_estimator": True, "return_train_score": True}
        asked["scoring"] = lambda model, X, y: model.score(X, y)
        for rows in (self.FRAME, self.FRAME.to_numpy()):
            found = cross_validate(estimator, rows, labels(3), **asked)
            own = cross_validate(estimator, rows, labels(3), native=False, **asked)
            for side in ("test_score", "train_score"):
                np.testing.assert_array_equal(found[side], own[side])
            for one, other in zip(found["estimator"], own["estimator"], strict=True):
                np.testing.assert_allclose(one.decision_function(rows), other.decision_function(rows), rtol=1e-9)
                inner = [steps(getattr(model, "estimator_", model)) for model in (one, other)]
                for (_, mine), (_, theirs) in zip(*inner, strict=True):
                    names = [getattr(step, "feature_names_in_", None) for step in (mine, theirs)]
                    np.testing.assert_array_equal(*names)


def both(estimator, X, y=None, ask=cross_val_predict, **asked):
    asked = {"cv": KFold(7), "strategy": "tree"} | asked
    return ask(estimator, X, y, **asked), ask(estimator, X, y, native=False, **asked)


class TestAnswers:
    """Through the front door, against the estimator's own `partial_fit`."""

    @pytest.mark.parametrize("sparse", [False, True])
    @pytest.mark.parametrize("k", [2, 3])
    @pytest.mark.parametrize(
        ("loss", "method"),
        [
            ("log_loss", "predict"),
            ("log_loss", "decision_function"),
            ("log_loss", "predict_proba"),
            ("log_loss", "predict_log_proba"),
            ("modified_huber", "predict_proba"),
            ("hinge", "decision_function"),
        ],
    )
    def test_methods(self, loss, method, k, sparse):
        X, y = features(sparse=sparse), labels(k)
        for cv in (KFold(7), KFold(5, shuffle=True, random_state=0), "loo"):
            found, own = both(SGDClassifier(loss=loss, alpha=0.05, shuffle=False), X, y, method=method, cv=cv)
            if method == "predict":
                np.testing.assert_array_equal(found, own)
            else:
                assert found.shape == own.shape
                np.testing.assert_allclose(found, own, rtol=1e-9, atol=1e-9)

    def test_regressors_and_one_class(self):
        found, own = both(SGDRegressor(shuffle=False), features(), numbers())
        np.testing.assert_allclose(found, own, rtol=1e-9, atol=1e-9)
        for method in ("decision_function", "predict"):
            found, own = both(SGDOneClassSVM(nu=0.3, shuffle=False), features(), method=method)
            np.testing.assert_allclose(found, own, rtol=1e-9, atol=1e-9)

    @pytest.mark.parametrize("method", ["predict_proba", "no_such_method"])
    def test_a_method_that_the_estimator_lacks(self, method):
        errors = []
        for native in (True, False):
            with pytest.raises(AttributeError) as caught:
                cross_val_predict(SGDClassifier(), features(), labels(2), strategy="tree", method=method, native=native)
            errors.append(str(caught.value))
        assert method in errors[0]

    @pytest.mark.parametrize("scaler", [*SCALERS, MaxAbsScaler(clip=True)], ids=repr)
    @pytest.mark.parametrize("cv", [KFold(7), "loo"])
    def test_scalers(self, scaler, cv):
        X = features() * np.logspace(-2, 2, D) + 3
        pipeline = make_pipeline(scaler, SGDClassifier(loss="log_loss", shuffle=False, average=20))
        found, own = both(pipeline, X, labels(3), method="predict_proba", cv=cv)
        np.testing.assert_allclose(found, own, rtol=1e-9, atol=1e-9)
        found, own = both(pipeline, X, labels(2), method="decision_function", cv=cv)
        np.testing.assert_allclose(found, own, rtol=1e-9, atol=1e-9)

    @pytest.mark.parametrize("strategy", ["tree", "standard"])
    def test_weights_of_rows(self, strategy):
        X, y = features(), labels(3)
        pipeline = make_pipeline(StandardScaler(), SGDClassifier(loss="log_loss", shuffle=False))
        for estimator, name in ((pipeline[-1], "sample_weight"), (pipeline, "sgdclassifier__sample_weight")):
            asked = {"params": {name: WEIGHTS}, "method": "decision_function", "strategy": strategy}
            found, own = both(estimator, X, y, **asked)
            np.testing.assert_allclose(found, own, rtol=1e-9, atol=1e-9)
            unweighted, _ = both(estimator, X, y, method="decision_function", strategy=strategy)
            assert np.abs(found - unweighted).max() > 0.1

    def test_batches(self):
        for size in (1, 4, 1000):
            estimator = OnePass(SGDClassifier(loss="log_loss", penalty="l1", shuffle=False), batch_size=size)
            found, own = both(estimator, features(), labels(3), method="decision_function")
            np.testing.assert_allclose(found, own, rtol=1e-9, atol=1e-9)

    def test_targets_of_any_kind(self):
        X, y = features(), labels(2)
        plain = cross_val_score(SGDClassifier(shuffle=False), X, y, strategy="tree")
        for other in (y == "bb", (y == "bb") * 2 - 1, y.astype(object), y.tolist(), (y == "bb") * 1.0):
            found = cross_val_score(SGDClassifier(shuffle=False), X, other, strategy="tree")
            np.testing.assert_array_equal(found, plain)


class TestShuffled:
    X, y = features(n=200), labels(3, n=200)

    def scores(self, estimator, **asked):
        return cross_validate(estimator, self.X, self.y, strategy="tree", return_predictions=True, **asked)

    def test_is_randomized_and_said(self):
        result = self.scores(SGDClassifier(random_state=3))
        assert result.record.order == "randomized"
        assert "in an order drawn anew for each update" in result.what
        assert "shuffled by treecv's own stream" in result.what
        result = self.scores(SGDClassifier(shuffle=False))
        assert result.record.order == "fixed"
        assert "stream" not in result.what

    @pytest.mark.parametrize("wrap", [lambda model: model, lambda model: make_pipeline(StandardScaler(), model)])
    def test_is_reproducible(self, wrap):
        def of(random_state=None, **asked):
            return self.scores(wrap(SGDClassifier(loss="log_loss", random_state=random_state)), **asked)

        by_state = of(3)
        assert by_state.record.seed == 3
        np.testing.assert_array_equal(of(3)["test_score"], by_state["test_score"])
        np.testing.assert_array_equal(of(seed=3)["test_score"], by_state["test_score"])
        assert of(3, seed=7).record.seed == 7
        again = of()
        np.testing.assert_array_equal(of(seed=again.record.seed)["predictions"], again["predictions"])
        found = [of(seed=seed)["test_score"].tobytes() for seed in range(4)]
        assert len(set(found)) > 1

    def test_the_estimator_stays_as_it_is(self):
        random = np.random.RandomState(0)
        before = random.get_state()[2]
        estimator = SGDClassifier(random_state=random)
        self.scores(estimator)
        assert random.get_state()[2] == before
        assert not hasattr(estimator, "coef_")

    def test_each_row_is_learnt_once_a_level(self):
        """The l2 penalty and the steps do not depend on the order: with one row, said often, nothing does."""
        X, y = np.tile(self.X[:1], (40, 1)), np.full(40, 1.7)
        asked = {"cv": KFold(5), "strategy": "tree"}
        shuffled = cross_val_predict(SGDRegressor(random_state=0), X, y, **asked)
        np.testing.assert_array_equal(shuffled, cross_val_predict(SGDRegressor(shuffle=False), X, y, **asked))


class Subclass(SGDClassifier):
    pass


PLAIN = SGDClassifier(shuffle=False)
FALLBACKS = {
    "early_stopping=True": SGDClassifier(early_stopping=True, random_state=0),
    "it is a subclass": Subclass(shuffle=False),
    "class_weight='balanced'": SGDClassifier(class_weight="balanced", shuffle=False),
    "of transformers before it": make_pipeline(PolynomialFeatures(), PLAIN),
    "the core knows one of StandardScaler": make_pipeline(StandardScaler(), MinMaxScaler(), PLAIN),
}


class TestFallbacks:
    @pytest.mark.parametrize(("reason", "estimator"), FALLBACKS.items(), ids=FALLBACKS)
    def test_are_said(self, reason, estimator):
        X, y = features(), labels(2)
        learner = as_learner(estimator, describe(estimator, X, y, np.unique(y)))
        assert not is_twin(estimator, learner)
        if "early" in reason or "balanced" in reason:  # neither can be trained in parts at all
            return
        result = cross_validate(estimator, X, y, strategy="tree")
        assert "SGDClassifier" in result.what or "Subclass" in result.what
        assert "by its own `partial_fit`" in result.what
        assert reason in result.what
        expected = cross_validate(estimator, X, y, strategy="tree", native=False)
        np.testing.assert_array_equal(result["test_score"], expected["test_score"])
        assert "partial_fit" not in expected.what

    def test_sparse_rows_behind_a_scaler(self):
        X, y = features(sparse=True), labels(2)
        pipeline = make_pipeline(MaxAbsScaler(), PLAIN)
        result = cross_validate(pipeline, X, y, strategy="tree")
        assert "the core scales dense rows only" in result.what
        expected = cross_validate(pipeline, X, y, strategy="tree", native=False)
        np.testing.assert_array_equal(result["test_score"], expected["test_score"])

    def test_parameters_of_fit_that_the_core_does_not_know(self):
        X, y = features(), labels(2)
        estimator, weights = make_pipeline(StandardScaler(), PLAIN), np.linspace(0.5, 1.5, len(X))
        asked = {"params": {"standardscaler__sample_weight": weights}, "cv": 4, "strategy": "tree"}
        result = cross_validate(estimator, X, y, **asked)
        assert "by its own `partial_fit`: of `params` it knows the weights of its rows alone" in result.what
        expected = cross_validate(estimator, X, y, native=False, **asked)
        np.testing.assert_array_equal(result["test_score"], expected["test_score"])

    def test_native_false(self):
        X, y = features(), labels(2)
        for estimator in (PLAIN, OnePass(PLAIN), make_pipeline(StandardScaler(), PLAIN)):
            schema = describe(estimator, X, y, np.unique(y))
            assert is_twin(estimator, as_learner(estimator, schema))
            assert not is_twin(estimator, as_learner(estimator, schema, native=False))
            result = cross_validate(estimator, X, y, strategy="tree", native=False)
            assert "partial_fit" not in result.what

    def test_the_estimators_own_complaints_come_first(self):
        X, y = features(), labels(2)
        for native in (True, False):
            asked = {"strategy": "tree", "native": native}
            with pytest.raises(ValueError, match="'alpha' parameter"):
                cross_val_score(SGDClassifier(alpha=-1), X, y, error_score="raise", **asked)
            with pytest.raises(ValueError, match="only works with loss"):
                cross_val_score(SGDClassifier(loss="log_loss", learning_rate="pa1"), X, y, error_score="raise", **asked)
