"""The laws of a learner: every built-in one keeps them, and each of them can be broken."""

import dataclasses
import itertools
import re

import numpy as np
import pytest
import scipy.sparse

from cases import (
    DTYPES,
    LEARNERS,
    SETTINGS,
    assert_same_bits,
    reference_of,
    schema_of,
    sparse_table,
    table,
    trained,
    walked,
)
from treecv import learners
from treecv.checks import check_learner, iter_laws
from treecv.data import Rows
from treecv.errors import CapabilityError, InputError, TreecvError
from treecv.learner import LEARNER, Schema, missing, require
from treecv.records import Counts
from treecv.strategies import STRATEGIES, ClosedForm, Standard


def test_every_learner_has_settings_here():
    assert sorted(SETTINGS) == sorted(learners.__all__)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("learner", LEARNERS, ids=repr)
def test_built_in_learners_and_their_references_keep_the_laws(learner, dtype):
    X, y = table(40, 5, dtype, seed=1)
    for either in (learner, reference_of(learner)):
        check_learner(either)
        check_learner(either, Rows(X, y), Schema(40, 5, dtype, np.array(["no", "yes"])))


@pytest.mark.parametrize("learner", LEARNERS, ids=repr)
def test_settings_are_frozen_compared_and_shown(learner):
    assert learner == type(learner)(**learner.settings())
    assert hash(learner) == hash(type(learner)(**learner.settings()))
    shown = ", ".join(f"{field.name}={getattr(learner, field.name)!r}" for field in dataclasses.fields(learner))
    assert repr(learner) == f"{type(learner).__name__}({shown})"
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign"):
        setattr(learner, dataclasses.fields(learner)[0].name, 1.0)


@pytest.mark.parametrize(("name", "setting"), [("Pegasos", "alpha"), ("LSQSGD", "step_size"), ("LSQSGD", "radius")])
@pytest.mark.parametrize("value", [0, -1.0, float("inf"), float("nan")])
def test_settings_that_make_no_sense(name, setting, value):
    chosen = SETTINGS[name][0] | {setting: value}
    for kind in (getattr(learners, name), getattr(learners, name).reference):
        with pytest.raises(InputError, match=re.escape(f"{name}: {setting}={value!r} must be a finite number")):
            kind(**chosen)


@pytest.mark.parametrize(
    ("setting", "complaint"),
    [
        ({"loss": "cubic"}, "loss='cubic' must be one of"),
        ({"penalty": None}, "penalty=None must be one of"),
        ({"alpha": float("nan")}, "alpha=nan must be a finite number"),
        ({"alpha": 0}, "alpha=0.0 must be greater than 0 for schedule='optimal'"),
        ({"average": -1}, "average=-1 must be an integer, 0 or more"),
        ({"average": True}, "average=True must be an integer, 0 or more"),
        ({"classes": 2.5}, "classes=2.5 must be an integer, 0 or more"),
        ({"batch_size": -3}, "batch_size=-3 must be an integer, 0 or more"),
        ({"class_weights": (1,)}, "must be one finite number for each of 2 classes"),
        ({"class_weights": (1, float("nan"))}, "must be one finite number for each of 2 classes"),
        ({"schedule": "pa1", "loss": "log_loss"}, "schedule='pa1' needs a loss of the hinge's kind, not 'log_loss'"),
    ],
)
def test_settings_of_sgd_that_make_no_sense(setting, complaint):
    for kind in (learners.SGD, learners.SGD.reference):
        with pytest.raises(InputError, match=f"SGD: .*{complaint}"):
            kind(**setting)


@pytest.mark.parametrize(("low", "high"), [(1, 0), (1, 1), (float("nan"), 1), (0, float("inf"))])
def test_a_range_of_scaled_must_rise(low, high):
    for kind in (learners.Scaled, learners.Scaled.reference):
        with pytest.raises(InputError, match="must be greater than low"):
            kind(learners.SGD(), "minmax", low=low, high=high)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("classes", [1, 3])
def test_learners_of_one_class_and_of_many_keep_the_laws(classes, sparse):
    X, _ = sparse_table(40, 5) if sparse else table(40, 5)
    rows = Rows(X, np.arange(40) % 3)
    for learner in (learners.SGD(classes=classes), learners.SGD(classes=classes, penalty="l1", average=3, decay=0.01)):
        for either in (learner, reference_of(learner)):
            check_learner(either, rows, Schema(40, 5, "float64", np.arange(3) if classes == 3 else None))


