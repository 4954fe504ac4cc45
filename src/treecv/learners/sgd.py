"""Linear models by stochastic gradient descent: a loss, a penalty, a schedule of steps, and averaging.

Bottou: Stochastic gradient descent tricks, in Neural Networks: Tricks of the Trade (2012). Averaging is that of Xu:
Towards optimal one pass large scale learning with averaged stochastic gradient descent (2011); the cumulative l1
penalty that of Tsuruoka, Tsujii and Ananiadou (2009).

Each row is a step. The rule is that of scikit-learn's SGDClassifier, SGDRegressor, SGDOneClassSVM and Perceptron, fed
by `partial_fit` in the same calls; `core/include/treecv/sgd.hpp` says how the weights are kept.
"""

from dataclasses import dataclass, fields
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from treecv.data import Rows
from treecv.errors import InputError
from treecv.learner import Schema, State
from treecv.learners import sums
from treecv.learners.compiled import compiled
from treecv.learners.losses import LOSSES, Loss, loss_named
from treecv.learners.settings import check_among, check_codes, check_counts, check_flags, check_rows
from treecv.learners.steps import PENALTIES, SCHEDULES, Penalty, Schedule

_STEEPEST = 1e12
"""Gradients are cut off here."""

_LEAST_SCALE = {"float64": 1e-9, "float32": 1e-6}
"""Where the weights would run out of digits the scale is multiplied out."""

_OUTPUT = ("intercept", "scale", "a", "b", "average_intercept", "intercept_before", "a_before", "start")
"""What an output has besides its vectors: see `core/include/treecv/sgd.hpp`."""


