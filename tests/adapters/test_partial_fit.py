"""Estimators with `partial_fit`: each leaf's model is the one that scikit-learn trains on the rows of that leaf."""

import copy

import numpy as np
import pytest
import sklearn.model_selection as scikit_learn
from sklearn.base import BaseEstimator, ClassifierMixin, clone, is_classifier
from sklearn.cluster import MiniBatchKMeans
from sklearn.datasets import load_iris
from sklearn.decomposition import IncrementalPCA, LatentDirichletAllocation, MiniBatchNMF
from sklearn.linear_model import Perceptron, Ridge, SGDClassifier
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import BernoulliNB, GaussianNB, MultinomialNB
from sklearn.neural_network import BernoulliRBM, MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, OneHotEncoder, PolynomialFeatures, StandardScaler

import reference
from treecv import OnePass, cross_val_predict, cross_val_score, cross_validate
from treecv.adapters import as_learner, obstacle, register, steps
from treecv.checks import check_learner
from treecv.data import Rows
from treecv.errors import CapabilityError, UpdateError
from treecv.learner import Schema

X, y = load_iris(return_X_y=True)
SHUFFLED = np.random.default_rng(0).permutation(len(X))[:60]
X, y = X[SHUFFLED], y[SHUFFLED]
CLASSES = np.unique(y)
NAMES = np.array(["a", "bb", "ccc"])[y]
K = 7
FOLDS = [test for _, test in scikit_learn.KFold(K).split(X)]

CLASSIFIERS = [
    SGDClassifier(random_state=0),
    Perceptron(random_state=0),
    MultinomialNB(),
    OneVsRestClassifier(SGDClassifier(random_state=0)),
    MLPClassifier((3,), random_state=0),
]


def updates(fold):
    """The rows of each call of `partial_fit` above a leaf."""
    first, last = 0, K - 1
    while first < last:
        middle = (first + last) // 2
        learnt = range(middle + 1, last + 1) if fold <= middle else range(first, middle + 1)
        first, last = (first, middle) if fold <= middle else (middle + 1, last)
        yield np.concatenate([FOLDS[i] for i in learnt])


@pytest.mark.parametrize("estimator", CLASSIFIERS, ids=lambda estimator: type(estimator).__name__)
def test_a_leaf_is_trained_by_one_call_an_update(estimator):
    found = cross_val_predict(estimator, X, y, cv=scikit_learn.KFold(K), strategy="tree", native=False)
    for fold, test in enumerate(FOLDS):
        model = clone(estimator)
        for i, rows in enumerate(updates(fold)):
            model.partial_fit(X[rows], y[rows], **({} if i else {"classes": CLASSES}))
        np.testing.assert_array_equal(found[test], model.predict(X[test]))


@pytest.mark.parametrize("estimator", [*CLASSIFIERS[:2], make_pipeline(StandardScaler(), CLASSIFIERS[0])])
@pytest.mark.parametrize("size", [1, 5, 1000])
def test_batches(estimator, size):
    wrapped = OnePass(estimator, batch_size=size)
    found = cross_val_predict(wrapped, X, y, cv=scikit_learn.KFold(K), native=False)
    for fold, test in enumerate(FOLDS):
        *scalers, model = [clone(step) for _, step in getattr(estimator, "steps", [("", estimator)])]
        for i, rows in enumerate(updates(fold)):
            for begin in range(0, len(rows), size):
                part, told = rows[begin : begin + size], {} if i or begin else {"classes": CLASSES}
                model.partial_fit(_scaled(scalers, X[part], learn=True), y[part], **told)
        np.testing.assert_array_equal(found[test], model.predict(_scaled(scalers, X[test])))


def _scaled(scalers, rows, learn=False):
    for scaler in scalers:
        rows = (scaler.partial_fit(rows) if learn else scaler).transform(rows)
    return rows


