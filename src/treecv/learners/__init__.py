"""Built-in learners: frozen settings and arithmetic, one algorithm per file."""

from treecv.learners.lsqsgd import LSQSGD
from treecv.learners.pegasos import Pegasos
from treecv.learners.scaled import Scaled
from treecv.learners.sgd import SGD

__all__ = ["LSQSGD", "SGD", "Pegasos", "Scaled"]
