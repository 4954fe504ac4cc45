"""Compressed sparse rows: the numbers of Python and of dense rows, and states that are taken back by a journal."""

from dataclasses import dataclass, field

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

import reference
from cases import DTYPES, assert_same_bits, chunks_of, reference_of, sparse_table, uneven
from treecv import kernels
from treecv.data import Chunks, Feed, Rows
from treecv.learner import Schema
from treecv.learners import SGD
from treecv.order import ORDERS
from treecv.probes import ExtraRows, Leaves, Predictions, Sink
from treecv.strategies import Standard, Tree
from treecv.tree import Node, halves, walk

AGGRESSIVE = {"hinge", "epsilon_insensitive"}


@dataclass
class States:
    """Keeps the bytes of every leaf's state."""

    bytes: dict = field(default_factory=dict)

    def take(self, fold, state):
        self.bytes[fold] = state.tobytes()


def schema_of(X, learner):
    return Schema(X.shape[0], X.shape[1], X.dtype.name, np.arange(learner.classes) if learner.classes > 1 else None)


def targets(learner, n, seed=0):
    random = np.random.default_rng([seed, 9])
    return random.integers(0, learner.classes, n) if learner.classes > 1 else random.normal(size=n)


def run(learner, feed, strategy, states=None):
    """Predictions, those of further rows, failures and counts."""
    X = feed.rows.X
    extra = ExtraRows.over(Rows(X[:2]), feed.k, learner.outputs)
    sink = Sink(feed.k, Predictions.over(feed.rows.n_stored, learner.outputs), extra, states)
    counts = strategy.plan(feed, schema_of(X, learner)).run(learner, sink)
    return sink.predictions.values, extra.values, sink.failed, counts


def assert_same(one, other):
    for mine, theirs in zip(one[:3], other[:3], strict=True):
        assert_same_bits(mine, theirs)
    assert one[3] == other[3]


@st.composite
def learners(draw, l1=True):
    classes = draw(st.sampled_from([0, 1, 2, 3]))
    losses = ["hinge", "log_loss", "squared_hinge", "modified_huber", "perceptron"] if classes else []
    losses = ["hinge"] if classes == 1 else [*losses, "squared_error", "huber", "epsilon_insensitive"]
    loss = draw(st.sampled_from(losses))
    schedules = ["optimal", "constant", "invscaling", *(["pa1", "pa2"] if loss in AGGRESSIVE and classes != 1 else [])]
    return SGD(
        loss=loss,
        classes=classes,
        penalty=draw(st.sampled_from(["none", "l2", *(["l1", "elasticnet"] if l1 else [])])),
        alpha=draw(st.sampled_from([1e-3, 0.05, 3.0])),
        l1_ratio=0.4,
        schedule=draw(st.sampled_from(schedules)),
        eta0=draw(st.sampled_from([0.01, 0.2])),
        average=draw(st.sampled_from([0, 1, 5])),
        fit_intercept=draw(st.booleans()),
        decay=draw(st.sampled_from([1.0, 0.01])),
        class_weights=draw(st.sampled_from([(), tuple(0.5 + 0.7 * i for i in range(classes))])),
        batch_size=draw(st.sampled_from([0, 0, 1, 3])),
    )


@st.composite
def feeds(draw, learner):
    """Wide rows are taken back, narrow ones copied."""
    chunks, d = chunks_of(draw(st.lists(st.integers(1, 3), min_size=2, max_size=14))), draw(st.integers(1, 150))
    n, seed = chunks.n_rows, draw(st.integers(0, 999))
    X, _ = sparse_table(n, d, draw(st.sampled_from(DTYPES)), seed, draw(st.sampled_from([0.02, 0.2, 1.0])))
    weights = draw(st.sampled_from([None, np.random.default_rng(seed).random(n)]))
    index = np.random.default_rng(seed).permutation(n) if draw(st.booleans()) else None
    rows = Rows(X, targets(learner, n, seed), weights, index)
    return Feed(rows, chunks, draw(st.sampled_from(ORDERS)), seed)


