"""Shortcuts between the front door and a family of learners, tried with a family of a single model: the mean."""

import logging
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.dummy import DummyRegressor
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.linear_model import Lars, Ridge, SGDClassifier
from sklearn.metrics import make_scorer, mean_squared_error
from sklearn.model_selection import GroupKFold, KFold, RepeatedKFold, ShuffleSplit, TimeSeriesSplit
from sklearn.model_selection import cross_val_predict as their_predict
from sklearn.model_selection import cross_validate as their_validate
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KernelDensity, KNeighborsClassifier, KNeighborsRegressor

import treecv
from treecv import adapters
from treecv.adapters.exact import Exact
from treecv.data import Chunks, Feed, Rows
from treecv.errors import CapabilityError, InputError
from treecv.learner import Schema
from treecv.learners.ridge import Ridge as RidgeArithmetic
from treecv.probes import Predictions, Sink
from treecv.strategies import Merge, candidates, cheapest


class Means:
    """The mean of the targets, as a statistic that counts what is done to it."""

    order_free = call_free = True

    def __init__(self):
        self.merges = self.taken = 0
        self.safe = lambda rows: True

    def init(self, schema):
        return [0, 0.0]

    def copy(self, state):
        return list(state)

    def update(self, state, rows):
        for row in rows.order():
            if rows.y[row] == 13:
                raise ValueError("thirteen")
            state[0] += 1
            state[1] += float(rows.y[row])

    def unlearn(self, state, rows):
        self.taken += 1
        for row in rows.order():
            state[0] -= 1
            state[1] -= float(rows.y[row])

    def unlearnable(self, state, rows):
        return self.safe(rows)

    def merge(self, state, other):
        self.merges += 1
        state[0] += other[0]
        state[1] += other[1]

    def predict(self, state, rows):
        return np.full(len(rows), state[1] / state[0] if state[0] else np.nan)


class Average(Exact):
    """What joins DummyRegressor and its mean."""

    def answered(self, method, values):
        if method != "predict":
            raise AttributeError(method)
        return values

    def fitted(self, state):
        fitted = clone(self.estimator)
        fitted.constant_, fitted.n_outputs_ = np.array([[state[1] / state[0]]]), 1
        return fitted


@pytest.fixture
def known(monkeypatch):
    """DummyRegressor has a shortcut; the learner that was made last is at hand."""
    made = []

    def recognised(estimator, steps, schema):
        if type(estimator) is not DummyRegressor:
            return None
        if estimator.strategy != "mean":
            return "of its strategies only the mean is a sum"
        made.append(Means())
        return Average(estimator, made[-1], schema)

    monkeypatch.setattr(adapters.exact, "FAMILIES", [recognised])
    return made


X = np.arange(24.0)[:, np.newaxis]
y = np.random.default_rng(0).normal(size=24)
SCHEMA = Schema(24, 1, "float64")


def filled(learner, feed):
    sink = Sink(feed.k, Predictions(24))
    counts = Merge().plan(feed, SCHEMA).run(learner, sink)
    return sink, counts


def brute(feed, y):
    learner, found = Means(), np.full(24, np.nan)
    for fold in range(feed.k):
        state = learner.init(SCHEMA)
        learner.update(state, feed.all_but(fold))
        found[feed.where(fold, fold)] = learner.predict(state, feed.fold(fold))
    return found


FEEDS = {
    "leave-one-out": Chunks(24),
    "uneven": Chunks(24, np.array([0, 1, 9, 10, 24])),
    "before": Chunks(24, np.array([5, 6, 20, 24])),
    "two": Chunks(24, np.array([0, 20, 24])),
}


@pytest.mark.parametrize("folds", FEEDS)
@pytest.mark.parametrize("index", [None, np.random.default_rng(1).permutation(24)], ids=["stored", "permuted"])
@pytest.mark.parametrize("safe", ["all", "none", "some"])
def test_each_fold_is_the_whole_minus_the_fold_or_the_others_merged(folds, index, safe):
    feed = Feed(Rows(X, y, None, index), FEEDS[folds])
    learner = Means()
    learner.safe = {"all": lambda rows: True, "none": lambda rows: False, "some": lambda rows: len(rows) < 2}[safe]
    sink, counts = filled(learner, feed)
    np.testing.assert_allclose(sink.predicted, brute(feed, y), rtol=1e-12)
    assert not sink.failed.any()
    assert learner.taken == sum(learner.safe(feed.fold(fold)) for fold in range(feed.k))
    assert (learner.merges > 0) == (learner.taken < feed.k)
    assert counts.row_updates <= 5 * 24
    if safe == "all":
        assert counts.row_updates == 24 + int(feed.chunks.sizes.sum())


