"""From the estimators people have to learners.

Asked in this order, the first that knows an estimator translates it:

    a wrapper                  says what it wraps, and how that is to be trained (`OnePass`)
    the estimator itself       __treecv_learner__(schema), with __treecv_fitted__(state, schema) for the way back
    a registration             `register(type, translate)`
    river                      whatever has learn_one
    torch                      nets of skorch
    scikit-learn               whatever has partial_fit, and pipelines of it: in the core if it can train the same
                               (`native`), else through the estimator itself

Where what an estimator's `fit` gives can be had exactly for less than a training a fold, `exact_learner` makes the
learner that does it.

Learners that go through the estimator take rows `as_given` and have `fitted(state)`, the way back to an estimator.
"""

from treecv.adapters.exact import Exact, exact_learner
from treecv.adapters.third_party import (
    as_learner,
    check_learns_in_parts,
    fitted_estimator,
    is_one_pass,
    obstacle,
    register,
    shaped,
)

__all__ = [
    "Exact",
    "as_learner",
    "check_learns_in_parts",
    "exact_learner",
    "fitted_estimator",
    "is_one_pass",
    "obstacle",
    "register",
    "shaped",
]
