"""Built-in learners: frozen settings and arithmetic, one algorithm per file."""

from treecv.learners.gaussian import Gaussian
from treecv.learners.kmeans import KMeans
from treecv.learners.lsqsgd import LSQSGD
from treecv.learners.mixture import GaussianMixture
from treecv.learners.pegasos import Pegasos
from treecv.learners.scaled import Scaled
from treecv.learners.sgd import SGD

__all__ = ["LSQSGD", "SGD", "Gaussian", "GaussianMixture", "KMeans", "Pegasos", "Scaled"]