def test_a_learner_that_only_merges():
    class Merges(Means):
        unlearn = property()

    feed = Feed(Rows(X, y), Chunks(24))
    learner = Merges()
    sink, _ = filled(learner, feed)
    np.testing.assert_allclose(sink.predicted, brute(feed, y), rtol=1e-12)
    assert learner.merges < 5 * 24


def test_bad_rows_fail_the_folds_that_learn_them_and_no_other():
    bad = y.copy()
    bad[7] = 13
    sink, _ = filled(Means(), Feed(Rows(X, bad), Chunks(24)))
    assert sink.failed.tolist() == [fold != 7 for fold in range(24)]
    assert sink.predicted[7] == pytest.approx(np.delete(bad, 7).mean())
    assert "thirteen" in str(sink.error)


def test_auto_takes_the_shortcut_and_says_so(known):
    result = treecv.cross_validate(DummyRegressor(), X, y, cv="loo", scoring="neg_mean_squared_error")
    theirs = their_validate(DummyRegressor(), X, y, cv=24, scoring="neg_mean_squared_error")
    np.testing.assert_allclose(result["test_score"], theirs["test_score"], rtol=1e-10)
    assert (result.strategy, result.exact, result.record.trainings) == ("merge", True, 2)
    assert result.what == (
        "The score of `fit`; 24 folds of 24 rows, the statistics of each taken from those of the whole. That is exact, "
        "and costs about 3 trainings, where one a fold would take 23."
    )


@pytest.mark.parametrize("cv", [5, KFold(4, shuffle=True, random_state=3), [(np.arange(12), np.arange(12, 24))] * 1])
def test_every_kind_of_folds(known, cv):
    ours = treecv.cross_validate(DummyRegressor(), X, y, cv=cv, scoring=["r2", "neg_median_absolute_error"])
    theirs = their_validate(DummyRegressor(), X, y, cv=cv, scoring=["r2", "neg_median_absolute_error"])
    for name in ("test_r2", "test_neg_median_absolute_error"):
        np.testing.assert_allclose(ours[name], theirs[name], rtol=1e-10)


def test_groups_models_and_training_scores(known):
    groups = np.arange(24) % 7
    arguments = {"groups": groups, "cv": GroupKFold(7), "return_train_score": True, "return_estimator": True}
    ours = treecv.cross_validate(DummyRegressor(), X, y, **arguments)
    theirs = their_validate(DummyRegressor(), X, y, **arguments)
    assert ours.strategy == "merge"
    np.testing.assert_allclose(ours["train_score"], theirs["train_score"], atol=1e-10)
    constants = [[float(model.constant_[0, 0]) for model in result["estimator"]] for result in (ours, theirs)]
    np.testing.assert_allclose(*constants, rtol=1e-12)


def test_a_scorer_that_wants_the_model_gets_it(known):
    def asks(estimator, X, y):
        return float(estimator.constant_[0, 0])

    ours = treecv.cross_val_score(DummyRegressor(), X, y, cv=6, scoring=asks)
    np.testing.assert_allclose(ours, their_validate(DummyRegressor(), X, y, cv=6, scoring=asks)["test_score"])
    assert known[-1].taken == 6


def test_predictions(known):
    ours = treecv.cross_val_predict(DummyRegressor(), X, y, cv=6)
    np.testing.assert_allclose(ours, their_predict(DummyRegressor(), X, y, cv=6), rtol=1e-12)
    assert known[-1].taken == 6


@pytest.mark.parametrize(
    ("estimator", "arguments"),
    [
        (DummyRegressor(strategy="median"), {"cv": 5}),
        (DummyRegressor(), {"cv": 2}),
        (DummyRegressor(), {"cv": TimeSeriesSplit(4)}),
        (DummyRegressor(), {"cv": 5, "native": False}),
    ],
    ids=["passed over", "no gain", "grows", "not native"],
)
def test_what_is_left_to_scikit_learn(known, estimator, arguments):
    result = treecv.cross_validate(estimator, X, y, **arguments)
    assert result.strategy == "scikit-learn"


