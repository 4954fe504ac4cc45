"""What is taken from each leaf's model, and the arrays it is put into.

A probe declares its need: `Predictions` at the held-out rows, `ExtraRows` at other rows, or `States`,
for which Python is called at every leaf. The first two are arrays that a compiled walk fills itself.
All arrays have a leading axis for configurations: one now, many in a search.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treecv.data.feed import Feed
from treecv.data.rows import Rows
from treecv.errors import UpdateError
from treecv.learner import Learner, State
from treecv.tree import Node


@dataclass(slots=True)
class Predictions:
    """Predictions at the held-out rows: values[configuration, stored row, output]."""

    values: NDArray[np.float64]

    @classmethod
    def over(cls, n_stored: int, n_outputs: int = 1) -> "Predictions":
        """Room for predictions at `n_stored` rows; NaN where no fold is scored."""
        return cls(np.full((1, n_stored, n_outputs), np.nan))


@dataclass(slots=True)
class ExtraRows:
    """Predictions of every leaf at the same further rows: values[configuration, fold, row, output]."""

    rows: Rows
    values: NDArray[np.float64]

    @classmethod
    def over(cls, rows: Rows, k: int, n_outputs: int = 1) -> "ExtraRows":
        """Room for the predictions of k leaves at `rows`."""
        return cls(rows, np.full((1, k, len(rows), n_outputs), np.nan))


@dataclass(slots=True)
class States:
    """Calls `take(fold, state)` at every leaf; the state is lent for the call.

    What `take` raises ends the walk.
    """

    take: Callable[[int, State], None]


@dataclass(slots=True)
class Sink:
    """The probes of one cross-validation, and what failed.

    `failed[fold]` is set where an update or a prediction raised, or where a prediction is not a finite
    number. Only the first error is kept: there may be as many as folds.
    """

    k: int
    predictions: Predictions | None = None
    extra: ExtraRows | None = None
    states: States | None = None
    failed: NDArray[np.uint8] = field(init=False)
    error: Exception | None = None

    def __post_init__(self) -> None:
        self.failed = np.zeros(self.k, np.uint8)

    def over(self, n_stored: int) -> "Sink":
        """The same probes for the same rows stored in another order."""
        predictions = None
        if self.predictions is not None:
            predictions = Predictions.over(n_stored, self.predictions.values.shape[2])
        sink = Sink(self.k, predictions, self.extra, self.states)
        sink.failed = self.failed
        return sink

    def take_over(self, other: "Sink", rows: Any) -> None:
        """Put the results of `other` where they belong: its i-th row is the row rows[i] here."""
        if self.predictions is not None and other.predictions is not None:
            self.predictions.values[:, rows] = other.predictions.values
        self.error = self.error or other.error

    @property
    def predicted(self) -> NDArray[np.float64]:
        """One prediction a stored row, where one output was asked for."""
        if self.predictions is None:
            raise AttributeError("this sink takes no predictions")
        return self.predictions.values[0, :, 0]

    def fail(self, folds: Node, error: Exception) -> None:
        """Note that these folds have no result."""
        self.failed[folds.first : folds.last + 1] = 1
        if self.error is None:
            wrapped = UpdateError(f"folds {folds.first}..{folds.last} have no model: {type(error).__name__}: {error}")
            wrapped.__cause__ = error
            self.error = wrapped


@dataclass(frozen=True, slots=True)
class Leaves:
    """The sink as the walk in Python sees it: it is handed states and asks the learner itself."""

    learner: Learner
    feed: Feed
    sink: Sink

    def leaf(self, fold: int, state: State) -> None:
        """Put what the probes want from this leaf into their arrays."""
        if self.sink.states is not None:  # what the caller's own function raises is for the caller
            self.sink.states.take(fold, state)
        try:
            self._probe(fold, state)
        except Exception as error:
            self.sink.fail(Node(fold, fold), error)

    def failed(self, folds: Node, error: Exception) -> None:
        """An update failed above these leaves."""
        self.sink.fail(folds, error)

    def _probe(self, fold: int, state: State) -> None:
        sink, held_out = self.sink, self.feed.fold(fold)
        if sink.predictions is not None:
            begin, end = self.feed.chunks.span(fold, fold)
            where: Any = slice(begin, end) if held_out.index is None else held_out.index
            sink.predictions.values[0, where] = self._finite(fold, self.learner.predict(state, held_out))
        if sink.extra is not None:
            predicted = self.learner.predict(state, sink.extra.rows)
            sink.extra.values[0, fold] = self._finite(fold, predicted)

    def _finite(self, fold: int, predicted: NDArray[Any]) -> NDArray[Any]:
        if not np.isfinite(predicted).all():
            self.sink.failed[fold] = 1
        return predicted[:, np.newaxis] if predicted.ndim == 1 else predicted
