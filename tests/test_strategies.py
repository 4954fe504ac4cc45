"""What each strategy needs, costs and promises, and that plans do what they say."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reference
from cases import LEARNERS, assert_same_bits, chunks_of, reference_of, schema_of, sink_over, table, targets, uneven
from treecv.data import Chunks, Feed, Rows
from treecv.errors import CapabilityError, InputError, UpdateError
from treecv.learner import LEARNER
from treecv.order import ORDERS
from treecv.strategies import STRATEGIES, Standard, Tree, choose, run
from treecv.tree import chunk_updates


class ClassMeans:
    """Predicts by the nearer class mean: sums alone, so the order does not matter."""

    order_free = True

    def init(self, schema):
        return np.zeros((2, 1 + schema.n_features))

    def copy(self, state):
        return state.copy()

    def update(self, state, rows):
        for row in rows.order():
            state[rows.y[row]] += np.append(1, rows.X[row])

    def predict(self, state, rows):
        no, yes = state[:, 1:] / np.maximum(state[:, :1], 1)
        X = rows.X[list(rows.order())]
        return ((X - no) ** 2).sum(axis=1) - ((X - yes) ** 2).sum(axis=1)


class Fragile(ClassMeans):
    """Fails on a poisoned row."""

    def update(self, state, rows):
        super().update(state, rows)
        if not np.isfinite(state).all():
            raise FloatingPointError("not finite")


def carried_out(strategy, learner, feed):
    sink = sink_over(feed, learner)
    return sink, run(strategy, learner, schema_of(feed.rows.X), feed, sink)


def test_names():
    assert list(STRATEGIES) == ["auto", "tree", "standard", "merge", "closed_form"]
    assert choose("auto") == choose("tree") == Tree()
    assert choose("standard") == Standard()
    chosen = Standard(folds=(1, 2))
    assert choose(chosen) is chosen
    for name in ("tree", "standard"):
        assert choose(name).name == name


def test_an_unknown_strategy_names_those_that_are_known():
    with pytest.raises(
        InputError, match=r"strategy='forest' is not known: use one of \['auto', 'tree', 'standard', 'merge'"
    ):
        choose("forest")


def test_needs():
    assert Tree().needs == LEARNER == ("init", "update", "predict", "copy | save + revert")
    assert Standard().needs == ("init", "update", "predict")

    class Forward(ClassMeans):
        copy = property()

    X, y = table(9, 2)
    feed = Feed(Rows(X, y), Chunks(9))
    with pytest.raises(
        CapabilityError, match=r"strategy='tree' needs 'copy \| save \+ revert', which Forward does not"
    ):
        carried_out(Tree(), Forward(), feed)
    sink, _ = carried_out(Standard(), Forward(), feed)
    assert not np.isnan(sink.predicted).any()


@pytest.mark.parametrize("strategy", [Tree(), Standard(), Standard(folds=[0, 2])], ids=repr)
@pytest.mark.parametrize("k", [3, 4, 7, 16, 30])
@pytest.mark.parametrize("learner", [LEARNERS[0], reference_of(LEARNERS[0]), ClassMeans()], ids=repr)
def test_the_stated_cost_is_the_work_that_was_done(strategy, k, learner):
    X, y = table(4 * k, 3)
    _, record = carried_out(strategy, learner, Feed(Rows(X, y), chunks_of([4] * k)))
    assert record.trainings == pytest.approx(strategy.trainings(None, None, k), rel=1e-12)
    assert record.counts.row_updates == 4 * record.counts.chunk_updates
    if strategy == Tree():
        assert record.counts.chunk_updates == chunk_updates(k)


def test_the_record_says_how_it_was():
    X, y = table(12, 3)
    _, record = carried_out(Standard(), LEARNERS[0], Feed(Rows(X, y), uneven(12, 4), "blocks", seed=9))
    assert (record.strategy, record.order, record.seed, record.k, record.n_rows) == ("standard", "blocks", 9, 4, 12)
    assert record.exact
    assert 0 < record.seconds < 60


def test_folds_may_be_an_array():
    X, y = table(12, 3)
    found = []
    for learner in (LEARNERS[-1], reference_of(LEARNERS[-1])):
        sink, _ = carried_out(Standard(np.array([1, 2])), learner, Feed(Rows(X, y), uneven(12, 4)))
        assert not sink.failed.any()
        found.append(sink.predicted)
    assert_same_bits(*found)


def test_who_is_exact():
    assert Standard().exact(LEARNERS[0])
    assert [Tree().exact(learner) for learner in LEARNERS] == [learner.order_free for learner in LEARNERS]
    assert Tree().exact(ClassMeans())
    assert not Tree().exact(object())


@settings(max_examples=40, deadline=None)
@given(
    sizes=st.lists(st.integers(1, 5), min_size=2, max_size=12), order=st.sampled_from(ORDERS), seed=st.integers(0, 9)
)
def test_without_an_order_all_ways_are_plain_cross_validation(sizes, order, seed):
    chunks = chunks_of(sizes)
    X, y = table(chunks.n_rows, 3, seed=seed)
    feed = Feed(Rows(X, y), chunks, order, seed)

    def train(X, y):
        means = [X[y == label].mean(axis=0) if (y == label).any() else np.zeros(3) for label in (0, 1)]
        return np.array(means)

    def predict(means, X):
        no, yes = ((X[:, np.newaxis] - means) ** 2).sum(axis=2).T
        return no - yes

    folds = [range(*chunks.span(fold, fold)) for fold in range(chunks.k)]
    expected = reference.k_fold(train, predict, X, y, folds)
    for strategy in (Tree(), Standard()):
        sink, record = carried_out(strategy, ClassMeans(), feed)
        np.testing.assert_allclose(sink.predicted, expected, rtol=1e-9, atol=1e-9)
        assert record.exact


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("strategy", [Tree(), Standard(), Standard(folds=[4, 1])], ids=repr)
@pytest.mark.parametrize("learner", LEARNERS, ids=repr)
def test_a_plan_gives_the_same_with_a_learners_own_walk_and_without(strategy, order, learner):
    X, y = table(26, 4)
    rows, chunks = Rows(X, targets(learner, y)), uneven(26, 6)
    native, record = carried_out(strategy, learner, Feed(rows, chunks, order, 5))
    plain, expected = carried_out(strategy, reference_of(learner), Feed(rows, chunks, order, 5))
    assert_same_bits(native.predicted, plain.predicted)
    assert record.counts == expected.counts
    assert record.exact == expected.exact


@pytest.mark.parametrize("outside", [[5], [-1], [0, 7, 2]])
def test_folds_that_do_not_exist(outside):
    X, y = table(10, 2)
    bad = [fold for fold in outside if not 0 <= fold < 5]
    with pytest.raises(InputError, match=rf"folds=\[{bad[0]}\] do not exist: with k=5 they run from 0 to 4"):
        carried_out(Standard(folds=outside), LEARNERS[0], Feed(Rows(X, y), uneven(10, 5)))


@pytest.mark.parametrize("learner", [LEARNERS[0], ClassMeans()], ids=repr)
def test_no_folds_are_no_work(learner):
    X, y = table(10, 2)
    sink, record = carried_out(Standard(folds=[]), learner, Feed(Rows(X, y), uneven(10, 5)))
    assert np.isnan(sink.predicted).all()
    assert record.trainings == 0 == Standard(folds=[]).trainings(None, None, 5)


@pytest.mark.parametrize("strategy", [Tree(), Standard()], ids=repr)
def test_a_failing_update_fails_the_folds_that_contain_the_row(strategy):
    chunks = chunks_of([2, 3, 1, 4])
    for poisoned in range(10):
        X, y = table(10, 2)
        X[poisoned] = np.nan
        sink, _ = carried_out(strategy, Fragile(), Feed(Rows(X, y), chunks))
        own = int(np.searchsorted(chunks.offsets, poisoned, side="right")) - 1
        # The fold that holds the row out has a model, but no finite prediction for that row.
        assert sink.failed.tolist() == [1] * 4
        spared = [row for row in range(*chunks.span(own, own)) if row != poisoned]
        assert np.flatnonzero(np.isfinite(sink.predicted)).tolist() == spared
        with pytest.raises(UpdateError, match=r"ha(ve|s) no model: FloatingPointError: not finite"):
            raise sink.error
        assert isinstance(sink.error.__cause__, FloatingPointError)


@pytest.mark.parametrize("strategy", [Tree(), Standard()], ids=repr)
@pytest.mark.parametrize("learner", [LEARNERS[0], ClassMeans()], ids=repr)
def test_a_feed_may_be_used_again(strategy, learner):
    X, y = table(12, 2)
    feed = Feed(Rows(X, y), uneven(12, 3))
    (first, record), (second, again) = (carried_out(strategy, learner, feed) for _ in range(2))
    assert_same_bits(first.predicted, second.predicted)
    assert record.counts == again.counts