def test_what_a_shortcut_meets_with_is_left_to_scikit_learn(known, caplog):
    broken = np.where(np.arange(24) == 3, 13.0, y)
    caplog.set_level(logging.INFO, "treecv")
    result = treecv.cross_validate(DummyRegressor(), X, broken, cv=6)
    assert result.strategy == "scikit-learn"
    assert "takes over" in caplog.text
    np.testing.assert_allclose(result["test_score"], their_validate(DummyRegressor(), X, broken, cv=6)["test_score"])


def test_folds_that_were_drawn_are_kept_when_it_is_left(known):
    broken, cv = np.where(np.arange(24) == 3, 13.0, y), KFold(4, shuffle=True, random_state=np.random.RandomState(5))
    first = KFold(4, shuffle=True, random_state=np.random.RandomState(5))
    ours = treecv.cross_val_score(DummyRegressor(), X, broken, cv=cv)
    np.testing.assert_allclose(ours, their_validate(DummyRegressor(), X, broken, cv=first)["test_score"])


def test_data_that_is_wrong_is_scikit_learns_to_refuse(known):
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        treecv.cross_val_score(DummyRegressor(), X, y[:-1])


def test_a_shortcut_that_is_asked_for_runs_or_says_why_not(known):
    assert treecv.cross_validate(DummyRegressor(), X, y, cv=2, strategy="merge").strategy == "merge"
    with pytest.raises(CapabilityError, match=r"strategy='merge' cannot give .*only the mean is a sum"):
        treecv.cross_validate(DummyRegressor(strategy="median"), X, y, strategy="merge")
    with pytest.raises(CapabilityError, match="no exact shortcut is known for Lars"):
        treecv.cross_validate(Lars(), X, y, strategy="closed_form")
    with pytest.raises(CapabilityError, match="cannot run: it has no closed form"):
        treecv.cross_validate(DummyRegressor(), X, y, strategy="closed_form")
    with pytest.raises(InputError, match="training sets of these grow"):
        treecv.cross_validate(DummyRegressor(), X, y, cv=TimeSeriesSplit(3), strategy="merge")
    with pytest.raises(InputError, match="is for cross_validate and its kin"):
        treecv.validation_curve(
            DummyRegressor(), X, y, param_name="constant", param_range=[1, 2], strategy="merge", cv=3
        )


def test_the_check_of_some_folds_finds_nothing(known):
    result = treecv.cross_validate(DummyRegressor(), X, y, cv=6, check_folds=3)
    assert max(result.check.differences.values()) < 1e-12


def test_the_cheapest_exact_candidate_is_chosen():
    found = candidates(Means(), SCHEMA, 24, frozenset({"predictions"}))
    assert [(one.name, one.exact, one.lacks) for one in found] == [
        ("merge", True, ""),
        ("closed_form", True, "it has no closed form that is known here"),
        ("tree", True, ""),
    ]  # fmt: skip
    assert cheapest(found).name == "merge"
    assert cheapest([]) is None


def test_a_metric_of_several_rows_of_ours_and_theirs(known):
    scorer = make_scorer(mean_squared_error, greater_is_better=False)
    ours = treecv.cross_val_score(DummyRegressor(), X, y, cv=6, scoring={"mse": scorer}["mse"], aggregate="pooled")
    predicted = their_predict(DummyRegressor(), X, y, cv=6)
    assert ours.tolist() == pytest.approx([-mean_squared_error(y, predicted)])


def explained(capsys, *arguments, **named):
    treecv.explain(*arguments, **named)
    return [line.rstrip() for line in capsys.readouterr().out.splitlines()]


