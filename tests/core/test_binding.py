"""What the core refuses: arrays are used as they are, never converted, and never left."""

import threading
import time

import numpy as np
import pytest

from cases import DTYPES, SANITIZED, table
from treecv import kernels

WRONG_TYPE = "incompatible function arguments"
N, D = 20, 5


class Call:
    """A kernel's arguments, all of them right, to be changed one at a time."""

    def __init__(self, dtype="float64", name="Pegasos"):
        settings = (0.1, True) if name == "Pegasos" else (0.1, 1.0, True)
        self.kernel = getattr(kernels.core, f"{name}{dtype.capitalize()}")(D, *settings)
        self.X, y = table(N, D, dtype)
        self.y = y if name == "Pegasos" else y.astype(float)
        self.state = np.zeros(self.kernel.state_bytes, np.uint8)

    def update(self, **changes):
        return self.kernel.update(**{"state": self.state, "X": self.X, "y": self.y} | changes)

    def predict(self, **changes):
        return self.kernel.predict(**{"state": self.state, "X": self.X, "out": np.zeros(N)} | changes)

    def walk(self, **changes):
        return self.kernel.walk(**self._job() | {"first": 0, "last": N - 1} | changes)

    def standard(self, **changes):
        return self.kernel.standard(**self._job() | {"folds": np.arange(3)} | changes)

    def _job(self):
        job = dict.fromkeys(["index", "offsets", "extra", "extra_predictions", "on_state"])
        arrays = {"state": self.state, "X": self.X, "y": self.y, "predictions": np.zeros(N)}
        return job | arrays | {"order": "fixed", "seed": 0, "repetition": 0, "failed": np.zeros(N, np.uint8)}


def read_only(array):
    array = array.copy()
    array.flags.writeable = False
    return array


def offsets(*cuts):
    return {"offsets": np.array(cuts, np.int64), "failed": np.zeros(len(cuts) - 1, np.uint8), "last": 0}


