"""What the estimators over one linear model in the core have in common."""

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from treecv.estimators.core import CoreEstimator


class OnePassLinear(CoreEstimator):
    """A linear model; a subclass names the vector of its state that predicts, and its learner."""

    def _vector(self) -> NDArray[np.float64]:
        """The weights, the intercept's behind the features'."""
        raise NotImplementedError  # pragma: no cover - each estimator has its own

    @property
    def _split(self) -> tuple[NDArray[np.float64], float]:
        check_is_fitted(self, "state_")
        vector = self._vector()
        d = self.schema_.n_features
        return vector[:d], float(vector[d]) if self.learner_.fit_intercept else 0.0
