"""Estimators whose cross-validation can be had exactly for less than a training a fold.

What scikit-learn's `fit` gives on each training part, to rounding, and nothing else: each family states which of its
estimators, with which settings, it stands for (`recognised`). Only exact types are known, as a subclass may have
changed anything.
"""

from collections.abc import Callable
from typing import Any

from sklearn.pipeline import Pipeline

from treecv.adapters.exact import densities, discriminants, kernels, linear, naive_bayes, neighbours
from treecv.adapters.exact.recognised import Exact
from treecv.adapters.steps import steps_of
from treecv.learner import Schema

__all__ = ["FAMILIES", "Exact", "exact_learner"]

Recognise = Callable[[Any, list[tuple[str, Any]], Schema], Exact | str | None]

FAMILIES: list[Recognise] = [
    densities.recognised,
    discriminants.recognised,
    kernels.recognised,
    linear.recognised,
    naive_bayes.recognised,
    neighbours.recognised,
]
"""Each is asked in turn, with the estimator, its named steps and the schema."""


def exact_learner(estimator: Any, schema: Schema) -> Exact | str:
    """The learner that gives what an estimator's `fit` gives; or why there is none."""
    if isinstance(estimator, Pipeline) and type(estimator) is not Pipeline:
        return f"{type(estimator).__name__} is a subclass of Pipeline"
    steps = list(steps_of(estimator))
    for recognise in FAMILIES:
        found = recognise(estimator, steps, schema)
        if found is not None:
            return found
    *_, (_, model) = steps
    return f"no exact shortcut is known for {type(model).__name__}"
