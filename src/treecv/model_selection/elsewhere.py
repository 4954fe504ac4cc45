"""What is left to scikit-learn's own functions, and the one hint about it.

Under strategy="auto" nothing that is estimated changes: an estimator whose `fit` is not one pass, and folds that
share no training rows, are scikit-learn's.
"""

import logging
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.model_selection import (
    BaseShuffleSplit,
    LeaveOneOut,
    LeavePGroupsOut,
    LeavePOut,
    TimeSeriesSplit,
    cross_val_predict,
    cross_val_score,
    cross_validate,
    learning_curve,
    permutation_test_score,
    validation_curve,
)
from sklearn.utils import _safe_indexing
from sklearn.utils.metadata_routing import _routing_enabled
from sklearn.utils.validation import _num_samples

from treecv.adapters import check_learns_in_parts, is_one_pass, obstacle
from treecv.data import Chunks
from treecv.errors import CapabilityError, InputError
from treecv.estimators import OnePass
from treecv.model_selection.folds import Overlap
from treecv.model_selection.job import Aside, Job, Options
from treecv.model_selection.leaves import Wanted
from treecv.model_selection.pooled import answers_of, pooled_scores, responses_needed
from treecv.model_selection.scoring import as_scorers, check_sizes
from treecv.model_selection.shortcuts import cheaper, forced, same_folds, shortcut
from treecv.probes import Predictions
from treecv.records import ELSEWHERE, Counts, Record
from treecv.report import Result
from treecv.strategies import SHORTCUTS
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


def enter(
    estimator: Any,
    strategy: Any,
    cv: Any,
    options: Options,
    prepare: Callable[[Any, Options], Job],
    data: tuple[Any, ...],
    asked: Callable[[], frozenset[str]] | None = None,
) -> "Job | Elsewhere":
    """The job of this call, or where else it is done.

    `prepare(estimator, options)` makes the job; it finds out whether the folds are of use. `data` are X, y and groups.
    `asked` says what is wanted of the models, where shortcuts are of use.
    """
    if isinstance(estimator, type):
        raise CapabilityError(f"{estimator.__name__} is a class: pass an instance of it, {estimator.__name__}().")
    one_pass = is_one_pass(estimator)
    if isinstance(options.strategy, SHORTCUTS):
        return forced(estimator, replace(options, exact=not one_pass), prepare, asked)
    if options.auto and not one_pass:
        hint = _hint(estimator, known(cv), *data)
        if asked and options.native and not hasattr(cv, "__next__"):
            job, cv = shortcut(estimator, replace(options, exact=True), prepare, asked, cv)
            if job is not None:
                return job
        return Elsewhere(estimator, known(cv), hint)
    check_learns_in_parts(estimator)
    try:
        job = prepare(estimator, options)
        return cheaper(job, asked()) if options.auto and asked else job
    except Overlap as overlap:
        if options.auto or options.strategy.name == "standard":
            order = options.order
            plain = hasattr(estimator, "fit") and options.auto
            return Elsewhere(estimator if plain else wrapped(estimator, order), overlap.cv)
        raise


def left(job: Job, cv: Any, aside: Aside) -> Elsewhere:
    """Where a call is done that a shortcut has left: over the same folds, if those are drawn at random."""
    log.info("scikit-learn's function takes over from strategy=%r: %s", job.options.strategy.name, aside)
    return Elsewhere(job.estimator, known(same_folds(job, cv)))


def wrapped(estimator: Any, order: str) -> Any:
    """An estimator whose `fit` is one pass."""
    if is_one_pass(estimator) and hasattr(estimator, "fit"):
        return estimator
    return OnePass(estimator, order=order)


def known(cv: Any) -> Any:
    """A `cv` that scikit-learn knows."""
    return LeaveOneOut() if isinstance(cv, str) and cv == "loo" else cv


def _hint(estimator: Any, cv: Any, X: Any, y: Any, groups: Any) -> str:
    """What could be had for less, if anything."""
    if obstacle(estimator) or not (cv is None or isinstance(cv, int) or hasattr(cv, "get_n_splits")):
        return ""
    if isinstance(cv, BaseShuffleSplit | LeavePOut | LeavePGroupsOut):
        return ""
    try:
        k = (5 if cv is None else cv) if cv is None or isinstance(cv, int) else cv.get_n_splits(X, y, groups)
    except Exception:  # what is wrong with the folds is for the function that makes them to say
        return ""
    k //= getattr(cv, "n_repeats", 1)
    if k < 3:
        return ""
    cheaper = (k + 1) / 2 if isinstance(cv, TimeSeriesSplit) else k * (k - 1) / chunk_updates(k)
    name = type(estimator).__name__
    return (
        f"OnePass({name}(...)) or strategy='tree' would score one pass of partial_fit, which is another model than "
        f"fit's, for about 1/{cheaper:.1f} of the training."
    )


def check_folds_suit(there: Elsewhere, X: Any, scoring: Any) -> None:
    """Raise before any work if folds of one row are to be scored by a metric that needs several."""
    cv, n = there.cv, _num_samples(X)
    alone = isinstance(cv, LeaveOneOut) or (isinstance(cv, LeavePOut) and cv.p == 1)
    if alone or (isinstance(cv, int) and cv == n and not is_classifier(there.estimator)):
        check_sizes(as_scorers(there.estimator, scoring), Chunks(n))


