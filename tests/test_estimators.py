"""The estimators keep scikit-learn's contract, and one `fit` is one pass of the papers' arithmetic."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.metrics import accuracy_score, r2_score
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import reference
from treecv import LSQSGD, Pegasos
from treecv.errors import InputError
from treecv.learners.sums import value_type


@parametrize_with_checks([Pegasos(), Pegasos(fit_intercept=False), LSQSGD(), LSQSGD(0.01), LSQSGD(fit_intercept=False)])
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)


def table(n=80, d=5, seed=0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, d))
    return X, X @ random.normal(size=d) * 0.3 + random.normal(size=n) * 0.3


def problem(estimator, **options):
    X, y = table(**options)
    return (X, (y > 0).astype(int)) if is_classifier(estimator) else (X, y)


def weights_of(fitted):
    """The features' weights, with the intercept behind them where there is one."""
    return np.append(fitted.coef_, fitted.intercept_) if fitted.fit_intercept else np.ravel(fitted.coef_)


@pytest.fixture(params=[Pegasos(0.01), LSQSGD(0.05)], ids=["Pegasos", "LSQSGD"])
def estimator(request):
    return request.param


class TestArithmetic:
    def test_settings_may_change_between_two_updates(self):
        X, y = problem(Pegasos())
        changed = Pegasos(alpha=0.1).partial_fit(X[:20], y[:20], classes=[0, 1])
        changed.set_params(alpha=10.0).partial_fit(X[20:], y[20:])
        kept = Pegasos(alpha=0.1).partial_fit(X[:20], y[:20], classes=[0, 1]).partial_fit(X[20:], y[20:])
        assert changed.learner_.alpha == 10
        assert (changed.coef_ * 10 != kept.coef_ * 0.1).any()

    @given(
        n=st.integers(2, 40),
        d=st.integers(1, 20),
        alpha=st.sampled_from([1e-6, 0.01, 0.3, 5.0]),
        intercept=st.booleans(),
        seed=st.integers(0, 9),
    )
    def test_pegasos(self, n, d, alpha, intercept, seed):
        X, _ = table(n, d, seed)
        y = np.random.default_rng(seed).permutation(np.arange(n) % 2)
        fitted = Pegasos(alpha, fit_intercept=intercept).fit(X, y)
        expected = reference.pegasos(X, y, alpha, intercept)
        np.testing.assert_allclose(weights_of(fitted), expected, rtol=1e-12, atol=1e-12 / alpha)
        assert fitted.t_ == n

    @given(
        n=st.integers(1, 40),
        d=st.integers(1, 20),
        step=st.sampled_from([0.001, 0.1, 0.5]),
        radius=st.sampled_from([0.1, 1.0, 100.0]),
        intercept=st.booleans(),
        seed=st.integers(0, 9),
    )
    def test_lsqsgd(self, n, d, step, radius, intercept, seed):
        X, y = table(n, d, seed)
        fitted = LSQSGD(step, radius=radius, fit_intercept=intercept).fit(X, y)
        expected = reference.lsqsgd(X, y, step, radius, intercept)
        np.testing.assert_allclose(weights_of(fitted), expected, rtol=1e-9, atol=1e-12)
        assert fitted.t_ == n

    def test_a_step_size_of_none_is_one_over_the_root_of_the_rows(self):
        X, y = table()
        np.testing.assert_array_equal(LSQSGD().fit(X, y).coef_, LSQSGD(80**-0.5).fit(X, y).coef_)
        assert (LSQSGD().fit(X, y).coef_ != LSQSGD(79**-0.5).fit(X, y).coef_).all()

    @pytest.mark.parametrize("radius", [0.05, 0.3])
    def test_the_weights_of_lsqsgd_stay_in_the_ball(self, radius):
        X, y = table()
        fitted = LSQSGD(0.5, radius=radius).fit(X, y * 100)
        assert np.linalg.norm(weights_of(fitted)) <= radius * (1 + 1e-12)

    def test_settings_have_an_effect(self):
        X, y = table()
        assert (Pegasos(0.1).fit(X, y > 0).coef_ != Pegasos(0.2).fit(X, y > 0).coef_).any()
        assert (LSQSGD(0.1).fit(X, y).coef_ != LSQSGD(0.1, radius=0.1).fit(X, y).coef_).any()

    @pytest.mark.parametrize("dtype", ["float32", "float64"])
    def test_single_precision_is_computed_in(self, estimator, dtype):
        X, y = problem(estimator)
        fitted = clone(estimator).fit(X.astype(dtype), y)
        assert fitted.schema_.dtype == dtype
        assert value_type(fitted.state_) == dtype
        np.testing.assert_allclose(weights_of(fitted), weights_of(clone(estimator).fit(X, y)), rtol=1e-4, atol=1e-5)


