"""scikit-learn's shape over the built-in learners: `fit` is one pass over the rows, in their order."""

from treecv.estimators.gaussian import GaussianDensity
from treecv.estimators.histogram import HistogramDensity
from treecv.estimators.kmeans import OnlineKMeans
from treecv.estimators.lsqsgd import LSQSGD
from treecv.estimators.mixture import OnlineGaussianMixture
from treecv.estimators.one_pass import OnePass
from treecv.estimators.pegasos import Pegasos
from treecv.estimators.torch import TorchClassifier, TorchRegressor

__all__ = [
    "LSQSGD",
    "GaussianDensity",
    "HistogramDensity",
    "OnePass",
    "OnlineGaussianMixture",
    "OnlineKMeans",
    "Pegasos",
    "TorchClassifier",
    "TorchRegressor",
]
