"""Least squares by averaged stochastic gradient steps, in scikit-learn's shape."""

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin
from sklearn.utils.validation import validate_data

from treecv import learners
from treecv.data import numbers
from treecv.errors import InputError
from treecv.estimators.linear import OnePassLinear
from treecv.learner import Learner, Schema


class NoStepSize(InputError, AttributeError):  # noqa: N818 - what is missing
    """`partial_fit` is not there: the length of its steps is not known."""


class LSQSGD(RegressorMixin, OnePassLinear):  # type: ignore[misc]  # scikit-learn has no types
    """Linear least squares learnt in one pass, with the weights kept in a ball.

    Nemirovski, Juditsky, Lan and Shapiro (2009): steps of constant length, each projected onto the
    ball; the average of the iterates is the model. Made for features and targets scaled to about 1.

    Parameters
    ----------
    step_size : float or None, default=None
        Length of the steps, > 0. None: one over the square root of the rows, which are those of the
        data in `fit` and those of the whole data set in cross-validation.
    radius : float, default=1.0
        Radius of the ball, > 0.
    fit_intercept : bool, default=True
        Whether a constant feature 1 is appended; its weight is in the ball with the rest.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
    intercept_ : float
    t_ : int
        The rows learnt.

    Examples
    --------
    >>> import numpy as np
    >>> from treecv import LSQSGD, cross_val_score
    >>> X = np.random.default_rng(0).normal(size=(1000, 3))
    >>> y = X @ [0.5, -0.2, 0.1]
    >>> scores = cross_val_score(LSQSGD(), X, y, cv="loo", scoring="neg_mean_squared_error")
    >>> f"{scores.mean():.4f}"
    '-0.0002'
    """

    def __init__(self, step_size: float | None = None, *, radius: float = 1.0, fit_intercept: bool = True) -> None:
        self.step_size = step_size
        self.radius = radius
        self.fit_intercept = fit_intercept

    def __treecv_learner__(self, schema: Schema) -> Learner:
        """The learner with these settings, for as many rows."""
        step = schema.n_rows**-0.5 if self.step_size is None else self.step_size
        return learners.LSQSGD(step, self.radius, self.fit_intercept)

    def fit(self, X: Any, y: Any) -> Self:
        """Learn the rows once, in their order, forgetting what was learnt before."""
        X, y = validate_data(self, X, y, dtype=[np.float64, np.float32], y_numeric=True)
        self._start(Schema(len(X), X.shape[1], X.dtype.name))
        self._learn(X, numbers(y))
        return self

    @property
    def partial_fit(self) -> Callable[[Any, Any], Self]:
        """``partial_fit(X, y)`` learns further rows; it is there if `step_size` is a number."""
        if self.step_size is None:
            raise NoStepSize(
                "LSQSGD.partial_fit: step_size=None means 1/sqrt(rows), and a stream does not say how many "
                "will come. Give a number, such as step_size=0.001 for a million rows."
            )
        return self._learn_more

    def _learn_more(self, X: Any, y: Any) -> Self:
        first = not hasattr(self, "state_")
        dtype: Any = [np.float64, np.float32] if first else np.dtype(self.schema_.dtype)
        X, y = validate_data(self, X, y, reset=first, dtype=dtype, y_numeric=True)
        if first:
            self._start(Schema(len(X), X.shape[1], X.dtype.name))
        self._learn(X, numbers(y))
        return self

    def predict(self, X: Any) -> NDArray[np.float64]:
        """The predicted target of each row."""
        return self._respond(X)

    @property
    def coef_(self) -> NDArray[np.float64]:
        """The weights of the features."""
        return self._split[0]

    @property
    def intercept_(self) -> float:
        """The weight of the constant feature, 0 without one."""
        return self._split[1]

    def _vector(self) -> NDArray[np.float64]:
        vector: NDArray[np.float64] = self.state_["sum"][0] / max(self.t_, 1)
        return vector

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True  # the ball of radius 1 is for scaled data
        return tags