@pytest.mark.parametrize("make", ["csc_array", "coo_array", "lil_array"])
def test_sparse_rows_are_compressed_row_by_row(make):
    """The arrays of a square matrix by columns could be taken for those by rows."""
    X, y = sparse_table(5, 5)
    for either in (learners.SGD(), learners.SGD.reference()):
        with pytest.raises(InputError, match=r"compressed row by row: use X\.tocsr\(\)"):
            either.update(either.init(schema_of(X)), Rows(getattr(scipy.sparse, make)(X), y))


def test_pegasos_tells_two_classes_apart():
    with pytest.raises(InputError, match=r"two classes apart, but y holds 3: \['a', 'b', 'c'\]. Make it one class"):
        learners.Pegasos().init(Schema(9, 2, "float64", ["a", "b", "c"]))


EITHER = [either for learner in LEARNERS for either in (learner, reference_of(learner))]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("learner", EITHER, ids=repr)
def test_a_state_reads_rows_of_its_own_dtype_and_width_only(learner, dtype):
    """States of both dtypes, or of several widths, may have the same size, so the core cannot tell."""
    X, y = table(8, 5, dtype)
    other = {"float32": "float64", "float64": "float32"}[dtype]
    state = trained(learner, X, y)
    before = state.copy()
    for use in (learner.update, learner.predict):
        with pytest.raises(InputError, match=rf"a state of {dtype} cannot read rows of {other}.*astype\('{dtype}'"):
            use(state, Rows(X.astype(other), y))
        with pytest.raises(InputError, match=r"a state of 5 features cannot read rows of 4"):
            use(state, Rows(X[:, :4], y))
    assert_same_bits(state, before)


@pytest.mark.parametrize("learner", [one for one in EITHER if not hasattr(one, "weighs")], ids=repr)
def test_weights_are_refused_not_ignored(learner):
    X, y = table(8, 5)
    with pytest.raises(CapabilityError, match=f"{type(learner).__name__} does not weigh rows, but got weights"):
        learner.update(learner.init(schema_of(X)), Rows(X, y, np.ones(8)))


@pytest.mark.parametrize("learner", EITHER, ids=repr)
def test_settings_of_single_precision_are_the_same_numbers_in_the_core(learner):
    X, y = table(30, 5)
    settings = {k: np.float32(v) if isinstance(v, float) else v for k, v in learner.settings().items()}
    narrow = type(learner)(**settings)
    wide = type(learner)(**{k: float(v) if isinstance(v, np.float32) else v for k, v in settings.items()})
    assert narrow == wide
    assert_same_bits(trained(narrow, X, y), trained(reference_of(wide) if hasattr(wide, "walk") else wide, X, y))


@pytest.mark.parametrize("setting", ["step_size", "radius"])
@pytest.mark.parametrize(("value", "rounded"), [(1e-60, "0.0"), (1e60, "inf")])
def test_settings_that_single_precision_cannot_hold(setting, value, rounded):
    X, _ = table(8, 5, "float32")
    message = re.escape(f"LSQSGD: {setting}={value!r} is {rounded} in float32: use a number nearer to 1, or X.astype")
    for kind in (learners.LSQSGD, learners.LSQSGD.reference):
        learner = kind(**{"step_size": 0.1, setting: value})
        with pytest.raises(InputError, match=message):
            learner.init(schema_of(X))
        learner.init(schema_of(X.astype("float64")))


@pytest.mark.parametrize("y", [None, np.array([0, 1, 2, 0]), np.array([0, -1, 1, 0]), np.array([0.0, 1.0, 1.0, 0.0])])
@pytest.mark.parametrize("kind", [learners.Pegasos, learners.Pegasos.reference])
def test_classes_must_be_codes(kind, y):
    X, _ = table(4, 2)
    learner = kind()
    with pytest.raises(InputError, match=r"Pegasos: the targets must be codes 0 .. 1 of the classes, as integers"):
        learner.update(learner.init(schema_of(X)), Rows(X, y))


def test_the_average_of_the_iterates_is_the_model():
    learner = learners.LSQSGD(0.5, fit_intercept=False)
    state = trained(learner, np.ones((3, 1)), np.ones(3))
    assert learner.predict(state, Rows(np.ones((1, 1)))).tolist() == [(0.5 + 0.75 + 0.875) / 3]


