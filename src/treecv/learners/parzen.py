"""Kernel densities: at each row a mean of kernels, one around every row that was learnt.

Parzen: On estimation of a probability density function and mode, The Annals of Mathematical Statistics 33 (1962).
"""

from collections.abc import Callable, Iterator
from math import pi

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

Floats = NDArray[np.float64]

KERNELS: dict[str, Callable[[Floats], Floats]] = {
    "gaussian": lambda u: np.exp(-0.5 * u * u),
    "exponential": lambda u: np.exp(-u),
    "tophat": lambda u: (u < 1).astype(np.float64),
    "epanechnikov": lambda u: np.maximum(1 - u * u, 0),
    "linear": lambda u: np.maximum(1 - u, 0),
    "cosine": lambda u: np.where(u < 1, np.cos(0.5 * pi * u), 0),
}
"""A kernel of the distance in bandwidths; 1 at a distance of 0."""
COMPACT = frozenset(KERNELS) - {"gaussian", "exponential"}
"""Those that end at one bandwidth."""
EDGE = 1e-12
"""Distances so near to a bandwidth, as a share of it, may be within or beyond."""
_NUMBERS = 2**18
"""Distances that are looked at at once."""


def sums(
    X: Floats, weights: Floats | None, folds: NDArray[np.int64], kernel: str, metric: str, bandwidths: Floats
) -> Iterator[tuple[slice, Floats, NDArray[np.bool_]]]:
    """The sum of the kernels around all rows outside of each row's own fold, some rows at a time.

    Fold -1 is none: such rows are learnt by all. Each row that is asked about has its bandwidth. Besides, whether some
    row lies at the edge of the kernel, where rounding decides.
    """
    step = max(1, _NUMBERS // len(X))
    for begin in range(0, len(X), step):
        part = slice(begin, begin + step)
        away = cdist(X[part], X, metric)
        away /= bandwidths[part, np.newaxis]
        own = folds[part, np.newaxis] == folds
        values = KERNELS[kernel](away)
        values[own] = 0
        edge = np.zeros(len(away), bool)
        if kernel in COMPACT:
            edge = (~own & (np.abs(away - 1) <= EDGE * X.shape[1])).any(axis=1)
        yield part, values.sum(axis=1) if weights is None else values @ weights, edge
