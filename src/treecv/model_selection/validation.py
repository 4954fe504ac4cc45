"""`cross_validate`, `cross_val_score` and `cross_val_predict`: validate, call, assemble."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
from joblib import Parallel
from numpy.typing import NDArray
from sklearn.metrics import check_scoring
from sklearn.utils.metadata_routing import _routing_enabled

from treecv.adapters import shaped
from treecv.errors import InputError
from treecv.model_selection import elsewhere
from treecv.model_selection.elsewhere import enter, left
from treecv.model_selection.evaluation import checked, collected, evaluate
from treecv.model_selection.folds import lay_out
from treecv.model_selection.job import Aside, Job, Options, prepare
from treecv.model_selection.layouts import Indices, test_rows, train_rows
from treecv.model_selection.leaves import Wanted, unscored
from treecv.model_selection.routing import route
from treecv.model_selection.scoring import as_scorers, needs_of
from treecv.model_selection.shortcuts import tried
from treecv.records import Record
from treecv.report import Result
from treecv.strategies import Strategy


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
    order: str | None = None,
    seed: int | None = None,
    native: bool = True,
    aggregate: str = "folds",
    return_predictions: bool = False,
    check_folds: int = 0,
    max_objects: int = 10_000,
) -> Result:
    """Scores of all folds, as scikit-learn's function of that name gives them.

    Parameters
    ----------
    estimator : estimator
        Any estimator of scikit-learn, of treecv, a model of river, or an object with ``__treecv_learner__``.
    X : array-like of shape (n_samples, n_features)
        Or whatever the estimator takes: a data frame, a sparse matrix, a list of texts.
    y : array-like of shape (n_samples,) or (n_samples, n_outputs), optional
    groups : array-like of shape (n_samples,), optional
        For the splitters that use them.
    scoring : str, callable, list or dict, optional
        As in scikit-learn. None: accuracy for classifiers, R² for regressors.
    cv : int, "loo", splitter or iterable, optional
        As in scikit-learn, and "loo", which is one fold a row. An int is stratified for classifiers. Folds that hold
        out every row once go through the tree, and repeated ones through several; those whose training rows
        only grow (time series) are one chain; others are left to scikit-learn's function.
    n_jobs, pre_dispatch
        As in scikit-learn. What the compiled core trains is walked by so many of its own threads; of other learners
        parts of the tree go to joblib's workers. The result does not depend on how many there are.
    verbose : int
        A line about the work if above 0, and one a fold if above 1 and there are at most 1,000.
    params : dict, optional
        As in scikit-learn. In training by parts each has an entry a row, such as sample_weight.
    return_train_score, return_estimator, return_indices : bool
        As in scikit-learn. The first two make an estimator per fold and are refused above
        `max_objects` folds; the indices are made when they are read.
    error_score : "raise" or float
        The score of folds whose training or prediction failed.
    strategy : {"auto", "tree", "standard", "merge", "closed_form"} or strategy
        How the scores come about. "auto" never changes what is estimated: it takes an exact shortcut where there is one
        that is cheaper than a training a fold, the tree for estimators whose `fit` is one pass (those of treecv,
        `OnePass`, models of river), and scikit-learn's own function for others. `explain` shows the choice.
        "merge" and "closed_form" are shortcuts; where they cannot run they raise.
        "tree" trains by `partial_fit`, and means the same as wrapping the estimator in `OnePass`.
        "standard" trains each fold from scratch, likewise in one pass.
    order : {"fixed", "randomized", "blocks"}, optional
        The order in which an update learns its rows: fold after fold as stored, all permuted together, or
        fold after fold with each permuted. Stratified folds (an int `cv`, for classifiers) tend to end in a
        run of one class, which misleads a learner that trusts its last rows: use one of the other two there.
        None: that of `OnePass`, else "fixed".
    seed : int, optional
        Names the permutations of the other two orders, and the random numbers of estimators whose `random_state`
        is not an integer. None: a new one, kept in ``result.record``.
    native : bool
        False: take no shortcut, and train by the estimator's own `partial_fit` where the core has a twin of it, as for
        scikit-learn's SGD estimators and a scaler before one. ``result.what`` says where a twin shuffles with random
        numbers of its own, and why an estimator of that kind was not trained by its twin.
    aggregate : {"folds", "pooled"}
        "pooled" computes each score once, from all out-of-fold predictions, or once for each repetition.
    return_predictions : bool
        Whether the result has the key "predictions": what the models predict for the rows they have not seen; with
        repetitions, a row for each. Rows that no fold holds out have NaN, or 0 or "" among labels.
    check_folds : int
        Train so many random folds from scratch as well, and report the difference in ``result.check``. Nothing to do
        where all folds are.
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
    estimator = shaped(estimator)
    pool = Parallel(n_jobs=n_jobs, verbose=verbose, pre_dispatch=pre_dispatch)
    options = Options.of(estimator, strategy, order, seed, native=native, pool=pool, max_objects=max_objects)
    job = job_of("cross_validate", X, y, groups, cv, params, scoring)
    shown = (error_score, return_train_score, return_estimator, _pooled(aggregate), return_predictions)

    def asked() -> frozenset[str]:
        needs = needs_of(estimator, scoring, models=return_train_score or return_estimator, pooled=shown[3])
        shows_labels = return_estimator or return_predictions
        return needs if not shows_labels or _keeps(y) or not options.auto else needs | _OTHER

    way = enter(estimator, strategy, cv, options, job, (X, y, groups), asked)
    if isinstance(way, Job):
        try:
            return tried(way, lambda job: _found(job, scoring, shown, check_folds, return_indices, verbose))
        except Aside as aside:
            way = left(way, cv, aside)
    arguments = {"groups": groups, "n_jobs": n_jobs, "verbose": verbose, "params": params}
    needed = as_scorers(estimator, scoring) if shown[3] else []
    wanted = Wanted(needed, *shown)
    return elsewhere.cross_validated(
        way, X, y, wanted, scoring, return_indices, arguments | {"pre_dispatch": pre_dispatch}
    )


