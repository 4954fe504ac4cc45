"""The gate to the compiled core, each time in a process of its own."""

import os
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from cases import PYTHON
from treecv import kernels

LEVELS = [] if PYTHON else kernels.levels()
BEST = next(iter(LEVELS), "v1")
NEEDS_CORE = pytest.mark.skipif(PYTHON, reason="TREECV_IMPLEMENTATION=python keeps the extension out")


def python(program, implementation=None):
    environment = {name: value for name, value in os.environ.items() if name != "TREECV_IMPLEMENTATION"}
    if implementation is not None:
        environment["TREECV_IMPLEMENTATION"] = implementation
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", program], env=environment, capture_output=True, text=True, check=False
    )


SCORES = """
import sys
import numpy as np
from treecv import LSQSGD, Pegasos, cross_val_score
from treecv.data import load_covtype

X, y = load_covtype()
X, y = X[:120, :12] / np.float32(4096), (y[:120] == 1) * 1
for order in ("fixed", "randomized", "blocks"):
    for estimator, scoring in ((Pegasos(alpha=0.01), "accuracy"), (LSQSGD(step_size=0.1), "neg_mean_squared_error")):
        for cv in (4, "loo"):
            print(cross_val_score(estimator, X, y, cv=cv, order=order, seed=3, scoring=scoring).tobytes().hex())
print(sorted(name for name in sys.modules if name.startswith("treecv._core")), file=sys.stderr)
"""


@NEEDS_CORE
def test_all_implementations_give_the_same_scores():
    reference = python(SCORES, "python")
    assert reference.stderr.strip() == "[]"
    assert len(set(reference.stdout.split())) > 6  # the orders differ
    for level in LEVELS:
        native = python(SCORES, level)
        # The baseline is asked what this machine runs, by way of which it is always loaded.
        assert native.stderr.strip() == str(sorted({"treecv._core_v1", f"treecv._core_{level}"}))
        assert native.stdout == reference.stdout, level


def test_native_is_the_default():
    show = "from treecv import kernels; print(kernels.core)"
    assert python(show, "python").stdout == "None\n"
    assert python(show, "native").stdout == python(show).stdout
    assert f"_core_{BEST}" in python(show).stdout


def test_an_unknown_implementation_is_named_with_the_cure():
    done = python("import treecv.kernels", "fortran")
    assert done.returncode == 1
    expected = "TREECV_IMPLEMENTATION='fortran' is not known: use 'native' for the best level that this machine runs"
    assert f"treecv.errors.InputError: {expected}" in done.stderr


def test_a_core_that_was_not_built_says_how_to_build_it():
    done = python("import sys; sys.modules['treecv._core_v1'] = None; import treecv.kernels")
    assert done.returncode == 1
    assert re.search(r"ModuleNotFoundError: .*_core_v1.*\n.*is missing. Build it with: pip install \.", done.stderr)


def test_rows_the_core_cannot_copy_are_copied_by_numpy():
    X = np.arange(12, dtype=np.int16).reshape(4, 3)
    assert kernels.gather(X, np.array([3, 0])).tolist() == [[9, 10, 11], [0, 1, 2]]


LONG = """
import signal
import numpy as np
from treecv.data import Chunks, Feed, Rows, load_covtype
from treecv.learner import Schema
from treecv.learners import LSQSGD, Pegasos
from treecv.probes import Predictions, Sink
from treecv.strategies import Standard, Tree

signal.signal(signal.SIGINT, signal.default_int_handler)
X, y = load_covtype()
X, y = np.tile(X, (2, 1)).astype(np.float32), np.tile(y == 1, 2).astype(np.int32)
n, learner = len(X), LSQSGD(1e-3)


def carry_out(strategy, rows, chunks, order="fixed"):
    feed, sink = Feed(rows, chunks, order), Sink(chunks.k, Predictions.over(len(rows.X)))
    schema = Schema(n, rows.X.shape[1], "float32")
    print("ready", flush=True)
    strategy.plan(feed, schema).run(learner, sink)


def update(wide, rows):
    state = learner.init(Schema(len(wide), wide.shape[1], "float32"))
    print("ready", flush=True)
    learner.update(state, rows)
"""
WORK = {
    "standard": "carry_out(Standard(), Rows(X, y), Chunks(n))",
    "standard in random order": "carry_out(Standard(), Rows(X, y), Chunks(n), 'randomized')",
    "tree": "X = np.tile(X, (1, 20))[:4000]\nr = np.random.default_rng(0).integers(0, 4000, 3_000_000)\n"
    "carry_out(Tree(), Rows(X, y[:4000], index=r), Chunks(3_000_000))",
    "one update": "wide = np.ones((4, 1_000_000), np.float32)\n"
    "update(wide, Rows(wide, y[:4], index=np.zeros(100_000, np.int64)))",
    "one row after another": "r = np.zeros(60_000_000, np.int64)\nupdate(X, Rows(X, y, index=r))",
}


@NEEDS_CORE
@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGINT to send")
@pytest.mark.parametrize("work", WORK)
def test_ctrl_c_ends_a_long_walk_within_a_second(work):
    with subprocess.Popen(
        [sys.executable, "-c", LONG + WORK[work]], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout.readline() == "ready\n", process.stderr.read()
            time.sleep(0.3)
            assert process.poll() is None, "it was over before it could be interrupted"
            process.send_signal(signal.SIGINT)
            begin = time.monotonic()
            _, errors = process.communicate(timeout=20)
            seconds = time.monotonic() - begin
        finally:
            process.kill()
    assert process.returncode == -signal.SIGINT
    assert errors.rstrip().endswith("KeyboardInterrupt")
    assert seconds < 1