@pytest.mark.parametrize(
    ("methods", "lacking"),
    [
        ("init update predict copy", []),
        ("init update predict save revert", []),
        ("init update predict save", ["copy | save + revert"]),
        ("init copy", ["update", "predict"]),
        ("", [*LEARNER]),
    ],
)
def test_missing_names_the_needs_that_are_not_met(methods, lacking):
    candidate = type("Candidate", (), dict.fromkeys(methods.split(), print))()
    assert missing(candidate, LEARNER) == lacking
    if lacking:
        listed = re.escape(", ".join(repr(need) for need in lacking))
        cure = "Add the method, or use a learner that has it"
        with pytest.raises(
            CapabilityError, match=f"strategy='x' needs {listed}, which Candidate does not have. {cure}"
        ):
            require(candidate, LEARNER, "strategy='x'")
    else:
        require(candidate, LEARNER, "strategy='x'")


# A learner that can do everything, and the ways to break it.


class Means:
    """Predicts the mean of the targets with the same sign of the first feature; forgets nothing, in any order."""

    def init(self, schema):
        return np.zeros((2, 2))

    def copy(self, state):
        return state.copy()

    def save(self, state):
        return state.copy()

    def revert(self, state, mark):
        state[:] = mark

    def update(self, state, rows):
        for row in rows.order():
            self._count(state, rows, row, 1)

    def unlearn(self, state, rows):
        for row in rows.order():
            self._count(state, rows, row, -1)

    def unlearnable(self, state, rows):
        return all(abs(rows.y[row]) < 1e6 for row in rows.order())

    def predict(self, state, rows):
        side = (rows.X[list(rows.order()), 0] > 0).astype(int)
        return (state[:, 1] / np.maximum(state[:, 0], 1))[side]

    def merge(self, state, other):
        state += other

    def held_out(self, schema, feed):
        whole, before = self.init(schema), feed.chunks.before
        Means.update(self, whole, feed.rows)
        found = np.empty(feed.n_rows - before)
        for fold in range(feed.k):
            state, (begin, end) = whole.copy(), feed.chunks.span(fold, fold)
            Means.unlearn(self, state, feed.fold(fold))
            found[begin - before : end - before] = self.predict(state, feed.fold(fold))
        return found

    def held_out_trainings(self, n_rows, n_features, k):
        return 2.0

    def walk(self, state, feed, sink, first, last):
        walked(Walkless(), feed, sink)
        return feed.counts

    def repeat(self, state, feed, sink, folds):
        return Standard(folds).plan(feed, schema_of(feed.rows.X)).run(Walkless(), sink)

    def _count(self, state, rows, row, sign):
        state[int(rows.X[row, 0] > 0)] += sign, sign * rows.y[row]


class WeightedMeans(Means):
    """Weights count as often as they say."""

    weighs = True

    def _count(self, state, rows, row, sign):
        times = 1 if rows.weights is None else rows.weights[row]
        state[int(rows.X[row, 0] > 0)] += sign * times, sign * times * rows.y[row]

    def predict(self, state, rows):
        side = (rows.X[list(rows.order()), 0] > 0).astype(int)
        return (state[:, 1] / np.where(state[:, 0] > 0, state[:, 0], 1))[side]


class Walkless(Means):
    """The same without its own walk, and with one way only to come back."""

    walk = repeat = save = revert = property()  # not there


class Rounding(Walkless):
    """Predictions that differ in the last bits with the rows asked beside."""

    same_bits = False

    def predict(self, state, rows):
        return super().predict(state, rows) * (1 + 1e-15 * len(rows))


class Reverting(Means):
    copy = property()


class Copying(Means):
    save = revert = property()


class NoUpdate(Means):
    update = property()


class Unrepeatable(Means):
    calls = itertools.count()

    def update(self, state, rows):
        super().update(state, rows)
        state[:, 1] += next(self.calls)


class Shared(Means):
    state = np.zeros((2, 2))

    def init(self, schema):
        if not self.state.any():
            return self.state
        self.state[:] = 0
        return self.state


class LearnsWhilePredicting(Means):
    def predict(self, state, rows):
        predicted = super().predict(state, rows)
        state[:, 1] += 1
        return predicted


class Weighing(Means):
    """Later rows count for more: what it learns depends on how many there were."""

    def init(self, schema):
        return np.zeros((3, 2))

    def predict(self, state, rows):
        return super().predict(state[:2], rows)

    def _count(self, state, rows, row, sign):
        state[2] += 1
        state[int(rows.X[row, 0] > 0)] += state[2, 0], state[2, 0] * rows.y[row]


class PredictsForLater(Weighing):
    """What a prediction does shows in later updates alone."""

    def predict(self, state, rows):
        predicted = super().predict(state, rows)
        state[2] += 1
        return predicted


