"""A Gaussian density, in scikit-learn's shape."""

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from treecv import learners
from treecv.errors import InputError
from treecv.estimators.unsupervised import OnePassUnsupervised
from treecv.learner import Learner, Schema


class GaussianDensity(OnePassUnsupervised):
    """A Gaussian density: mean and covariance of the rows. The score of a row is its log density.

    It does not depend on the order of the rows, so cross-validation by the tree gives the scores of training each fold
    from scratch, to rounding.

    Parameters
    ----------
    covariance : {"full", "diagonal"}, default="full"
    floor : float, default=1e-6
        Added to every variance, so that there is a density also where features are constant or rows are few.

    Attributes
    ----------
    mean_ : ndarray of shape (n_features,)
    covariance_ : ndarray of shape (n_features, n_features), or (n_features,)
    t_ : int
        The rows learnt.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from treecv import GaussianDensity, cross_val_score
    >>> X, _ = load_iris(return_X_y=True)
    >>> f"{cross_val_score(GaussianDensity(), X, cv='loo').mean():.2f}"
    '-2.63'
    """

    def __init__(self, covariance: str = "full", *, floor: float = 1e-6) -> None:
        self.covariance = covariance
        self.floor = floor

    def __treecv_learner__(self, schema: Schema) -> Learner:
        """The learner with these settings."""
        if self.covariance not in ("full", "diagonal"):
            raise InputError(f"GaussianDensity: covariance={self.covariance!r} must be 'full' or 'diagonal'.")
        return learners.Gaussian(self.covariance == "full", self.floor)

    @property
    def mean_(self) -> NDArray[np.float64]:
        """The mean."""
        check_is_fitted(self, "state_")
        mean: NDArray[np.float64] = self.learner_.mean(self.state_)
        return mean

    @property
    def covariance_(self) -> NDArray[np.float64]:
        """The covariance, or its diagonal."""
        check_is_fitted(self, "state_")
        covariance: NDArray[np.float64] = self.learner_.covariance(self.state_)
        return covariance
