"""Joins a learner's reference arithmetic, written in Python, with its twin in the core."""

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from treecv import kernels
from treecv.data import Feed, Rows
from treecv.learner import State, outputs_of
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


def reference_of(learner: Any) -> Any:
    """The same learner in Python's arithmetic."""
    return type(learner).reference(**learner.settings())


class _Compiled:
    """The arithmetic and the walk of the core."""

    __slots__ = ()
    core_name: ClassVar[str]

    def update(self, state: State, rows: Rows) -> None:
        """Let `state` learn `rows`, in their order."""
        kernel = self._kernel(state, rows)
        kernel.update(_bytes(state), kernels.table(rows.X), self.targets(rows), _index(rows), _weights(rows))  # type: ignore[attr-defined]

    def predict(self, state: State, rows: Rows) -> NDArray[np.float64]:
        """One prediction a row, or one for each output."""
        outputs = outputs_of(self)
        out = np.empty((len(rows), outputs) if outputs > 1 else len(rows))
        self._kernel(state, rows).predict(_bytes(state), kernels.table(rows.X), out.reshape(-1), _index(rows))
        return out

    def walk(self, state: State, feed: Feed, sink: Sink, first: int, last: int, threads: int = 1) -> Counts:
        """All leaves first..last below `state`, which is spoilt."""
        run = self._kernel(state, feed.rows).walk
        return _noted(sink, run(_bytes(state), **self._task(state, feed, sink, threads), first=first, last=last))

    def repeat(self, state: State, feed: Feed, sink: Sink, folds: Sequence[int], threads: int = 1) -> Counts:
        """The models of these folds, each trained from a copy of `state` on all other chunks."""
        run, task = self._kernel(state, feed.rows).standard, self._task(state, feed, sink, threads)
        return _noted(sink, run(_bytes(state), **task, folds=np.asarray(folds, np.int64)))

    def _kernel(self, state: State, rows: Rows) -> Any:
        check_rows(self, state, rows)
        return self._kernel_of(rows.X.dtype, rows.X.shape[1], not isinstance(rows.X, np.ndarray))

    def _kernel_of(self, dtype: np.dtype[Any], n_features: int, sparse: bool) -> Any:
        """The kernel for such tables; a learner inside of this one becomes a kernel too."""
        told = {
            name: value._kernel_of(dtype, n_features, sparse) if isinstance(value, _Compiled) else value
            for name, value in self.settings().items()  # type: ignore[attr-defined]  # every learner has them
        }
        return kernels.named(self.core_name, dtype, sparse)(n_features, **told)

    def _task(self, state: State, feed: Feed, sink: Sink, threads: int) -> dict[str, Any]:
        predictions, extra, states = sink.predictions, sink.extra, sink.states
        return {
            "X": kernels.table(feed.rows.X),
            "y": self.targets(feed.rows),  # type: ignore[attr-defined]
            "weights": _weights(feed.rows),
            "index": _index(feed.rows),
            "offsets": feed.chunks.offsets,
            "order": feed.order,
            "seed": feed.seed,
            "repetition": feed.repetition,
            "predictions": None if predictions is None else predictions.values[0].reshape(-1),
            "failed": sink.failed,
            "extra": None if extra is None else kernels.table(extra.rows.gathered().X),
            "extra_predictions": None if extra is None else extra.values[0].reshape(-1),
            "on_state": None if states is None else _taker(states.take, state.dtype),
            "threads": threads,
        }


def _noted(sink: Sink, done: tuple[int, ...]) -> Counts:
    """The work done; the first overflow goes to the sink."""
    chunk_updates, row_updates, _, _, fold, rows = done
    if fold >= 0:
        sink.overflowed(fold, rows)
    return Counts(chunk_updates, row_updates)


def _bytes(state: State) -> NDArray[np.uint8]:
    return cast(NDArray[np.uint8], state.view(np.uint8))


def _weights(rows: Rows) -> NDArray[np.float64] | None:
    return None if rows.weights is None else np.ascontiguousarray(rows.weights, np.float64)


def _index(rows: Rows) -> NDArray[np.int64] | None:
    return None if rows.index is None else np.ascontiguousarray(rows.index, np.int64)


def _taker(take: Callable[[int, State], None], dtype: np.dtype[Any]) -> Callable[[int, bytes], None]:
    """The caller's function, given each leaf's state as its own array."""
    return lambda fold, state: take(fold, np.frombuffer(state, dtype).copy())
