"""What is taken from each leaf's model, and the arrays it is put into.

A probe declares its need: `Predictions` at the held-out rows, `ExtraRows` at other rows, or `States`,
for which Python is called at every leaf. The first two are arrays that a compiled walk fills itself.
All arrays have a leading axis for configurations: one now, many in a search.

Where a part of the work runs elsewhere it gets probes of its own (`apart`), whose results for its folds are
put among the others afterwards (`absorb`).
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from math import isfinite
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from treecv.data.feed import Folds
from treecv.data.rows import Rows
from treecv.errors import InputError, UpdateError
from treecv.learner import Learner, State
from treecv.tree import Node


@dataclass(slots=True)
class Predictions:
    """Predictions at the held-out rows: values[configuration, stored row, output].

    Made where the first prediction shows its type and shape, or by `over` for a compiled walk. `method` is
    what is asked of the model; only a learner with `respond` knows others than "predict".
    """

    n_stored: int
    method: str = "predict"
    values: Any = None
    flat: bool = True
    dtype: Any = None  # where a prediction's own would be too narrow: labels are strings of any length

    @classmethod
    def over(cls, n_stored: int, n_outputs: int = 1) -> "Predictions":
        """Room for numbers at `n_stored` rows; NaN where no fold is scored."""
        return cls(n_stored, values=np.full((1, n_stored, n_outputs), np.nan))

    def put(self, where: Any, predicted: NDArray[Any]) -> None:
        """Predictions of some rows."""
        if self.values is None:
            self._make(predicted)
        self.values[0, where] = predicted[:, np.newaxis] if predicted.ndim == 1 else predicted

    @property
    def array(self) -> NDArray[Any]:
        """Values of the one configuration, in the shape that the model's predictions have."""
        if self.values is None:
            return np.full(self.n_stored, np.nan)
        array: NDArray[Any] = self.values[0, :, 0] if self.flat and self.values.shape[2] == 1 else self.values[0]
        return array

    def apart(self) -> "Predictions":
        """The same probe with nothing in it."""
        return Predictions(self.n_stored, self.method, None, self.flat, self.dtype)

    def absorb(self, other: "Predictions", where: Any) -> None:
        """Take over what the other one has for these rows."""
        if other.values is None:
            return
        if self.values is None:
            self._make(other.array)
        self.values[:, where] = other.values[:, where]

    def _make(self, predicted: NDArray[Any]) -> None:
        self.flat = predicted.ndim == 1
        dtype = self.dtype or predicted.dtype
        shape = (1, self.n_stored, *(predicted.shape[1:] or (1,)))
        self.values = np.full(shape, np.nan, dtype) if dtype.kind == "f" else np.zeros(shape, dtype)


@dataclass(slots=True)
class ExtraRows:
    """Predictions of every leaf at the same further rows: values[configuration, fold, row, output]."""

    rows: Rows
    values: NDArray[np.float64]

    @classmethod
    def over(cls, rows: Rows, k: int, n_outputs: int = 1) -> "ExtraRows":
        """Room for the predictions of k leaves at `rows`."""
        return cls(rows, np.full((1, k, len(rows), n_outputs), np.nan))

    def apart(self) -> "ExtraRows":
        """The same probe with nothing in it."""
        return ExtraRows(self.rows, np.full_like(self.values, np.nan))

    def absorb(self, other: "ExtraRows", folds: Node) -> None:
        """Take over what the other one has for these folds."""
        part = slice(folds.first, folds.last + 1)
        self.values[:, part] = other.values[:, part]


class Visitor(Protocol):
    """Whoever wants the states themselves."""

    def take(self, fold: int, state: State) -> None:
        """Called at every leaf; the state is lent for the call. What it raises ends the walk."""

    def apart(self) -> "Visitor":
        """Another one for a part of the folds."""

    def absorb(self, other: Any, folds: Node) -> None:
        """Take over what the other one has for these folds."""


@dataclass(slots=True)
class States:
    """Calls `take(fold, state)` at every leaf, for those who do all of their work in this process."""

    take: Callable[[int, State], None]

    def apart(self) -> "States":
        """Itself."""
        return self

    def absorb(self, other: Any, folds: Node) -> None:
        """There is nothing that it has."""


