"""Objects that say themselves which learner they stand for."""

from typing import Any

from treecv.errors import CapabilityError
from treecv.learner import Learner, Schema


def as_learner(estimator: Any, schema: Schema) -> Learner:
    """The learner of an estimator, for data of this schema.

    An estimator joins with a method ``__treecv_learner__(schema)`` that returns one.
    """
    if isinstance(estimator, type) or not hasattr(estimator, "__treecv_learner__"):
        name = estimator.__name__ if isinstance(estimator, type) else type(estimator).__name__
        raise CapabilityError(
            f"{name} is not an estimator that treecv can train fold by fold: it has no "
            "`__treecv_learner__(schema)`. Pass an instance of one of treecv.estimators, add that method, "
            "or use scikit-learn's function of the same name."
        )
    learner: Learner = estimator.__treecv_learner__(schema)
    return learner