class TestFitting:
    @given(cuts=st.lists(st.integers(1, 79), max_size=5, unique=True))
    @pytest.mark.parametrize("make", [lambda: Pegasos(0.01), lambda: LSQSGD(0.05)], ids=["Pegasos", "LSQSGD"])
    def test_pieces_are_the_whole_to_the_last_bit(self, make, cuts):
        X, y = problem(make())
        whole, pieces = make().fit(X, y), make()
        for part in np.split(np.arange(80), sorted(cuts)):
            options = {"classes": [1, 0]} if is_classifier(pieces) and not hasattr(pieces, "t_") else {}
            pieces.partial_fit(X[part], y[part], **options)
        np.testing.assert_array_equal(pieces.state_, whole.state_)
        np.testing.assert_array_equal(pieces.coef_, whole.coef_)
        assert pieces.t_ == whole.t_ == 80

    def test_fit_forgets_and_partial_fit_goes_on(self, estimator):
        X, y = problem(estimator)
        twice = clone(estimator).fit(X[::-1], y[::-1]).fit(X, y)
        np.testing.assert_array_equal(twice.state_, clone(estimator).fit(X, y).state_)
        on = twice.partial_fit(X, y)
        np.testing.assert_array_equal(on.state_, clone(estimator).fit(np.tile(X, (2, 1)), np.tile(y, 2)).state_)
        wider = twice.fit(np.hstack([X, X]), y)
        assert (wider.n_features_in_, wider.t_) == (10, 80)

    def test_a_fit_returns_itself(self, estimator):
        X, y = problem(estimator)
        fitted = clone(estimator)
        assert fitted.fit(X, y) is fitted
        assert fitted.partial_fit(X, y) is fitted

    def test_rows_of_another_type_are_read_as_those_before(self):
        X, y = problem(Pegasos())
        fitted = Pegasos().partial_fit(X.astype("f4"), y, classes=[0, 1]).partial_fit(X, y)
        assert fitted.schema_.dtype == "float32"
        np.testing.assert_array_equal(
            fitted.state_, Pegasos().fit(np.tile(X, (2, 1)).astype("f4"), np.tile(y, 2)).state_
        )
        np.testing.assert_array_equal(fitted.predict(X), fitted.predict(X.astype("f4")))

    def test_a_stream_may_hold_one_label_at_a_time(self):
        X, y = problem(Pegasos())
        order = np.argsort(y, kind="stable")
        stream = Pegasos(0.01)
        for label in (0, 1):
            stream.partial_fit(X[y == label], y[y == label], classes=[0, 1])
        np.testing.assert_array_equal(stream.state_, Pegasos(0.01).fit(X[order], y[order]).state_)

    @pytest.mark.parametrize("layout", [np.asfortranarray, lambda X: X[::-1].copy()[::-1], lambda X: X.tolist()])
    def test_any_layout_of_the_rows(self, estimator, layout):
        X, y = problem(estimator)
        one, other = clone(estimator).fit(layout(X), y), clone(estimator).fit(X, y)
        np.testing.assert_array_equal(one.state_, other.state_)
        np.testing.assert_array_equal(one.predict(layout(X)), other.predict(X))


