"""`cross_validate`, `cross_val_score` and `cross_val_predict`: validate, call, assemble."""

import time
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treecv.errors import InputError
from treecv.model_selection.folds import Indices, test_rows, train_rows
from treecv.model_selection.job import Job, check_order, prepare, settle
from treecv.model_selection.leaves import Visitor, Wanted, in_order, unscored
from treecv.model_selection.scoring import Folds, Scorer, as_scorers, check_sizes
from treecv.probes import Predictions, Sink, States
from treecv.records import Record
from treecv.report import Result
from treecv.strategies import Strategy, choose


def cross_validate(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    groups: Any = None,
    scoring: Any = None,
    cv: Any = None,
    n_jobs: Any = None,
    verbose: int = 0,
    params: Any = None,
    pre_dispatch: Any = "2*n_jobs",
    return_train_score: bool = False,
    return_estimator: bool = False,
    return_indices: bool = False,
    error_score: Any = np.nan,
    strategy: "str | Strategy" = "auto",
    order: str = "fixed",
    seed: int | None = None,
    max_objects: int = 10_000,
) -> Result:
    """Scores of all folds, as scikit-learn's function of that name gives them.

    Parameters
    ----------
    estimator : estimator of treecv.estimators
        Or any object with a method ``__treecv_learner__``.
    X : array-like of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
    groups : array-like of shape (n_samples,), optional
        For the splitters that use them.
    scoring : str, callable, list or dict, optional
        As in scikit-learn. None: accuracy for classifiers, R² for regressors.
    cv : int, "loo", splitter or iterable, optional
        "loo" is one fold a row. An int is stratified for classifiers. A splitter must partition the rows.
    n_jobs, pre_dispatch
        Accepted; the work is done in one thread, and the result never depends on them.
    verbose : int
        One line about the work if above 0.
    params : None
        These estimators take none.
    return_train_score, return_estimator, return_indices : bool
        As in scikit-learn. The first two make an estimator per fold and are refused above
        `max_objects` folds; the indices are made when they are read.
    error_score : "raise" or float
        The score of folds whose training or prediction failed.
    strategy : {"auto", "tree", "standard"} or strategy
        How the scores come about; "auto" is "tree" for these estimators.
    order : {"fixed", "randomized", "blocks"}
        The order in which an update learns its rows: fold after fold as stored, all permuted together, or
        fold after fold with each permuted. Stratified folds (an int `cv`, for classifiers) tend to end in a
        run of one class, which misleads a learner that trusts its last rows: use one of the other two there.
    seed : int, optional
        Names the permutations of the other two orders. None: a new one, kept in ``result.record``.
    max_objects : int
        The most folds for which Python objects are made.

    Returns
    -------
    Result
        A dict with scikit-learn's keys, whose ``record`` says how the scores came about.

    Examples
    --------
    >>> from treecv import Pegasos, cross_validate
    >>> from treecv.data import load_covtype
    >>> from sklearn.preprocessing import scale
    >>> X, y = load_covtype()
    >>> result = cross_validate(Pegasos(), scale(X), y == 1, cv="loo")
    >>> result["test_score"].shape, result.strategy, round(result.record.trainings, 1)
    ((20000,), 'tree', 14.4)
    """
    strategy = choose(strategy)
    check_order(order)
    job = prepare(estimator, X, y, groups, cv, params)
    wanted = Wanted(as_scorers(estimator, scoring), error_score, return_train_score, return_estimator)
    record, columns, score_seconds = _evaluate(job, wanted, strategy, order, seed, max_objects)
    _say(record, verbose)
    scores: dict[str, Any] = {
        "fit_time": np.full(record.k, record.seconds / record.k),
        "score_time": np.full(record.k, score_seconds / record.k),
    }
    if return_estimator:
        scores["estimator"] = columns.pop("estimator")
    if return_indices:
        scores["indices"] = {"train": Indices(job.layout, train_rows), "test": Indices(job.layout, test_rows)}
    return Result(scores | columns, record)