@pytest.mark.parametrize(
    "estimator",
    [
        *CLASSIFIERS,
        GaussianNB(),
        MiniBatchKMeans(3, random_state=0, n_init=1),
        make_pipeline(StandardScaler(), PolynomialFeatures(), SGDClassifier(random_state=0)),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_laws(estimator):
    classes = CLASSES if is_classifier(estimator) else None
    schema = Schema(len(X), X.shape[1], "float64", classes)
    check_learner(as_learner(estimator, schema, native=False), Rows(X, y), schema)


@pytest.mark.parametrize(
    "estimator",
    [
        LatentDirichletAllocation(2, random_state=0),
        MiniBatchNMF(2, random_state=0),
        BernoulliRBM(2, random_state=0),
        IncrementalPCA(2),
        MiniBatchKMeans(3, random_state=0, n_init=1),
        MinMaxScaler(),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
@pytest.mark.parametrize("strategy", ["tree", "standard"])
def test_without_targets(estimator, strategy):
    asked = {"cv": scikit_learn.KFold(K), "scoring": lambda model, X, y=None: model.transform(X).mean()}
    found = cross_val_score(estimator, X / 8, strategy=strategy, **asked)
    assert np.isfinite(found).all()
    if strategy == "standard":
        np.testing.assert_array_equal(found, scikit_learn.cross_val_score(OnePass(estimator), X / 8, **asked))
        assert OnePass(estimator).fit(X / 8).transform(X / 8).shape[0] == len(X)


class TestSmoothing:
    """GaussianNB adds a share of the largest variance of all features, and takes it from the last call alone."""

    DATA = np.column_stack([np.ones(60), X[:, :2], X[:, 2] * 1e5])

    @pytest.mark.parametrize("k", [2, K, 60])
    def test_is_that_of_the_whole_training_part(self, k):
        asked = {"cv": scikit_learn.KFold(k), "method": "predict_proba"}
        found = cross_val_predict(GaussianNB(var_smoothing=1e-3), self.DATA, y, strategy="tree", **asked)
        expected = scikit_learn.cross_val_predict(GaussianNB(var_smoothing=1e-3), self.DATA, y, **asked)
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-12)

    def test_partial_fit_by_itself_takes_another(self):
        model = GaussianNB(var_smoothing=1e-3).partial_fit(self.DATA, y, CLASSES).partial_fit(self.DATA[:1], y[:1])
        assert model.epsilon_ == 0 != GaussianNB(var_smoothing=1e-3).fit(self.DATA, y).epsilon_

    def test_the_fitted_estimator_goes_on_as_a_users_own(self):
        fitted = cross_validate(GaussianNB(), X, y, cv=3, strategy="tree", return_estimator=True)["estimator"][0]
        assert fitted.get_params() == GaussianNB().get_params()
        assert not [name for name in vars(fitted) if "treecv" in name]
        assert fitted.partial_fit(X, y).predict(X).shape == (60,)


class Unchanged(GaussianNB):
    """The same, but not known to be: each of its calls is checked by scikit-learn."""


class TestBehindTheChecks:
    @pytest.mark.parametrize("labels", [y, NAMES, NAMES.astype(object), y * 2.0])
    @pytest.mark.parametrize("settings", [{}, {"priors": [0.2, 0.5, 0.3]}])
    @pytest.mark.parametrize("cv", [scikit_learn.KFold(K), "loo"])
    def test_the_same_bits_are_learnt(self, cv, settings, labels):
        one, other = (
            cross_validate(kind(**settings), X, labels, cv=cv, strategy="tree", return_estimator=True)["estimator"]
            for kind in (GaussianNB, Unchanged)
        )
        for mine, theirs in zip(one, other, strict=True):
            for name in ("theta_", "var_", "class_count_", "class_prior_", "epsilon_", "classes_"):
                np.testing.assert_array_equal(getattr(mine, name), getattr(theirs, name))

    @pytest.mark.parametrize("kind", [GaussianNB, Unchanged])
    @pytest.mark.filterwarnings("ignore:59 of 60 folds failed")
    def test_a_row_that_is_not_finite_fails_the_folds_that_learn_it(self, kind):
        spoilt = X.copy()
        spoilt[17, 2] = np.inf
        found = cross_validate(kind(), spoilt, y, cv="loo", strategy="tree", scoring=lambda model, X, y: 1.0)
        np.testing.assert_array_equal(np.isnan(found["test_score"]), np.arange(60) != 17)

    def test_rows_in_any_other_form_are_checked(self, monkeypatch):
        def never(*_):
            raise AssertionError("without a check")

        monkeypatch.setattr(steps, "_learn_checked", never)
        for rows in (X.tolist(), X.astype(np.float32)):
            assert cross_val_score(GaussianNB(), rows, y, strategy="tree").shape == (5,)
        with pytest.raises(UpdateError, match="without a check"):
            cross_val_score(GaussianNB(), X, y, strategy="tree")


class TestSmallFirstBatches:
    @pytest.mark.parametrize("estimator", [MiniBatchKMeans(5, random_state=0, n_init=1), IncrementalPCA(4)])
    @pytest.mark.parametrize("size", [None, 1, 2, 7])
    def test_the_first_call_waits_for_enough_rows(self, estimator, size):
        schema = Schema(60, 4, "float64")
        learner = as_learner(estimator, schema, batch_size=size)
        few, state = X[:2], learner.init(schema)
        with pytest.raises(ValueError, match=r"n_samples|n_components"):
            clone(estimator).partial_fit(few)
        for begin in range(0, 10, 2):
            learner.update(state, Rows(X[begin : begin + 2]))
        whole = learner.init(schema)
        needed = 6 if isinstance(estimator, MiniBatchKMeans) else 4
        learner.update(whole, Rows(X[:needed]))
        for begin in range(needed, 10, 2):
            learner.update(whole, Rows(X[begin : begin + 2]))
        if size is None:
            one, other = (learner.fitted(model).__dict__ for model in (state, whole))
            name = "cluster_centers_" if needed == 6 else "components_"
            np.testing.assert_array_equal(one[name], other[name])

    @pytest.mark.parametrize("estimator", [MiniBatchKMeans(5, random_state=0, n_init=1), IncrementalPCA(4)])
    def test_leave_one_out(self, estimator):
        scoring = {"m": lambda model, X, y=None: model.transform(X).sum()}
        result = cross_validate(estimator, X[:12], cv="loo", strategy="tree", scoring=scoring)
        assert np.isfinite(result["test_m"]).all()


class Drawing(ClassifierMixin, BaseEstimator):
    """Keeps the numbers that it draws, one at each call."""

    def __init__(self, random_state=None):
        self.random_state = random_state

    def fit(self, X, y):
        return self.partial_fit(X, y, np.unique(y))

    def partial_fit(self, X, y, classes=None):
        if not hasattr(self, "random_state_"):
            self.random_state_ = np.random.RandomState(self.random_state)
            self.classes_, self.drawn_ = classes, []
        self.drawn_ = [*self.drawn_, (self.random_state, float(self.random_state_.random_sample()))]
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[0])


class TestRandomNumbers:
    def drawn(self, random_state, **settings):
        asked = {"cv": scikit_learn.KFold(8), "strategy": "tree", "return_estimator": True, "seed": 3} | settings
        return [model.drawn_ for model in cross_validate(Drawing(random_state), X, y, **asked)["estimator"]]

    @pytest.mark.parametrize("random_state", [None, np.random.RandomState(0)])
    def test_siblings_draw_numbers_of_their_own(self, random_state):
        numbers = {}
        for fold, drawn in enumerate(self.drawn(random_state)):
            for depth, (_, number) in enumerate(drawn):
                node = (depth, fold >> (2 - depth))
                assert numbers.setdefault(node, number) == number
        assert len(set(numbers.values())) == len(numbers) == 14

    def test_a_seed_names_them_with_any_number_of_workers(self):
        assert self.drawn(None) == self.drawn(None) == self.drawn(None, n_jobs=2)
        assert self.drawn(None) != self.drawn(None, seed=4)

    def test_an_integer_of_the_users_stays(self):
        assert all(own == 5 for drawn in self.drawn(5) for own, _ in drawn)

    def test_the_users_estimator_and_generator_stay_as_they_are(self):
        generator = np.random.RandomState(0)
        before = copy.deepcopy(generator.get_state()[1])
        cross_validate(SGDClassifier(random_state=generator), X, y, cv=3, strategy="tree")
        np.testing.assert_array_equal(generator.get_state()[1], before)


class Watching(StandardScaler):
    """Remembers the first column of all rows that it was ever fed."""

    def partial_fit(self, X, y=None, sample_weight=None):
        self.seen_ = [*getattr(self, "seen_", []), *X[:, 0].tolist()]
        return super().partial_fit(X, y, sample_weight)


@pytest.mark.parametrize("strategy", ["tree", "standard"])
@pytest.mark.parametrize("cv", [scikit_learn.KFold(K), scikit_learn.KFold(K, shuffle=True, random_state=0), "loo"])
def test_nothing_leaks_from_held_out_rows_into_a_pipeline(cv, strategy):
    rows = np.column_stack([np.arange(60.0), X])
    pipeline = make_pipeline(Watching(), MinMaxScaler(), SGDClassifier(random_state=0))
    asked = {"cv": cv, "strategy": strategy, "return_estimator": True, "return_indices": True}
    result = cross_validate(pipeline, rows, y, **asked)
    for model, train in zip(result["estimator"], result["indices"]["train"], strict=True):
        assert sorted(model[0].seen_) == train.tolist()
        assert model[0].n_samples_seen_ == len(train)


def test_a_pipeline_feeds_its_transformers_first():
    found = cross_validate(
        make_pipeline(StandardScaler(), BernoulliNB()),
        X,
        y,
        cv=scikit_learn.KFold(K),
        strategy="tree",
        return_estimator=True,
    )
    for fold, model in enumerate(found["estimator"]):
        scaler, last = StandardScaler(), BernoulliNB()
        for rows in updates(fold):
            last.partial_fit(scaler.partial_fit(X[rows]).transform(X[rows]), y[rows], CLASSES)
        np.testing.assert_array_equal(model[1].feature_log_prob_, last.feature_log_prob_)
    assert not found.exact


class TestWhoIsExact:
    @pytest.mark.parametrize(
        ("estimator", "exact"),
        [
            (GaussianNB(), True),
            (make_pipeline(PolynomialFeatures(), GaussianNB()), True),
            (make_pipeline(StandardScaler(), GaussianNB()), False),
            (SGDClassifier(), False),
        ],
    )
    def test_is_said(self, estimator, exact):
        result = cross_validate(estimator, X, y, cv=K, strategy="tree", check_folds=K, return_predictions=True)
        assert result.exact is exact
        if exact:
            assert result.check.differences == {"test_score": 0.0}
            assert result.check.agreement == 1.0

    def test_a_scaler_alone(self):
        tree, standard = (
            cross_val_score(MaxAbsScaler(), X, strategy=way, scoring=lambda model, X, y=None: model.scale_.sum())
            for way in ("tree", "standard")
        )
        np.testing.assert_array_equal(tree, standard)


class TestWhoCannot:
    @pytest.mark.parametrize(
        ("estimator", "match"),
        [
            (Ridge(), "Ridge has no `partial_fit`"),
            (make_pipeline(StandardScaler(), Ridge()), "the step 'ridge' of the Pipeline, Ridge has no `partial_fit`"),
            (make_pipeline(OneHotEncoder(), GaussianNB()), "the step 'onehotencoder' of the Pipeline, OneHotEncoder"),
            (OneVsRestClassifier(Ridge()), "OneVsRestClassifier has no `partial_fit`"),
        ],
    )
    def test_is_told_which_part(self, estimator, match):
        assert match in obstacle(estimator)
        for strategy in ("tree", "standard"):
            with pytest.raises(CapabilityError, match=rf"{match}.*Use strategy='auto'"):
                cross_val_score(estimator, X, y, strategy=strategy)


class Counts:
    """The learner of somebody else's classifier: the commonest label."""

    def init(self, schema):
        return np.zeros(len(schema.classes))

    def update(self, state, rows):
        np.add.at(state, rows.y if rows.index is None else rows.y[rows.index], 1)

    def predict(self, state, rows):
        return np.full(len(rows), float(state.argmax()))

    def copy(self, state):
        return state.copy()


class Commonest(ClassifierMixin, BaseEstimator):
    def fit(self, X, y):
        self.classes_, counts = np.unique(y, return_counts=True)
        self.most_ = self.classes_[counts.argmax()]
        return self

    def predict(self, X):
        return np.full(len(X), self.most_)


class TestThirdParties:
    def test_join_with_a_method(self):
        class Joined(Commonest):
            def __treecv_learner__(self, schema):
                return Counts()

        self.check(Joined())

    def test_join_with_a_registration(self):
        class Registered(Commonest):
            pass

        register(Registered, lambda estimator, schema: Counts())
        self.check(Registered())

    def check(self, estimator):
        result = cross_validate(estimator, X, y, cv=K, return_predictions=True)
        assert result.strategy == "tree"
        expected = scikit_learn.cross_val_predict(Commonest(), X, y, cv=K)
        np.testing.assert_array_equal(result["predictions"], expected)
        with pytest.raises(CapabilityError, match="has no `__treecv_fitted__"):
            cross_validate(estimator, X, y, cv=K, return_estimator=True)


def test_the_order_of_the_tree_is_the_references():
    for fold in range(K):
        chunks = reference.tree_order(fold, K)
        np.testing.assert_array_equal(np.concatenate([FOLDS[i] for i in chunks]), np.concatenate(list(updates(fold))))
