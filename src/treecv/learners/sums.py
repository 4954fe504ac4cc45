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


def dot(a: NDArray[Any], b: NDArray[Any]) -> Any:
    """The dot product of two vectors of whole blocks, by the summation rule."""
    lanes = BLOCK_BYTES // a.itemsize
    acc = np.zeros(lanes, a.dtype)
    for block in (a * b).reshape(-1, lanes):
        acc = acc + block
    while len(acc) > 1:
        acc = acc[: len(acc) // 2] + acc[len(acc) // 2 :]
    return acc[0]


def blank(n_features: int, vectors: dict[str, tuple[Any, int]]) -> NDArray[Any]:
    """A state that has learnt nothing: counts of rows and features, padded to a block, and vectors of blocks.

    The core walks over the same bytes (`core/include/treecv/learner.hpp`).
    """
    offset, formats, offsets = BLOCK_BYTES, ["i8", "i8"], [0, 8]
    for dtype, size in vectors.values():
        formats.append(np.dtype((dtype, (size,))))  # type: ignore[arg-type]  # NumPy's own stubs lag
        offsets.append(offset)
        offset += np.dtype(dtype).itemsize * size
    names = ["count", "n_features", *vectors]
    state = np.zeros(1, np.dtype({"names": names, "formats": formats, "offsets": offsets, "itemsize": offset}))
    state["n_features"] = n_features
    return state
