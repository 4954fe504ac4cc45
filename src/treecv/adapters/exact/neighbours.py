"""Nearest neighbours: one search over all rows answers every fold.

A row's nearest rows outside of its own fold are among its nearest rows of all, if enough of these are looked at. The
searches are scikit-learn's, so distances have its rounding. Where scikit-learn's own choice among equally distant rows
could show (`learners/neighbours.py` says which rows are settled without it), the fold is trained and asked by
scikit-learn itself.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor, NearestNeighbors
from sklearn.utils._param_validation import InvalidParameterError

from treecv.adapters.exact.recognised import Exact
from treecv.adapters.exact.table import Table
from treecv.data import Feed
from treecv.data.rows import nonfinite
from treecv.data.tables import take
from treecv.errors import CapabilityError
from treecv.learner import Schema
from treecv.learners.neighbours import (
    SAME_WEIGHT,
    Bools,
    Floats,
    Found,
    Ints,
    Nearest,
    Precision,
    close_votes,
    means,
    nearest,
    nearness,
    shares_of,
    without_class,
)

_KINDS = (KNeighborsClassifier, KNeighborsRegressor)
_TREES = ("manhattan", "cityblock", "l1", "euclidean", "minkowski", "chebyshev")
_METRICS = (*_TREES, "cosine")
_EPS = float(np.finfo(np.float64).eps)
_WHOLE = 2.0**47
"""Squared distances of whole numbers up to here are exact however they are summed, and so is their order."""


def recognised(estimator: Any, steps: list[tuple[str, Any]], schema: Schema) -> Exact | str | None:
    """The shortcut for a nearest-neighbour model, or why there is none."""
    model = steps[-1][1]
    if not isinstance(model, _KINDS):
        return None
    reason = _obstacle(model, steps, schema)
    if reason:
        return reason
    outputs = len(schema.classes) if isinstance(model, KNeighborsClassifier) else schema.n_outputs
    return NearestNeighbours(estimator, LeavesOut(model, outputs), schema)


def _obstacle(model: Any, steps: list[tuple[str, Any]], schema: Schema) -> str:
    """What the shortcut does not know about an estimator."""
    obstacles = {
        "it is a subclass, whose own methods would not be asked": type(model) not in _KINDS,
        "a transformer before it learns another scale in each fold": len(steps) > 1,
        "its targets are not one column of labels": (
            isinstance(model, KNeighborsClassifier) and getattr(schema.classes, "ndim", 0) != 1
        ),
        "weights is a function, which may look at all rows of a fold": callable(model.weights),
        f"metric={model.metric!r} is not one of {', '.join(_METRICS)}": model.metric not in _METRICS
        if isinstance(model.metric, str)
        else True,
        "metric_params may change the metric": bool(model.metric_params),
        f"p={model.p!r} makes no metric": model.metric == "minkowski" and not model.p >= 1,
        f"algorithm={model.algorithm!r} does not read sparse rows": (
            schema.sparse and model.algorithm not in ("auto", "brute")
        ),
        f"algorithm={model.algorithm!r} does not know metric='cosine'": (
            model.metric == "cosine" and model.algorithm not in ("auto", "brute")
        ),
        "weights='distance' with metric='cosine' counts on digits that are rounding": (
            model.weights == "distance" and model.metric == "cosine"
        ),
        "its settings are refused by `fit`": not _is_valid(model),
    }
    return next((obstacle for obstacle, stands in obstacles.items() if stands), "")


def _is_valid(model: Any) -> bool:
    try:
        model._validate_params()
    except InvalidParameterError:
        return False
    return True


class NearestNeighbours(Exact):
    """A nearest-neighbour model and its shortcut: shares of votes, or means."""

    def answered(self, method: str, values: NDArray[np.float64]) -> NDArray[Any]:
        """What a method of the estimator says of rows for which the learner gives these values."""
        if method == "predict":
            return values if self.schema.classes is None else np.asarray(self.schema.classes)[values.argmax(axis=1)]
        if method == "predict_proba" and self.schema.classes is not None:
            return np.where(np.isneginf(values), 0.0, values)
        raise AttributeError(f"{type(self.estimator).__name__!r} object has no attribute {method!r}")


@dataclass(frozen=True)
class LeavesOut:
    """Answers each row by its nearest rows outside of its fold.

    Parameters
    ----------
    model : KNeighborsClassifier or KNeighborsRegressor
        Its settings.
    outputs : int
        The classes, or the targets of a row.
    """

    model: Any
    outputs: int

    order_free: ClassVar[bool] = True
    call_free: ClassVar[bool] = True
    sparse: ClassVar[bool] = True
    several_targets: ClassVar[bool] = True
    closed: ClassVar[bool] = True

    @property
    def margins(self) -> bool:
        """Whether it gives a score for each class."""
        return isinstance(self.model, KNeighborsClassifier)

    def held_out(self, schema: Schema, feed: Feed) -> Floats:
        """The answers for all held-out rows, in the order of positions, each by the rows outside of its own fold.

        For a classifier the shares of the classes in the votes.
        """
        if feed.rows.weights is not None:
            raise CapabilityError(f"{type(self.model).__name__} does not weigh rows, but got weights: leave them out.")
        return Answers(self.model, schema, Table.of(feed)).all()

    def held_out_trainings(self, n_rows: int, n_features: int, k: int) -> float:
        """What the shortcut costs, in trainings with their predictions, of which plain cross-validation does k.

        Training is next to nothing, and k folds ask n rows in all, however many they are: plain cross-validation costs
        (k - 1) / k of a search over all rows, and a fixed price for each fold. So ten folds cost about as much either
        way, and leave-one-out by the shortcut up to some hundred times less. Rows whose ties scikit-learn must break
        cost a fold each, and are not foreseen here.
        """
        plain = (k - 1) / k + k * (_TREE if n_features <= _TREE_FEATURES else _COPIES) / n_rows
        return k * _SEARCHES / plain


_SEARCHES = 1.15
"""What the shortcut takes in searches, with what is looked at twice."""
_TREE, _COPIES = 500, 50
"""The rows that a search over all rows answers while a tree of all rows is built, or while they are copied and read."""
_TREE_FEATURES = 15
"""scikit-learn searches by a tree up to here, if it is left the choice."""


_ROWS = 1024


@dataclass
class Answers:
    """The answers to all held-out rows, as they become settled.

    Parameters
    ----------
    model : KNeighborsClassifier or KNeighborsRegressor
    schema : Schema
    table : Table
    """

    model: Any
    schema: Schema
    table: Table
    values: Floats = field(init=False)
    open: Bools = field(init=False)

    def __post_init__(self) -> None:
        self.n_neighbors = int(self.model.n_neighbors)
        self.is_classifier = isinstance(self.model, KNeighborsClassifier)
        self.codes = self.table.y.reshape(len(self.table), -1)
        width = len(self.schema.classes) if self.is_classifier else self.codes.shape[1]
        self.values = np.full((len(self.table), width), np.nan)
        self.open = np.zeros(len(self.table), bool)

    def all(self) -> Floats:
        """One answer a held-out row, in the order of positions."""
        if nonfinite(self.table.X) is None:
            self._search()
            for fold, rows in self._open_folds():
                self._ask(fold, rows)
            if self.is_classifier:
                self._forget_classes()
        values = self.values[self.table.held_out]
        return values if self.is_classifier or self.table.y.ndim > 1 else values[:, 0]

    def _forget_classes(self) -> None:
        known = ~np.isnan(self.values[:, :1])
        without_class(self.values, self.table.y, self.table.folds)
        np.copyto(self.values, np.nan, where=~known)

    def _search(self) -> None:
        """Settle what one search can, and leave the rest open."""
        table = self.table
        learnt = len(table) - table.sizes
        alike = [n_rows >= self.n_neighbors and self._method(n_rows) == self.method for n_rows in learnt.tolist()]
        self.open[table.held_out] = True
        rows = np.sort(table.held_out[np.repeat(alike, table.sizes)])
        if len(rows) == 0 or self._is_futile(rows):
            return
        least, hidden = self.n_neighbors + 1, int(table.sizes.max())
        share = hidden / max(len(table) - hidden, 1)
        width = least + min(hidden, 3 + 2 * int(np.ceil(least * share)))
        short = self._settle(rows, width)
        for _ in range(2):
            width *= 4
            if len(short) == 0 or (len(short) > len(rows) // 10 and hidden > width):
                return
            short = self._settle(short, width)

    def _is_futile(self, rows: Ints) -> bool:
        """Whether most folds would be asked again in any case; never for many folds, where that costs most."""
        few = len(self.table.sizes) <= _FEW_FOLDS
        if not few or len(rows) < _SAMPLE * _FEW_FOLDS:
            return False
        sample = rows[:: len(rows) // _SAMPLE]
        self._settle(sample, 4 * (self.n_neighbors + 3))
        futile = int(self.open[sample].sum()) * 2 > len(sample)
        self.open[sample] = True
        return futile

    def _settle(self, rows: Ints, width: int) -> Ints:
        """Look at so many neighbours of these rows; which of the rows need more."""
        width = min(width, len(self.table))
        distances, found = self._finder.kneighbors(
            take(self.table.X, rows) if len(rows) < len(self.table) else self.table.X, width
        )
        outside = self.table.folds[found] != self.table.folds[rows][:, np.newaxis]
        complete = width == len(self.table)
        precision = self._precision.of(rows)
        seen = nearest(Found(found, distances, outside, precision, complete), self.codes, self.n_neighbors)
        sure, answers = self._answers(seen, precision)
        self.values[rows[sure]] = answers[sure]
        self.open[rows[sure]] = False
        return rows[seen.short]

    def _answers(self, seen: Nearest, precision: Precision) -> tuple[Bools, Floats]:
        """What the neighbours say, and for which rows that is sure."""
        sure, targets = ~(seen.short | seen.tied), self.codes[seen.rows]
        weights = None
        if self.model.weights == "distance":
            weights = nearness(np.where(sure[:, np.newaxis], seen.distances, 1))
            sure &= ~precision.vague(seen.distances[:, 0])
        if not self.is_classifier:
            return sure, means(targets, weights)
        answers = shares_of(targets[:, :, 0], weights, self.values.shape[1])
        if weights is not None:
            sure &= ~close_votes(answers, weights)
        return sure, answers

    def _open_folds(self) -> Iterator[tuple[int, Ints]]:
        """The folds that have open rows, with the rows that scikit-learn must be asked about.

        By brute force the rounding of a distance, and the choice among equals, may depend on all rows that are asked
        about together.
        """
        rows = self.table.held_out
        fold_of = self.table.folds[rows]
        for fold in np.unique(fold_of[self.open[rows]]).tolist():
            members = self.table.fold(fold)
            yield fold, members if self.method == "brute" else members[self.open[members]]

    def _ask(self, fold: int, rows: Ints) -> None:
        """scikit-learn's own answers: a fold is trained, and asked about these rows.

        By brute force it breaks ties in another way if whole numbers are stored as integers, and that does not show any
        more: where it matters the fold gets no answer.
        """
        learnt = np.flatnonzero(self.table.folds != fold)
        if len(learnt) == 0:
            return
        answers = self._asked(self.table.X, learnt, rows)
        if self.method == "brute" and self.table.X.dtype == np.float64 and self._are_whole:
            others = self._asked(self.table.X.astype(np.int64), learnt, rows)
            if not np.allclose(answers, others, rtol=SAME_WEIGHT, atol=SAME_WEIGHT, equal_nan=True):
                return
        self.values[rows] = answers

    def _asked(self, X: Any, learnt: Ints, rows: Ints) -> Floats:
        """What a model that has learnt some rows says of others; NaN if it refuses."""
        model = clone(self.model).fit(take(X, learnt), self.table.y[learnt])
        answers = np.zeros((len(rows), self.values.shape[1]))
        try:
            predicted = model.predict(take(X, rows))
        except ValueError:  # it has learnt fewer rows than it must find; some metrics do not mind
            return np.full_like(answers, np.nan)
        if not self.is_classifier:
            return np.asarray(predicted, np.float64).reshape(answers.shape)
        answers[:, model.classes_] = model.predict_proba(take(X, rows))
        _prefer(answers, predicted)
        return answers

    @cached_property
    def _are_whole(self) -> bool:
        values = self.table.X.data if issparse(self.table.X) else self.table.X
        return bool(np.array_equal(values, np.rint(values)))

    @cached_property
    def _squares(self) -> Floats:
        """The squared length of each row."""
        found = np.empty(len(self.table))
        for begin in range(0, len(self.table), _ROWS):
            part = self.table.X[begin : begin + _ROWS].astype(np.float64)
            found[begin : begin + _ROWS] = np.asarray(
                (part.multiply(part) if issparse(part) else part**2).sum(1)
            ).ravel()
        return found

    @cached_property
    def _whole_numbers(self) -> bool:
        """Whether products of rows are exact in double precision, in whatever order they are summed."""
        values = self.table.X.data if issparse(self.table.X) else self.table.X
        if issparse(self.table.X) and values.dtype == np.float32:  # scikit-learn rounds their distances
            return False
        if values.dtype.kind not in "iub":
            step = max(1, _ROWS * len(values) // max(len(self.table), 1))
            parts = (values[begin : begin + step] for begin in range(0, len(values), step))
            if not all(np.array_equal(part, np.rint(part)) for part in parts):
                return False
        return bool(self._squares.max(initial=0) * 4 < _WHOLE)

    @cached_property
    def method(self) -> str:
        """How scikit-learn searches in most folds."""
        return self._method(len(self.table) - int(np.median(self.table.sizes)))

    def _method(self, n_rows: int) -> str:
        """How scikit-learn searches among so many rows."""
        model, X = self.model, self.table.X
        if issparse(X):
            return "brute"
        if model.algorithm != "auto":
            return str(model.algorithm)
        by_tree = X.shape[1] <= _TREE_FEATURES and self.n_neighbors < n_rows // 2 and model.metric in _TREES
        return "kd_tree" if by_tree else "brute"

    @cached_property
    def _finder(self) -> NearestNeighbors:
        model = self.model
        finder = NearestNeighbors(
            algorithm=self.method, leaf_size=model.leaf_size, metric=model.metric, p=model.p, n_jobs=model.n_jobs
        )
        return finder.fit(self.table.X)

    @cached_property
    def _precision(self) -> Precision:
        """How exact the distances are that scikit-learn finds, here and in a fold."""
        model, table = self.model, self.table
        bound = 4 * (table.X.shape[1] + 8) * _EPS
        euclidean = model.metric == "euclidean" or (model.metric == "minkowski" and model.p == 2)
        if euclidean and self._whole_numbers:
            return Precision(np.zeros(len(table)), relative=_EPS)
        relative = bound
        if issparse(table.X) and table.X.dtype == np.float32:
            relative += 4 * float(np.finfo(np.float32).eps)
        if model.metric == "cosine":
            return Precision(np.zeros(len(table)), absolute=4 * bound, relative=relative)
        if self.method == "ball_tree":
            longest = float(np.sqrt(self._squares.max()))
            return Precision(np.zeros(len(table)), absolute=2 * bound * table.X.shape[1] * longest, relative=relative)
        if euclidean and self.method == "brute":
            return Precision(self._squares, cancels=bound, relative=relative)
        return Precision(np.zeros(len(table)), relative=relative)


_FEW_FOLDS, _SAMPLE = 50, 200
"""So few folds are not searched beforehand, if a sample of so many rows shows that it would not help."""


def _prefer(answers: Floats, predicted: NDArray[Any]) -> None:
    """Let the predicted class have the largest share: scikit-learn adds the votes in another order to predict."""
    rows = np.flatnonzero(answers.argmax(axis=1) != predicted)
    answers[rows, predicted[rows]] = np.nextafter(answers[rows].max(axis=1), np.inf)
