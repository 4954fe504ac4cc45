"""Folds of every shape, and what scikit-learn itself says of each: the truth that shortcuts are compared with."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st
from sklearn.base import clone

from treecv.adapters.steps import steps_of
from treecv.data import Chunks, Feed, Rows
from treecv.learner import Schema


@dataclass
class Task:
    X: Any
    y: Any = None
    weights: Any = None
    index: Any = None
    offsets: Any = None
    classes: Any = None

    @property
    def n(self):
        return self.X.shape[0] if self.index is None else len(self.index)

    @property
    def schema(self):
        outputs = self.y.shape[1] if getattr(self.y, "ndim", 1) > 1 else 1
        sparse = not isinstance(self.X, np.ndarray)
        return Schema(self.n, self.X.shape[1], self.X.dtype.name, self.classes, outputs, sparse)

    @property
    def feed(self):
        return Feed(Rows(self.X, self.y, self.weights, self.index), Chunks(self.n, self.offsets))

    def folds(self):
        """The stored rows that each fold trains on, sorted as scikit-learn's are, and those that it holds out."""
        chunks, index = Chunks(self.n, self.offsets), np.arange(self.n) if self.index is None else self.index
        for fold in range(chunks.k):
            begin, end = chunks.span(fold, fold)
            yield np.sort(np.concatenate([index[:begin], index[end:]])), index[begin:end]


@st.composite
def splits(draw, n):
    """Offsets and index: leave-one-out, folds of any size, rows in no fold, rows in any order."""
    index = np.array(draw(st.permutations(range(n)))) if draw(st.booleans()) else None
    if draw(st.integers(0, 3)) == 0:
        return None, index
    before = draw(st.sampled_from([0, 0, 1, 3]))
    before = min(before, n - 2)
    k = draw(st.integers(2, n - before))
    cuts = draw(st.permutations(range(before + 1, n)))[: k - 1]
    return np.array([before, *sorted(cuts), n]), index


def steps(estimator):
    return list(steps_of(estimator))


def answers(estimator, task, *methods):
    """Of each fold, what these methods say of the rows held out, and the classes; None where scikit-learn raises."""
    return [_answers(estimator, task, methods, train, test) for train, test in task.folds()]


def _answers(estimator, task, methods, train, test):
    y = None if task.y is None else labels(task)[train]
    weights = {} if task.weights is None else {"sample_weight": task.weights[train]}
    try:
        model = clone(estimator).fit(task.X[train], y, **weights)
        return [getattr(model, method)(task.X[test]) for method in methods]
    except ValueError:
        return None


def labels(task):
    return task.y if task.classes is None else np.asarray(task.classes)[task.y]
