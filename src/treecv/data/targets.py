"""Targets: classes as codes, numbers as float64."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from treecv.errors import InputError

_COUNTABLE = 1 << 16


def encode(y: NDArray[Any], name: str = "y") -> tuple[NDArray[Any], NDArray[np.int32]]:
    """The classes of `y`, sorted, and the code of each row.

    Labels that are small integers are counted instead of sorted: half a million rows take a millisecond
    or two, and no memory beyond the codes.
    """
    if _lacks_some(y) or (y.dtype.kind == "f" and not np.isfinite(y).all()):
        raise InputError(f"{name} contains NaN or infinity: drop these rows, or give them a class of their own.")
    if y.dtype.kind == "b" and y.any() and not y.all():
        return np.array([False, True]), y.astype(np.int32)
    if y.dtype.kind in "iub" and len(y):
        low, high = int(y.min()), int(y.max())
        if high - low < _COUNTABLE:
            return _count(y, low, high)
    try:
        classes, codes = np.unique(y, return_inverse=True)
    except TypeError as error:
        kinds = sorted({type(label).__name__ for label in y})
        raise InputError(
            f"{name} mixes labels of the types {', '.join(kinds)}, which have no order: make them all strings, or "
            "drop the rows without a label."
        ) from error
    if y.dtype.kind == "f" and (classes != np.trunc(classes)).any():
        raise InputError(
            f"Unknown label type: continuous. {name} holds {classes[classes != np.trunc(classes)][0]}: a "
            "classifier needs class labels (integers or strings), a regressor is made for such numbers."
        )
    return classes, codes.astype(np.int32)


def _lacks_some(y: NDArray[Any]) -> bool:
    """Whether some labels are missing, among labels that are objects."""
    if y.dtype.kind != "O":
        return False
    try:
        return bool((y != y).any())  # noqa: PLR0124 - NaN is not itself
    except TypeError:  # NA of pandas will not say whether it is
        return True


def _count(y: NDArray[Any], low: int, high: int) -> tuple[NDArray[Any], NDArray[np.int32]]:
    # Differences wrap around in int64, so they are right for uint64 as well.
    places = np.subtract(y, y.dtype.type(low), dtype=np.int64, casting="unsafe").astype(np.int32)
    present = np.bincount(places, minlength=high - low + 1) > 0
    classes = np.flatnonzero(present).astype(y.dtype) + y.dtype.type(low)
    codes = np.cumsum(present, dtype=np.int32) - np.int32(1)
    return classes, codes[places]


def numbers(y: NDArray[Any], name: str = "y") -> NDArray[np.float64]:
    """Targets of a regression: finite float64."""
    if y.dtype.kind not in "biufO":
        raise InputError(
            f"{name} has dtype {y.dtype}: the targets of a regressor must be numbers. Convert them, for example with "
            f"{name}.astype(float), or use a classifier for labels."
        )
    try:
        values = np.ascontiguousarray(y, np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} has dtype {y.dtype}: the targets of a regressor must be numbers: {error}.") from error
    if not np.isfinite(values).all():
        row = int(np.flatnonzero(~np.isfinite(values))[0])
        raise InputError(f"{name} contains {values[row]} at row {row}: targets must be finite numbers; drop the row.")
    return values