@dataclass(slots=True)
class Sink:
    """The probes of one cross-validation, and what failed.

    `failed[fold]` is set where an update or a prediction raised, or where a prediction is not a finite
    number. Only the first error is kept: there may be as many as folds. `overflow` is the first fold whose model
    has numbers that are not finite, and the row of its training at which they came up.
    """

    k: int
    predictions: Predictions | None = None
    extra: ExtraRows | None = None
    states: Visitor | None = None
    further: tuple[Predictions, ...] = ()
    failed: NDArray[np.uint8] = field(init=False)
    error: Exception | None = None  # the first one, with its folds named
    cause: Exception | None = None  # as it was raised
    overflow: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        self.failed = np.zeros(self.k, np.uint8)

    def over(self, n_stored: int) -> "Sink":
        """The same probes for the same rows stored in another order."""

        def moved(probe: Predictions) -> Predictions:
            return Predictions(n_stored, probe.method, dtype=probe.dtype)

        predictions = None
        if self.predictions is not None:
            empty = self.predictions.values is None
            outputs = 1 if empty else self.predictions.values.shape[2]
            predictions = moved(self.predictions) if empty else Predictions.over(n_stored, outputs)
        sink = Sink(self.k, predictions, self.extra, self.states, tuple(map(moved, self.further)))
        sink.failed = self.failed
        return sink

    def take_over(self, other: "Sink", rows: Any) -> None:
        """Put the results of `other` where they belong: its i-th row is the row rows[i] here."""
        for mine, theirs in zip(self.asked, other.asked, strict=True):
            if theirs.values is not None:
                mine.put(rows, theirs.array)
        self._keep(other)

    def apart(self) -> "Sink":
        """Probes of the same kind with nothing in them, for a part of the folds."""
        return Sink(
            self.k,
            None if self.predictions is None else self.predictions.apart(),
            None if self.extra is None else self.extra.apart(),
            None if self.states is None else self.states.apart(),
            tuple(probe.apart() for probe in self.further),
        )

    def absorb(self, other: "Sink", folds: Node, feed: Folds) -> None:
        """Take over what the other one has for these folds."""
        for mine, theirs in zip(self.asked, other.asked, strict=True):
            mine.absorb(theirs, feed.where(*folds))
        if self.extra is not None and other.extra is not None:
            self.extra.absorb(other.extra, folds)
        if self.states is not None:
            self.states.absorb(other.states, folds)
        self.failed[folds.first : folds.last + 1] |= other.failed[folds.first : folds.last + 1]
        self._keep(other)

    @property
    def asked(self) -> tuple[Predictions, ...]:
        """All that is predicted at the held-out rows."""
        return self.further if self.predictions is None else (self.predictions, *self.further)

    @property
    def predicted(self) -> NDArray[Any]:
        """One prediction a stored row, where that was asked for."""
        if self.predictions is None:
            raise AttributeError("this sink takes no predictions")
        return self.predictions.array

    def fail(self, folds: Node, error: Exception) -> None:
        """Note that these folds have no result."""
        self.failed[folds.first : folds.last + 1] = 1
        if self.error is None:
            self.error, self.cause = UpdateError(f"{_named(folds)}: {type(error).__name__}: {error}"), error
            self.error.__cause__ = error

    def overflowed(self, fold: int, rows: int) -> None:
        """Note a model whose numbers were no longer finite once it had learnt so many rows."""
        self.failed[fold] = 1
        if self.overflow is None or fold < self.overflow[0]:
            self.overflow = fold, rows

    def _keep(self, other: "Sink") -> None:
        if self.error is None:
            self.error, self.cause = other.error, other.cause
        if other.overflow is not None:
            self.overflowed(*other.overflow)


def _named(folds: Node) -> str:
    one = folds.first == folds.last
    return f"fold {folds.first} has no model" if one else f"folds {folds.first}..{folds.last} have no model"


@dataclass(slots=True)
class Leaves:
    """The sink as the walk in Python sees it: it is handed states and asks the learner itself."""

    learner: Learner
    feed: Folds
    sink: Sink
    asked: list[tuple[Predictions, Callable[[State, Rows], Any]]] = field(init=False)
    overflow: Callable[[State], int] | None = field(init=False)
    absences: bool = field(init=False)

    def __post_init__(self) -> None:
        self.asked = [(probe, self._asking(probe.method)) for probe in self.sink.asked]
        self.overflow = getattr(self.learner, "overflow", None)
        self.absences = bool(getattr(self.learner, "absences", False))

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
        sink = self.sink
        if self.overflow is not None and (rows := self.overflow(state)):
            sink.overflowed(fold, rows)
        if self.asked:
            held_out, where = self.feed.fold(fold), self.feed.where(fold, fold)
            for probe, ask in self.asked:
                probe.put(where, self._finite(fold, ask(state, held_out)))
        if sink.extra is not None:
            predicted = self._finite(fold, self.learner.predict(state, sink.extra.rows))
            sink.extra.values[0, fold] = predicted[:, np.newaxis] if predicted.ndim == 1 else predicted

    def _asking(self, method: str) -> Callable[[State, Rows], Any]:
        if method == "predict":
            return self.learner.predict
        respond = self.learner.respond  # type: ignore[attr-defined]  # a capability
        return lambda state, rows: respond(state, rows, method)

    def _finite(self, fold: int, predicted: Any) -> NDArray[Any]:
        if isinstance(predicted, list):
            raise InputError(
                f"{len(predicted)} arrays of predictions, one an output, are not collected: ask for method='predict', "
                "or use scikit-learn's function."
            )
        if predicted.dtype.kind == "f":
            finite = isfinite(predicted.item()) if predicted.size == 1 else np.isfinite(predicted).all()
            if not finite and not (self.absences and not np.isnan(predicted).any()):
                self.sink.failed[fold] = 1
        return predicted  # type: ignore[no-any-return]  # whatever the model gives
