"""A mixture of Gaussians with diagonal covariances, learnt row by row: stepwise EM.

Cappé and Moulines: On-line expectation-maximization algorithm for latent data models, Journal of the Royal Statistical
Society B 71 (2009). Liang and Klein: Online EM for unsupervised models, NAACL 2009.
"""

from dataclasses import dataclass
from math import log as exact_log
from math import pi
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from treecv.data import Rows
from treecv.errors import InputError
from treecv.learner import Schema, State
from treecv.learners import sums
from treecv.learners.compiled import compiled
from treecv.learners.elementary import exp, log
from treecv.learners.seeding import seeds
from treecv.learners.settings import check_positive, check_rows, check_whole

_LOG_2_PI = exact_log(2 * pi)


@compiled
@dataclass(frozen=True, slots=True)
class GaussianMixture:
    """A density of several components; predicts the number of the likeliest one and the log density.

    Parameters
    ----------
    n_components : int
    start : int
        The most rows that the first means are chosen from; 0: three times as many as there are components.
    power : float
        The step of row t is (t + 2) to the power of minus this: from just above 0.5 to 1.
    floor : float
        No variance counts as less.
    seed : int
        Names the random numbers of the choice.

    Examples
    --------
    >>> import numpy as np
    >>> from treecv.data import Rows
    >>> from treecv.learner import Schema
    >>> X = np.random.default_rng(0).normal(size=(500, 1)) + np.repeat([[0.0], [10.0]], 250, axis=0)
    >>> learner = GaussianMixture(n_components=2)
    >>> state = learner.init(Schema(n_rows=500, n_features=1, dtype="float64"))
    >>> learner.update(state, Rows(np.random.default_rng(1).permutation(X)))
    >>> bool(learner.predict(state, Rows(np.array([[0.0], [5.0]])))[:, 1].argmax() == 0)
    True
    """

    n_components: int
    start: int = 0
    power: float = 0.7
    floor: float = 1e-6
    seed: int = 0

    order_free: ClassVar[bool] = False
    call_free: ClassVar[bool] = False
    outputs: ClassVar[int] = 2
    supervised: ClassVar[bool] = False
    shows_nonfinite: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_whole(self, "n_components", 1)
        check_whole(self, "start", 0)
        check_whole(self, "seed", 0)
        check_positive(self, "power", "floor")
        for name in ("power", "floor"):
            object.__setattr__(self, name, float(getattr(self, name)))
        if self.power > 1:
            raise InputError(f"GaussianMixture: power={self.power!r} must be at most 1, or the steps end too soon.")
        if self.floor > 1:
            raise InputError(f"GaussianMixture: floor={self.floor!r} must be at most 1: scale the features instead.")
        if self.start == 0:
            object.__setattr__(self, "start", 3 * self.n_components)
        if self.start < self.n_components:
            raise InputError(
                f"GaussianMixture: start={self.start} rows are too few to choose n_components={self.n_components} "
                "from. Give at least as many, or 0."
            )

    def settings(self) -> dict[str, Any]:
        """What the core is told."""
        told = {"n_components": self.n_components, "start": self.start}
        return told | {"power": self.power, "floor": self.floor, "seed": self.seed}

    def init(self, schema: Schema) -> State:
        """A state that has learnt nothing."""
        if schema.n_rows < self.n_components:
            raise InputError(
                f"GaussianMixture: n_components={self.n_components} cannot be chosen from {schema.n_rows} rows. Ask "
                "for fewer."
            )
        size, k = sums.width(schema.n_features, False, schema.dtype), self.n_components
        return sums.blank(
            schema.n_features,
            {
                "means": ("f8", (k, size)),
                "variances": ("f8", (k, size)),
                "weights": ("f8", (-(-k // 8) * 8,)),
                "started": "i8",
                "waiting": "i8",
                "steps": "i8",
                "unused": ("i8", (5,)),
                "v": (schema.dtype, (self.start, size)),
            },
        )

    def copy(self, state: State) -> State:
        """An independent state."""
        return state.copy()

    def targets(self, rows: Rows) -> None:
        """There are none to learn."""

    def update(self, state: State, rows: Rows) -> None:
        """Let `state` learn `rows`, in their order."""
        check_rows(self, state, rows)
        learnt = state[0]
        size = learnt["means"].shape[1]
        with np.errstate(all="ignore"):
            for row in rows.order():
                x = sums.completed(rows.X[row], False, size)
                if learnt["started"]:
                    self._step(state, x.astype(float))
                    continue
                learnt["v"][int(learnt["waiting"])] = x + x.dtype.type(0)  # -0 is 0
                learnt["waiting"] += 1
                if learnt["waiting"] == len(learnt["v"]):
                    self._begin(state)
            if not learnt["started"] and learnt["waiting"] >= self.n_components:
                self._begin(state)
        learnt["count"] += len(rows)

    def predict(self, state: State, rows: Rows) -> NDArray[np.float64]:
        """The likeliest component of each row, and the log density; NaN before there are components."""
        check_rows(self, state, rows)
        learnt, out = state[0], np.tile([0.0, np.nan], (len(rows), 1))
        if not learnt["started"]:
            return out
        size = learnt["means"].shape[1]
        with np.errstate(all="ignore"):
            for place, row in enumerate(rows.order()):
                density, likely = self._deal(state, sums.completed(rows.X[row], False, size).astype(float))
                for c in range(1, self.n_components):
                    if likely[c] > likely[int(out[place, 0])]:
                        out[place, 0] = c
                out[place, 1] = density
        return out

    def _deal(self, state: State, x: NDArray[np.float64]) -> tuple[float, list[float]]:
        """The log density of a row, and the share of each component in it."""
        learnt, d = state[0], int(state["n_features"][0])
        likely, most = [], -np.inf
        for c in range(self.n_components):
            variance = np.where(learnt["variances"][c] > self.floor, learnt["variances"][c], self.floor)
            away = x - learnt["means"][c]
            spread = float(sums.total(away * away / variance)) + float(sums.total(log(variance)))
            likely.append(float(log(learnt["weights"][c])) - 0.5 * (spread + d * _LOG_2_PI))
            most = likely[-1] if likely[-1] > most else most
        parts = [float(exp(one - most)) for one in likely]
        total = 0.0
        for part in parts:
            total += part
        return most + float(log(total)), [float(np.float64(part) / total) for part in parts]

    def _step(self, state: State, x: NDArray[np.float64]) -> None:
        learnt, d = state[0], int(state["n_features"][0])
        _, likely = self._deal(state, x)
        length = float(exp(-self.power * log(float(learnt["steps"] + 2))))
        learnt["steps"] += 1
        for c, own in enumerate(likely):
            part = length * own
            weight = learnt["weights"][c] = (1 - length) * float(learnt["weights"][c]) + part
            share = part / weight if weight > 0 else 0 * part
            mean, variance = learnt["means"][c, :d], learnt["variances"][c, :d]
            away = x[:d] - mean
            mean += share * away
            variance[:] = (1 - share) * (variance + share * away * away)

    def _begin(self, state: State) -> None:
        """k-means++ chooses the means; every variance is that of the first rows. Then these are learnt."""
        learnt, d = state[0], int(state["n_features"][0])
        first = learnt["v"][: int(learnt["waiting"])]
        mean, spread = np.zeros(d), np.zeros(d)
        for x in first:
            mean += x[:d].astype(float)
        mean /= len(first)
        for x in first:
            away = x[:d].astype(float) - mean
            spread += away * away
        for c, i in enumerate(seeds(first, self.n_components, self.seed)):
            learnt["means"][c] = first[i]
            learnt["variances"][c] = 1
            learnt["variances"][c, :d] = spread / len(first)
            learnt["weights"][c] = 1 / self.n_components
        learnt["started"] = 1
        for x in first:
            self._step(state, x.astype(float))