class TestExplain:
    def test_the_shortcut_of_an_estimator(self, known, capsys):
        assert explained(capsys, DummyRegressor(), X, y, cv="loo", scoring="neg_mean_squared_error") == [
            "DummyRegressor, 24 folds of 24 rows",
            "strategy         trainings  exact",
            'merge                  3.0  yes    <- strategy="auto"',
            "scikit-learn          23.0  yes",
            "tree                     -  -      DummyRegressor has no `partial_fit`",
            "standard                 -  -      DummyRegressor has no `partial_fit`",
            "closed_form              -  -      it has no closed form that is known here",
        ]

    def test_why_there_is_none(self, known, capsys):
        lines = explained(capsys, DummyRegressor(strategy="median"), X, y)
        assert lines[2] == 'scikit-learn           4.0  yes    <- strategy="auto"'
        assert lines[-1].endswith("of its strategies only the mean is a sum")

    def test_what_partial_fit_would_estimate(self, capsys):
        lines = explained(capsys, treecv.OnePass(SGDClassifier()), X, y > 0)
        assert lines[2] == 'tree                   2.4  no     <- strategy="auto"'
        lines = explained(capsys, SGDClassifier(), X, y > 0, cv=10)
        assert (
            lines[2] == "tree                   3.4  no     one pass of partial_fit, which is another model than fit's"
        )
        assert 'scikit-learn           9.0  yes    <- strategy="auto"' in lines

    def test_models_are_not_had_from_a_closed_form(self, known, capsys, monkeypatch):
        monkeypatch.setattr(Means, "closed", True, raising=False)
        monkeypatch.setattr(Means, "held_out", None, raising=False)
        monkeypatch.setattr(Means, "held_out_trainings", lambda self, *shape: 1.5, raising=False)
        assert (
            explained(capsys, DummyRegressor(), X, y, scoring="r2")[2]
            == 'closed_form            1.5  yes    <- strategy="auto"'
        )
        lines = explained(capsys, DummyRegressor(), X, y, scoring="r2", return_estimator=True)
        assert lines[2] == 'merge                  2.2  yes    <- strategy="auto"'
        assert lines[-1].endswith("it gives no models, as was asked for")

    def test_folds_that_share_nothing(self, capsys):
        (line,) = explained(capsys, treecv.Pegasos(), X, y > 0, cv=ShuffleSplit(3))
        assert line == "Pegasos: these folds share no training; scikit-learn's function does all of them."


def test_repetitions_share_what_depends_on_the_rows_alone(monkeypatch):
    prepared = []
    own = RidgeArithmetic.prepare
    monkeypatch.setattr(RidgeArithmetic, "prepare", lambda *given: prepared.append(1) or own(*given))
    X, y = np.random.default_rng(0).normal(size=(60, 3)), np.random.default_rng(1).normal(size=60)
    cv = RepeatedKFold(n_splits=6, n_repeats=4, random_state=0)
    result = treecv.cross_validate(Ridge(), X, y, cv=cv)
    np.testing.assert_allclose(result["test_score"], their_validate(Ridge(), X, y, cv=cv)["test_score"], rtol=1e-9)
    assert (result.strategy, len(prepared)) == ("closed_form", 1)


def test_several_labels_a_row_are_left_to_scikit_learn():
    y = np.eye(3, dtype=int)[np.arange(24) % 3]
    result = treecv.cross_validate(KNeighborsClassifier(), X, y, cv=KFold(8))
    expected = their_validate(KNeighborsClassifier(), X, y, cv=KFold(8))["test_score"]
    assert result.strategy == "scikit-learn"
    np.testing.assert_array_equal(result["test_score"], expected)
    with pytest.raises(CapabilityError, match="its targets are not flat"):
        treecv.cross_validate(KNeighborsClassifier(), X, y, strategy="closed_form")


@pytest.mark.parametrize(
    ("estimator", "X", "y", "why"),
    [
        (GaussianNB(), X, (np.arange(24) % 3)[:, np.newaxis], "its targets are not flat"),
        (Ridge(), X, y[:, np.newaxis], "its targets are not flat"),
        (Ridge(), X, y.astype(np.float32), "few digits"),
        (Ridge(), X, np.array(["1.5"] * 24, object), "no plain numbers"),
        (GaussianNB(), X.astype(str), np.arange(24) % 3, "no numbers of single or double precision"),
        (GaussianNB(), X.astype(np.float16), np.arange(24) % 3, "no numbers of single or double precision"),
        (GaussianNB(), X.astype(str).tolist(), np.arange(24) % 3, "no numbers of single or double precision"),
        (Ridge(), X.astype(np.float32), y, "single precision"),
    ],
)
def test_data_that_no_shortcut_knows(estimator, X, y, why):
    with pytest.raises(CapabilityError, match=why):
        treecv.cross_validate(estimator, X, y, strategy="merge")


