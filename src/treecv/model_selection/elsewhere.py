"""What is left to scikit-learn's own functions, and the one hint about it.

Under strategy="auto" nothing that is estimated changes: an estimator whose `fit` is not one pass, and folds that
share no training rows, are scikit-learn's.
"""

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import (
    LeaveOneOut,
    cross_val_predict,
    cross_val_score,
    cross_validate,
    learning_curve,
    permutation_test_score,
    validation_curve,
)
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

from treecv.adapters import check_learns_in_parts, is_one_pass, obstacle
from treecv.errors import CapabilityError
from treecv.estimators import OnePass
from treecv.model_selection.folds import Overlap
from treecv.model_selection.job import Job, Options
from treecv.model_selection.leaves import Wanted
from treecv.model_selection.pooled import answers_of, pooled_scores, responses_needed
from treecv.probes import Predictions
from treecv.records import ELSEWHERE, Counts, Record
from treecv.report import Result
from treecv.tree import chunk_updates

log = logging.getLogger("treecv")

_THEIRS: dict[str, Callable[..., Any]] = {
    function.__name__: function
    for function in (
        cross_val_predict,
        cross_val_score,
        cross_validate,
        learning_curve,
        permutation_test_score,
        validation_curve,
    )
}


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """A call that scikit-learn's function of the same name answers."""

    estimator: Any
    cv: Any
    hint: str = ""

    def call(self, function: str, X: Any, y: Any, **arguments: Any) -> Any:
        """What scikit-learn's function gives."""
        if self.hint:
            log.info("%s: %s", function, self.hint)
        return _THEIRS[function](self.estimator, X, y, cv=self.cv, **arguments)


def enter(estimator: Any, strategy: Any, cv: Any, options: Options, prepare: Callable[[Any], Job]) -> "Job | Elsewhere":
    """The job of this call, or where else it is done.

    `prepare(estimator)` makes the job; it finds out whether the folds are of use.
    """
    if isinstance(estimator, type):
        raise CapabilityError(f"{estimator.__name__} is a class: pass an instance of it, {estimator.__name__}().")
    auto = isinstance(strategy, str) and strategy == "auto"
    if auto and not is_one_pass(estimator):
        return Elsewhere(estimator, known(cv), _hint(estimator, cv))
    check_learns_in_parts(estimator)
    try:
        return prepare(estimator)
    except Overlap as overlap:
        if auto or options.strategy.name == "standard":
            order = options.order
            return Elsewhere(estimator if hasattr(estimator, "fit") and auto else wrapped(estimator, order), overlap.cv)
        raise


def wrapped(estimator: Any, order: str) -> Any:
    """An estimator whose `fit` is one pass."""
    if is_one_pass(estimator) and hasattr(estimator, "fit"):
        return estimator
    return OnePass(estimator, order=order)


def known(cv: Any) -> Any:
    """A `cv` that scikit-learn knows."""
    return LeaveOneOut() if isinstance(cv, str) and cv == "loo" else cv


def _hint(estimator: Any, cv: Any) -> str:
    """What could be had for less, if anything."""
    k = getattr(cv, "n_splits", 5 if cv is None else cv)
    if obstacle(estimator) or not isinstance(k, int) or k < 3:
        return ""
    cheaper = k * (k - 1) / chunk_updates(k)
    name = type(estimator).__name__
    return (
        f"OnePass({name}(...)) or strategy='tree' would score one pass of partial_fit, which is another model than "
        f"fit's, for about 1/{cheaper:.1f} of the training."
    )


def cross_validated(
    there: Elsewhere, X: Any, y: Any, wanted: Wanted, scoring: Any, return_indices: bool, arguments: dict[str, Any]
) -> Result:
    """A Result around what scikit-learn's `cross_validate` gives."""
    begin, several = time.perf_counter(), wanted.pooled or wanted.predictions
    scores: dict[str, Any] = there.call(
        "cross_validate",
        X,
        y,
        scoring=scoring,
        error_score=wanted.error_score,
        return_train_score=wanted.train_score,
        return_estimator=wanted.estimator or several,
        return_indices=return_indices or several,
        **arguments,
    )
    if several:
        _collect(there, X, y, wanted, scores)
    if not wanted.estimator:
        scores.pop("estimator", None)
    if not return_indices:
        scores.pop("indices", None)
    record = Record(
        ELSEWHERE, "fixed", 0, len(scores["fit_time"]), _num_samples(X), True, Counts(), time.perf_counter() - begin
    )
    return Result(scores, record, hint=there.hint)


def _collect(there: Elsewhere, X: Any, y: Any, wanted: Wanted, scores: dict[str, Any]) -> None:
    """Predictions at the held-out rows, and scores of all of them, from the models of the folds."""
    methods = responses_needed(there.estimator, wanted.scorers) if wanted.pooled else []
    methods = list(dict.fromkeys([*methods, *(["predict"] if wanted.predictions else [])]))
    tests = scores["indices"]["test"]
    probes = [Predictions(_num_samples(X), method) for method in methods]
    for fitted, test in zip(scores["estimator"], tests, strict=True):
        for probe in probes:
            probe.put(test, np.asarray(getattr(fitted, probe.method)(_safe_indexing(X, test))))
    arrays: dict[str, NDArray[Any]] = {probe.method: probe.array for probe in probes}
    if wanted.pooled:
        classes = getattr(scores["estimator"][0], "classes_", None)
        answers = answers_of(there.estimator, classes, arrays)
        scores |= pooled_scores(wanted.scorers, answers, X, y, np.sort(np.concatenate(tests)), {})
    if wanted.predictions:
        scores["predictions"] = arrays["predict"]