class Normalising(Means):
    def predict(self, state, rows):
        return super().predict(state, rows) / len(rows)


class Summary(Means):
    def predict(self, state, rows):
        return super().predict(state, rows)[:1]


class IndexBlind(Means):
    def update(self, state, rows):
        super().update(state, Rows(rows.X[: len(rows)], rows.y[: len(rows)]))


class IndexBlindPredicting(Means):
    def predict(self, state, rows):
        return super().predict(state, Rows(rows.X[: len(rows)]))


class Unpicklable(Means):
    def __init__(self):
        self.link = lambda value: value


class Forgetful(Means):
    scale = 1.0

    def __init__(self):
        self.scale = 2.0

    def __reduce__(self):
        return Means, ()

    def predict(self, state, rows):
        return super().predict(state, rows) * self.scale


class LearnsItself(Means):
    def __init__(self):
        self.seen = 0

    def update(self, state, rows):
        self.seen += len(rows)
        super().update(state, rows)


class SharedCopy(Copying):
    def copy(self, state):
        return state


class HalfReverted(Weighing):
    """What is left behind shows in later updates alone."""

    def revert(self, state, mark):
        state[:2] = mark[:2]


class EmptyCopy(Means):
    def copy(self, state):
        return np.zeros_like(state)


class Postponing(Means):
    """Reverts an inner mark when the next update comes, which is soon enough for the tree."""

    def init(self, schema):
        return Marked((2, 2))

    def save(self, state):
        state.depth += 1
        return np.array(state)

    def revert(self, state, mark):
        state.depth -= 1
        state.postponed = mark
        if not state.depth:
            self.catch_up(state)

    def update(self, state, rows):
        self.catch_up(state)
        super().update(state, rows)

    def catch_up(self, state):
        if state.postponed is not None:
            state[:], state.postponed = state.postponed, None


class Marked(np.ndarray):
    depth, postponed = 0, None

    def __new__(cls, shape):
        return np.zeros(shape).view(cls)


class MergesOneSide(Means):
    def merge(self, state, other):
        pass


class MergesWithoutWeights(WeightedMeans):
    """Merges as if each row had counted once: by the rows it has seen."""

    def init(self, schema):
        return np.zeros((3, 2))

    def predict(self, state, rows):
        return super().predict(state[:2], rows)

    def _count(self, state, rows, row, sign):
        super()._count(state, rows, row, sign)
        state[2] += 1, 0 if rows.weights is None else rows.weights[row]

    def merge(self, state, other):
        seen, weight = other[2]
        state += other * np.array([[seen / weight if weight else 1]])


class TakesTheOther(Means):
    def merge(self, state, other):
        state += other
        other[:] = 0


class NeverForgets(Means):
    def unlearn(self, state, rows):
        pass


class UnlearnsOneLess(Means):
    def unlearn(self, state, rows):
        super().unlearn(state, rows.stretch(1, len(rows)))


class AlwaysUnlearns(Means):
    def unlearnable(self, state, rows):
        return True


class NeverUnlearns(Means):
    def unlearnable(self, state, rows):
        return False


class HoldsNothingOut(Means):
    def held_out(self, schema, feed):
        state = self.init(schema)
        self.update(state, feed.rows)
        return self.predict(state, feed.rows.stretch(feed.chunks.before, feed.n_rows))


class CostsNothing(Means):
    def held_out_trainings(self, n_rows, n_features, k):
        return 0.0


class WalksBackwards(Means):
    def walk(self, state, feed, sink, first, last):
        super().walk(state, feed, sink, first, last)
        sink.predictions.values[0] = sink.predictions.values[0, ::-1].copy()
        return feed.counts


class WalksUncounted(Means):
    def walk(self, state, feed, sink, first, last):
        super().walk(state, feed, sink, first, last)
        return Counts()


class RepeatsTheTree(Means):
    def repeat(self, state, feed, sink, folds):
        walked(Walkless(), feed, sink)
        sink.predictions.values[0, 3] += 1
        return feed.counts


