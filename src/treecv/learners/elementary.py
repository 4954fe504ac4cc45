"""Exponential and logarithm as the core computes them (`core/include/treecv/elementary.hpp`), in NumPy.

NumPy's own pick their instructions by processor, and with them the last bit. These are the same additions,
multiplications and one division as in the core, so the reference arithmetic of a learner follows it bit by bit.
"""

from math import factorial

import numpy as np
from numpy.typing import ArrayLike, NDArray

_LN2_HIGH, _LN2_LOW = float.fromhex("0x1.62e42fefap-1"), float.fromhex("0x1.cf79abc9e3b3ap-40")
_PER_LN2, _ROOT_HALF = float.fromhex("0x1.71547652b82fep0"), float.fromhex("0x1.6a09e667f3bcdp-1")
_EXP_SERIES = tuple(1 / factorial(i) for i in range(13, 1, -1))
_LOG_SERIES = tuple(2 / i for i in range(21, 1, -2))


def exp(x: ArrayLike) -> NDArray[np.float64]:
    """The numbers e to the power of x, each off by less than one unit in the last place."""
    x = np.clip(np.asarray(x, np.float64), -746, 710)
    k = np.rint(x * _PER_LN2)
    r = (x - k * _LN2_HIGH) - k * _LN2_LOW
    power = r + r * r * _polynomial(_EXP_SERIES, r)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        steps = np.nan_to_num(k).astype(int)
        return np.ldexp(np.ldexp(power + 1, steps // 2), steps - steps // 2)  # type: ignore[no-any-return]


def log(x: ArrayLike) -> NDArray[np.float64]:
    """The natural logarithms of x, each off by less than one unit in the last place."""
    x = np.asarray(x, np.float64)
    m, e = np.frexp(np.where((x > 0) & np.isfinite(x), x, 1.0))
    low = m < _ROOT_HALF
    m, e = np.where(low, 2 * m, m), np.where(low, e - 1, e)
    f = m - 1
    half_square, s = f * f * 0.5, f / (m + 1)
    square = s * s
    tail = s * (half_square + square * _polynomial(_LOG_SERIES, square))
    result = e * _LN2_HIGH - ((half_square - (tail + e * _LN2_LOW)) - f)
    result = np.where(x == 0, -np.inf, np.where(x < 0, np.nan, result))
    return np.where((x == np.inf) | np.isnan(x), x, result)


def _polynomial(series: tuple[float, ...], x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Highest power first, in Estrin's order: the halves of the terms side by side."""
    if len(series) == 1:
        return np.full_like(x, series[0])
    low = 1 << ((len(series) - 1).bit_length() - 1)
    power = x
    for _ in range(low.bit_length() - 1):
        power = power * power
    return _polynomial(series[:-low], x) * power + _polynomial(series[-low:], x)