@compiled
@dataclass(frozen=True, slots=True)
class SGD:
    """A linear model, a step for every row.

    Parameters
    ----------
    loss : str
        A name in `treecv.learners.losses`.
    epsilon : float
        The width of errors that the Huber and the insensitive losses treat otherwise.
    penalty : {"l2", "l1", "elasticnet", "none"}
    alpha, l1_ratio : float
        The strength of the penalty, and the share of l1 in "elasticnet".
    schedule : {"optimal", "constant", "adaptive", "invscaling", "pa1", "pa2"}
        How long steps are. One call is one epoch, after which "adaptive" could become shorter.
    eta0, power_t : float
        The first step (of "pa1" and "pa2" how aggressive they are), and how steps of "invscaling" decline.
    average : int
        The row from which on weights are averaged; 0 for never.
    fit_intercept : bool
    decay : float
        Factor on the steps of the intercept. Sparse rows touch it more often than any weight: 0.01.
    classes : int
        0: the targets are numbers. 1: all rows are of one class. More: targets are codes of classes, and with more
        than two each class is told from the rest.
    class_weights : tuple of float
        One for each class, or none.
    batch_size : int
        The most rows a call has; 0: all of an update.
    random : bool
        Whether updates are to be learnt in random order.
    seed : int, optional
        Names that order, where the user of the learner names none.

    Examples
    --------
    >>> import numpy as np
    >>> from treecv.data import Rows
    >>> from treecv.learner import Schema
    >>> settings = {"penalty": "none", "schedule": "constant", "eta0": 0.5, "fit_intercept": False}
    >>> learner = SGD(loss="squared_error", classes=0, **settings)
    >>> state = learner.init(Schema(n_rows=2, n_features=1, dtype="float64"))
    >>> rows = Rows(np.array([[1.0], [1.0]]), np.array([1.0, 1.0]))
    >>> learner.update(state, rows)
    >>> learner.predict(state, rows)
    array([0.75, 0.75])
    """

    loss: str = "hinge"
    epsilon: float = 0.1
    penalty: str = "l2"
    alpha: float = 1e-4
    l1_ratio: float = 0.15
    schedule: str = "optimal"
    eta0: float = 0.01
    power_t: float = 0.5
    average: int = 0
    fit_intercept: bool = True
    decay: float = 1.0
    classes: int = 2
    class_weights: tuple[float, ...] = ()
    batch_size: int = 0
    random: bool = False
    seed: int | None = None

    order_free: ClassVar[bool] = False
    weighs: ClassVar[bool] = True
    sparse: ClassVar[bool] = True
    shows_nonfinite: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_among(self, "loss", LOSSES)
        check_among(self, "penalty", PENALTIES)
        check_among(self, "schedule", SCHEDULES)
        check_flags(self, "fit_intercept", "random")
        check_counts(self, "average", "classes", "batch_size")
        for name in ("epsilon", "alpha", "l1_ratio", "eta0", "power_t", "decay"):
            object.__setattr__(self, name, float(getattr(self, name)))
            if not np.isfinite(getattr(self, name)):
                raise InputError(f"SGD: {name}={getattr(self, name)!r} must be a finite number.")
        if self.schedule == "optimal" and not self.alpha > 0:
            raise InputError(f"SGD: alpha={self.alpha!r} must be greater than 0 for schedule='optimal'.")
        if self.schedule in ("pa1", "pa2") and loss_named(self.loss, self.epsilon).value is None:
            raise InputError(f"SGD: schedule={self.schedule!r} needs a loss of the hinge's kind, not {self.loss!r}.")
        object.__setattr__(self, "class_weights", tuple(map(float, self.class_weights)))
        weighted = len(self.class_weights) == self.classes and bool(np.isfinite(self.class_weights).all())
        if self.class_weights and not weighted:
            raise InputError(
                f"SGD: class_weights={self.class_weights!r} must be one finite number for each of "
                f"{self.classes} classes."
            )

    @property
    def outputs(self) -> int:
        """Of two classes one is told from the other, of more each from the rest."""
        return self.classes if self.classes > 2 else 1

    @property
    def margins(self) -> bool:
        """Whether a prediction's sign, or its largest column, is a class."""
        return self.classes > 1

    @property
    def supervised(self) -> bool:
        """Whether there are targets to learn."""
        return self.classes != 1

    @property
    def shuffles(self) -> bool:
        """Whether updates are to be learnt in random order."""
        return self.random

    @property
    def call_free(self) -> bool:
        """Whether how rows are divided into calls does not matter: the pull of an l1 penalty starts anew in each."""
        return "l1" not in self.penalty and self.penalty != "elasticnet" and not self.average and not self.batch_size

    def settings(self) -> dict[str, Any]:
        """What the core is told."""
        return {one.name: getattr(self, one.name) for one in fields(self) if one.name not in ("random", "seed")}

    def init(self, schema: Schema) -> State:
        """A state that has learnt nothing."""
        if schema.classes is not None and self.classes > 1 and len(schema.classes) != self.classes:
            raise InputError(f"SGD: classes={self.classes}, but y holds {len(schema.classes)}.")
        size = sums.width(schema.n_features, False, schema.dtype)
        vectors = ["v", "averaged"] if self.average else ["v"]
        output = np.dtype([(name, "f8") for name in _OUTPUT] + [(name, schema.dtype, (size,)) for name in vectors])
        state = sums.blank(schema.n_features, {"outputs": (output, (self.outputs,))})
        state["outputs"]["scale"] = state["outputs"]["b"] = 1
        if self.classes == 1:  # the offset of a one-class model is 1 - intercept, and starts at 0
            state["outputs"]["intercept"] = 1
        return state

    def copy(self, state: State) -> State:
        """An independent state."""
        return state.copy()

    def targets(self, rows: Rows) -> NDArray[np.float64] | None:
        """Targets, or codes of classes, in double precision."""
        if self.classes == 1:
            return None
        if self.classes:
            check_codes(self, rows.y, self.classes)
        return np.ascontiguousarray(rows.y, np.float64)

    def overflow(self, state: State) -> int:
        """The row at which a number first was not finite, 0 if all are.

        A row's prediction shows what the rows before did, so after the last one the weights are looked at.
        """
        learnt = state[0]
        return int(learnt["overflow"] or (0 if np.isfinite(learnt["outputs"]["v"]).all() else learnt["count"]))

    def update(self, state: State, rows: Rows) -> None:
        """Let `state` learn `rows`, in their order."""
        check_rows(self, state, rows)
        order, y = list(rows.order()), self.targets(rows)
        size = self.batch_size or max(len(order), 1)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):  # an overflow is noted
            for begin in range(0, len(order), size):
                call = _Call(self, state)
                for row in order[begin : begin + size]:
                    call.learn(*_row(rows, row, state), 0.0 if y is None else float(y[row]), _weight(rows, row))
                call.end()

    def predict(self, state: State, rows: Rows) -> NDArray[np.float64]:
        """<w, x> + intercept of each row, of each output; of the averaged weights as soon as there are some."""
        check_rows(self, state, rows)
        averaged = 0 < self.average <= int(state["count"][0])
        with np.errstate(over="ignore", invalid="ignore"):
            values = np.array(
                [
                    [self._answer(out, *_row(rows, row, state), averaged) for out in state[0]["outputs"]]
                    for row in rows.order()
                ]
            ).reshape(len(rows), self.outputs)
        return values if self.outputs > 1 else values[:, 0]

    def _answer(self, out: Any, x: NDArray[Any], there: Any, averaged: bool) -> float:
        product = _dot(out["v"], x, there)
        shift = float(self.classes == 1)
        if averaged:
            averaged_product = _dot(out["averaged"], x, there) + float(out["a"]) * product
            return averaged_product / float(out["b"]) + (float(out["average_intercept"]) - shift)
        return product * float(out["scale"]) + (float(out["intercept"]) - shift)

    def weights(self, state: State) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The weights of each output, and its intercept, as they were learnt: of averages nothing."""
        outputs, d = state[0]["outputs"], int(state["n_features"][0])
        return outputs["v"][:, :d] * outputs["scale"][:, np.newaxis], outputs["intercept"].copy()

    def averages(self, state: State) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The averaged weights of each output, and its averaged intercept."""
        outputs, d = state[0]["outputs"], int(state["n_features"][0])
        a, b = outputs["a"][:, np.newaxis], outputs["b"][:, np.newaxis]
        return (outputs["averaged"][:, :d] + a * outputs["v"][:, :d]) / b, outputs["average_intercept"].copy()


