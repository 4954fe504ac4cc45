"""Estimators with `partial_fit`, and pipelines of them.

A state is a clone of the estimator, partially fitted. An update is one call of `partial_fit` on all of its rows, or
calls of `batch_size` rows; in a pipeline each call feeds the transformers first, so that nothing that a
model has not learnt can leak into it.
"""

import copy
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from treecv.adapters.copying import duplicate
from treecv.adapters.steps import Stateless, Step, accepts, draw_from, is_random, steps_of, way_of
from treecv.data import Rows
from treecv.data.tables import joined
from treecv.errors import CapabilityError, InputError
from treecv.learner import Schema, State


class Model:
    """A state: an estimator, whether it has learnt anything, and the rows that are too few to begin with."""

    __slots__ = ("classes", "estimator", "started", "waiting")

    def __init__(self, estimator: Any, classes: Any) -> None:
        self.estimator = estimator
        self.classes = classes
        self.started = False
        self.waiting: list[Rows] = []


class PartialFit:
    """The learner of an estimator, or of a pipeline, whose steps all learn in parts.

    Parameters
    ----------
    estimator : estimator
        Its settings; it is cloned and never changed.
    batch_size : int, optional
        The most rows that a call of `partial_fit` gets. None: all rows of an update.
    """

    as_given = True

    def __init__(self, estimator: Any, batch_size: int | None = None) -> None:
        self.estimator = clone(estimator)
        self.batch_size = batch_size
        self.names = [name for name, _ in steps_of(self.estimator)]
        self.ways = [_way(step) for _, step in steps_of(self.estimator)]
        self.draws = is_random(self.estimator)
        *transformers, last = self.ways  # what a transformer has learnt so far shapes what the next step sees
        self.order_free = last.order_free and all(isinstance(way, Stateless) for way in transformers)

    def init(self, schema: Schema) -> State:
        """An estimator that has learnt nothing."""
        model = Model(clone(self.estimator), schema.classes)
        for way, (_, step) in zip(self.ways, steps_of(model.estimator), strict=True):
            way.start(step)
        return model

    def copy(self, state: State) -> State:
        """An independent state."""
        return duplicate(self, state)

    def update(self, state: State, rows: Rows) -> None:
        """Let the estimator learn `rows`, in their order."""
        if self.draws and rows.stream is not None:
            draw_from(state.estimator, rows.stream)
        rows = rows.gathered()
        if not state.started:
            state.waiting.append(rows)
            if sum(map(len, state.waiting)) < self._first(state):
                return
            rows = _one(state.waiting)
        self._learn(state, rows)

    def predict(self, state: State, rows: Rows) -> Any:
        """What `predict` says of each row."""
        return self.respond(state, rows, "predict")

    def respond(self, state: State, rows: Rows, method: str) -> Any:
        """What this method says of each row."""
        respond = getattr(self.fitted(state), method)
        if not self.order_free:
            return respond(rows.gathered().X)
        with np.errstate(divide="ignore"):  # a class that is not in the training part has a prior of 0
            return respond(rows.gathered().X)

    def fitted(self, state: State) -> Any:
        """The estimator as a user would have it after these updates. It shares its arrays with `state`."""
        if state.waiting:
            state = duplicate(self, state)
            self._learn(state, _one(state.waiting))
        if not isinstance(state.estimator, Pipeline):
            return self.ways[0].finish(state.estimator, self.estimator)
        settings = dict(steps_of(self.estimator))
        finished = {
            name: way.finish(step, settings[name])
            for way, (name, step) in zip(self.ways, steps_of(state.estimator), strict=True)
        }
        pipeline = copy.copy(state.estimator)
        pipeline.steps = [(name, finished.get(name, step)) for name, step in pipeline.steps]
        return pipeline

    def check_metadata(self, names: list[str]) -> None:
        """Raise unless `partial_fit` takes these further arguments."""
        steps = dict(steps_of(self.estimator))
        for name in names:
            step, _, argument = name.partition("__") if isinstance(self.estimator, Pipeline) else ("", "", name)
            if step not in steps or not argument:
                raise InputError(
                    f"params={name!r}: Pipeline.fit does not accept the {name} parameter. Name the step as well, "
                    f"one of {self.names}, as in {self.names[-1]}__{name}."
                )
            if not accepts(steps[step], argument):
                raise InputError(
                    f"params={name!r}: {type(steps[step]).__name__}.partial_fit takes no {argument}. Leave it out, or "
                    "use strategy='auto', whose models are trained by `fit`."
                )

    def _first(self, state: State) -> int:
        """The rows that the first call needs at the least."""
        X = state.waiting[0].X
        width = X.shape[1] if len(getattr(X, "shape", ())) > 1 else 1
        steps = (step for _, step in steps_of(state.estimator))
        return max(way.first(step, width) for way, step in zip(self.ways, steps, strict=True))

    def _learn(self, state: State, rows: Rows) -> None:
        for part in self._batches(state, rows):
            self._feed(state, part)
            state.started = True
        state.waiting = []

    def _batches(self, state: State, rows: Rows) -> Iterator[Rows]:
        size = self.batch_size
        if size is None or len(rows) <= size:
            yield rows
            return
        begin = 0
        if not state.started:  # the first call may need more rows than a batch has
            begin = min(len(rows), max(size, self._first(state)))
            yield rows.stretch(0, begin)
        for start in range(begin, len(rows), size):
            yield rows.stretch(start, min(start + size, len(rows)))

    def _feed(self, state: State, rows: Rows) -> None:
        X, last = rows.X, len(self.ways) - 1
        for place, (way, (name, step)) in enumerate(zip(self.ways, steps_of(state.estimator), strict=True)):
            way.learn(step, X, rows.y, self._arguments(state, step, rows, name))
            if place < last:
                X = step.transform(X)

    def _arguments(self, state: State, step: Any, rows: Rows, name: str) -> dict[str, Any]:
        arguments: dict[str, Any] = {}
        if not state.started and state.classes is not None and accepts(step, "classes"):
            arguments["classes"] = state.classes
        if not name:
            arguments |= rows.metadata or {}
            if rows.weights is not None:
                arguments["sample_weight"] = rows.weights
        elif rows.metadata:
            own = (key for key in rows.metadata if key.startswith(f"{name}__"))
            arguments |= {key.removeprefix(f"{name}__"): rows.metadata[key] for key in own}
        return arguments


def lacking(estimator: Any) -> str:
    """What keeps an estimator from learning in parts; nothing if it can."""
    for name, step in steps_of(estimator):
        if way_of(step) is None or (not name and not hasattr(step, "partial_fit")):
            where = f"the step {name!r} of the {type(estimator).__name__}, " if name else ""
            return f"{where}{type(step).__name__} has no `partial_fit`"
    return ""


def _way(step: Any) -> Step:
    way = way_of(step)
    if way is None:
        raise CapabilityError(f"{type(step).__name__} has no `partial_fit`: it cannot be trained part by part.")
    return way


def _one(parts: list[Rows]) -> Rows:
    """Several rows in one."""
    if len(parts) == 1:
        return parts[0]
    return Rows(
        joined([part.X for part in parts]),
        joined([part.y for part in parts]),
        joined([part.weights for part in parts]),
        metadata={name: joined([(part.metadata or {})[name] for part in parts]) for name in parts[0].metadata or {}},
        stream=parts[-1].stream,
    )
