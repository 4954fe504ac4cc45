"""The summation rule of the core (`core/include/treecv/lanes.hpp`), in NumPy.

A vector is read as blocks of 64 bytes: 16 float32 or 8 float64 lanes. Each lane adds its products from
the first block to the last, starting from zero; then the lanes are folded in halves. So results do not
depend on the width of any register, and this mirror follows the core to the last bit.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

BLOCK_BYTES = 64


def width(n_features: int, constant: bool, dtype: Any) -> int:
    """The numbers a state holds for each feature vector: whole blocks."""
    lanes: int = BLOCK_BYTES // np.dtype(dtype).itemsize
    return -(-(n_features + constant) // lanes) * lanes


def completed(x: NDArray[Any], constant: bool, size: int) -> NDArray[Any]:
    """A row as the core sees it: followed by a constant 1, if one is wanted, and zeros."""
    row = np.zeros(size, x.dtype)
    row[: len(x)] = x
    if constant:
        row[len(x)] = 1
    return row


def read(X: NDArray[Any]) -> NDArray[Any]:
    """Rows as the core reads them: in the block that it completes itself, -0 becomes 0."""
    rest = X.shape[1] % (BLOCK_BYTES // X.itemsize)
    if rest == 0:
        return X
    X = X.copy()
    X[:, -rest:] += X.dtype.type(0)
    return X


def dot(a: NDArray[Any], b: NDArray[Any]) -> Any:
    """The dot product of two vectors of whole blocks, by the summation rule."""
    return total(a * b)


def distance(a: NDArray[Any], b: NDArray[Any]) -> Any:
    """The squared distance of two vectors of whole blocks, likewise."""
    difference = b - a
    return total(difference * difference)


def total(values: NDArray[Any]) -> Any:
    """The sum of numbers in whole blocks, by the summation rule."""
    lanes = BLOCK_BYTES // values.itemsize
    acc = np.zeros(lanes, values.dtype)
    for block in values.reshape(-1, lanes):
        acc = acc + block
    while len(acc) > 1:
        acc = acc[: len(acc) // 2] + acc[len(acc) // 2 :]
    return acc[0]


HEADER = {"count": "i8", "n_features": "i8", "overflow": "i8", "call": ("f8", (5,))}
"""What every state begins with: rows learnt; features; the row at which a number first was not finite, or 0; and what a
learner keeps for the length of a call."""


def blank(n_features: int, fields: dict[str, Any]) -> NDArray[Any]:
    """A state that has learnt nothing: the header, a block long, and then the learner's own fields.

    The core walks over the same bytes (`core/include/treecv/learner.hpp`).
    """
    state = np.zeros(1, np.dtype([(name, kind) for name, kind in (HEADER | fields).items()]))
    state["n_features"] = n_features
    return state


def value_type(state: NDArray[Any]) -> np.dtype[Any]:
    """The type of the rows that a state reads: that of the field `v`, if there is one, or of its first vector."""
    kind = state.dtype["v" if "v" in (state.dtype.names or ()) else len(HEADER)].base
    while kind.names:
        kind = kind["v"].base
    return kind
