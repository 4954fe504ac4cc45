"""A Gaussian density with a full or a diagonal covariance.

Welford: Note on a method for calculating corrected sums of squares and products, Technometrics 4 (1962). With weights:
West: Updating mean and variance estimates: an improved method, Communications of the ACM 22 (1979). Two states are
joined, and rows taken back, as in Chan, Golub and LeVeque: Algorithms for computing the sample variance, The American
Statistician 37 (1983).
"""

from dataclasses import dataclass
from math import log as exact_log
from math import pi
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from treecv.data import Feed, Rows
from treecv.learner import Schema, State
from treecv.learners import sums
from treecv.learners.compiled import compiled
from treecv.learners.elementary import log
from treecv.learners.gaussian_folds import DIGITS, Diagonal, Full, Gone, log_densities
from treecv.learners.settings import check_flags, check_positive, check_rows

_LOG_2_PI = exact_log(2 * pi)


@compiled
@dataclass(frozen=True, slots=True)
class Gaussian:
    """A Gaussian density; predicts its logarithm.

    What is learnt does not depend on the order of the rows, so the tree's scores are those of training each fold from
    scratch, to rounding.

    Parameters
    ----------
    full : bool
        Whether features may go together; else the covariance is diagonal.
    floor : float
        Added to every variance, so that there is a density also where features are constant or rows are few.

    Examples
    --------
    >>> import numpy as np
    >>> from treecv.data import Rows
    >>> from treecv.learner import Schema
    >>> learner = Gaussian(floor=1e-12)
    >>> state = learner.init(Schema(n_rows=2, n_features=1, dtype="float64"))
    >>> learner.update(state, Rows(np.array([[-1.0], [1.0]])))
    >>> learner.predict(state, Rows(np.array([[0.0]]))).round(4)
    array([-0.9189])
    """

    full: bool = True
    floor: float = 1e-6

    order_free: ClassVar[bool] = True
    call_free: ClassVar[bool] = True
    supervised: ClassVar[bool] = False
    weighs: ClassVar[bool] = True
    shows_nonfinite: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_flags(self, "full")
        check_positive(self, "floor")
        object.__setattr__(self, "full", bool(self.full))
        object.__setattr__(self, "floor", float(self.floor))

    def settings(self) -> dict[str, Any]:
        """What the core is told."""
        return {"full": self.full, "floor": self.floor}

    def init(self, schema: Schema) -> State:
        """A state that has learnt nothing."""
        size = sums.width(schema.n_features, False, schema.dtype)
        lines = schema.n_features if self.full else 1
        fields = {"mean": ("f8", (size,)), "scatter": ("f8", (lines, size)), "total": "f8", "unused": ("f8", (7,))}
        return sums.blank(schema.n_features, fields | {"v": (schema.dtype, (0,))})

    def copy(self, state: State) -> State:
        """An independent state."""
        return state.copy()

    def targets(self, rows: Rows) -> None:
        """There are none to learn."""

    def update(self, state: State, rows: Rows) -> None:
        """Let `state` learn `rows`, in their order."""
        check_rows(self, state, rows)
        learnt, d = state[0], int(state["n_features"][0])
        mean, scatter = learnt["mean"][:d], learnt["scatter"][:, :d]
        with np.errstate(over="ignore", invalid="ignore"):
            for row in rows.order():
                weight = 1.0 if rows.weights is None else float(rows.weights[row])
                before = float(learnt["total"])
                learnt["total"] = before + weight
                if not weight > 0:
                    continue
                share = weight / (before + weight)
                lever = share * before
                away = rows.X[row].astype(float) - mean
                mean += share * away
                if self.full:
                    for a in range(d):
                        scatter[a, a:] += (lever * away[a]) * away[a:]
                else:
                    scatter[0] += lever * away * away
        learnt["count"] += len(rows)

    def merge(self, state: State, other: State) -> State:
        """Let `state` have learnt also what `other` has; returns it."""
        mine, theirs, d = state[0], other[0], int(state["n_features"][0])
        before, total = float(mine["total"]), float(mine["total"] + theirs["total"])
        if total > 0:
            share = float(theirs["total"]) / total
            apart = theirs["mean"][:d] - mine["mean"][:d]
            mine["scatter"][:, :d] += theirs["scatter"][:, :d] + self._spread(
                np.sqrt(before * share) * apart[np.newaxis]
            )
            mine["mean"][:d] += share * apart
        mine["total"] = total
        mine["count"] += theirs["count"]
        return state

    def unlearn(self, state: State, rows: Rows) -> None:
        """Let `state` be as if it had never learnt `rows`."""
        check_rows(self, state, rows)
        learnt, d = state[0], int(state["n_features"][0])
        learnt["count"] -= len(rows)
        if learnt["count"] == 0:
            learnt["total"] = learnt["mean"] = learnt["scatter"] = 0
            return
        gone = self._gone(state, rows)
        if gone.weight[0] > 0:
            learnt["scatter"][:, :d] -= self._spread(gone.factor[0])
            learnt["mean"][:d] -= gone.shift[0]
            learnt["total"] = gone.left[0]

    def unlearnable(self, state: State, rows: Rows) -> bool:
        """Whether `unlearn` spoils no more than three digits: in no direction all of the spread comes from `rows`."""
        check_rows(self, state, rows)
        learnt, d, gone = state[0], int(state["n_features"][0]), self._gone(state, rows)
        if gone.weight[0] == 0 or len(rows) == learnt["count"]:
            return True
        scatter = learnt["scatter"][:, :d]
        try:
            kind, spread = (Full, scatter + np.triu(scatter, 1).T) if self.full else (Diagonal, scatter[0])
            return kind(spread, float(learnt["total"]), self.floor).least_left(gone) >= DIGITS
        except np.linalg.LinAlgError:  # the floor is lost beside the spread
            return False

    def _gone(self, state: State, rows: Rows) -> Gone:
        """What these rows would take with them."""
        learnt, d = state[0], int(state["n_features"][0])
        stored = np.fromiter(rows.order(), np.int64, len(rows))
        weights = np.ones(len(rows)) if rows.weights is None else rows.weights[stored].astype(float)
        away = rows.X[stored].astype(float) - learnt["mean"][:d]
        return Gone.of(away[np.newaxis], weights[np.newaxis], float(learnt["total"]))

    def _spread(self, factor: NDArray[np.float64]) -> NDArray[np.float64]:
        """F'F as states keep it: the upper triangle, or the diagonal in one line."""
        if self.full:
            return np.triu(factor.T @ factor)
        diagonal: NDArray[np.float64] = (factor**2).sum(axis=0)[np.newaxis]
        return diagonal

    def held_out(self, schema: Schema, feed: Feed) -> NDArray[np.float64]:
        """The log density of each held-out row, in the order of positions, by all rows outside of its own fold.

        NaN where these have no weight.
        """
        return log_densities(self, schema, feed)

    def held_out_trainings(self, n_rows: int, n_features: int, k: int) -> float:
        """What `held_out` costs, in trainings.

        A dozen passes over the rows; with a full covariance also a product of them, and for each fold the eigenvalues
        of a matrix as wide as the fold has rows, or the rows features.
        """
        if not self.full:
            return 8.0
        size = n_rows / k
        return 3 + 2 * min(size / n_features, n_features / size) ** (2 if size < n_features else 1)

    def covariance(self, state: State) -> NDArray[np.float64]:
        """The covariance, or its diagonal; NaN before there are rows."""
        learnt, d = state[0], int(state["n_features"][0])
        with np.errstate(invalid="ignore"):
            upper = learnt["scatter"][:, :d] / learnt["total"]
        if not self.full:
            diagonal: NDArray[np.float64] = upper[0] + self.floor
            return diagonal
        upper = np.triu(upper)
        covariance: NDArray[np.float64] = upper + np.triu(upper, 1).T + self.floor * np.eye(d)
        return covariance

    def mean(self, state: State) -> NDArray[np.float64]:
        """The mean."""
        mean: NDArray[np.float64] = state[0]["mean"][: int(state["n_features"][0])].copy()
        return mean

    def predict(self, state: State, rows: Rows) -> NDArray[np.float64]:
        """The log density of each row; NaN before there are rows."""
        check_rows(self, state, rows)
        d, mean = int(state["n_features"][0]), self.mean(state)
        with np.errstate(all="ignore"):
            factor, logs = self._factor(state)
            found = []
            for row in rows.order():
                away, squares = rows.X[row].astype(float) - mean, 0.0
                for a in range(d):
                    if not self.full:
                        squares += float(away[a] * away[a] / factor[0, a])
                        continue
                    z = away[a] / factor[a, a]
                    squares += float(z * z)
                    away[a + 1 :] -= z * factor[a, a + 1 :]
                found.append(-0.5 * (squares + logs + d * _LOG_2_PI))
        return np.array(found)

    def _factor(self, state: State) -> tuple[NDArray[np.float64], float]:
        """The upper triangle U of the covariance U'U, or its diagonal; and the logarithm of its determinant."""
        learnt, d, logs = state[0], int(state["n_features"][0]), 0.0
        u = learnt["scatter"][:, :d] / learnt["total"]
        if not self.full:
            u = u + self.floor
            for variance in u[0]:
                logs += float(log(variance))
            return u, logs
        u[np.arange(d), np.arange(d)] += self.floor
        for a in range(d):
            logs += float(log(u[a, a]))
            root = np.sqrt(u[a, a])
            u[a, a] = root
            u[a, a + 1 :] *= 1 / root
            for b in range(a + 1, d):
                u[b, b:] -= u[a, b] * u[a, b:]
        return u, logs
