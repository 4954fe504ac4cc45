"""k-means++ (Arthur and Vassilvitskii 2007): the mirror of `core/include/treecv/seeding.hpp`."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from treecv.learners import sums
from treecv.order import Stream


def seeds(first: NDArray[Any], k: int, seed: int) -> list[int]:
    """The numbers of k rows, far from each other."""
    n, stream = len(first), Stream(seed)
    away, chosen = np.full(n, np.inf), np.zeros(n, bool)
    found: list[int] = []
    for c in range(k):
        draw = (stream(c) >> 11) * 2.0**-53
        i = int(draw * n) if c == 0 else _drawn(away, chosen, draw)
        found.append(i)
        chosen[i] = True
        own = np.array([float(sums.distance(first[i], x)) for x in first])
        away = np.where(chosen, 0, np.where(own < away, own, away))
    return found


def _drawn(away: NDArray[np.float64], chosen: NDArray[np.bool_], draw: float) -> int:
    """A row, the likelier the farther it is from all chosen; where none is at a distance, the first left."""
    reached = np.cumsum(away)
    beyond = np.flatnonzero((reached > draw * reached[-1]) & ~chosen)
    if len(beyond):
        return int(beyond[0])
    apart = np.flatnonzero((away > 0) & ~chosen)
    return int(apart[-1] if len(apart) else np.flatnonzero(~chosen)[0])