OVERLAPPING = np.lib.stride_tricks.sliding_window_view(np.arange(N + D - 1.0), D)
ANY_CALL = [
    ({"X": np.zeros((N, D), np.float32)}, TypeError, WRONG_TYPE),
    ({"X": np.zeros((N, D), np.int64)}, TypeError, WRONG_TYPE),
    ({"X": np.zeros((N, D), ">f8")}, TypeError, WRONG_TYPE),
    ({"X": np.zeros((N, D)).tolist()}, TypeError, WRONG_TYPE),
    ({"X": np.zeros(N)}, TypeError, WRONG_TYPE),
    ({"X": np.zeros((N, D + 1))}, ValueError, "another width"),
    ({"X": np.zeros((N, D), order="F")}, ValueError, "side by side"),
    ({"X": np.zeros((N, 2 * D))[:, ::2]}, ValueError, "side by side"),
    ({"X": OVERLAPPING}, ValueError, "overlap"),
    ({"X": np.zeros((N, D))[::-1]}, ValueError, "overlap"),
    ({"X": np.broadcast_to(np.zeros(D), (N, D))}, ValueError, "overlap"),
    ({"state": np.zeros(8, np.uint8)}, ValueError, "size this learner needs"),
    ({"state": np.zeros(0, np.uint8)}, ValueError, "size this learner needs"),
    ({"state": np.zeros(16)}, TypeError, WRONG_TYPE),
    ({"index": np.arange(N, dtype=np.int32)}, TypeError, WRONG_TYPE),
    ({"index": np.arange(2 * N)[::2]}, TypeError, WRONG_TYPE),
    ({"index": np.full(N, N)}, ValueError, "a row that X does not have"),
    ({"index": np.arange(N) - 1}, ValueError, "a row that X does not have"),
]
LEARNING = [
    ({"y": np.zeros(N, np.int64)}, TypeError, WRONG_TYPE),
    ({"y": np.zeros(N)}, TypeError, WRONG_TYPE),
    ({"y": np.zeros(2 * N, np.int32)[::2]}, TypeError, WRONG_TYPE),
    ({"y": np.zeros(N - 1, np.int32)}, ValueError, "differ in length"),
    ({"state": read_only(np.zeros(128, np.uint8))}, TypeError, WRONG_TYPE),
]
JOB = [
    ({"order": "sorted"}, ValueError, "'fixed', 'randomized' or 'blocks'"),
    ({"seed": -1}, TypeError, WRONG_TYPE),
    ({"seed": 2**64}, TypeError, WRONG_TYPE),
    ({"repetition": -1}, TypeError, WRONG_TYPE),
    ({"failed": np.zeros(N - 1, np.uint8)}, ValueError, "one byte a fold"),
    ({"failed": np.zeros(N, bool)}, TypeError, WRONG_TYPE),
    ({"predictions": np.zeros(N + 1)}, ValueError, "a number for each output of each stored row"),
    ({"predictions": np.zeros(N, np.float32)}, TypeError, WRONG_TYPE),
    ({"predictions": read_only(np.zeros(N))}, TypeError, WRONG_TYPE),
    ({"predictions": np.zeros((N, 2))[:, 0]}, TypeError, WRONG_TYPE),
    ({"extra": np.zeros((3, D))}, ValueError, "go together"),
    ({"extra_predictions": np.zeros(N * 3)}, ValueError, "go together"),
    ({"extra": np.zeros((3, D)), "extra_predictions": np.zeros(N * 4)}, ValueError, "of its rows, for every fold"),
    ({"extra": np.zeros((3, D)), "extra_predictions": np.zeros(N * 3 - 1)}, ValueError, "of its rows, for every fold"),
    ({"extra": np.zeros((3, D)), "extra_predictions": np.zeros((N, 3))}, TypeError, WRONG_TYPE),
    ({"extra": np.zeros((3, D)), "extra_predictions": np.zeros(N * 6)[::2]}, TypeError, WRONG_TYPE),
    ({"extra": np.zeros((3, D + 1)), "extra_predictions": np.zeros(N * 3)}, ValueError, "another width"),
    ({"extra": np.zeros((3, D), np.float32), "extra_predictions": np.zeros(N * 3)}, TypeError, WRONG_TYPE),
    ({"on_state": 3}, TypeError, WRONG_TYPE),
    ({"offsets": np.arange(N + 1, dtype=np.int32)}, TypeError, WRONG_TYPE),
]
WALK = [
    ({"first": -1}, ValueError, "no such node"),
    ({"last": N}, ValueError, "no such node"),
    ({"first": 3, "last": 2}, ValueError, "no such node"),
    (offsets(0, 5, N - 1), ValueError, "from 0 or more to the number of rows"),
    (offsets(0, 5, N + 1), ValueError, "from 0 or more to the number of rows"),
    (offsets(-1, 5, N), ValueError, "from 0 or more to the number of rows"),
    (offsets(0, 12, 7, N), ValueError, "from 0 or more to the number of rows"),
    (offsets(0, -7, N), ValueError, "from 0 or more to the number of rows"),
    (offsets(0), ValueError, "from 0 or more to the number of rows"),
]
STANDARD = [
    ({"folds": np.array([0, N])}, ValueError, "no such fold"),
    ({"folds": np.array([-1])}, ValueError, "no such fold"),
    ({"folds": np.array([0], np.int32)}, TypeError, WRONG_TYPE),
    ({"folds": [0]}, TypeError, WRONG_TYPE),
]
PREDICT = [
    ({"out": np.zeros(N - 1)}, ValueError, "a number for each output of a row"),
    ({"out": np.zeros(N, np.float32)}, TypeError, WRONG_TYPE),
    ({"out": read_only(np.zeros(N))}, TypeError, WRONG_TYPE),
    ({"out": np.zeros(3), "index": np.array([1, 2])}, ValueError, "a number for each output of a row"),
]


def refused(method, cases):
    return [(method, *case) for case in cases]


@pytest.mark.parametrize(
    ("method", "changes", "error", "message"),
    [
        *refused("update", ANY_CALL + LEARNING),
        *refused("predict", ANY_CALL + PREDICT),
        *refused("walk", ANY_CALL + LEARNING + JOB + WALK),
        *refused("standard", ANY_CALL + LEARNING + JOB + STANDARD),
    ],
)
def test_a_wrong_argument_is_refused(method, changes, error, message):
    call = Call()
    with pytest.raises(error, match=message):
        getattr(call, method)(**changes)
    assert not call.state.any()


@pytest.mark.parametrize("name", ["Pegasos", "LSQSGD"])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("method", ["update", "predict", "walk", "standard"])
def test_the_right_arguments_are_not(method, dtype, name):
    getattr(Call(dtype, name), method)()
    getattr(Call(dtype, name), method)(X=read_only(Call(dtype).X))


