"""The bundled sample of a real data set."""

from importlib.resources import as_file, files
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


class Sample(NamedTuple):
    """Features and classes."""

    X: NDArray[Any]
    y: NDArray[Any]


def load_covtype() -> Sample:
    """20,000 rows of Covertype: 54 cartographic features, cover types 1 to 7.

    Cut at random, in stored order, from the 581,012 rows of Blackard, Covertype (1998), UCI Machine
    Learning Repository, https://doi.org/10.24432/C50K5N, licensed CC BY 4.0.

    Examples
    --------
    >>> X, y = load_covtype()
    >>> X.shape, X.dtype
    ((20000, 54), dtype('int16'))
    """
    with (
        as_file(files("treecv.data") / "covtype_sample.npz") as path,
        np.load(path, allow_pickle=False) as stored,
    ):
        return Sample(np.ascontiguousarray(stored["X"]), stored["y"])
