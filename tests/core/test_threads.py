"""Threads, instruction sets and the storage of rows change no bit."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse
from sklearn.linear_model import SGDClassifier, SGDRegressor
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from cases import (
    DTYPES,
    LEARNERS,
    SANITIZED,
    assert_same_bits,
    reference_of,
    schema_of,
    sparse_table,
    table,
    targets,
    uneven,
)
from treecv import LSQSGD, Pegasos, cross_validate, kernels
from treecv.data import Chunks, Feed, Rows
from treecv.learner import outputs_of
from treecv.learners import SGD
from treecv.order import ORDERS
from treecv.probes import ExtraRows, Predictions, Sink
from treecv.strategies import Standard, Tree

N = 61
THREADS = [2, 3, 8]
SPARSE = [learner for learner in LEARNERS if getattr(learner, "sparse", False)]
IN_PROCESSES = pytest.mark.skipif(SANITIZED, reason="a process of its own would load another core")


def rows_for(learner, sparse, dtype="float64", n=N, d=7):
    X, y = sparse_table(n, d, dtype) if sparse else table(n, d, dtype)
    weights = np.random.default_rng(2).random(n) if getattr(learner, "weighs", False) else None
    return Rows(X, targets(learner, y), weights)


def outcome(strategy, learner, feed, threads):
    """All that a run gives."""
    extra, outputs = Rows(feed.rows.X[:3]), outputs_of(learner)
    sink = Sink(feed.k, Predictions.over(feed.rows.n_stored, outputs), ExtraRows.over(extra, feed.k, outputs))
    counts = strategy.plan(feed, schema_of(feed.rows.X)).run(learner, sink, threads)
    return sink.predictions.values, sink.extra.values, sink.failed, counts, sink.overflow


def assert_same(one, other):
    for mine, theirs in zip(one[:3], other[:3], strict=True):
        assert_same_bits(mine, theirs)
    assert one[3:] == other[3:]


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("strategy", [Tree(), Standard()], ids=lambda strategy: strategy.name)
class TestAnyNumberOfThreads:
    @pytest.mark.parametrize("learner", LEARNERS, ids=repr)
    @pytest.mark.parametrize("dtype", DTYPES)
    def test_dense(self, learner, strategy, order, dtype):
        rows = rows_for(learner, False, dtype)
        for chunks in (uneven(N, 17), uneven(N, 2), Chunks(N)):
            feed = Feed(rows, chunks, order, seed=3, repetition=1)
            alone = outcome(strategy, learner, feed, 1)
            assert not np.isnan(alone[0]).any()
            for threads in THREADS:
                assert_same(outcome(strategy, learner, feed, threads), alone)

    @pytest.mark.parametrize("learner", SPARSE, ids=repr)
    @pytest.mark.parametrize("dtype", DTYPES)
    def test_sparse(self, learner, strategy, order, dtype):
        rows = rows_for(learner, True, dtype, d=90)
        for chunks in (uneven(N, 17), Chunks(N)):
            feed = Feed(rows, chunks, order, seed=3, repetition=1)
            alone = outcome(strategy, learner, feed, 1)
            for threads in THREADS:
                assert_same(outcome(strategy, learner, feed, threads), alone)

    @pytest.mark.parametrize("learner", LEARNERS[::2], ids=repr)
    def test_rows_through_an_index_and_before_the_first_fold(self, learner, strategy, order):
        rows = rows_for(learner, False)
        rows.index = np.random.default_rng(0).permutation(N)[: N - 4]
        offsets = np.r_[5, np.arange(9, N - 4, 4), N - 4]
        feed = Feed(rows, Chunks(N - 4, offsets), order, seed=1)
        alone = outcome(strategy, learner, feed, 1)
        for threads in THREADS:
            assert_same(outcome(strategy, learner, feed, threads), alone)


@pytest.mark.parametrize("threads", THREADS)
@pytest.mark.parametrize("sparse", [False, True])
def test_a_subtree_and_the_work_done(threads, sparse):
    learner = SPARSE[0]
    rows = rows_for(learner, sparse)
    feed, found = Feed(rows, uneven(N, 16)), []
    for several in (1, threads):
        state = learner.init(schema_of(rows.X))
        learner.update(state, rows.stretch(*feed.chunks.span(8, 15)))
        sink = Sink(16, Predictions.over(N))
        counts = learner.walk(state, feed, sink, 0, 7, several)
        found.append((sink.predicted, counts))
    assert_same_bits(found[0][0], found[1][0])
    assert found[0][1] == found[1][1]
    assert counts.chunk_updates == 24


@pytest.mark.parametrize("threads", [1, *THREADS])
@pytest.mark.parametrize("strategy", [Tree(), Standard()], ids=lambda strategy: strategy.name)
@pytest.mark.parametrize("poisoned", [12, 31, 50])
@pytest.mark.parametrize("sparse", [False, True])
def test_an_overflow_in_any_thread_is_that_of_the_first_fold(sparse, poisoned, strategy, threads):
    learner = SGD(loss="squared_error", classes=0, schedule="constant", eta0=1.0, penalty="none")
    rows = rows_for(learner, sparse)
    poison = slice(*rows.X.indptr[poisoned : poisoned + 2]) if sparse else poisoned
    (rows.X.data if sparse else rows.X)[poison] = 1e300
    feed = Feed(rows, Chunks(N))
    *_, failed, _, overflow = outcome(strategy, learner, feed, threads)
    *_, expected, _, first = outcome(strategy, reference_of(learner), feed, 1)
    assert overflow == first
    assert overflow is not None
    assert failed.tolist() == expected.tolist()


@pytest.mark.parametrize(
    "estimator",
    [
        Pegasos(alpha=0.01),
        LSQSGD(step_size=0.05),
        SGDClassifier(loss="log_loss", random_state=0),
        SGDClassifier(penalty="l1", alpha=0.01, average=10, shuffle=False),
        SGDRegressor(random_state=0),
        make_pipeline(StandardScaler(), SGDClassifier(random_state=0)),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
@pytest.mark.parametrize("cv", [KFold(9), KFold(9, shuffle=True, random_state=0), "loo"])
@pytest.mark.parametrize("strategy", ["tree", "standard"])
def test_the_front_door(estimator, cv, strategy):
    X, y = table(N, 7)
    asked = {"cv": cv, "strategy": strategy, "return_predictions": True, "scoring": "neg_mean_absolute_error"}
    storage = (
        [X]
        if isinstance(estimator, Pegasos | LSQSGD) or hasattr(estimator, "steps")
        else [X, scipy.sparse.csr_array(X)]
    )
    for rows in storage:
        alone = cross_validate(estimator, rows, y, **asked)
        for n_jobs in (2, 3, -1):
            found = cross_validate(estimator, rows, y, n_jobs=n_jobs, **asked)
            assert_same_bits(found["test_score"], alone["test_score"])
            assert_same_bits(found["predictions"], alone["predictions"])
            assert found.record.counts == alone.record.counts


def test_estimators_are_taken_by_one_thread_in_order():
    X, y = table(N, 7)
    asked = {"cv": 9, "strategy": "tree", "return_estimator": True, "return_train_score": True}
    alone = cross_validate(SGDClassifier(random_state=0), X, y, **asked)
    found = cross_validate(SGDClassifier(random_state=0), X, y, n_jobs=2, **asked)
    assert_same_bits(found["train_score"], alone["train_score"])
    for one, other in zip(found["estimator"], alone["estimator"], strict=True):
        assert_same_bits(one.coef_, other.coef_)


def test_more_threads_than_folds():
    rows = rows_for(LEARNERS[0], False)
    feed = Feed(rows, uneven(N, 3))
    for strategy in (Tree(), Standard(), Standard([1]), Standard([])):
        assert_same(outcome(strategy, LEARNERS[0], feed, 40), outcome(strategy, LEARNERS[0], feed, 1))


def python(program, **environment):
    """A process of its own, which finds what tests share."""
    kept = {name: value for name, value in os.environ.items() if name != "TREECV_IMPLEMENTATION"}
    path = {"PYTHONPATH": str(Path(__file__).parents[1])}
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-c", program],
        env=kept | path | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


BITS = """
import numpy as np
from cases import DTYPES, LEARNERS, schema_of, sparse_table, table, targets, uneven
from treecv.data import Chunks, Feed, Rows
from treecv.learner import outputs_of
from treecv.order import ORDERS
from treecv.probes import Predictions, Sink
from treecv.strategies import Standard, Tree