def _row(rows: Rows, row: int, state: State) -> tuple[NDArray[Any], Any]:
    """A row as the core sees it, and which of its features are there."""
    width, X = state.dtype["outputs"].base["v"].shape[0], rows.X
    if isinstance(X, np.ndarray):
        return sums.completed(X[row], False, width), slice(0, X.shape[1])
    there = X.indices[X.indptr[row] : X.indptr[row + 1]]
    x = np.zeros(width, X.dtype)
    x[there] = X.data[X.indptr[row] : X.indptr[row + 1]]
    return x, there


def _dot(vector: NDArray[Any], x: NDArray[Any], there: Any) -> float:
    """<vector, x>; a sparse row meets nothing where it has no number, not even what is infinite."""
    met = vector
    if not isinstance(there, slice):
        met = np.zeros_like(vector)
        met[there] = vector[there]
    return float(sums.dot(met, x))


def _add(vector: NDArray[Any], amount: Any, x: NDArray[Any], there: Any) -> bool:
    """The same for vector += amount * x; of sparse rows, whether what this changed is finite."""
    place = slice(None) if isinstance(there, slice) else there
    vector[place] += amount * x[place]
    return isinstance(there, slice) or bool(np.isfinite(vector[place]).all())


def _weight(rows: Rows, row: int) -> float:
    return 1.0 if rows.weights is None else float(rows.weights[row])


class _Step(NamedTuple):
    """A row, and what all outputs do with it alike: `live` is False where it is passed over."""

    x: NDArray[Any]
    there: Any
    y: float
    weight: float
    eta: float
    square: float
    live: bool


