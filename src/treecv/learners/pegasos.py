"""PEGASOS: the linear support vector machine, learnt by stochastic gradient steps.

Shalev-Shwartz, Singer, Srebro, Cotter: Pegasos: primal estimated sub-gradient solver for SVM,
Mathematical Programming 127 (2011); without its optional projection.

The weights after t rows are w = v / (alpha t): v adds up y x over the rows whose margin y <w, x> was
below 1 when they came. The last iterate is the model.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from treecv.data import Rows
from treecv.errors import InputError
from treecv.learner import Schema, State
from treecv.learners import sums
from treecv.learners.compiled import compiled
from treecv.learners.settings import check_codes, check_flags, check_positive, check_rows


@compiled
@dataclass(frozen=True, slots=True)
class Pegasos:
    """Linear SVM by PEGASOS, for two classes coded 0 and 1.

    Parameters
    ----------
    alpha : float
        Strength of the squared penalty, > 0.
    fit_intercept : bool
        Whether a constant feature 1 is appended; its weight is penalised with the rest.

    Examples
    --------
    >>> import numpy as np
    >>> from treecv.data import Rows
    >>> from treecv.learner import Schema
    >>> learner = Pegasos(alpha=0.1)
    >>> state = learner.init(Schema(n_rows=2, n_features=1, dtype="float64", classes=("a", "b")))
    >>> rows = Rows(np.array([[-1.0], [2.0]]), np.array([0, 1], np.int32))
    >>> learner.update(state, rows)
    >>> learner.predict(state, rows)
    array([-10.,   5.])
    """

    alpha: float = 1e-4
    fit_intercept: bool = True

    order_free: ClassVar[bool] = False
    call_free: ClassVar[bool] = True
    margins: ClassVar[bool] = True
    shows_nonfinite: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_positive(self, "alpha")
        check_flags(self, "fit_intercept")
        object.__setattr__(self, "alpha", float(self.alpha))  # a float32 would be another number in the core

    def settings(self) -> dict[str, Any]:
        """What the core is told."""
        return {"alpha": self.alpha, "fit_intercept": bool(self.fit_intercept)}

    def init(self, schema: Schema) -> State:
        """A state that has learnt nothing."""
        if schema.classes is not None and len(schema.classes) != 2:
            raise InputError(
                f"Pegasos tells two classes apart, but y holds {len(schema.classes)}: "
                f"{list(schema.classes)[:5]}. Make it one class against the rest (y == label)."
            )
        size = sums.width(schema.n_features, self.fit_intercept, schema.dtype)
        return sums.blank(schema.n_features, {"v": (schema.dtype, (size,))})

    def copy(self, state: State) -> State:
        """An independent state."""
        return state.copy()

    def targets(self, rows: Rows) -> NDArray[np.int32]:
        """The classes as codes 0 and 1."""
        check_codes(self, rows.y, 2)
        return np.ascontiguousarray(rows.y, np.int32)

    def update(self, state: State, rows: Rows) -> None:
        """Let `state` learn `rows`, in their order."""
        check_rows(self, state, rows)
        learnt, codes = state[0], self.targets(rows)
        with np.errstate(over="ignore", invalid="ignore"):  # an overflow shows in the predictions
            for row in rows.order():
                sign = 1 if codes[row] else -1
                x = sums.completed(rows.X[row], self.fit_intercept, len(learnt["v"]))
                t = int(learnt["count"])
                margin = float(sign * sums.dot(learnt["v"], x))
                if t == 0 or not margin >= self.alpha * t:  # NaN, from an overflow, makes all weights NaN
                    learnt["v"] += x.dtype.type(sign if margin == margin else np.nan) * x  # noqa: PLR0124
                learnt["count"] = t + 1

    def predict(self, state: State, rows: Rows) -> NDArray[np.float64]:
        """<w, x> of each row: positive for the class coded 1."""
        check_rows(self, state, rows)
        v, t = state[0]["v"], int(state[0]["count"])
        if t == 0:
            return np.zeros(len(rows))
        vectors = (sums.completed(rows.X[row], self.fit_intercept, len(v)) for row in rows.order())
        with np.errstate(over="ignore", invalid="ignore"):
            return np.array([float(sums.dot(v, x)) / (self.alpha * t) for x in vectors])
