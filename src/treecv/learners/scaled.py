"""A linear model behind a scaler of its features, as one learner.

Every call shows its rows to the scaler first, as a pipeline of the two does when it is fed part by part; then the model
learns them as they are scaled from then on. Moments are joined as in Chan, Golub and LeVeque: Updating formulae and a
pairwise algorithm for computing sample variances (1979).
"""

from dataclasses import dataclass
from typing import Any, ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from treecv.data import Rows
from treecv.errors import InputError
from treecv.learner import Schema, State
from treecv.learners import sums
from treecv.learners.compiled import compiled, reference_of
from treecv.learners.settings import check_among, check_flags, check_rows
from treecv.learners.sgd import SGD

SCALERS = ("standard", "minmax", "maxabs")
"""The names of all scalers."""

_VECTORS = ("first", "second", "shift", "factor")
"""What a scaler knows of each feature: see `core/include/treecv/scaled.hpp`."""


@compiled
@dataclass(frozen=True, slots=True)
class Scaled:
    """A scaler and a linear model.

    Parameters
    ----------
    model : SGD
        What learns the scaled rows.
    scaler : {"standard", "minmax", "maxabs"}
        To mean 0 and variance 1; from the least and the largest number to `low` and `high`; or so that the largest
        number without its sign is 1.
    centres, scales : bool
        Of "standard": whether means become 0, and variances 1.
    low, high : float
    clips : bool
        Of the other two: whether numbers beyond those seen are cut off.

    Examples
    --------
    >>> import numpy as np
    >>> from treecv.data import Rows
    >>> from treecv.learner import Schema
    >>> model = SGD(loss="squared_error", classes=0, penalty="none", schedule="constant", eta0=0.5)
    >>> learner = Scaled(model, scaler="minmax")
    >>> state = learner.init(Schema(n_rows=2, n_features=1, dtype="float64"))
    >>> rows = Rows(np.array([[3.0], [5.0]]), np.array([0.0, 1.0]))
    >>> learner.update(state, rows)
    >>> learner.predict(state, rows)
    array([0.5, 1. ])
    """

    model: SGD
    scaler: str = "standard"
    centres: bool = True
    scales: bool = True
    low: float = 0.0
    high: float = 1.0
    clips: bool = False

    order_free: ClassVar[bool] = False
    call_free: ClassVar[bool] = False
    weighs: ClassVar[bool] = True
    known: ClassVar[tuple[str, ...]] = _VECTORS

    def __post_init__(self) -> None:
        check_among(self, "scaler", SCALERS)
        check_flags(self, "centres", "scales", "clips")
        for name in ("low", "high"):
            object.__setattr__(self, name, float(getattr(self, name)))
        if not -np.inf < self.low < self.high < np.inf:
            raise InputError(f"Scaled: high={self.high} must be greater than low={self.low}, and both finite.")

    @property
    def outputs(self) -> int:
        """Those of the model."""
        return self.model.outputs

    @property
    def margins(self) -> bool:
        """Whether a prediction's sign, or its largest column, is a class."""
        return self.model.margins

    @property
    def shows_nonfinite(self) -> bool:
        """Whether a row with NaN or infinity never gets a finite prediction: what is cut off does."""
        return not self.clips

    @property
    def supervised(self) -> bool:
        """Whether there are targets to learn."""
        return self.model.supervised

    @property
    def seed(self) -> int | None:
        """Names the random order, where the user of the learner names none."""
        return self.model.seed

    @property
    def shuffles(self) -> bool:
        """Whether updates are to be learnt in random order."""
        return self.model.shuffles

    def settings(self) -> dict[str, Any]:
        """What the learner is made of."""
        told = {name: getattr(self, name) for name in ("scaler", "centres", "scales", "low", "high", "clips")}
        return {"model": self.model} | told

    def init(self, schema: Schema) -> State:
        """A state that has learnt nothing."""
        model = self.model.init(schema)
        size = sums.width(schema.n_features, False, schema.dtype)
        fields = {name: model.dtype[name] for name in model.dtype.names or () if name not in sums.HEADER}
        state = sums.blank(schema.n_features, fields | dict.fromkeys(_VECTORS, ("f8", (size,))))
        state["outputs"] = model["outputs"]
        return state

    def copy(self, state: State) -> State:
        """An independent state."""
        return state.copy()

    def targets(self, rows: Rows) -> NDArray[np.float64] | None:
        """Those of the model."""
        return self.model.targets(rows)

    def overflow(self, state: State) -> int:
        """The row at which a number first was not finite, 0 if all are."""
        return self.model.overflow(state)

    def update(self, state: State, rows: Rows) -> None:
        """Let `state` learn `rows`, in their order."""
        check_rows(self, state, rows)
        order, size = list(rows.order()), self.model.batch_size or max(len(rows), 1)
        model = reference_of(self.model)
        with np.errstate(over="ignore", invalid="ignore"):
            for begin in range(0, len(order), size):
                part = order[begin : begin + size]
                self._look(state, rows.X[part])
                y = None if rows.y is None else rows.y[part]
                weights = None if rows.weights is None else rows.weights[part]
                model.update(state, Rows(self._transformed(state, rows.X[part]), y, weights))

    def predict(self, state: State, rows: Rows) -> NDArray[np.float64]:
        """What the model says of the scaled rows."""
        check_rows(self, state, rows)
        X = self._transformed(state, rows.X[list(rows.order())])
        model = reference_of(self.model)
        predicted: NDArray[np.float64] = model.predict(state, Rows(X))
        return predicted

    def _look(self, state: State, X: NDArray[Any]) -> None:
        """Let the scaler see the rows of a call."""
        first, second, shift, factor = (state[0][name][: X.shape[1]] for name in _VECTORS)
        before, X = int(state["count"][0]), sums.read(X).astype(float)
        if self.scaler == "standard":
            if before == 0:
                first[:] = X[0]
            _join(first, second, X, before)
            total = before + len(X)
            eps = np.finfo(float).eps
            variance, noise = second / total, total * first * eps
            constant = variance <= total * eps * variance + noise * noise
            factor[:] = 1 / np.where(constant, 1, np.sqrt(variance)) if self.scales else 1
            shift[:] = first if self.centres else 0
            return
        both = self.scaler == "minmax"
        if both and before == 0:
            first[:] = second[:] = X[0]
        for x in X:  # NaN is passed over
            if both:
                first[:] = np.where(x < first, x, first)
            size = x if both else np.abs(x)
            second[:] = np.where(size > second, size, second)
        span, reach = self.high - self.low if both else 1.0, second - first
        factor[:] = span / np.where(reach < 10 * np.finfo(sums.value_type(state)).eps, 1, reach)
        shift[:] = first

    def _transformed(self, state: State, X: NDArray[Any]) -> NDArray[Any]:
        shift, factor = (state[0][name][: X.shape[1]] for name in _VECTORS[2:])
        both = self.scaler == "minmax"
        with np.errstate(over="ignore", invalid="ignore"):
            scaled = ((X.astype(float) - shift) * factor + (self.low if both else 0.0)).astype(X.dtype)
        if self.clips and self.scaler != "standard":
            scaled = np.clip(scaled, self.low if both else -1, self.high if both else 1)
        return cast(NDArray[Any], scaled)


def _join(mean: NDArray[np.float64], squares: NDArray[np.float64], X: NDArray[np.float64], before: int) -> None:
    """Join mean and sum of squared differences of the rows before with those of X."""
    total, sum_, own = before + len(X), np.zeros_like(mean), np.zeros_like(mean)
    for x in X:  # one after another, as the core adds
        difference = x - mean
        sum_ += difference
        own += difference * difference
    average = sum_ * (1 / len(X))
    spread = own - sum_ * average
    squares += np.where(spread < 0, 0, spread) + sum_ * average * (before / total)
    mean += sum_ / total