def cross_validated(
    there: Elsewhere, X: Any, y: Any, wanted: Wanted, scoring: Any, return_indices: bool, arguments: dict[str, Any]
) -> Result:
    """A Result around what scikit-learn's `cross_validate` gives."""
    begin, several = time.perf_counter(), wanted.pooled or wanted.predictions
    if wanted.predictions and isinstance(there.cv, BaseShuffleSplit | LeavePOut | LeavePGroupsOut):
        raise _several_predictions(type(there.cv).__name__)
    if not wanted.pooled:
        check_folds_suit(there, X, scoring)
    with warnings.catch_warnings():
        if wanted.pooled:  # the scores of the folds are not shown
            warnings.simplefilter("ignore", UndefinedMetricWarning)
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
    k = len(scores["fit_time"])
    if several:
        scores |= _collected(there, X, y, wanted, scores, arguments["params"])
    if not wanted.estimator:
        scores.pop("estimator", None)
    if not return_indices:
        scores.pop("indices", None)
    record = Record(ELSEWHERE, "fixed", 0, k, _num_samples(X), True, Counts(), time.perf_counter() - begin)
    return Result(scores, record, hint=there.hint)


def _collected(
    there: Elsewhere, X: Any, y: Any, wanted: Wanted, scores: dict[str, Any], params: Any
) -> dict[str, NDArray[Any]]:
    """Predictions at the held-out rows, and one score of all of them, from the models of the folds.

    A new repetition begins where a row is held out again, if all of them hold out the same rows.
    """
    methods = responses_needed(there.estimator, wanted.scorers) if wanted.pooled else []
    methods = list(dict.fromkeys([*methods, *(["predict"] if wanted.predictions else [])]))
    answers = [_answers(fitted, X, test, methods, wanted.error_score) for fitted, test in _folds(scores)]
    repetitions = _repetitions(scores["indices"]["test"])
    found: dict[str, list[Any]] = {}
    for part in repetitions or [range(len(answers))]:
        tests = [scores["indices"]["test"][fold] for fold in part]
        given = [answers[fold] for fold in part]
        if wanted.pooled:
            for name, score in _pooled(there, X, y, wanted, (tests, given, methods, params), scores).items():
                found.setdefault(name, []).append(score)
        if wanted.predictions:
            found.setdefault("predictions", []).append(_spread(_num_samples(X), tests, given))
    if wanted.predictions and not repetitions:
        raise _several_predictions("cv")
    predictions = found.pop("predictions", [])
    columns = {name: np.concatenate(parts) for name, parts in found.items()}
    if predictions:
        columns["predictions"] = predictions[0] if len(predictions) == 1 else np.stack(predictions)
    return columns


def _folds(scores: dict[str, Any]) -> Any:
    return zip(scores["estimator"], scores["indices"]["test"], strict=True)


def _answers(fitted: Any, X: Any, test: Any, methods: list[str], error_score: Any) -> dict[str, NDArray[Any]] | None:
    """What a fold's model says of its rows; None if it was never fitted, which has been warned of."""
    try:
        return {method: np.asarray(getattr(fitted, method)(_safe_indexing(X, test))) for method in methods}
    except Exception:
        if error_score == "raise":
            raise
        return None


def _repetitions(tests: list[NDArray[np.int64]]) -> list[range]:
    """The folds of each repetition; none if some rows are held out more often than others."""
    starts, seen = [0], set[int]()
    held: list[set[int]] = []
    for fold, test in enumerate(tests):
        rows = set(np.asarray(test).tolist())
        if seen & rows:
            held.append(seen)
            starts.append(fold)
            seen = set()
        seen = seen | rows
    held.append(seen)
    if any(rows != held[0] for rows in held):
        return []
    return [range(begin, end) for begin, end in zip(starts, [*starts[1:], len(tests)], strict=True)]


def _pooled(
    there: Elsewhere, X: Any, y: Any, wanted: Wanted, pool: tuple[Any, ...], scores: dict[str, Any]
) -> dict[str, NDArray[np.float64]]:
    tests, given, methods, params = pool
    if any(answer is None for answer in given):
        return {f"test_{scorer.name}": np.array([float(wanted.error_score)]) for scorer in wanted.scorers}
    arrays = {method: np.concatenate([answer[method] for answer in given]) for method in methods}
    index = np.concatenate(tests)
    answers = answers_of(there.estimator, getattr(scores["estimator"][0], "classes_", None), arrays)
    weights = params if _routing_enabled() and params else {}
    return pooled_scores(wanted.scorers, answers, X, y, index, weights, np.arange(len(index)))


def _spread(n: int, tests: list[Any], given: list[Any]) -> NDArray[Any]:
    """The predictions of a repetition at the rows they are about."""
    probe = Predictions(n)
    kinds = [answer["predict"].dtype for answer in given if answer is not None]
    missing = len(kinds) < len(given) and all(dtype.kind in "biu" for dtype in kinds)
    probe.dtype = np.dtype(float) if missing or not kinds else np.result_type(*kinds)  # NaN where a model is missing
    for test, answer in zip(tests, given, strict=True):
        if answer is not None:
            probe.put(test, answer["predict"])
    return probe.array


def _several_predictions(name: str) -> InputError:
    return InputError(
        f"{name}: return_predictions=True needs folds that hold out every row equally often, once in each repetition. "
        "Use a splitter that does, or leave it out."
    )
