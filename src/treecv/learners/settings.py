"""What the settings of a learner must be."""

from numbers import Real
from typing import Any

import numpy as np

from treecv.errors import InputError


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