def cross_val_score(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    groups: Any = None,
    scoring: Any = None,
    cv: Any = None,
    n_jobs: Any = None,
    verbose: int = 0,
    params: Any = None,
    pre_dispatch: Any = "2*n_jobs",
    error_score: Any = np.nan,
    strategy: "str | Strategy" = "auto",
    order: str = "fixed",
    seed: int | None = None,
    max_objects: int = 10_000,
) -> NDArray[np.float64]:
    """The score of each fold.

    The parameters are those of `cross_validate`; `scoring` is one metric.

    Returns
    -------
    ndarray of shape (k,)

    Examples
    --------
    >>> from treecv import Pegasos, cross_val_score
    >>> from treecv.data import load_covtype
    >>> from sklearn.preprocessing import scale
    >>> X, y = load_covtype()
    >>> cross_val_score(Pegasos(alpha=1e-3), scale(X), y == 1, cv=5).round(2)
    array([0.67, 0.37, 0.61, 0.65, 0.53])
    """
    if isinstance(scoring, Mapping | list | tuple | set):
        raise InputError(f"scoring={scoring!r}: cross_val_score takes one metric; cross_validate takes several.")
    strategy = choose(strategy)
    check_order(order)
    job = prepare(estimator, X, y, groups, cv, params)
    wanted = Wanted(as_scorers(estimator, scoring), error_score)
    record, columns, _ = _evaluate(job, wanted, strategy, order, seed, max_objects)
    if "test_score" not in columns:
        raise InputError(f"scoring must return a number, got a dict of {list(columns)}: cross_validate takes several.")
    _say(record, verbose)
    scores: NDArray[np.float64] = columns["test_score"]
    return scores


def cross_val_predict(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    groups: Any = None,
    cv: Any = None,
    n_jobs: Any = None,
    verbose: int = 0,
    params: Any = None,
    pre_dispatch: Any = "2*n_jobs",
    method: str = "predict",
    strategy: "str | Strategy" = "auto",
    order: str = "fixed",
    seed: int | None = None,
) -> NDArray[Any]:
    """For each row, what a model says that was not trained on it.

    The parameters are those of `cross_validate`; `method` is the estimator's method whose answer is
    wanted, "predict" or "decision_function".

    Returns
    -------
    ndarray of shape (n_samples,)

    Examples
    --------
    >>> from treecv import Pegasos, cross_val_predict
    >>> from treecv.data import load_covtype
    >>> from sklearn.preprocessing import scale
    >>> X, y = load_covtype()
    >>> cross_val_predict(Pegasos(), scale(X), y == 1, cv="loo")[:3]
    array([False, False,  True])
    """
    if method != "predict" and not callable(getattr(estimator, str(method), None)):
        raise AttributeError(f"This {type(estimator).__name__!r} has no method {method!r}: use 'predict'.")
    if method not in ("predict", "decision_function"):
        raise InputError(f"method={method!r} is not known: use 'predict' or 'decision_function'.")
    strategy = choose(strategy)
    check_order(order)
    job = prepare(estimator, X, y, groups, cv, params)
    left_out = unscored(strategy, job.layout.chunks.k)
    if len(left_out):
        raise InputError(f"{strategy!r} leaves fold {left_out[0]} out: cross_val_predict needs a model of every fold.")
    sink = Sink(job.layout.chunks.k, Predictions.over(len(job.rows.X)))
    record = job.run(strategy, order, seed, sink)
    settle(sink, "raise")
    _say(record, verbose)
    values = sink.predicted
    if method == "predict" and job.schema.classes is not None:
        return np.asarray(job.schema.classes)[(values > 0).astype(np.int8)]
    return values


def _say(record: Record, verbose: int) -> None:
    if verbose > 0:
        print(f"[CV] {record.strategy}: {record.k} folds, {record.trainings:.1f} passes, {record.seconds:.3f} s")


def _evaluate(
    job: Job, wanted: Wanted, strategy: Strategy, order: str, seed: int | None, max_objects: int
) -> tuple[Record, dict[str, Any], float]:
    """The record of the run, a column for each score, and the seconds that scoring took."""
    check_sizes(wanted.scorers, job.layout.chunks)
    k = job.layout.chunks.k
    visitor = Visitor(job, wanted)
    if visitor.needed and k > max_objects:
        raise InputError(
            f"{k} folds would need {k} fitted estimators, for their training scores, themselves, or a scorer that "
            f"is not computed from predictions. Raise max_objects={max_objects} if that is meant, or ask for less."
        )
    sink = Sink(k, Predictions.over(len(job.rows.X)), states=States(visitor.take) if visitor.needed else None)
    record = job.run(strategy, order, seed, sink)
    failed = settle(sink, wanted.error_score)
    if visitor.needed:
        visitor.settle(failed)
    begin = time.perf_counter()
    columns = visitor.columns | _vectorised(job, wanted.scorers, sink)
    for name, column in columns.items():
        if name != "estimator":
            column[failed] = wanted.error_score if failed.any() else np.nan
            column[unscored(strategy, k)] = np.nan
    return record, in_order(columns, wanted.scorers), visitor.seconds + time.perf_counter() - begin


def _vectorised(job: Job, scorers: list[Scorer], sink: Sink) -> dict[str, NDArray[np.float64]]:
    if not any(scorer.vectorised for scorer in scorers):
        return {}
    folds = Folds(job.by_position(np.asarray(job.rows.y)), job.by_position(sink.predicted), job.layout.chunks)
    return {f"test_{scorer.name}": scorer.scores(folds) for scorer in scorers if scorer.vectorised}
