"""How long steps are, and how penalties work on them: the mirror of `schedule.hpp` and `penalty.hpp`."""

import math
from dataclasses import dataclass, field

from treecv.learners.elementary import exp, log

SCHEDULES = ("constant", "adaptive", "optimal", "invscaling", "pa1", "pa2")
"""The names of all schedules; `adaptive` becomes shorter after some epochs, and a call is one epoch."""

PENALTIES = ("none", "l2", "l1", "elasticnet")
"""The names of all penalties."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """The length of step t = 1, 2, ...

    `optimal` is 1 / (alpha (t0 + t - 1)), whose first step is of a typical weight's length (Bottou); passive-aggressive
    steps, `pa1` and `pa2`, depend on the loss (Crammer and others 2006), and eta0 says how aggressive they are.
    """

    kind: str
    eta0: float
    power: float
    alpha: float
    offset: float = field(init=False)

    def __post_init__(self) -> None:
        optimal = self.kind == "optimal"
        offset = 1 / (math.sqrt(1 / math.sqrt(self.alpha)) * self.alpha) if optimal else 0.0
        object.__setattr__(self, "offset", offset)

    @property
    def aggressive(self) -> bool:
        """Whether steps depend on the loss."""
        return self.kind in ("pa1", "pa2")

    def eta(self, t: float) -> float:
        """The length of a step."""
        if self.kind == "optimal":
            return 1 / (self.alpha * (self.offset + t - 1))
        return self.eta0 / self._powered(t) if self.kind == "invscaling" else self.eta0

    def _powered(self, t: float) -> float:
        if self.power == 0.5:
            return math.sqrt(t)
        if self.power == 0.25:
            return math.sqrt(math.sqrt(t))
        return float(exp(self.power * log(t)))


@dataclass(frozen=True, slots=True)
class Penalty:
    """l2 shrinks all weights at every step; l1 pulls them to zero and holds them there; elasticnet does both."""

    kind: str
    alpha: float
    ratio: float

    @property
    def shrinks(self) -> bool:
        """Whether there is an l2 part."""
        return self.kind in ("l2", "elasticnet")

    @property
    def pulls(self) -> bool:
        """Whether there is an l1 part (Tsuruoka, Tsujii and Ananiadou 2009)."""
        return self.kind in ("l1", "elasticnet")

    @property
    def l1_ratio(self) -> float:
        """The share of the l1 part."""
        return self.ratio if self.kind == "elasticnet" else float(self.pulls)

    def factor(self, eta: float) -> float:
        """What all weights are multiplied with in a step."""
        return max(0.0, 1.0 - (1.0 - self.l1_ratio) * eta * self.alpha)

    def pull(self, eta: float) -> float:
        """What a step adds to the pull."""
        return self.l1_ratio * eta * self.alpha
