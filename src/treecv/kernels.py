"""The one gate to the compiled core.

The core is one extension module per instruction-set level; the best one this machine can run is
chosen here, once. TREECV_IMPLEMENTATION=python keeps it out: then the learners' Python arithmetic runs.
"""

import importlib
import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treecv.errors import InputError

LEVELS = ("v1",)
"""The instruction-set levels built, best first."""


def _load(implementation: str) -> Any:
    if implementation == "python":
        return None
    if implementation != "native":
        raise InputError(
            f"TREECV_IMPLEMENTATION={implementation!r} is not known: use 'native', or 'python' for the "
            "slow reference arithmetic."
        )
    try:
        return importlib.import_module(f"treecv._core_{LEVELS[0]}")
    except ImportError as error:
        error.add_note("The compiled core of treecv is missing. Build it with: pip install .")
        raise


core: Any = _load(os.environ.get("TREECV_IMPLEMENTATION", "native"))
"""The extension module, or None where Python's reference arithmetic was asked for."""


def gather(X: NDArray[Any], index: NDArray[np.int64]) -> NDArray[Any]:
    """The rows of X named by `index`, side by side."""
    if core is None or X.dtype not in (np.float32, np.float64):
        return X[index]
    out = np.empty((len(index), X.shape[1]), X.dtype)
    core.gather(X, index, out)
    return out
