"""A mixture of Gaussians learnt in one pass, in scikit-learn's shape."""

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from treecv import learners
from treecv.estimators.unsupervised import OnePassClusters
from treecv.learner import Learner, Schema


class OnlineGaussianMixture(OnePassClusters):
    """A mixture of Gaussians with diagonal covariances, learnt in one pass by stepwise EM.

    Cappé and Moulines (2009); Liang and Klein (2009). The score of a row is its log density.

    Parameters
    ----------
    n_components : int, default=1
    power : float, default=0.7
        The step of row t is (t + 2) to the power of minus this: from just above 0.5 to 1.
    floor : float, default=1e-6
        No variance counts as less.
    start : int or None, default=None
        The most rows that the first means are chosen from. None: three times as many as there are components.
    seed : int, default=0
        Names the random numbers of the choice.

    Attributes
    ----------
    weights_ : ndarray of shape (n_components,)
    means_, covariances_ : ndarray of shape (n_components, n_features)
    t_ : int
        The rows learnt.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from treecv import OnlineGaussianMixture, cross_val_score
    >>> X, _ = load_iris(return_X_y=True)
    >>> f"{cross_val_score(OnlineGaussianMixture(3), X, cv='loo', order='randomized', seed=0).mean():.0f}"
    '-3'
    """

    def __init__(
        self,
        n_components: int = 1,
        *,
        power: float = 0.7,
        floor: float = 1e-6,
        start: int | None = None,
        seed: int = 0,
    ) -> None:
        self.n_components = n_components
        self.power = power
        self.floor = floor
        self.start = start
        self.seed = seed

    def __treecv_learner__(self, schema: Schema) -> Learner:
        """The learner with these settings."""
        return learners.GaussianMixture(self.n_components, self.start or 0, self.power, self.floor, self.seed)

    @property
    def weights_(self) -> NDArray[np.float64]:
        """The weight of each component."""
        return self._learnt("weights")[: self.n_components]

    @property
    def means_(self) -> NDArray[np.float64]:
        """The mean of each component."""
        return self._learnt("means")[:, : self.schema_.n_features]

    @property
    def covariances_(self) -> NDArray[np.float64]:
        """The variances of each component."""
        return np.maximum(self._learnt("variances")[:, : self.schema_.n_features], self.floor)

    def _learnt(self, name: str) -> NDArray[np.float64]:
        check_is_fitted(self, "state_")
        learnt: NDArray[np.float64] = self.state_[name][0].copy()
        return learnt