@pytest.mark.parametrize("name", ["Pegasos", "LSQSGD"])
def test_targets_of_the_other_learner_are_refused(name):
    y = Call(name="LSQSGD" if name == "Pegasos" else "Pegasos").y
    with pytest.raises(TypeError, match=WRONG_TYPE):
        Call(name=name).update(y=y)


def test_no_rows_are_learnt_and_predicted_in_no_time():
    call = Call()
    call.update(X=call.X[:0], y=call.y[:0])
    call.update(index=np.zeros(0, np.int64))
    call.predict(out=np.zeros(0), index=np.zeros(0, np.int64))
    assert not call.state.any()


@pytest.mark.parametrize("name", ["PegasosFloat32", "LSQSGDFloat64"])
def test_a_negative_width_is_refused(name):
    settings = (0.1, True) if name.startswith("P") else (0.1, 1.0, True)
    with pytest.raises(ValueError, match="0 features or more"):
        getattr(kernels.core, name)(-5, *settings)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("d", [1, 7, 16, 54])
def test_gather_copies_the_rows_named_and_leaves_the_table(d, dtype):
    random = np.random.default_rng(d)
    wide = random.normal(size=(50, d + 2)).astype(dtype)
    for X in (wide, wide[:, 2:], wide[::2], wide[1::2, :d]):
        for size in (1, 2, 15, 16, 17, 200):
            index = random.integers(0, len(X), size)
            np.testing.assert_array_equal(kernels.gather(X, index), X[index])
    assert kernels.gather(wide, np.zeros(0, np.int64)).shape == (0, d + 2)


@pytest.mark.parametrize(
    ("index", "out", "error", "message"),
    [
        (np.array([N]), np.zeros((1, D)), ValueError, "a row that X does not have"),
        (np.array([-1]), np.zeros((1, D)), ValueError, "a row that X does not have"),
        (np.array([0, 1]), np.zeros((1, D)), ValueError, "a row for each index"),
        (np.array([0]), np.zeros((1, D + 1)), ValueError, "a row for each index"),
        (np.array([0, 1]), np.zeros((2, D + 1))[:, :D], ValueError, "side by side"),
        (np.array([0, 1]), np.zeros((2, D), order="F"), ValueError, "side by side"),
        (np.array([0]), np.zeros((1, D), np.float32), TypeError, WRONG_TYPE),
    ],
)
def test_gather_refuses(index, out, error, message):
    with pytest.raises(error, match=message):
        kernels.core.gather(np.zeros((N, D)), index, out)


@pytest.mark.skipif(SANITIZED, reason="says nothing about memory, and is slow there")
@pytest.mark.parametrize("method", ["update", "predict", "walk", "standard"])
def test_another_thread_makes_progress_meanwhile(method):
    """The core does not hold the interpreter's lock."""
    X, y = table(2000, 200)
    call = Call()
    call.kernel, call.X, call.y = kernels.core.PegasosFloat64(200, 1e-3, True), X, y
    call.state = np.zeros(call.kernel.state_bytes, np.uint8)
    call.update()
    index = np.tile(np.arange(2000), 2000)
    halves = {"offsets": np.array([0, len(index) // 2, len(index)]), "failed": np.zeros(2, np.uint8)}
    halves["predictions"] = None
    changes = {
        "update": {},
        "predict": {"out": np.zeros(len(index))},
        "walk": halves | {"last": 1},
        "standard": halves | {"folds": np.arange(2)},
    }[method] | {"index": index}
    moments, done = [], threading.Event()

    def tick():
        while not done.is_set():
            moments.append(time.perf_counter())
            time.sleep(0.001)

    ticking = threading.Thread(target=tick)
    ticking.start()
    try:
        begin = time.perf_counter()
        getattr(call, method)(**changes)
        end = time.perf_counter()
    finally:
        done.set()
        ticking.join()
    assert sum(begin < moment < end for moment in moments) > 2  # of about a hundred; with the lock held none


def test_a_walk_may_run_in_any_thread():
    expected, found = np.zeros(N), np.zeros(N)
    Call().walk(predictions=expected)
    other = threading.Thread(target=lambda: Call().walk(predictions=found))
    other.start()
    other.join()
    np.testing.assert_array_equal(found, expected)
    assert expected.any()
