"""Randomness keyed by place: the mirror of `core/include/treecv/order.hpp`.

A stream is named by where in the tree it is used, never by when: any engine draws the same numbers.
The generator is SplitMix64 (Steele, Lea and Flood 2014).
"""

from copy import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

ORDERS = ("fixed", "randomized", "blocks")

_GOLDEN = 0x9E3779B97F4A7C15
_MASK = 2**64 - 1


def _mix(z: Any) -> Any:
    """The finaliser of SplitMix64, for an int or for an array that wraps around by itself."""
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
    return z ^ (z >> 31)


class Stream:
    """A sequence of random numbers that belongs to a place.

    >>> Stream(0).at(3).permutation(5)
    array([0, 2, 1, 4, 3])
    """

    def __init__(self, seed: int) -> None:
        # The seed is mixed, so that seed 1, repetition 0 is another place than seed 0, repetition 1.
        self.key: int = _mix(seed & _MASK)

    def at(self, *places: int) -> "Stream":
        """The stream of a more closely described place."""
        stream = copy(self)
        for place in places:
            stream.key = _mix(((stream.key ^ place) + _GOLDEN) & _MASK)
        return stream

    def __call__(self, n: int) -> int:
        """The n-th number, of 64 random bits."""
        number: int = _mix((self.key + (n + 1) * _GOLDEN) & _MASK)
        return number

    def numbers(self, size: int) -> NDArray[np.uint64]:
        """The first `size` numbers, each of 64 random bits."""
        steps = np.arange(1, size + 1, dtype=np.uint64)
        drawn: NDArray[np.uint64] = _mix(np.uint64(self.key) + steps * np.uint64(_GOLDEN))
        return drawn

    def permutation(self, size: int) -> NDArray[np.int64]:
        """The numbers 0 .. size - 1 in random order (Fisher and Yates, inside out)."""
        bounds = np.arange(1, size + 1, dtype=np.uint64)
        draws = self.numbers(size)
        low = ((draws & np.uint64(0xFFFFFFFF)) * bounds) >> np.uint64(32)
        places = (((draws >> np.uint64(32)) * bounds + low) >> np.uint64(32)).tolist()
        numbers: list[int] = []
        for i, j in enumerate(places):
            numbers.append(i)
            numbers[i], numbers[j] = numbers[j], i
        return np.array(numbers, dtype=np.int64)
