"""Losses of linear models, the mirror of `core/include/treecv/losses`.

y is the target and p the prediction, two numbers. For a classifier y is 1 for a row that is of the class and the
loss's `other` for one that is not. A loss has its derivative by p, and its value if passive-aggressive steps are to be
offered for it.
"""

from collections.abc import Callable
from dataclasses import dataclass

from treecv.learners.elementary import exp

Formula = Callable[[float, float], float]


@dataclass(frozen=True, slots=True)
class Loss:
    """The derivative of a loss by the prediction, and its value where that is asked for."""

    gradient: Formula
    value: Formula | None = None
    other: float = -1.0


def loss_named(name: str, epsilon: float) -> Loss:
    """The loss of a name; three of them have a width of errors `epsilon`."""
    return _MAKERS[name](epsilon)


def _hinge(threshold: float) -> Loss:
    def value(y: float, p: float) -> float:
        return threshold - y * p if y * p <= threshold else 0.0

    return Loss(lambda y, p: -y if y * p <= threshold else 0.0, value)


def _squared_hinge(y: float, p: float) -> float:
    below = 1.0 - y * p
    return -2.0 * y * below if below > 0 else 0.0


def _log_loss(y: float, p: float) -> float:
    small = float(exp(-p if p > 0 else p))
    return (1.0 / (1.0 + small) if p > 0 else small / (1.0 + small)) - y


def _modified_huber(y: float, p: float) -> float:
    margin = y * p
    if not margin < 1.0:
        return 0.0
    return -2.0 * (1.0 - margin) * y if margin >= -1.0 else -4.0 * y


def _huber(epsilon: float) -> Loss:
    def gradient(y: float, p: float) -> float:
        error = p - y
        return error if -epsilon <= error <= epsilon else epsilon if error > 0 else -epsilon

    return Loss(gradient)


def _epsilon_insensitive(epsilon: float) -> Loss:
    def value(y: float, p: float) -> float:
        return max(abs(y - p) - epsilon, 0.0)

    return Loss(lambda y, p: float(p - y > epsilon) - float(y - p > epsilon), value)


def _squared_epsilon_insensitive(epsilon: float) -> Loss:
    def gradient(y: float, p: float) -> float:
        error = y - p
        low = 2.0 * (-error - epsilon) if error < -epsilon else 0.0
        return low - (2.0 * (error - epsilon) if error > epsilon else 0.0)

    return Loss(gradient)


_MAKERS: dict[str, Callable[[float], Loss]] = {
    "hinge": lambda epsilon: _hinge(1.0),
    "perceptron": lambda epsilon: _hinge(0.0),
    "squared_hinge": lambda epsilon: Loss(_squared_hinge),
    "log_loss": lambda epsilon: Loss(_log_loss, other=0.0),
    "modified_huber": lambda epsilon: Loss(_modified_huber),
    "squared_error": lambda epsilon: Loss(lambda y, p: p - y),
    "huber": _huber,
    "epsilon_insensitive": _epsilon_insensitive,
    "squared_epsilon_insensitive": _squared_epsilon_insensitive,
}

LOSSES = tuple(_MAKERS)
"""The names of all losses."""
