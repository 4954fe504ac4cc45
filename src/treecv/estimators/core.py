"""What the estimators over one learner of the core have in common."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted, validate_data

from treecv.data import Rows
from treecv.data.rows import readable
from treecv.learner import Learner, Schema, State


class CoreEstimator(BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """A model whose `fit` is one pass over the rows, in their order."""

    def __treecv_learner__(self, schema: Schema) -> Learner:
        """The learner with these settings."""
        raise NotImplementedError  # pragma: no cover - each estimator has its own

    def __treecv_fitted__(self, state: State, schema: Schema) -> Self:
        """A clone of this estimator that has learnt `state`."""
        fitted: Self = clone(self)
        fitted._start(schema, state)
        fitted.n_features_in_ = schema.n_features
        return fitted

    def _start(self, schema: Schema, state: State | None = None) -> None:
        self.schema_ = schema
        self.learner_: Any = self.__treecv_learner__(schema)
        self.state_ = self.learner_.init(schema) if state is None else state

    def _learn(self, X: NDArray[Any], y: NDArray[Any] | None = None) -> None:
        if not self.state_.flags.writeable:  # joblib maps the arrays of a large model from a file
            self.state_ = np.array(self.state_)
        self.learner_ = self.__treecv_learner__(self.schema_)  # settings may have changed since the last rows
        self.learner_.update(self.state_, Rows(readable(X), y))

    def _respond(self, X: Any) -> NDArray[np.float64]:
        """What the learner predicts for checked rows."""
        check_is_fitted(self, "state_")
        X = validate_data(self, X, reset=False, dtype=np.dtype(self.schema_.dtype))
        predicted: NDArray[np.float64] = self.learner_.predict(self.state_, Rows(readable(X)))
        return predicted

    @property
    def t_(self) -> int:
        """The rows learnt."""
        check_is_fitted(self, "state_")
        return int(self.state_["count"][0])
