"""Data, learners and runs that several test modules share."""

import os

import numpy as np
import scipy.sparse

from treecv import learners
from treecv.data import Chunks, Rows
from treecv.learner import Schema, outputs_of
from treecv.learners import compiled
from treecv.probes import Leaves, Predictions, Sink
from treecv.tree import Node, walk

DTYPES = ("float32", "float64")
PYTHON = os.environ.get("TREECV_IMPLEMENTATION") == "python"
SANITIZED = "TREECV_SANITIZED" in os.environ

SETTINGS = {
    "Gaussian": [{"floor": 0.01}, {"full": False}],
    "GaussianMixture": [{"n_components": 3, "floor": 0.1}, {"n_components": 1, "start": 5, "power": 0.9}],
    "KMeans": [{"n_clusters": 3, "start": 4}, {"n_clusters": 6, "batch_size": 4, "seed": 5}],
    "LSQSGD": [{"step_size": 0.05}, {"step_size": 0.9, "radius": 0.4}, {"step_size": 0.3, "fit_intercept": False}],
    "Pegasos": [{"alpha": 0.03}, {"alpha": 1e-6}, {"alpha": 4.0, "fit_intercept": False}],
    "SGD": [
        {"loss": "log_loss", "class_weights": (0.5, 2.0)},
        {"loss": "huber", "classes": 0, "penalty": "elasticnet", "alpha": 0.02, "schedule": "invscaling", "average": 4},
        {"loss": "hinge", "penalty": "l1", "alpha": 0.01, "schedule": "pa1", "eta0": 0.4, "batch_size": 3},
        {"loss": "squared_hinge", "penalty": "none", "schedule": "constant", "eta0": 0.01, "fit_intercept": False},
    ],
    "Scaled": [
        {"model": learners.SGD(loss="modified_huber", average=2)},
        {"model": learners.SGD(loss="squared_error", classes=0), "scaler": "minmax", "low": -1.0, "clips": True},
    ],
}
"""A learner by name to settings in which each of its branches is taken."""

LEARNERS = [getattr(learners, name)(**chosen) for name, several in SETTINGS.items() for chosen in several]


def reference_of(learner):
    """The same learner in Python's arithmetic."""
    return compiled.reference_of(learner)


def table(n, d, dtype="float64", seed=0):
    """Features; targets 0 and 1, which are classes and numbers alike; classes overlap, so that learning goes on."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, d))
    y = (X @ random.normal(size=d) + random.normal(size=n) > 0).astype(np.int32)
    return X.astype(dtype), y


def schema_of(X):
    """What a learner is told of these rows, as if they were some of a larger table."""
    return Schema(max(X.shape[0], 20), X.shape[1], X.dtype.name, np.array([0, 1]))


def sparse_table(n, d, dtype="float64", seed=0, filled=0.3):
    """Compressed sparse rows, some of them without an entry, and targets 0 and 1."""
    X, y = table(n, d, dtype, seed)
    X[np.random.default_rng([seed, 1]).random((n, d)) > filled] = 0
    X[n // 2] = 0
    return scipy.sparse.csr_array(X), y


def chunks_of(sizes):
    return Chunks(int(np.sum(sizes)), np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64))


def uneven(n, k, seed=0):
    """k folds of at least one row."""
    cuts = np.sort(np.random.default_rng([seed, k]).permutation(np.arange(1, n))[: k - 1])
    return Chunks(n, np.concatenate([[0], cuts, [n]]).astype(np.int64))


def sink_over(feed, learner=None):
    return Sink(feed.chunks.k, Predictions.over(feed.rows.n_stored, outputs_of(learner)))


def walked(learner, feed, sink=None):
    """The sink after Algorithm 1, node by node, whatever else the learner can do."""
    sink = sink_over(feed, learner) if sink is None else sink
    state = learner.init(schema_of(feed.rows.X))
    walk(learner, state, Node(0, feed.chunks.k - 1), feed, Leaves(learner, feed, sink))
    return sink


def trained(learner, X, y):
    state = learner.init(schema_of(X))
    learner.update(state, Rows(X, y))
    return state


def assert_same_bits(one, other):
    """Equal to the last bit; all NaN are one."""
    one, other = np.asarray(one), np.asarray(other)
    assert one.dtype == other.dtype
    assert one.shape == other.shape
    if one.dtype.names:
        for name in one.dtype.names:
            assert_same_bits(one[name], other[name])
        return
    nan = np.isnan(one)
    np.testing.assert_array_equal(nan, np.isnan(other))
    kept, found = np.where(nan, 0, one).astype(one.dtype), np.where(nan, 0, other).astype(one.dtype)
    assert kept.tobytes() == found.tobytes(), f"first {np.ravel(kept)[np.ravel(kept != found)][:3]}"


def targets(learner, y, seed=0):
    """Classes as they are; for a regression, numbers near them."""
    return y if getattr(learner, "margins", False) else y + np.random.default_rng(seed).normal(size=len(y))
