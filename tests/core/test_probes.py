"""What can be taken from the leaves, in the core and in Python alike."""

import numpy as np
import pytest

from cases import (
    LEARNERS,
    assert_same_bits,
    reference_of,
    schema_of,
    sink_over,
    table,
    targets,
    trained,
    uneven,
)
from reference import tree_order
from treecv.data import Chunks, Feed, Rows
from treecv.order import ORDERS
from treecv.probes import ExtraRows, Predictions, Sink, States
from treecv.strategies import Standard, Tree

BOTH = pytest.mark.parametrize("python", [False, True], ids=["core", "python"])
STRATEGIES = pytest.mark.parametrize("strategy", [Tree(), Standard()], ids=lambda strategy: strategy.name)


def run(strategy, learner, feed, sink, python=False):
    strategy.plan(feed, schema_of(feed.rows.X)).run(reference_of(learner) if python else learner, sink)
    return sink


def from_scratch(strategy, learner, feed, fold):
    """The state of a leaf, trained by Python's arithmetic in one update."""
    k = feed.chunks.k
    chunks = tree_order(fold, k) if strategy.name == "tree" else [chunk for chunk in range(k) if chunk != fold]
    rows = np.concatenate([np.arange(*feed.chunks.span(chunk, chunk)) for chunk in chunks])
    return trained(reference_of(learner), feed.rows.X[rows], feed.rows.y[rows])


@BOTH
@STRATEGIES
@pytest.mark.parametrize("learner", [learner for learner in LEARNERS if learner.call_free], ids=repr)
def test_every_leafs_state_is_handed_over_once_and_may_be_kept(learner, strategy, python):
    X, y = table(26, 5, "float32")
    feed = Feed(Rows(X, targets(learner, y)), uneven(26, 9))
    kept = {}

    def take(fold, state):
        assert fold not in kept
        kept[fold] = state.copy() if python else state  # the walk in Python lends its own

    sink = run(strategy, learner, feed, Sink(9, states=States(take)), python)
    assert list(kept) == list(range(9))
    assert not sink.failed.any()
    for fold, state in kept.items():
        assert_same_bits(state, from_scratch(strategy, learner, feed, fold))
        learner.update(state, Rows(X, feed.rows.y))  # whoever keeps a state may go on with it


@BOTH
@STRATEGIES
@pytest.mark.parametrize("order", ORDERS)
def test_the_probes_do_not_disturb_each_other(strategy, order, python):
    X, y = table(20, 5)
    learner, states = LEARNERS[0], {}
    rows, extra = Rows(X, targets(learner, y)), Rows(table(4, 5, seed=3)[0], index=np.array([3, 1, 1]))

    def feed():
        return Feed(rows, uneven(20, 6), order, seed=3)

    def take(fold, state):
        states[fold] = state.copy()

    sink = Sink(6, Predictions.over(20), ExtraRows.over(extra, 6), States(take))
    run(strategy, learner, feed(), sink, python)
    assert_same_bits(sink.predicted, run(strategy, learner, feed(), sink_over(feed())).predicted)
    assert sink.extra.values.shape == (1, 6, 3, 1)
    for fold, state in states.items():
        assert_same_bits(sink.extra.values[0, fold, :, 0], learner.predict(state, extra))
        held_out = slice(*feed().chunks.span(fold, fold))
        assert_same_bits(sink.predicted[held_out], learner.predict(state, rows)[held_out])


@BOTH
def test_no_extra_rows_are_no_predictions(python):
    X, y = table(8, 2)
    sink = Sink(8, extra=ExtraRows.over(Rows(X[:0]), 8))
    run(Tree(), LEARNERS[0], Feed(Rows(X, y), Chunks(8)), sink, python)
    assert sink.extra.values.shape == (1, 8, 0, 1)
    assert not sink.failed.any()


@BOTH
@STRATEGIES
def test_an_exception_in_the_callback_ends_the_walk(strategy, python):
    X, y = table(20, 2)
    seen = []

    def take(fold, state):
        seen.append(fold)
        if fold == 3:
            raise ZeroDivisionError("enough of this")

    with pytest.raises(ZeroDivisionError, match="enough of this"):
        run(strategy, LEARNERS[0], Feed(Rows(X, y), uneven(20, 10)), Sink(10, states=States(take)), python)
    assert seen == [0, 1, 2, 3]


@BOTH
@STRATEGIES
def test_an_extra_row_without_a_finite_prediction_fails_every_fold(strategy, python):
    X, y = table(12, 2)
    extra = Rows(np.array([[1.0, 1.0], [np.inf, 0.0]]))
    sink = Sink(4, Predictions.over(12), ExtraRows.over(extra, 4))
    run(strategy, LEARNERS[0], Feed(Rows(X, y), uneven(12, 4)), sink, python)
    assert sink.failed.tolist() == [1] * 4
    assert np.isfinite(sink.predicted).all()
    assert np.isfinite(sink.extra.values[0, :, 0]).all()


def test_predictions_of_a_sink_without_them():
    with pytest.raises(AttributeError, match="this sink takes no predictions"):
        Sink(3).predicted  # noqa: B018
