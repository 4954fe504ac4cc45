"""The core's walk and its repetitions give what Python gives node by node, to the last bit."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reference
from cases import (
    DTYPES,
    LEARNERS,
    assert_same_bits,
    chunks_of,
    reference_of,
    schema_of,
    sink_over,
    table,
    targets,
    trained,
    uneven,
    walked,
)
from treecv import kernels, learners
from treecv.data import Chunks, Feed, Rows
from treecv.learner import outputs_of
from treecv.order import ORDERS
from treecv.probes import ExtraRows, Predictions, Sink
from treecv.records import Counts
from treecv.strategies import Standard, Tree
from treecv.tree import chunk_updates

NO_OVERFLOW = (-1, 0)


def in_one_fold_at_most(feed):
    """Rows that several folds hold out have the prediction of one of them, whichever came last."""
    times = np.zeros(len(feed.rows.X), int)
    for fold in range(feed.chunks.k):
        span = slice(*feed.chunks.span(fold, fold))
        times[np.unique(np.arange(feed.chunks.n_rows)[span] if feed.rows.index is None else feed.rows.index[span])] += 1
    return times <= 1


def both(strategy, learner, feed, extra=None):
    """What a strategy gives in the core and in Python: predictions, extra predictions, failed folds and counts."""
    results = []
    for either in (learner, reference_of(learner)):
        own = Feed(feed.rows, feed.chunks, feed.order, feed.seed, feed.repetition)
        k = own.chunks.k
        outputs = outputs_of(learner)
        probes = Predictions.over(len(own.rows.X), outputs), extra and ExtraRows.over(extra, k, outputs)
        sink = Sink(k, *probes)
        counts = strategy.plan(own, schema_of(own.rows.X)).run(either, sink)
        assert sink.error is None
        results.append((sink.predicted, None if extra is None else sink.extra.values, sink.failed, counts))
    return results


def assert_both_same(strategy, learner, feed, extra=None):
    (predicted, further, failed, counts), (expected, expected_further, expected_failed, expected_counts) = both(
        strategy, learner, feed, extra
    )
    once = in_one_fold_at_most(feed)
    assert_same_bits(predicted[once], expected[once])
    assert_same_bits(failed, expected_failed)
    assert counts == expected_counts
    if extra is not None:
        assert_same_bits(further, expected_further)
        assert not np.isnan(further).any() or not getattr(learner, "supervised", True)
    return predicted


@st.composite
def runs(draw):
    learner, dtype, d = draw(st.sampled_from(LEARNERS)), draw(st.sampled_from(DTYPES)), draw(st.integers(1, 24))
    chunks = chunks_of(draw(st.lists(st.integers(1, 4), min_size=2, max_size=17)))
    n = chunks.n_rows
    X, y = table(n + 3, d, dtype, seed=draw(st.integers(0, 99)))
    if draw(st.booleans()):  # duplicated rows
        X[: len(X) // 2], y[: len(X) // 2] = X[0], y[0]
    if draw(st.booleans()):  # a constant column
        X[:, draw(st.integers(0, d - 1))] = 2
    index = draw(st.sampled_from(["none", "permuted", "repeated"]))
    order, seed, repetition = draw(st.sampled_from(ORDERS)), draw(st.integers(0, 2**64 - 1)), draw(st.integers(0, 9))
    y = targets(learner, y)
    rows = Rows(X[:n], y[:n])
    if index != "none":
        random = np.random.default_rng(seed)
        rows = Rows(X, y, index=random.permutation(n + 3)[:n] if index == "permuted" else random.integers(0, n + 3, n))
    return learner, Feed(rows, chunks, order, seed, repetition), Rows(*table(draw(st.integers(1, 4)), d, dtype, seed=7))


@settings(max_examples=150, deadline=None)
@given(run=runs())
def test_any_walk_is_the_walk_in_python(run):
    learner, feed, extra = run
    assert_both_same(Tree(), learner, feed, extra)


@settings(max_examples=75, deadline=None)
@given(run=runs(), data=st.data())
def test_any_repetitions_are_those_in_python(run, data):
    learner, feed, extra = run
    folds = data.draw(st.none() | st.lists(st.integers(0, feed.chunks.k - 1), unique=True, max_size=5))
    if folds is None:
        assert_both_same(Standard(), learner, feed, extra)
    else:
        predicted = assert_both_same(Standard(folds), learner, feed)
        rows = range(feed.chunks.n_rows) if feed.rows.index is None else feed.rows.index
        scored = [row for fold in folds for row in rows[slice(*feed.chunks.span(fold, fold))]]
        found = ~np.isnan(predicted.reshape(len(predicted), -1)).any(axis=1)
        if getattr(learner, "supervised", True):  # others may have learnt too few rows to predict
            assert np.flatnonzero(found).tolist() == sorted(set(scored))


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("learner", LEARNERS[::2], ids=repr)
def test_every_k_from_two_to_leave_one_out(learner, order):
    n = 21
    X, y = table(n, 5)
    rows = Rows(X, targets(learner, y))
    for k in range(2, n + 1):
        assert_both_same(Tree(), learner, Feed(rows, uneven(n, k), order, seed=k))
        assert_both_same(Standard(), learner, Feed(rows, uneven(n, k), order, seed=k))
    one = both(Tree(), learner, Feed(rows, Chunks(n), order, seed=n))
    assert_same_bits(one[0][0], one[1][0])
    assert_same_bits(one[0][0], both(Tree(), learner, Feed(rows, uneven(n, n), order, seed=n))[0][0])


@pytest.mark.parametrize("order", ORDERS)
def test_large_updates_that_are_fetched_ahead_give_the_same_bits(order):
    """Beyond 128 KB an update takes another way through the core."""
    n, d = 1500, 40
    X, y = table(n, d, "float32")
    wide = np.full((n, d + 3), np.nan, np.float32)
    wide[:, 3:] = X
    rows = Rows(wide[:, 3:], y, index=np.random.default_rng(0).permutation(n))
    for learner in LEARNERS[::3]:
        assert_both_same(Tree(), learner, Feed(rows, uneven(n, 2), order))


@pytest.mark.parametrize("learner", LEARNERS[::2], ids=repr)
def test_a_subtree_is_walked_from_the_state_of_its_node(learner):
    X, y = table(30, 6)
    y = targets(learner, y)
    feed = Feed(Rows(X, y), uneven(30, 8))
    whole, part = walked(reference_of(learner), feed), sink_over(feed, learner)
    state = learner.init(schema_of(X))
    learner.update(state, feed.rows.stretch(*feed.chunks.span(4, 7)))
    learner.walk(state, feed, part, 0, 3)
    scored = slice(*feed.chunks.span(0, 3))
    assert_same_bits(part.predicted[scored], whole.predicted[scored])
    assert np.isnan(part.predicted[scored.stop :]).all()


@pytest.mark.parametrize("k", [2, 3, 5, 8, 11, 37])
def test_naive_training_in_the_order_of_the_tree_gives_the_same(k):
    X, y = table(37, 6)
    target = targets(learners.LSQSGD(1), y)
    chunks = uneven(37, k)
    folds = [range(*chunks.span(fold, fold)) for fold in range(k)]
    cases = [
        (learners.Pegasos(0.05), y, lambda X, y: reference.pegasos(X, y, 0.05)),
        (learners.LSQSGD(0.1), target, lambda X, y: reference.lsqsgd(X, y, 0.1)),
    ]
    for learner, given_y, train in cases:
        for strategy, order in ((Tree(), reference.tree_order), (Standard(), None)):
            expected = reference.k_fold(train, reference.linear, X, given_y, folds, order)
            feed = Feed(Rows(X, given_y), chunks)
            sink = sink_over(feed)
            strategy.plan(feed, schema_of(X)).run(learner, sink)
            np.testing.assert_allclose(sink.predicted, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("k", [*range(2, 34), 64, 100, 127, 128, 129])
def test_work_copies_and_live_states_are_what_the_formulas_say(k):
    X, y = table(3 * k, 2)
    kernel = kernels.core.PegasosFloat64(2, 0.1, True)
    arrays = {"predictions": None, "failed": np.zeros(k, np.uint8), "extra": None, "extra_predictions": None}
    rest = {"order": "fixed", "seed": 0, "repetition": 0, "on_state": None, "index": None}
    offsets = 3 * np.arange(k + 1)
    state = np.zeros(kernel.state_bytes, np.uint8)
    job = {"X": X, "y": y, "offsets": offsets} | arrays | rest
    c = math.ceil(math.log2(k))
    updates = k * (c + 1) - 2**c
    assert updates == chunk_updates(k)
    done = kernel.walk(state * 0, **job | {"on_state": lambda fold, state: None}, first=0, last=k - 1)
    assert done == (updates, 3 * updates, k - 1, c + 1, *NO_OVERFLOW)
    *done, live, fold, rows = kernel.walk(state * 0, **job, first=0, last=k - 1)
    assert (*done, fold, rows) == (updates, 3 * updates, k - 1, *NO_OVERFLOW)
    wide = int(math.log2(kernel.lanes))  # the levels on which siblings walk side by side
    assert c + 1 <= live <= (kernel.lanes * (c + 1 - wide) if c > wide else 2**c)
    done = kernel.standard(state * 0, **job, folds=np.arange(k))
    assert done == (k * (k - 1), 3 * k * (k - 1), 0, 1, *NO_OVERFLOW)


def test_seed_and_repetition_name_the_orders():
    X, y = table(40, 4)
    found = {}
    for order in ORDERS:
        for seed, repetition in ((0, 0), (1, 0), (0, 1), (2**64 - 1, 0)):
            feed = Feed(Rows(X, y), uneven(40, 6), order, seed, repetition)
            found[order, seed, repetition] = assert_both_same(Tree(), learners.Pegasos(0.1), feed).tobytes()
    assert len({bits for (order, *_), bits in found.items() if order == "fixed"}) == 1
    assert len(set(found.values())) == 1 + 4 + 4


@pytest.mark.parametrize("strategy", [Tree(), Standard()], ids=lambda strategy: strategy.name)
def test_counts_are_those_of_one_run(strategy):
    X, y = table(20, 2)
    (_, _, _, counts), _ = both(strategy, LEARNERS[0], Feed(Rows(X, y), uneven(20, 5)))
    assert isinstance(counts, Counts)
    assert counts.chunk_updates == (12 if strategy.name == "tree" else 20)


@pytest.mark.parametrize("strategy", [Tree(), Standard()], ids=lambda strategy: strategy.name)
@pytest.mark.parametrize("python", [False, True])
def test_a_margin_of_nan_fails_the_folds_that_learn_the_row(strategy, python):
    """Both rows are finite, and so is their sum: only the margin is not."""
    X = np.array([[2, -3], [3e38, 3e38], [-2, 3], [2, -2], [-1, 2], [2, -1]], "float32")
    feed = Feed(Rows(X, np.array([1, 0, 0, 1, 0, 1], np.int32)), Chunks(6))
    learner, sink = learners.Pegasos(0.1, fit_intercept=False), sink_over(feed)
    strategy.plan(feed, schema_of(X)).run(reference_of(learner) if python else learner, sink)
    assert np.delete(sink.failed, 1).tolist() == [1] * 5


@pytest.mark.parametrize("before", [1, 5, 13])
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("strategy", [Tree(), Standard()], ids=lambda strategy: strategy.name)
@pytest.mark.parametrize("scattered", [False, True])
def test_rows_in_no_fold_are_learnt_by_every_model(strategy, order, before, scattered):
    X, y = table(20, 3)
    index = np.random.default_rng(0).permutation(20) if scattered else None
    offsets = np.sort(np.r_[before, np.random.default_rng(1).permutation(np.arange(before + 1, 20))[:4], 20])
    for learner in (learner for learner in LEARNERS if learner.call_free):
        feed = Feed(Rows(X, targets(learner, y), index=index), Chunks(20, offsets), order, 3)
        found = [sink_over(feed, learner), sink_over(feed, learner)]
        for one, sink in zip((learner, reference_of(learner)), found, strict=True):
            counts = strategy.plan(feed, schema_of(X)).run(one, sink)
            assert counts.row_updates > 0
        assert_same_bits(found[0].predicted, found[1].predicted)
        rows = np.arange(20) if index is None else index
        assert np.isnan(found[0].predicted[rows[:before]]).all()
        for fold in range(5):
            begin, end = offsets[fold], offsets[fold + 1]
            learnt = np.delete(rows, np.arange(begin, end))
            if order != "fixed":
                continue
            inside = [rows[offsets[i] : offsets[i + 1]] for i in reference.tree_order(fold, 5)]
            learnt = np.concatenate([rows[:before], *inside]) if strategy.name == "tree" else np.sort(learnt)
            state = trained(learner, X[learnt], targets(learner, y)[learnt])
            expected = learner.predict(state, Rows(X[rows[begin:end]]))
            assert_same_bits(found[0].predicted[rows[begin:end]], expected)


@pytest.mark.parametrize("strategy", [Tree(), Standard()], ids=lambda strategy: strategy.name)
@pytest.mark.parametrize("python", [False, True])
def test_a_poisoned_row_fails_exactly_the_folds_that_learn_it(strategy, python):
    n, k = 24, 7
    chunks = uneven(n, k)
    learner = learners.LSQSGD(0.1)
    for poisoned in range(n):
        X, y = table(n, 3, "float32")
        clean, feed = sink_over(Feed(Rows(X, y), chunks)), Feed(Rows(X, y), chunks)
        strategy.plan(feed, schema_of(X)).run(learner, clean)
        X = X.copy()
        X[poisoned] = 1e30
        feed = Feed(Rows(X, y), chunks)
        sink = sink_over(feed)
        strategy.plan(feed, schema_of(X)).run(reference_of(learner) if python else learner, sink)
        own = int(np.searchsorted(chunks.offsets, poisoned, side="right")) - 1
        assert sink.failed.tolist() == [int(fold != own) for fold in range(k)]
        spared = np.array([row for row in range(*chunks.span(own, own)) if row != poisoned], int)
        assert_same_bits(sink.predicted[spared], clean.predicted[spared])
        assert np.isfinite(sink.predicted[poisoned])