class TestPredicting:
    @pytest.mark.parametrize("intercept", [True, False])
    def test_weights_and_intercept_are_the_prediction(self, estimator, intercept):
        X, y = problem(estimator)
        fitted = clone(estimator).set_params(fit_intercept=intercept).fit(X, y)
        values = fitted.decision_function(X) if is_classifier(fitted) else fitted.predict(X)
        np.testing.assert_allclose(values, X @ np.ravel(fitted.coef_) + fitted.intercept_, rtol=1e-10, atol=1e-12)
        assert np.all(np.asarray(fitted.intercept_) == 0) == (not intercept)

    def test_weights_stay_those_of_the_fit_when_settings_change(self, estimator):
        X, y = problem(estimator)
        fitted = clone(estimator).fit(X, y)
        before, values = weights_of(fitted), fitted.predict(X)
        fitted.set_params(fit_intercept=False, **{"alpha" if is_classifier(fitted) else "step_size": 0.7})
        np.testing.assert_array_equal(np.append(fitted.coef_, fitted.intercept_), before)
        np.testing.assert_array_equal(fitted.predict(X), values)

    @pytest.mark.parametrize(
        "labels",
        [["no", "yes"], [False, True], [3, 7], [-1, 1], [-(2**62), 2**62], [1.0, 2.0], np.array(["a", "b"], object)],
        ids=str,
    )
    def test_labels_of_any_kind(self, labels):
        X, y = problem(Pegasos())
        labels, plain = np.asarray(labels), Pegasos().fit(X, y)
        for fitted in (
            Pegasos().fit(X, labels[y]),
            Pegasos().partial_fit(X, labels[y], classes=labels[::-1]),
        ):
            np.testing.assert_array_equal(fitted.classes_, labels)
            assert fitted.classes_.dtype == labels.dtype
            np.testing.assert_array_equal(fitted.predict(X), labels[plain.predict(X)])
            np.testing.assert_array_equal(fitted.decision_function(X), plain.decision_function(X))
            assert fitted.score(X, labels[y]) == plain.score(X, y)

    def test_the_second_class_is_the_positive_one(self):
        X = np.array([[-1.0], [2.0]])
        fitted = Pegasos(0.1, fit_intercept=False).fit(X, ["low", "up"])
        assert fitted.predict([[-1.0], [0.0], [1.0]]).tolist() == ["low", "low", "up"]
        assert (fitted.decision_function([[1.0]]) > 0).all()

    def test_shapes(self):
        X, y = table()
        machine, line = Pegasos().fit(X, y > 0), LSQSGD().fit(X, y)
        assert machine.coef_.shape == (1, 5)
        assert machine.intercept_.shape == (1,)
        assert line.coef_.shape == (5,)
        assert type(line.intercept_) is float
        assert machine.decision_function(X).shape == line.predict(X).shape == (80,)

    def test_score(self):
        X, y = table()
        machine, line = Pegasos(0.01).fit(X, y > 0), LSQSGD(0.05).fit(X, y)
        assert machine.score(X, y > 0) == accuracy_score(y > 0, machine.predict(X)) > 0.7
        assert line.score(X, y) == r2_score(y, line.predict(X)) > 0.3


class TestScikitLearn:
    def test_kinds(self):
        assert is_classifier(Pegasos())
        assert is_regressor(LSQSGD())

    @pytest.mark.parametrize(
        ("estimator", "params"),
        [
            (Pegasos(), {"alpha": 1e-4, "fit_intercept": True}),
            (LSQSGD(), {"step_size": None, "radius": 1.0, "fit_intercept": True}),
        ],
        ids=["Pegasos", "LSQSGD"],
    )
    def test_parameters(self, estimator, params):
        assert estimator.get_params() == params
        assert estimator.set_params(**params | {"fit_intercept": False}) is estimator
        assert estimator.fit_intercept is False
        assert repr(estimator) == f"{type(estimator).__name__}(fit_intercept=False)"
        with pytest.raises(ValueError, match="Invalid parameter 'beta'"):
            estimator.set_params(beta=1)
        with pytest.raises(TypeError, match="positional argument"):
            type(estimator)(0.1, True)

    def test_a_clone_has_learnt_nothing(self, estimator):
        X, y = problem(estimator)
        copy = clone(clone(estimator).fit(X, y))
        assert copy.get_params() == estimator.get_params()
        assert not hasattr(copy, "t_")

    def test_a_pickle_predicts_and_goes_on_learning(self, estimator):
        X, y = problem(estimator)
        fitted = clone(estimator).fit(X, y)
        restored = pickle.loads(pickle.dumps(fitted))  # noqa: S301 - made just here
        np.testing.assert_array_equal(restored.predict(X), fitted.predict(X))
        restored.state_.flags.writeable = False  # as joblib maps a large one from a file
        np.testing.assert_array_equal(restored.predict(X), fitted.predict(X))
        np.testing.assert_array_equal(restored.partial_fit(X, y).state_, fitted.partial_fit(X, y).state_)

    def test_grid_search(self):
        X, y = table()
        search = GridSearchCV(Pegasos(), {"alpha": [1e-4, 1e-1, 1e6], "fit_intercept": [True, False]}, cv=3).fit(
            X, y > 0
        )
        assert search.best_params_["alpha"] in (1e-4, 1e-1)
        assert len(set(search.cv_results_["mean_test_score"].tolist())) > 1
        search = GridSearchCV(LSQSGD(), {"step_size": [1e-9, 0.05]}, cv=3).fit(X, y)
        assert search.best_params_ == {"step_size": 0.05}

    def test_pipelines(self, estimator):
        X, y = problem(estimator)
        piped = make_pipeline(StandardScaler(), clone(estimator)).fit(X * 100 + 7, y)
        plain = clone(estimator).fit(StandardScaler().fit_transform(X * 100 + 7), y)
        np.testing.assert_array_equal(
            piped.predict(X * 100 + 7), plain.predict(StandardScaler().fit_transform(X * 100 + 7))
        )

    def test_a_failed_fit_is_no_fit(self):
        X, y = problem(Pegasos())
        broken = Pegasos(-1.0)
        with pytest.raises(InputError, match=r"alpha=-1\.0 must be"):
            broken.fit(X, y)
        assert not hasattr(broken, "t_")