def test_what_goes_wrong_with_a_chosen_shortcut_is_not_said(known, monkeypatch):
    def broken(self, state):
        warnings.warn("of no use to anybody", UserWarning, stacklevel=2)
        raise RuntimeError("nobody foresaw this")

    monkeypatch.setattr(Average, "fitted", broken)
    result = treecv.cross_validate(DummyRegressor(), X, y, cv=6, return_estimator=True)
    assert result.strategy == "scikit-learn"
    with pytest.warns(UserWarning, match="of no use"), pytest.raises(RuntimeError, match="nobody foresaw"):
        treecv.cross_validate(DummyRegressor(), X, y, cv=6, return_estimator=True, strategy="merge")


def test_warnings_on_the_way_are_said():
    labels = np.array([0] * 21 + [1] * 3)
    with pytest.warns(UserWarning, match="least populated class") as caught:
        result = treecv.cross_validate(GaussianNB(), X, labels, cv=5)
    assert (result.strategy, len(caught)) == ("merge", 1)


def test_probabilities_where_a_fold_holds_out_a_whole_class():
    labels = np.array([2] + [0, 1] * 11 + [0])
    arguments = {"cv": KFold(24), "method": "predict_proba"}
    with pytest.warns(RuntimeWarning, match="Number of classes"):
        found = treecv.cross_val_predict(GaussianNB(), X, labels, **arguments)
    with pytest.warns(RuntimeWarning, match="Number of classes"):
        np.testing.assert_array_equal(found, their_predict(GaussianNB(), X, labels, **arguments))


def test_ties_under_folds_with_an_order_of_their_own():
    random = np.random.default_rng(0)
    X, y = np.repeat(np.arange(10.0), 3)[:, np.newaxis], random.normal(size=30)
    cv = [(random.permutation(np.delete(np.arange(30), fold)), [fold]) for fold in range(30)]
    found = treecv.cross_val_predict(KNeighborsRegressor(1), X, y, cv=cv)
    np.testing.assert_array_equal(found, their_predict(KNeighborsRegressor(1), X, y, cv=cv))


def test_a_density_has_no_other_metric_than_its_own():
    metric = "neg_mean_squared_error"
    with pytest.warns(UserWarning, match="Scoring failed"):
        found = treecv.cross_val_score(KernelDensity(), X, y, cv=6, scoring=metric)
    assert np.isnan(found).all()
    ours = treecv.cross_val_score(KernelDensity(), X, cv=KFold(12))
    np.testing.assert_allclose(ours, their_validate(KernelDensity(), X, cv=KFold(12))["test_score"], rtol=1e-9)


def test_a_kernel_that_is_nearly_singular_is_left_to_scikit_learn():
    twins = np.repeat(np.random.default_rng(0).normal(size=(12, 2)), 2, axis=0)
    process = GaussianProcessRegressor(optimizer=None)
    result = treecv.cross_validate(process, twins, y, cv=6)
    assert result.strategy == "scikit-learn"
    np.testing.assert_array_equal(result["test_score"], their_validate(process, twins, y, cv=6)["test_score"])
    with pytest.raises(CapabilityError, match="hang on rounding; a larger alpha would help"):
        treecv.cross_validate(process, twins, y, cv=6, strategy="closed_form")
    process = GaussianProcessRegressor(optimizer=None, alpha=0.1)
    assert treecv.cross_validate(process, twins, y, cv=6).strategy == "closed_form"


def test_constant_columns_of_a_data_frame_before_linear_discriminants():
    frame = pd.DataFrame({"a": np.random.default_rng(0).normal(size=60), "b": 0.1})
    labels = np.arange(60) % 2
    assert treecv.cross_validate(LinearDiscriminantAnalysis(), frame, labels).strategy == "scikit-learn"
    assert treecv.cross_validate(LinearDiscriminantAnalysis(), frame[["a"]], labels).strategy == "merge"


def test_labels_of_pandas_own_types_come_back_as_scikit_learn_has_them():
    labels = pd.Series(np.arange(24) % 3, dtype="Int64")
    ours = treecv.cross_val_predict(GaussianNB(), X, labels, cv=KFold(8))
    theirs = their_predict(GaussianNB(), X, labels, cv=KFold(8))
    assert ours.dtype == theirs.dtype
    np.testing.assert_array_equal(ours, theirs)
