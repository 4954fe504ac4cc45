"""A histogram as a density, in scikit-learn's shape."""

from collections.abc import Sequence
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from treecv.data import Rows
from treecv.data.rows import readable
from treecv.errors import InputError
from treecv.estimators.unsupervised import OnePassUnsupervised
from treecv.learner import Learner, Schema
from treecv.learners.histogram import Histogram


class HistogramDensity(OnePassUnsupervised):
    """A histogram of all features together: the share of the rows in a cell, over its volume. A row's score is its log.

    The cells do not depend on the rows, so all folds have the same ones: scale the features to `range`, or give the
    edges. Rows beyond the edges have the density 0, and the score -inf.

    Parameters
    ----------
    bins : int, sequence of int, or sequence of array-like, default=10
        The number of equal bins along each feature, or one number for each; or the edges along each of them.
    range : pair of float, or sequence of pairs, default=(0, 1)
        The first and the last edge along each feature, or a pair for each of them. Not read if there are edges.
    alpha : float, default=1
        The rows that every cell is given besides, so that there is a density also where no row was.

    Attributes
    ----------
    edges_ : list of ndarray
        The edges along each feature.
    t_ : int
        The rows learnt.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from treecv import HistogramDensity, cross_val_score
    >>> X, _ = load_iris(return_X_y=True)
    >>> model = HistogramDensity(bins=8, range=[(4, 8), (0, 7)])
    >>> f"{cross_val_score(model, X[:, [0, 2]], cv='loo').mean():.2f}"
    '-2.20'
    """

    def __init__(self, bins: Any = 10, *, range: Any = (0.0, 1.0), alpha: float = 1.0) -> None:  # noqa: A002 - NumPy's
        self.bins = bins
        self.range = range
        self.alpha = alpha

    def __treecv_learner__(self, schema: Schema) -> Learner:
        """The learner with these settings."""
        return Histogram(tuple(map(tuple, self._edges(schema.n_features))), self.alpha)

    @property
    def edges_(self) -> list[NDArray[np.float64]]:
        """The edges along each feature."""
        check_is_fitted(self, "state_")
        return self._edges(self.n_features_in_)

    @property
    def t_(self) -> int:
        """The rows learnt."""
        check_is_fitted(self, "state_")
        return int(self.state_.count)

    def _learn(self, X: NDArray[Any], y: NDArray[Any] | None = None) -> None:
        self.learner_ = self.__treecv_learner__(self.schema_)  # settings may have changed since the last rows
        self.learner_.update(self.state_, Rows(readable(X), y))

    def _edges(self, n_features: int) -> list[NDArray[np.float64]]:
        bins = list(self.bins) if hasattr(self.bins, "__len__") else [self.bins] * n_features
        if len(bins) != n_features:
            raise InputError(
                f"HistogramDensity: bins={self.bins!r} has {len(bins)} entries for {n_features} features: give one for "
                "each, or one number for all."
            )
        return [self._along(number, feature, n_features) for feature, number in enumerate(bins)]

    def _along(self, bins: Any, feature: int, n_features: int) -> NDArray[np.float64]:
        if np.ndim(bins) == 1:
            return np.asarray(bins, np.float64)
        if not isinstance(bins, Integral) or isinstance(bins, bool) or bins < 1:
            raise InputError(f"HistogramDensity: bins={bins!r} must be a whole number from 1 on, or edges that rise.")
        low, high = _pair(self.range, feature, n_features)
        return np.linspace(low, high, int(bins) + 1)


def _pair(given: Sequence[Any], feature: int, n_features: int) -> tuple[float, float]:
    shape = np.shape(given)
    if shape not in ((2,), (n_features, 2)):
        raise InputError(
            f"HistogramDensity: range={given!r} must be a pair, the first and the last edge, or {n_features} pairs, "
            "one for each feature."
        )
    low, high = given if shape == (2,) else given[feature]
    if not -np.inf < low < high < np.inf:
        raise InputError(f"HistogramDensity: range={(low, high)} must be finite and rise from the first to the second.")
    return float(low), float(high)
