"""What the settings of a learner must be, and the rows it is given."""

from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any

import numpy as np

from treecv.data import Rows
from treecv.errors import CapabilityError, InputError
from treecv.learner import State
from treecv.learners import sums


def check_positive(learner: Any, *names: str) -> None:
    """Raise unless these settings are finite numbers greater than 0."""
    for name in names:
        value = getattr(learner, name)
        if not isinstance(value, Real) or not 0 < float(value) < np.inf:
            raise InputError(f"{type(learner).__name__}: {name}={value!r} must be a finite number greater than 0.")


def check_flags(learner: Any, *names: str) -> None:
    """Raise unless these settings are True or False."""
    for name in names:
        value = getattr(learner, name)
        if not isinstance(value, bool | np.bool_):
            raise InputError(f"{type(learner).__name__}: {name}={value!r} must be True or False.")


def check_counts(learner: Any, *names: str) -> None:
    """Raise unless these settings are integers from 0."""
    for name in names:
        value = getattr(learner, name)
        if not isinstance(value, Integral) or isinstance(value, bool) or value < 0:
            raise InputError(f"{type(learner).__name__}: {name}={value!r} must be an integer, 0 or more.")


def check_among(learner: Any, name: str, known: Iterable[str]) -> None:
    """Raise unless this setting is one of those known."""
    if getattr(learner, name) not in known:
        raise InputError(f"{type(learner).__name__}: {name}={getattr(learner, name)!r} must be one of {list(known)}.")


def check_whole(learner: Any, name: str, least: int) -> None:
    """Raise unless this setting is a whole number, and not too small."""
    value = getattr(learner, name)
    if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
        raise InputError(f"{type(learner).__name__}: {name}={value!r} must be a whole number from {least} on.")
    object.__setattr__(learner, name, int(value))


def check_fits(learner: Any, dtype: Any, *names: str) -> None:
    """Raise unless these settings are still positive and finite as numbers of this type."""
    for name in names:
        value = getattr(learner, name)
        with np.errstate(over="ignore"):
            rounded = np.dtype(dtype).type(value)
        if not 0 < rounded < np.inf:
            raise InputError(
                f"{type(learner).__name__}: {name}={value!r} is {rounded} in {np.dtype(dtype)}: use a number nearer to "
                "1, or X.astype('float64')."
            )


def check_rows(learner: Any, state: State, rows: Rows) -> None:
    """Raise unless a state can read these rows: the core sees bytes, and some widths have the same size."""
    name, dtype, n_features = type(learner).__name__, sums.value_type(state), int(state["n_features"][0])
    if rows.X.dtype != dtype:
        raise InputError(
            f"{name}: a state of {dtype} cannot read rows of {rows.X.dtype}: use X.astype({dtype.name!r})."
        )
    if rows.X.shape[1] != n_features:
        raise InputError(f"{name}: a state of {n_features} features cannot read rows of {rows.X.shape[1]}.")
    if rows.weights is not None and not getattr(learner, "weighs", False):
        raise CapabilityError(f"{name} does not weigh rows, but got weights: leave them out.")
    if not isinstance(rows.X, np.ndarray) and not getattr(learner, "sparse", False):
        raise CapabilityError(f"{name} does not read sparse rows: use X.toarray().")
    if not isinstance(rows.X, np.ndarray) and getattr(rows.X, "format", "") != "csr":
        raise InputError(f"{name} reads sparse rows that are compressed row by row: use X.tocsr().")


def check_codes(learner: Any, y: Any, n_classes: int) -> None:
    """Raise unless the targets are codes of classes."""
    if y is None or y.dtype.kind not in "iub" or (len(y) and not 0 <= y.min() <= y.max() < n_classes):
        raise InputError(
            f"{type(learner).__name__}: the targets must be codes 0 .. {n_classes - 1} of the classes, as integers; "
            "treecv.data.encode makes them."
        )