def _found(
    way: Job, scoring: Any, shown: tuple[Any, ...], check_folds: int, return_indices: bool, verbose: int
) -> Result:
    """A result of our own work."""
    _, _, return_estimator, pooled, _ = shown
    wanted = Wanted(as_scorers(way.estimator, scoring, called=way.calls_scorers and not pooled), *shown)
    record, columns, score_seconds = evaluate(way, wanted)
    check = checked(way, wanted, columns, check_folds) if check_folds else None
    _say(record, columns, verbose)
    scores: dict[str, Any] = {
        "fit_time": np.full(record.k, record.seconds / record.k),
        "score_time": np.full(record.k, score_seconds / record.k),
    }
    if return_estimator:
        scores["estimator"] = columns.pop("estimator")
    if return_indices:
        scores["indices"] = {"train": Indices(way.layouts, train_rows), "test": Indices(way.layouts, test_rows)}
    return Result(scores | columns, record, check)


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
    order: str | None = None,
    seed: int | None = None,
    native: bool = True,
    aggregate: str = "folds",
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
    estimator = shaped(estimator)
    pool = Parallel(n_jobs=n_jobs, verbose=verbose, pre_dispatch=pre_dispatch)
    options = Options.of(estimator, strategy, order, seed, native=native, pool=pool, max_objects=max_objects)
    job = job_of("cross_val_score", X, y, groups, cv, params, scoring)
    pooled = _pooled(aggregate)
    way = enter(
        estimator, strategy, cv, options, job, (X, y, groups), lambda: needs_of(estimator, scoring, pooled=pooled)
    )
    if isinstance(way, Job):
        try:
            return tried(way, lambda job: _scores(job, scoring, error_score, pooled, verbose))
        except Aside as aside:
            way = left(way, cv, aside)
    arguments = {"groups": groups, "n_jobs": n_jobs, "verbose": verbose, "params": params}
    arguments |= {"pre_dispatch": pre_dispatch}
    if not pooled:
        elsewhere.check_folds_suit(way, X, scoring)
        theirs: NDArray[np.float64] = way.call(
            "cross_val_score", X, y, scoring=scoring, error_score=error_score, **arguments
        )
        return theirs
    wanted = Wanted(as_scorers(estimator, scoring), error_score, pooled=True)
    return elsewhere.cross_validated(way, X, y, wanted, scoring, False, arguments)["test_score"]  # type: ignore[no-any-return]


