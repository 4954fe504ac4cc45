"""Least squares by robust stochastic approximation.

Nemirovski, Juditsky, Lan, Shapiro: Robust stochastic approximation approach to stochastic programming,
SIAM Journal on Optimization 19 (2009).

Each row moves w by -step (<w, x> - y) x and back onto the ball of the given radius; the average of the
iterates w_1 .. w_t is the model. The average is kept as a sum in double precision.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from treecv.data import Rows
from treecv.learner import Schema, State
from treecv.learners import sums
from treecv.learners.compiled import compiled
from treecv.learners.settings import check_fits, check_flags, check_positive, check_rows


@compiled
@dataclass(frozen=True, slots=True)
class LSQSGD:
    """Linear least squares by averaged, projected gradient steps.

    Parameters
    ----------
    step_size : float
        Length of the steps, > 0; the theory asks for one over the square root of the rows to be learnt.
    radius : float
        Radius of the ball the weights are kept in, > 0.
    fit_intercept : bool
        Whether a constant feature 1 is appended.

    Examples
    --------
    >>> import numpy as np
    >>> from treecv.data import Rows
    >>> from treecv.learner import Schema
    >>> learner = LSQSGD(step_size=0.5, fit_intercept=False)
    >>> state = learner.init(Schema(n_rows=2, n_features=1, dtype="float64"))
    >>> rows = Rows(np.array([[1.0], [1.0]]), np.array([1.0, 1.0]))
    >>> learner.update(state, rows)
    >>> learner.predict(state, rows)
    array([0.625, 0.625])
    """

    step_size: float
    radius: float = 1.0
    fit_intercept: bool = True

    order_free: ClassVar[bool] = False
    call_free: ClassVar[bool] = True
    shows_nonfinite: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_positive(self, "step_size", "radius")
        check_flags(self, "fit_intercept")
        for name in ("step_size", "radius"):  # a float32 would be another number in the core
            object.__setattr__(self, name, float(getattr(self, name)))

    def settings(self) -> dict[str, Any]:
        """What the core is told."""
        return {
            "step_size": self.step_size,
            "radius": self.radius,
            "fit_intercept": bool(self.fit_intercept),
        }

    def init(self, schema: Schema) -> State:
        """A state that has learnt nothing."""
        check_fits(self, schema.dtype, "step_size", "radius")
        size = sums.width(schema.n_features, self.fit_intercept, schema.dtype)
        return sums.blank(schema.n_features, {"w": (schema.dtype, (size,)), "sum": ("float64", (size,))})

    def copy(self, state: State) -> State:
        """An independent state."""
        return state.copy()

    def targets(self, rows: Rows) -> NDArray[np.float64]:
        """The targets in double precision."""
        return np.ascontiguousarray(rows.y, np.float64)

    def update(self, state: State, rows: Rows) -> None:
        """Let `state` learn `rows`, in their order."""
        check_rows(self, state, rows)
        learnt, y = state[0], self.targets(rows)
        w, one = learnt["w"], learnt["w"].dtype.type
        step, radius = one(self.step_size), one(self.radius)
        with np.errstate(over="ignore", invalid="ignore"):  # an overflow shows in the predictions
            for row in rows.order():
                x = sums.completed(rows.X[row], self.fit_intercept, len(w))
                w += -step * (sums.dot(w, x) - one(y[row])) * x
                square = sums.dot(w, w)
                if square > radius * radius:
                    w *= radius / np.sqrt(square) + (square - square)
                learnt["sum"] += w
                learnt["count"] += 1

    def predict(self, state: State, rows: Rows) -> NDArray[np.float64]:
        """The predicted target of each row."""
        check_rows(self, state, rows)
        total, t = state[0]["sum"], int(state[0]["count"])
        if t == 0:
            return np.zeros(len(rows))
        vectors = (sums.completed(rows.X[row], self.fit_intercept, len(total)) for row in rows.order())
        with np.errstate(over="ignore", invalid="ignore"):
            return np.array([float(sums.dot(total, x.astype(float))) / t for x in vectors])
