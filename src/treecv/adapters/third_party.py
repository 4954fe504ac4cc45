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
    _check_own_methods(estimator)
    learner: Learner = estimator.__treecv_learner__(schema)
    return learner


def _check_own_methods(estimator: Any) -> None:
    """Refuse a subclass that changes what the learner stands for: its own methods would not be asked."""
    classes = type(estimator).__mro__
    home = next((place for place, cls in enumerate(classes) if "__treecv_learner__" in vars(cls)), 0)
    for cls in classes[:home]:
        changed = [name for name in ("fit", "partial_fit", "predict", "decision_function") if name in vars(cls)]
        if changed:
            raise CapabilityError(
                f"{cls.__name__} overrides {', '.join(changed)}, but inherits a `__treecv_learner__` that knows "
                "nothing of it. Override that method as well, or use scikit-learn's function of the same name."
            )
