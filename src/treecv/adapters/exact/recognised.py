"""An estimator of scikit-learn with the learner that gives what its `fit` gives."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from treecv.learner import Schema


class Exact:
    """The learner's capabilities, and the way back to the estimator.

    Parameters
    ----------
    estimator : estimator
        Its settings; never changed.
    learner : learner
        The arithmetic.
    schema : Schema
        What is known of the data.

    Attributes
    ----------
    shared : dict
        What several partitionings of the same rows share.
    """

    absences = True

    def __init__(self, estimator: Any, learner: Any, schema: Schema) -> None:
        self.estimator = estimator
        self.learner = learner
        self.schema = schema
        self.shared: dict[str, Any] = {}

    def __getattr__(self, name: str) -> Any:
        if name in ("learner", "estimator", "schema") or name.startswith("__"):  # not there yet, while it is unpickled
            raise AttributeError(name)
        return getattr(self.learner, name)

    def answered(self, method: str, values: NDArray[np.float64]) -> NDArray[Any]:
        """What a method of the estimator says of rows for which the learner gives these values."""
        raise NotImplementedError