@settings(max_examples=150, deadline=None)
@given(learner=learners(), data=st.data())
def test_any_run_is_that_in_python(learner, data):
    feed = data.draw(feeds(learner))
    for strategy in (Tree(), Standard()):
        assert_same(run(learner, feed, strategy), run(reference_of(learner), feed, strategy))


@settings(max_examples=150, deadline=None)
@given(learner=learners(l1=False), data=st.data())
def test_any_run_is_that_over_dense_rows_of_the_same_numbers(learner, data):
    feed = data.draw(feeds(learner))
    dense = feed.over(Rows(feed.rows.X.toarray(), feed.rows.y, feed.rows.weights, feed.rows.index))
    for strategy in (Tree(), Standard()):
        assert_same(run(learner, feed, strategy), run(learner, dense, strategy))


def updated(learner, feed, fold):
    """A leaf's state by one update after another."""
    state, node = learner.init(schema_of(feed.rows.X, learner)), Node(0, feed.k - 1)
    handed = feed.fresh()
    while node.first < node.last:
        step = next(step for step in halves(node) if step.child.first <= fold <= step.child.last)
        learner.update(state, handed.lesson(step))
        node = step.child
    return state.tobytes()


@settings(max_examples=150, deadline=None)
@given(learner=learners(), data=st.data())
def test_each_state_is_byte_for_byte_that_of_its_updates(learner, data):
    """All that was taken back is as it was: vectors, scales, intercepts, counts."""
    feed, states = data.draw(feeds(learner)), States()
    run(learner, feed, Tree(), states)
    assert states.bytes == {fold: updated(learner, feed, fold) for fold in range(feed.k)}


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("penalty", ["l2", "elasticnet"])
def test_a_subtree_from_the_state_of_its_node(penalty, threads):
    learner = SGD(loss="log_loss", penalty=penalty, alpha=0.02, average=3, decay=0.01)
    X, y = sparse_table(40, 120)
    feed = Feed(Rows(X, y), uneven(40, 16))
    whole, part = Sink(16, Predictions.over(40)), Sink(16, Predictions.over(40))
    either = reference_of(learner)
    walk(either, either.init(schema_of(X, learner)), Node(0, 15), feed, Leaves(either, feed, whole))
    state = learner.init(schema_of(X, learner))
    learner.update(state, feed.rows.stretch(*feed.chunks.span(8, 15)))
    learner.walk(state, feed, part, 0, 7, threads)
    scored = slice(*feed.chunks.span(0, 7))
    assert_same_bits(part.predicted[scored], whole.predicted[scored])
    assert np.isnan(part.predicted[scored.stop :]).all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("average", [0, 2])
def test_wide_rows_are_taken_back_and_narrow_ones_copied(dtype, average):
    """Only where an update would touch more than the state is wide, it is copied."""
    n, copies = 64, {}
    for d in (4, 100, 100_000):
        X = scipy.sparse.random_array((n, d), density=min(1, 3 / d), format="csr", rng=0, dtype=dtype)
        learner = SGD(average=average, decay=0.01)
        kernel = getattr(kernels.core, f"SGD{dtype.capitalize()}Sparse")(d, **learner.settings())
        job = {"offsets": None, "failed": np.zeros(n, np.uint8), "predictions": np.zeros(n), "extra": None}
        job |= {
            "extra_predictions": None,
            "order": "fixed",
            "seed": 0,
            "repetition": 0,
            "on_state": None,
            "index": None,
        }
        state = learner.init(schema_of(X, learner)).view(np.uint8)
        _, rows, copies[d], live, *_ = kernel.walk(
            state, X=kernels.table(X), y=targets(learner, n).astype(float), first=0, last=n - 1, **job
        )
        assert rows == 6 * n
        assert live == 1 or copies[d]
    assert copies[4] > copies[100] > copies[100_000] == 0