def _scores(way: Job, scoring: Any, error_score: Any, pooled: bool, verbose: int) -> NDArray[np.float64]:
    """Scores of our own work."""
    scorers = as_scorers(way.estimator, scoring, called=way.calls_scorers and not pooled)
    wanted = Wanted(scorers, error_score, pooled=pooled)
    record, columns, _ = evaluate(way, wanted)
    if "test_score" not in columns:
        raise InputError(f"scoring must return a number, got a dict of {list(columns)}: cross_validate takes several.")
    _say(record, columns, verbose)
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
    order: str | None = None,
    seed: int | None = None,
    native: bool = True,
) -> NDArray[Any]:
    """For each row, what a model says that was not trained on it.

    The parameters are those of `cross_validate`; `method` is the estimator's method whose answer is
    wanted: "predict", "predict_proba", "predict_log_proba" or "decision_function".

    Returns
    -------
    ndarray of shape (n_samples,) or (n_samples, n_outputs)

    Examples
    --------
    >>> from treecv import Pegasos, cross_val_predict
    >>> from treecv.data import load_covtype
    >>> from sklearn.preprocessing import scale
    >>> X, y = load_covtype()
    >>> cross_val_predict(Pegasos(), scale(X), y == 1, cv="loo")[:3]
    array([False, False,  True])
    """
    estimator = shaped(estimator)
    pool = Parallel(n_jobs=n_jobs, verbose=verbose, pre_dispatch=pre_dispatch)
    options = Options.of(estimator, strategy, order, seed, native=native, pool=pool)
    job = job_of("cross_val_predict", X, y, groups, cv, params)

    def asked() -> frozenset[str]:
        needs = frozenset({"predictions"})
        return needs if method in _METHODS and (_keeps(y) or not options.auto) else needs | _OTHER

    way = enter(estimator, strategy, cv, options, job, (X, y, groups), asked)
    if isinstance(way, Job):
        try:
            return tried(way, lambda job: _answers(job, method, verbose))
        except Aside as aside:
            way = left(way, cv, aside)
    arguments = {"groups": groups, "n_jobs": n_jobs, "verbose": verbose, "params": params}
    theirs: NDArray[Any] = way.call("cross_val_predict", X, y, pre_dispatch=pre_dispatch, method=method, **arguments)
    return theirs


def _answers(way: Job, method: str, verbose: int) -> NDArray[Any]:
    """Answers of our own work."""
    if len(way.layouts) > 1 or not way.layouts[0].is_partition:
        raise InputError(
            "cross_val_predict only works for partitions: the folds must hold out every row once. Use cross_validate "
            "with return_predictions=True for others."
        )
    left_out = unscored(way.options.strategy, way.layouts[0].k)
    if len(left_out):
        raise InputError(
            f"{way.options.strategy!r} leaves fold {left_out[0]} out: cross_val_predict needs a model of every fold."
        )
    record, values = collected(way, method)
    _say(record, {}, verbose)
    return values


def job_of(caller: str, X: Any, y: Any, groups: Any, cv: Any, params: Any, scoring: Any = None) -> Any:
    """What makes the job of an estimator."""

    def made(estimator: Any, options: Options) -> Job:
        scorers = None
        if caller != "cross_val_predict" and _routing_enabled():
            scorers = check_scoring(estimator, scoring)
        routed = route(caller, estimator, cv, params, groups, scorers)
        return prepare(estimator, X, y, partial(lay_out, cv, **routed.split), routed, options)

    return made


def _keeps(y: Any) -> bool:
    """Whether labels stay what they are: others become what scikit-learn makes of them."""
    dtype = getattr(y, "dtype", np.dtype(int))
    return isinstance(dtype, np.dtype) and dtype.kind in "biufUS"


def _pooled(aggregate: str) -> bool:
    if aggregate not in ("folds", "pooled"):
        raise InputError(f"aggregate={aggregate!r} is not known: use 'folds' or 'pooled'.")
    return aggregate == "pooled"


def _say(record: Record, columns: Mapping[str, Any], verbose: int) -> None:
    if verbose > 1 and record.k <= _MANY:
        tested = {name: column for name, column in columns.items() if name.startswith("test_")}
        for fold in range(record.k):
            said = ", ".join(f"{name[5:]}={column[fold]:.3f}" for name, column in tested.items() if fold < len(column))
            print(f"[CV] END fold {fold + 1}/{record.k} {said}")
    if verbose > 0:
        print(f"[CV] {record.strategy}: {record.k} folds, {record.trainings:.1f} passes, {record.seconds:.3f} s")


_OTHER = frozenset({"other answers"})
"""What no strategy but scikit-learn's own function gives."""

_METHODS = ("predict", "predict_proba", "predict_log_proba", "decision_function")
"""What a shortcut answers for."""

_MANY = 1_000
"""Folds above which there is no line for each."""
