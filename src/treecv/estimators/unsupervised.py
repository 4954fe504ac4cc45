"""What the estimators that learn without targets have in common."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import validate_data

from treecv.estimators.core import CoreEstimator
from treecv.learner import Schema


class OnePassUnsupervised(CoreEstimator):
    """A model of the rows themselves. Its score is the mean of what it says of each row, the larger the better."""

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the rows once, in their order, forgetting what was learnt before; y is ignored."""
        X = validate_data(self, X, dtype=[np.float64, np.float32])
        self._start(Schema(len(X), X.shape[1], X.dtype.name))
        self._learn(X)
        return self

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Learn further rows; y is ignored."""
        first = not hasattr(self, "state_")
        dtype: Any = [np.float64, np.float32] if first else np.dtype(self.schema_.dtype)
        X = validate_data(self, X, reset=first, dtype=dtype)
        if first:
            self._start(Schema(len(X), X.shape[1], X.dtype.name))
        self._learn(X)
        return self

    def score_samples(self, X: Any) -> NDArray[np.float64]:
        """How well each row fits."""
        return self.__treecv_answers__("score_samples", self._respond(X))

    def score(self, X: Any, y: Any = None) -> float:
        """The mean of `score_samples`."""
        return float(self.score_samples(X).mean())

    def __treecv_answers__(self, method: str, values: NDArray[Any]) -> NDArray[Any]:
        """What a method says of rows for which the learner predicts these values."""
        if method != "score_samples":
            raise AttributeError(f"This {type(self).__name__!r} has no method {method!r}: use 'score_samples'.")
        return values


class OnePassClusters(OnePassUnsupervised):
    """A model that also says which of its parts a row belongs to: the learner predicts the part, then how well."""

    def predict(self, X: Any) -> NDArray[np.int32]:
        """The number of the part that each row belongs to."""
        return self.__treecv_answers__("predict", self._respond(X))

    def fit_predict(self, X: Any, y: Any = None) -> NDArray[np.int32]:
        """Learn the rows, and say then which part each belongs to."""
        return self.fit(X).predict(X)

    def __treecv_answers__(self, method: str, values: NDArray[Any]) -> NDArray[Any]:
        """What a method says of rows for which the learner predicts these values."""
        if method == "predict":
            return values[:, 0].astype(np.int32)
        return self._scored(super().__treecv_answers__(method, values)[:, 1])

    def _scored(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        return values
