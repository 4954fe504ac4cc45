"""The laws every learner keeps, for anyone who writes one.

`check_learner` runs all laws that a learner's capabilities call for and raises AssertionError with
the law's name. Two models are the same if they predict the same, bit by bit.
"""

from treecv.checks.laws import check_learner, iter_laws

__all__ = ["check_learner", "iter_laws"]
