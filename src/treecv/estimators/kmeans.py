"""K-means learnt in one pass, in scikit-learn's shape."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from treecv import learners
from treecv.estimators.unsupervised import OnePassClusters
from treecv.learner import Learner, Schema


class OnlineKMeans(OnePassClusters):
    """K-means learnt in one pass: each row moves the nearest centre towards itself.

    MacQueen (1967); with batches, Sculley (2010). The first centres are chosen by k-means++ (Arthur and Vassilvitskii
    2007) among the first rows. The score of a row is minus the squared distance from the nearest centre.

    Parameters
    ----------
    n_clusters : int, default=8
    batch_size : int or None, default=None
        Rows that are dealt to the centres together, before these move. None: each row by itself.
    start : int or None, default=None
        The most rows that the first centres are chosen from. None: three times as many as there are centres.
    seed : int, default=0
        Names the random numbers of the choice.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
    counts_ : ndarray of shape (n_clusters,)
        The rows that each centre has had.
    t_ : int
        The rows learnt.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from treecv import OnlineKMeans, cross_val_score
    >>> X, _ = load_iris(return_X_y=True)
    >>> f"{cross_val_score(OnlineKMeans(3), X, cv='loo', order='randomized', seed=0).mean():.1f}"
    '-1.0'
    """

    def __init__(
        self, n_clusters: int = 8, *, batch_size: int | None = None, start: int | None = None, seed: int = 0
    ) -> None:
        self.n_clusters = n_clusters
        self.batch_size = batch_size
        self.start = start
        self.seed = seed

    def __treecv_learner__(self, schema: Schema) -> Learner:
        """The learner with these settings."""
        return learners.KMeans(self.n_clusters, self.start or 0, self.batch_size or 0, self.seed)

    @property
    def cluster_centers_(self) -> NDArray[Any]:
        """The centres."""
        check_is_fitted(self, "state_")
        centres: NDArray[Any] = self.learner_.centres(self.state_)
        return centres

    @property
    def counts_(self) -> NDArray[np.float64]:
        """The rows that each centre has had."""
        check_is_fitted(self, "state_")
        counts: NDArray[np.float64] = self.state_["counts"][0][: self.n_clusters].copy()
        return counts

    def _scored(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        return -values
