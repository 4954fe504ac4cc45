"""Predictions never change: not with versions, instruction sets or platforms.

The stored ones are hexadecimal, so they are compared bit by bit. A change that is meant is written by
`python tests/test_golden.py`, and shows in the diff of tests/golden.
"""

import hashlib
import itertools
import json
from pathlib import Path

import numpy as np
import pytest

from cases import DTYPES, reference_of, schema_of, sink_over
from treecv import learners
from treecv.data import Chunks, Feed, Rows, load_covtype
from treecv.order import ORDERS
from treecv.strategies import choose

STORED = Path(__file__).parent / "golden" / "predictions.json"
LEARNERS = (learners.LSQSGD(step_size=0.05), learners.Pegasos(alpha=0.001))
CASES = {
    f"{type(learner).__name__} {strategy} {order} {dtype}": (learner, strategy, order, dtype)
    for learner, strategy, order, dtype in itertools.product(LEARNERS, ("tree", "standard"), ORDERS, DTYPES)
}
FOLDS = (0, 10, 11, 60, 130, 180, 250, 333, 400, 490, 500)
N, SHOWN = FOLDS[-1], 8


def rows_of(dtype):
    """The first rows of the sample, brought to the same range by powers of two: no rounding differs anywhere."""
    X, y = load_covtype()
    X, y = X[:N].astype(np.float64), y[:N]
    _, exponent = np.frexp(np.abs(X).max(axis=0))
    return Rows(np.ldexp(X, -exponent).astype(dtype), (y == 1).astype(np.int32))


def predictions(learner, strategy, order, dtype):
    rows = rows_of(dtype)
    feed = Feed(rows, Chunks(N, np.array(FOLDS)), order, seed=2015, repetition=1)
    sink = sink_over(feed)
    choose(strategy).plan(feed, schema_of(rows.X)).run(learner, sink)
    return sink.predicted


def digest(predicted):
    """A few predictions to look at, and a hash of the bits of all."""
    bits = hashlib.sha256(predicted.astype("<f8").tobytes()).hexdigest()
    return {"first": [float(value).hex() for value in predicted[:SHOWN]], "all": bits}


def regenerate():
    STORED.parent.mkdir(exist_ok=True)
    found = {name: digest(predictions(*case)) for name, case in CASES.items()}
    STORED.write_text(json.dumps(found, indent=1) + "\n")


def test_every_case_is_stored():
    assert list(json.loads(STORED.read_text())) == list(CASES)


@pytest.mark.parametrize("name", CASES)
def test_predictions_are_the_stored_ones(name):
    assert digest(predictions(*CASES[name])) == json.loads(STORED.read_text())[name]


@pytest.mark.parametrize("name", [name for name in CASES if "tree" in name])
def test_the_reference_gives_them_too(name):
    learner, *rest = CASES[name]
    assert digest(predictions(reference_of(learner), *rest)) == json.loads(STORED.read_text())[name]


if __name__ == "__main__":
    regenerate()