@pytest.mark.parametrize("k", [2, 5, 16, 37])
def test_naive_training_in_the_order_of_the_tree_gives_the_same(k):
    """Pegasos' rule with rows in a dense table: nothing of the core's arithmetic is asked."""
    n, alpha, eta = 37, 0.03, 0.05
    X, y = sparse_table(n, 60)
    learner = SGD(loss="hinge", alpha=alpha, schedule="constant", eta0=eta, fit_intercept=False)

    def train(X, y):
        w = np.zeros(X.shape[1])
        for x, label in zip(X, np.where(y, 1, -1), strict=True):
            gradient = -label if label * (w @ x) <= 1 else 0
            w = (1 - eta * alpha) * w - eta * gradient * x
        return w

    chunks = uneven(n, k)
    folds = [range(*chunks.span(fold, fold)) for fold in range(k)]
    for strategy, order in ((Tree(), reference.tree_order), (Standard(), None)):
        sink = Sink(k, Predictions.over(n))
        strategy.plan(Feed(Rows(X, y), chunks), schema_of(X, learner)).run(learner, sink)
        expected = reference.k_fold(train, lambda w, X: X @ w, X.toarray(), y, folds, order)
        np.testing.assert_allclose(sink.predicted, expected, rtol=1e-9, atol=1e-9)


ARRAYS = (np.ones(3), np.array([0, 2, 1], np.int32), np.array([0, 2, 2, 3], np.int64))


@pytest.mark.parametrize(
    ("place", "wrong", "error", "message"),
    [
        (0, np.ones(4), ValueError, "one index for each value"),
        (0, np.ones(3, np.float32), TypeError, "incompatible"),
        (1, np.array([0, 2, 1], np.int64), TypeError, "incompatible"),
        (1, np.array([2, 0, 1], np.int32), ValueError, "must rise"),
        (1, np.array([2, 2, 1], np.int32), ValueError, "must rise"),
        (1, np.array([0, 5, 1], np.int32), ValueError, "must rise"),
        (1, np.array([-1, 2, 1], np.int32), ValueError, "must rise"),
        (2, np.array([0, 2, 2, 3], np.int32), TypeError, "incompatible"),
        (2, np.array([1, 2, 2, 3]), ValueError, "must begin where"),
        (2, np.array([0, 2, 2, 4]), ValueError, "must begin where"),
        (2, np.array([0, 3, 2, 3]), ValueError, "must begin where"),
        (2, np.array([0, -1, 2, 3]), ValueError, "must begin where"),
        (2, np.array([], np.int64), ValueError, "X has no rows"),
    ],
)
def test_arrays_that_are_no_sparse_rows_are_refused(place, wrong, error, message):
    learner = SGD()
    kernel = kernels.core.SGDFloat64Sparse(5, **learner.settings())
    state = np.zeros(kernel.state_bytes, np.uint8)
    arrays = [*ARRAYS]
    kernel.update(state, tuple(arrays), np.zeros(3))
    before, arrays[place] = state.copy(), wrong
    with pytest.raises(error, match=message):
        kernel.update(state, tuple(arrays), np.zeros(3))
    np.testing.assert_array_equal(state, before)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("order", ORDERS)
def test_every_k_from_two_to_leave_one_out(order, dtype):
    n = 13
    learner = SGD(loss="modified_huber", classes=3, penalty="elasticnet", alpha=0.02, average=4, decay=0.01)
    X, _ = sparse_table(n, 80, dtype)
    for chunks in [*(uneven(n, k) for k in range(2, n + 1)), Chunks(n)]:
        feed = Feed(Rows(X, targets(learner, n)), chunks, order, 5)
        for strategy in (Tree(), Standard()):
            assert_same(run(learner, feed, strategy), run(reference_of(learner), feed, strategy))