BROKEN = {
    NoUpdate: ("check_capabilities", "NoUpdate has no update"),
    Unrepeatable: ("check_repeatable", "training twice: .* predictions differ"),
    Shared: ("check_states_are_apart", "another state was trained"),
    LearnsWhilePredicting: ("check_predict_is_pure", "predicting twice"),
    PredictsForLater: ("check_predict_is_pure", "learning after predicting"),
    Normalising: ("check_rows_are_apart", "predicting row by row"),
    Summary: ("check_rows_are_apart", "predict: 1 predictions for 40 rows"),
    IndexBlind: ("check_index", "learning through an index"),
    IndexBlindPredicting: ("check_index", "predicting through an index"),
    Unpicklable: ("check_pickles", "pickling: "),
    Forgetful: ("check_pickles", "pickled and restored"),
    LearnsItself: ("check_settings_stay", "training changed LearnsItself itself"),
    SharedCopy: ("check_branch_restores", "after a branch"),
    HalfReverted: ("check_tree_order", "fold 1 of 2"),
    EmptyCopy: ("check_copy_is_independent", "training a copy"),
    Postponing: ("check_revert_undoes", "reverting an inner mark"),
    MergesOneSide: ("check_merge_is_joint_training", "merging"),
    MergesWithoutWeights: ("check_merge_is_joint_training", "merging"),
    TakesTheOther: ("check_merge_is_joint_training", "what was merged"),
    NeverForgets: ("check_unlearn_undoes", "unlearning"),
    UnlearnsOneLess: ("check_unlearn_undoes", "unlearning"),
    AlwaysUnlearns: ("check_unlearn_keeps_digits", "digits are lost"),
    NeverUnlearns: ("check_harmless_rows_are_unlearnable", "row 0 has three twins"),
    HoldsNothingOut: ("check_held_out_is_training_from_scratch", "held out, k=40"),
    CostsNothing: ("check_held_out_is_training_from_scratch", "held_out_trainings: 0.0 is no cost"),
    WalksBackwards: ("check_walk_is_the_tree", "walk, k=2, fixed"),
    WalksUncounted: ("check_walk_is_the_tree", "walk, k=2: counted"),
    RepeatsTheTree: ("check_repeat_is_training_from_scratch", "repeat, fold 0, fixed"),
}


def noisy():
    """Rows on which two models differ wherever they can."""
    X, y = table(40, 5, seed=4)
    return Rows(X, y + np.linspace(0, 1, 40))


@pytest.mark.parametrize(
    "learner",
    [Means(), Walkless(), Reverting(), Copying(), WeightedMeans(), Rounding()],
    ids=lambda each: type(each).__name__,
)
def test_a_sound_learner_keeps_all_laws(learner):
    check_learner(learner)
    check_learner(learner, noisy())


@pytest.mark.parametrize("broken", BROKEN, ids=lambda broken: broken.__name__)
def test_each_law_catches_who_breaks_it(broken):
    law, message = BROKEN[broken]
    with pytest.raises(AssertionError, match=message) as caught:
        check_learner(broken(), noisy())
    assert law in [entry.name for entry in caught.traceback]


def test_there_is_someone_who_breaks_each_law():
    laws = {law.__name__ for law in iter_laws(Means())}
    assert laws == {law for law, _ in BROKEN.values()}
    assert len(laws) == len(list(iter_laws(Means()))) == 19


def test_laws_are_called_for_by_capabilities():
    asked = {law.__name__ for law in iter_laws(Means())} - {law.__name__ for law in iter_laws(Walkless())}
    assert asked == {"check_revert_undoes", "check_walk_is_the_tree", "check_repeat_is_training_from_scratch"}


def test_too_few_rows_check_nothing():
    with pytest.raises(TreecvError, match="7 rows are too few to check anything; give at least 8"):
        check_learner(Means(), Rows(*table(7, 2)))


class Failing(Walkless):
    def update(self, state, rows):
        if len(rows) < 15:
            raise ZeroDivisionError("so few rows")
        super().update(state, rows)


def test_a_walk_that_fails_says_why():
    with pytest.raises(AssertionError, match=r"the walk failed: .*ZeroDivisionError: so few rows"):
        check_learner(Failing(), noisy())


class Stacked(Means):
    def predict(self, state, rows):
        predicted = super().predict(state, rows)
        return predicted if len(rows) > 1 else np.repeat(predicted, 2)


def test_predictions_of_another_shape_are_no_crash():
    with pytest.raises(AssertionError, match=r"predicting row by row: predictions of the shapes \(40,\) and \(80,\)"):
        check_learner(Stacked(), noisy())


def test_strategies_name_what_they_need():
    for make in STRATEGIES.values():
        formula = ["closed"] if make is ClosedForm else []  # of all there is, only this is not for those with states
        assert missing(Means(), make().needs) == formula
        assert missing(NoUpdate(), make().needs) == (formula or ["update"])
