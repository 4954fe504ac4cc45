"""Joins a learner's reference arithmetic, written in Python, with its twin in the core."""

from collections.abc import Sequence
from typing import Any, ClassVar, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from treecv import kernels
from treecv.data import Chunks, Feed, Rows
from treecv.errors import InputError
from treecv.learner import State
from treecv.probes import Sink
from treecv.records import Counts

L = TypeVar("L", bound=type)


def compiled(reference: L) -> L:
    """Give a learner the core's methods, unless the core is switched off.

    The class as written stays at hand as `reference`: it has no `walk` and no `repeat`, and computes the
    same numbers slowly.
    """
    reference.__qualname__ = f"{reference.__name__}.reference"  # where pickle finds it
    reference.reference = reference  # type: ignore[attr-defined]  # a new attribute of the class
    if kernels.core is None:
        reference.__qualname__ = reference.__name__
        return reference
    namespace = {
        "core_name": reference.__name__,
        "__doc__": reference.__doc__,
        "__module__": reference.__module__,
        "__slots__": (),
    }
    return cast(L, type(reference.__name__, (_Compiled, reference), namespace))


class _Compiled:
    """The arithmetic and the walk of the core."""

    __slots__ = ()
    core_name: ClassVar[str]

    def update(self, state: State, rows: Rows) -> None:
        """Let `state` learn `rows`, in their order."""
        self._kernel(state, rows.X).update(_bytes(state), rows.X, self._targets(rows), rows.index)

    def predict(self, state: State, rows: Rows) -> NDArray[np.float64]:
        """One prediction a row."""
        out = np.empty(len(rows))
        self._kernel(state, rows.X).predict(_bytes(state), rows.X, out, rows.index)
        return out

    def walk(self, state: State, feed: Feed, sink: Sink, first: int, last: int) -> Counts:
        """All leaves first..last below `state`, which is spoilt."""
        kernel = self._kernel(state, feed.rows.X)
        rows = feed.rows
        done = kernel.walk(
            _bytes(state),
            rows.X,
            self._targets(rows),
            **_task(feed, sink, state.dtype),
            first=first,
            last=last,
        )
        return Counts(*done[:2])

    def repeat(self, state: State, feed: Feed, sink: Sink, folds: Sequence[int]) -> Counts:
        """The models of these folds, each trained from a copy of `state` on all other chunks."""
        kernel = self._kernel(state, feed.rows.X)
        rows = feed.rows
        done = kernel.standard(
            _bytes(state),
            rows.X,
            self._targets(rows),
            **_task(feed, sink, state.dtype),
            folds=np.asarray(folds, np.int64),
        )
        return Counts(*done[:2])

    def _kernel(self, state: State, X: NDArray[Any]) -> Any:
        # Some states of either dtype have the same size, and the core sees bytes.
        if state.dtype[1].base != X.dtype:
            raise InputError(
                f"{type(self).__name__}: a state of {state.dtype[1].base} cannot read rows of {X.dtype}: "
                f"use X.astype({state.dtype[1].base.name!r})."
            )
        name = f"{self.core_name}{X.dtype.name.capitalize()}"
        return getattr(kernels.core, name)(X.shape[1], **self.settings())  # type: ignore[attr-defined]

    def _targets(self, rows: Rows) -> NDArray[Any]:
        return np.ascontiguousarray(rows.y, self.target)  # type: ignore[attr-defined]


def _bytes(state: State) -> NDArray[np.uint8]:
    return cast(NDArray[np.uint8], state.view(np.uint8))


def _task(feed: Feed, sink: Sink, dtype: np.dtype[Any]) -> dict[str, Any]:
    predictions, extra, states = sink.predictions, sink.extra, sink.states
    take = None
    if states is not None:
        call = states.take

        def take(fold: int, state: bytes) -> None:
            call(fold, np.frombuffer(state, dtype).copy())

    chunks: Chunks = feed.chunks
    return {
        "index": feed.rows.index,
        "offsets": chunks.offsets,
        "order": feed.order,
        "seed": feed.seed,
        "repetition": feed.repetition,
        "predictions": None if predictions is None else predictions.values[0, :, 0],
        "failed": sink.failed,
        "extra": None if extra is None else extra.rows.gathered().X,
        "extra_predictions": None if extra is None else extra.values[0, :, :, 0],
        "on_state": take,
    }
