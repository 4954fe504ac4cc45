"""Built-in learners: frozen settings and arithmetic, one algorithm per file."""

from treecv.learners.lsqsgd import LSQSGD
from treecv.learners.pegasos import Pegasos

__all__ = ["LSQSGD", "Pegasos"]