class _Call:
    """One call of an update, row by row. What it keeps from row to row ends with it."""

    def __init__(self, learner: Any, state: State) -> None:
        self.learner, self.state, self.outputs = learner, state, state[0]["outputs"]
        self.loss: Loss = loss_named(learner.loss, learner.epsilon)
        self.penalty = Penalty(learner.penalty, learner.alpha, learner.l1_ratio)
        self.schedule = Schedule(learner.schedule, learner.eta0, learner.power_t, learner.alpha)
        self.t, self.rows, self.pull = 1.0 + int(state["count"][0]), 0, 0.0
        self.pulled = np.zeros_like(self.outputs["v"])
        if learner.average:
            for kept, now in (("intercept_before", "intercept"), ("a_before", "a"), ("start", "scale")):
                self.outputs[kept] = self.outputs[now]

    def learn(self, x: NDArray[Any], there: Any, y: float, weight: float) -> None:
        """All outputs learn one row."""
        eta = self.schedule.eta(self.t)
        square = float(sums.dot(x, x)) if self.schedule.aggressive else 0.0
        live = not (self.schedule.kind == "pa1" and square == 0)  # a row of zeros is passed over
        self.rows += 1
        if live and self.penalty.pulls:
            self.pull += self.penalty.pull(eta)
        for o, out in enumerate(self.outputs):
            self._step(o, out, _Step(x, there, y, weight, eta, square, live))
        self.t += live

    def _step(self, o: int, out: Any, step: _Step) -> None:
        learner, one = self.learner, step.x.dtype.type
        x, eta, live = step.x, step.eta, step.live
        p = _dot(out["v"], x, step.there) * float(out["scale"]) + float(out["intercept"])
        y, positive = self._sides(o, step.y)
        reach = float(live) * step.weight * self._class_weight(o, positive)
        if not self.schedule.aggressive:
            reach *= -eta
        update = reach * self._moved(y, p, step.square)
        scale = float(out["scale"])
        if live and self.penalty.shrinks:
            scale *= self.penalty.factor(eta)
        if not scale >= _LEAST_SCALE[x.dtype.name]:
            scale = self._rescaled(out, scale)
        if not np.isfinite(p) and not self.state["overflow"][0]:
            self.state["overflow"] = int(self.state["count"][0]) + self.rows
        amount = one(update * (1 / np.float64(scale)))
        if not _add(out["v"], amount, x, step.there) and not self.state["overflow"][0]:
            self.state["overflow"] = int(self.state["count"][0]) + self.rows
        if learner.fit_intercept:
            change = update - eta * self.schedule.alpha if learner.classes == 1 else update
            out["intercept"] += change * learner.decay
        out["scale"] = scale
        if live and learner.average:
            self._average(out, amount, x, step.there)
        if live and self.penalty.pulls:
            self._towards_zero(o, out, step.there)

    def _sides(self, o: int, target: float) -> tuple[float, bool]:
        """What the loss takes for y, and whether the row is of the class."""
        n = self.learner.classes
        if n == 0:
            return target, target > 0
        of = target == (1 if n == 2 else 0 if n == 1 else o)
        return (1.0 if of else self.loss.other), of

    def _class_weight(self, o: int, positive: bool) -> float:
        weights, n = self.learner.class_weights, self.learner.classes
        if not weights:
            return 1.0
        if positive:
            return float(weights[1 if n == 2 else o])
        return float(weights[0]) if n == 2 else 1.0

    def _moved(self, y: float, p: float, square: float) -> float:
        """The slope of the loss; of a passive-aggressive step how far it goes."""
        schedule = self.schedule
        if p != p:  # noqa: PLR0124 - NaN is not itself
            return np.nan
        if schedule.aggressive and self.loss.value is not None:
            value = np.float64(self.loss.value(y, p))
            length = value / (square + 0.5 / schedule.eta0)
            if schedule.kind == "pa1":
                length = value / square if value / square < schedule.eta0 else np.float64(schedule.eta0)
            return float(length * y if self.learner.classes else -length if y - p < 0 else length)
        return min(max(self.loss.gradient(y, p), -_STEEPEST), _STEEPEST)

    def _rescaled(self, out: Any, scale: float) -> float:
        """Multiplies the scale out, and returns the new one, which is 1.

        Averages take in all that was learnt, unless weights are pulled to zero: then it counts what of them is of
        this call, so only the scale from before the call is multiplied out, and scikit-learn takes the averages in
        where the scale has shrunk that much since.
        """
        if np.isnan(scale):
            return scale
        before, averages = out["start"], self.learner.average
        apart = averages and self.penalty.pulls and scale >= _LEAST_SCALE[out["v"].dtype.name] * before
        if averages and not apart:
            out["averaged"][:] = (out["averaged"] + out["a"] * out["v"].astype(float)) / out["b"]
        out["v"][:] = out["v"] * np.float64(before if apart else scale)
        out["a"], out["a_before"] = (out["a"] / before, out["a_before"] / before) if apart else (0, 0)
        out["b"] = out["b"] if apart else 1
        out["start"] = 1
        return float(scale / before) if apart else 1.0

    def _average(self, out: Any, amount: Any, x: NDArray[Any], there: Any) -> None:
        rows = self.t - self.learner.average + 1
        if rows < 1:
            return
        share = 1 / rows
        _add(out["averaged"], x.dtype.type(-out["a"] * float(amount)), x, there)
        if rows > 1:
            out["b"] /= 1 - share
        out["a"] += share * out["b"] * out["scale"]
        out["average_intercept"] += (out["intercept"] - out["average_intercept"]) / rows

    def _towards_zero(self, o: int, out: Any, there: Any) -> None:
        """Pull the weights of these features towards zero, at which they stop."""
        one = out["v"].dtype.type
        far, scale = one(self.pull), one(out["scale"])
        inverse = one(1) / scale
        before, q = out["v"][there].copy(), self.pulled[o, there]
        down, up = before - (far + q) * inverse, before + (far - q) * inverse
        after = np.where(
            before > 0, np.where(down > 0, down, one(0)), np.where(before < 0, np.where(up < 0, up, one(0)), before)
        )
        out["v"][there] = after
        self.pulled[o, there] = q + scale * (after - before)
        if self.learner.average:
            out["averaged"][there] -= (out["a_before"] * (after - before).astype(float)).astype(one)

    def end(self) -> None:
        """What scikit-learn does to the intercepts after each call; see `core/include/treecv/sgd.hpp`."""
        state, average, n = self.state, self.learner.average, self.learner.classes
        before = int(state["count"][0])
        after = before + self.rows
        state["count"] = after
        for out in self.outputs if average else ():
            if n > 2 and average <= before:
                out["average_intercept"], out["intercept"] = out["intercept"], out["intercept_before"]
            elif n == 2 and average <= after:
                out["intercept"] = out["intercept_before"]
        for kept in ("intercept_before", "a_before", "start"):
            self.outputs[kept] = 0