for learner in LEARNERS:
    for sparse in (False, True) if getattr(learner, "sparse", False) else (False,):
        for dtype in DTYPES:
            X, y = (sparse_table if sparse else table)(53, 21, dtype)
            for order in ORDERS:
                for chunks in (uneven(53, 11), Chunks(53)):
                    for strategy in (Tree(), Standard()):
                        sink = Sink(chunks.k, Predictions.over(53, outputs_of(learner)))
                        feed = Feed(Rows(X, targets(learner, y)), chunks, order, 3)
                        strategy.plan(feed, schema_of(X)).run(learner, sink, 2)
                        bits = sink.predicted.tobytes().hex()
                        print(learner, sparse, dtype, order, chunks.k, strategy.name, bits)
"""


@IN_PROCESSES
def test_all_levels_give_the_same_bits():
    found = {}
    for level in kernels.levels():
        with python(BITS, TREECV_IMPLEMENTATION=level) as process:
            found[level], errors = process.communicate(timeout=100)
            assert not errors
    assert "v1" in found
    first = found["v1"].splitlines()
    assert len(first) > 200
    for level, lines in found.items():
        different = [one for one, other in zip(first, lines.splitlines(), strict=True) if one != other]
        assert not different, level


LONG = """
import os
import signal
import time
import numpy as np
import scipy.sparse
from treecv.data import Chunks, Feed, Rows
from treecv.learner import Schema
from treecv.learners import SGD, Scaled
from treecv.probes import Predictions, Sink
from treecv.strategies import Standard, Tree

