"""From the estimators people have to learners."""

from treecv.adapters.third_party import as_learner

__all__ = ["as_learner"]
