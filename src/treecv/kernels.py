"""The one gate to the compiled core.

The core is one extension module per instruction-set level; the best one this machine can run is
chosen here, once. All give the same bits. TREECV_IMPLEMENTATION names another level, or keeps the core out
(`python`): then the learners' Python arithmetic runs.
"""

import importlib
import os
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treecv.errors import InputError

LEVELS = ("v4", "v3", "v1")
"""The instruction-set levels that there may be, best first: AVX-512, AVX2 and the baseline."""


def levels() -> list[str]:
    """The levels that this machine runs and this build has, best first."""
    runs = importlib.import_module("treecv._core_v1").levels()
    return [level for level in runs if find_spec(f"treecv._core_{level}") is not None]


def _load(implementation: str) -> Any:
    if implementation == "python":
        return None
    if implementation not in ("native", *LEVELS):
        raise InputError(
            f"TREECV_IMPLEMENTATION={implementation!r} is not known: use 'native' for the best level that this "
            f"machine runs, one of {list(LEVELS)} for that level, or 'python' for the slow reference arithmetic."
        )
    try:
        baseline = importlib.import_module("treecv._core_v1")
    except ImportError as error:
        error.add_note("The compiled core of treecv is missing. Build it with: pip install .")
        raise
    runs = levels()
    if implementation not in ("native", *runs):
        raise InputError(
            f"TREECV_IMPLEMENTATION={implementation!r}: this machine and this build have the levels {runs}. "
            "Use one of them, or 'native' for the best."
        )
    level = runs[0] if implementation == "native" else implementation
    return baseline if level == "v1" else importlib.import_module(f"treecv._core_{level}")


core: Any = _load(os.environ.get("TREECV_IMPLEMENTATION", "native"))
"""The extension module, or None where Python's reference arithmetic was asked for."""


def gather(X: NDArray[Any], index: NDArray[np.int64]) -> NDArray[Any]:
    """The rows of X named by `index`, side by side."""
    if core is None or X.dtype not in (np.float32, np.float64):
        return X[index]
    out = np.empty((len(index), X.shape[1]), X.dtype)
    core.gather(X, index, out)
    return out


def named(learner: str, dtype: Any, sparse: bool) -> Any:
    """The class of a learner's kernel for tables of these numbers."""
    return getattr(core, f"{learner}{np.dtype(dtype).name.capitalize()}{'Sparse' if sparse else ''}")


def table(X: Any) -> Any:
    """What the core is handed of a table: an array itself; of compressed sparse rows their three arrays."""
    if isinstance(X, np.ndarray):
        return X
    return X.data, np.asarray(X.indices, np.int32), np.asarray(X.indptr, np.int64)