signal.signal(signal.SIGINT, signal.default_int_handler)
random = np.random.default_rng(0)
dense, y = random.normal(size=(400_000, 60)), random.integers(0, 2, 400_000)
model = SGD(loss="log_loss")


def threads():
    return len(os.listdir("/proc/self/task")) if os.path.isdir("/proc/self/task") else 0


def carry_out(strategy, learner, X, y, k, order="fixed"):
    n = X.shape[0]
    chunks = Chunks(n, np.linspace(0, n, k + 1).astype(np.int64))
    feed, sink = Feed(Rows(X, y), chunks, order, 1), Sink(k, Predictions.over(n))
    before = threads()
    print("ready", flush=True)
    try:
        strategy.plan(feed, Schema(n, X.shape[1], X.dtype.name, np.arange(2))).run(learner, sink, 2)
    finally:
        for _ in range(100):  # a thread that was joined stays listed for a moment
            if threads() > before:
                time.sleep(0.001)
        assert threads() == before, (threads(), before)
"""
WORK = {
    "tree": "carry_out(Tree(), model, dense, y, 400_000)",
    "tree of two folds": "carry_out(Tree(), model, np.tile(dense, (5, 1)), np.tile(y, 5), 2)",
    "tree in random order": "carry_out(Tree(), model, dense, y, 1000, 'randomized')",
    "tree behind a scaler": "carry_out(Tree(), Scaled(model), dense, y, 400_000)",
    "tree of sparse rows": "carry_out(Tree(), model, scipy.sparse.csr_array(dense), y, 400_000)",
    "standard": "carry_out(Standard(), model, dense, y, 1000)",
    "standard of two folds": "carry_out(Standard(), model, np.tile(dense, (5, 1)), np.tile(y, 5), 2)",
}


@IN_PROCESSES
@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGINT to send")
@pytest.mark.parametrize("work", WORK)
def test_ctrl_c_ends_all_threads_within_a_second(work):
    with python(LONG + WORK[work]) as process:
        try:
            assert process.stdout.readline() == "ready\n", process.stderr.read()
            time.sleep(0.1)
            assert process.poll() is None, "it was over before it could be interrupted"
            process.send_signal(signal.SIGINT)
            begin = time.monotonic()
            _, errors = process.communicate(timeout=20)
            seconds = time.monotonic() - begin
        finally:
            process.kill()
    assert errors.rstrip().endswith("KeyboardInterrupt")
    assert errors.count("Traceback") == 1
    assert seconds < 1
