"""Joins a learner's reference arithmetic, written in Python, with its twin in the core."""

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from treecv import kernels
from treecv.data import Feed, Rows
from treecv.learner import State
from treecv.learners.settings import check_rows
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
        self._kernel(state, rows).update(_bytes(state), rows.X, self.targets(rows), _index(rows))  # type: ignore[attr-defined]

    def predict(self, state: State, rows: Rows) -> NDArray[np.float64]:
        """One prediction a row."""
        out = np.empty(len(rows))
        self._kernel(state, rows).predict(_bytes(state), rows.X, out, _index(rows))
        return out

    def walk(self, state: State, feed: Feed, sink: Sink, first: int, last: int) -> Counts:
        """All leaves first..last below `state`, which is spoilt."""
        run = self._kernel(state, feed.rows).walk
        done = run(_bytes(state), **self._task(state, feed, sink), first=first, last=last)
        return Counts(*done[:2])

    def repeat(self, state: State, feed: Feed, sink: Sink, folds: Sequence[int]) -> Counts:
        """The models of these folds, each trained from a copy of `state` on all other chunks."""
        run = self._kernel(state, feed.rows).standard
        done = run(_bytes(state), **self._task(state, feed, sink), folds=np.asarray(folds, np.int64))
        return Counts(*done[:2])

    def _kernel(self, state: State, rows: Rows) -> Any:
        check_rows(self, state, rows)
        name = f"{self.core_name}{rows.X.dtype.name.capitalize()}"
        return getattr(kernels.core, name)(rows.X.shape[1], **self.settings())  # type: ignore[attr-defined]

    def _task(self, state: State, feed: Feed, sink: Sink) -> dict[str, Any]:
        predictions, extra, states = sink.predictions, sink.extra, sink.states
        return {
            "X": feed.rows.X,
            "y": self.targets(feed.rows),  # type: ignore[attr-defined]
            "index": _index(feed.rows),
            "offsets": feed.chunks.offsets,
            "order": feed.order,
            "seed": feed.seed,
            "repetition": feed.repetition,
            "predictions": None if predictions is None else predictions.values[0, :, 0],
            "failed": sink.failed,
            "extra": None if extra is None else extra.rows.gathered().X,
            "extra_predictions": None if extra is None else extra.values[0, :, :, 0],
            "on_state": None if states is None else _taker(states.take, state.dtype),
        }


def _bytes(state: State) -> NDArray[np.uint8]:
    return cast(NDArray[np.uint8], state.view(np.uint8))


def _index(rows: Rows) -> NDArray[np.int64] | None:
    return None if rows.index is None else np.ascontiguousarray(rows.index, np.int64)


def _taker(take: Callable[[int, State], None], dtype: np.dtype[Any]) -> Callable[[int, bytes], None]:
    """The caller's function, given each leaf's state as its own array."""
    return lambda fold, state: take(fold, np.frombuffer(state, dtype).copy())
