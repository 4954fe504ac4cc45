"""`learning_curve` and `validation_curve`: one score after another of how much, and of what."""

from typing import Any

import numpy as np
from joblib import Parallel
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier
from sklearn.metrics import check_scoring
from sklearn.model_selection import check_cv
from sklearn.model_selection._validation import _translate_train_sizes
from sklearn.utils import check_random_state
from sklearn.utils.metadata_routing import _routing_enabled

from treecv.adapters import is_one_pass, shaped
from treecv.model_selection.elsewhere import Elsewhere, enter, known, wrapped
from treecv.model_selection.evaluation import evaluate
from treecv.model_selection.folds import lay_out
from treecv.model_selection.job import Job, Options, prepare
from treecv.model_selection.layouts import Layout, Nested
from treecv.model_selection.leaves import Wanted
from treecv.model_selection.routing import Routed, route
from treecv.model_selection.scoring import as_scorers
from treecv.strategies import Strategy


def learning_curve(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    groups: Any = None,
    train_sizes: Any = np.linspace(0.1, 1.0, 5),  # noqa: B008 - scikit-learn's own default
    cv: Any = None,
    scoring: Any = None,
    exploit_incremental_learning: bool = False,
    n_jobs: Any = None,
    pre_dispatch: Any = "all",
    verbose: int = 0,
    shuffle: bool = False,
    random_state: Any = None,
    error_score: Any = np.nan,
    return_times: bool = False,
    params: Any = None,
    strategy: "str | Strategy" = "auto",
    order: str | None = None,
    seed: int | None = None,
    native: bool = True,
    max_objects: int = 10_000,
) -> tuple[Any, ...]:
    """Scores of models trained on more and more rows, as scikit-learn's function of that name gives them.

    Where `fit` is one pass, or strategy="tree" says that one pass is meant, each fold's rows are learnt once, by one
    model that is scored as it grows, instead of from scratch for every size.

    Parameters
    ----------
    estimator, X, y, groups, cv, scoring, n_jobs, pre_dispatch, verbose, error_score, params
        As in `cross_validate`.
    train_sizes, shuffle, random_state, return_times
        As in scikit-learn.
    exploit_incremental_learning : bool
        True: scikit-learn's own function, which does the same through `partial_fit` for estimators that have it.
    strategy, order, seed, native, max_objects
        As in `cross_validate`; "standard" trains from scratch for every size, in one pass.

    Returns
    -------
    train_sizes_abs : ndarray of shape (n_sizes,)
    train_scores, test_scores : ndarray of shape (n_sizes, n_folds)
    fit_times, score_times : ndarray of shape (n_sizes, n_folds)
        Only with return_times; the time of a fold divided by its sizes.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from treecv import OnePass, learning_curve
    >>> X, y = load_iris(return_X_y=True)
    >>> sizes, train, test = learning_curve(OnePass(GaussianNB()), X, y, train_sizes=[30, 60, 120], shuffle=True)
    >>> sizes, test.shape
    (array([ 30,  60, 120]), (3, 5))
    """
    estimator = shaped(estimator)
    pool = Parallel(n_jobs=n_jobs, verbose=verbose, pre_dispatch=pre_dispatch)
    options = Options.of(estimator, strategy, order, seed, native=native, pool=pool, max_objects=max_objects)
    sizes: list[Any] = []

    def cut(X: Any, y: Any, routed: Routed) -> list[Layout]:
        """A chain for each fold, whose training rows are taken in their order."""
        folds = list(check_cv(known(cv), y, classifier=is_classifier(estimator)).split(X, y, **routed.split))
        sizes.append(_translate_train_sizes(train_sizes, len(folds[0][0])))
        if shuffle:
            random = check_random_state(random_state)
            folds = [(random.permutation(train), test) for train, test in folds]
        return [Nested(train, np.minimum(sizes[0], len(train)), [test] * len(sizes[0])) for train, test in folds]

    def job(estimator: Any, options: Options = options) -> Job:
        routed = _routed("learning_curve", estimator, cv, params, groups, scoring)
        return prepare(estimator, X, y, lambda X, y, *_: cut(X, y, routed), routed, options)

    if exploit_incremental_learning:
        way: Any = Elsewhere(estimator, known(cv))
    elif options.strategy.name == "standard":
        way = Elsewhere(wrapped(estimator, options.order), known(cv))
    else:
        way = enter(estimator, strategy, cv, options, job, (X, y, groups))
    if isinstance(way, Elsewhere):
        given: tuple[Any, ...] = way.call(
            "learning_curve",
            X,
            y,
            groups=groups,
            train_sizes=train_sizes,
            scoring=scoring,
            exploit_incremental_learning=exploit_incremental_learning,
            n_jobs=n_jobs,
            pre_dispatch=pre_dispatch,
            verbose=verbose,
            shuffle=shuffle,
            random_state=random_state,
            error_score=error_score,
            return_times=return_times,
            params=params,
        )
        return given
    if verbose > 0:
        print("[learning_curve] Training set sizes: " + str(sizes[0]))
    scorers = as_scorers(estimator, scoring, called=True)  # every tick, on the rows learnt so far as well
    record, columns, seconds = evaluate(way, Wanted(scorers, error_score, train_score=True))
    ticks, folds = len(sizes[0]), len(way.layouts)
    found = tuple(columns[name].reshape(folds, ticks).T for name in ("train_score", "test_score"))
    if return_times:
        found += tuple(np.full((ticks, folds), total / (ticks * folds)) for total in (record.seconds, seconds))
    return (sizes[0], *found)


def validation_curve(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    param_name: str,
    param_range: Any,
    groups: Any = None,
    cv: Any = None,
    scoring: Any = None,
    n_jobs: Any = None,
    pre_dispatch: Any = "all",
    verbose: int = 0,
    error_score: Any = np.nan,
    params: Any = None,
    strategy: "str | Strategy" = "auto",
    order: str | None = None,
    seed: int | None = None,
    native: bool = True,
    max_objects: int = 10_000,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Training and test scores for several values of a parameter, as scikit-learn's function of that name gives them.

    Parameters
    ----------
    estimator, X, y, groups, cv, scoring, n_jobs, pre_dispatch, verbose, error_score, params
        As in `cross_validate`.
    param_name : str
        The parameter; of the estimator inside `OnePass` it is "estimator__...".
    param_range : array-like of shape (n_values,)
        Its values. All of them see the same folds.
    strategy, order, seed, native, max_objects
        As in `cross_validate`.

    Returns
    -------
    train_scores, test_scores : ndarray of shape (n_values, n_folds)

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from treecv import Pegasos, validation_curve
    >>> X, y = load_iris(return_X_y=True)
    >>> train, test = validation_curve(Pegasos(), X, y == 0, param_name="alpha", param_range=[1e-3, 1e-2, 0.1])
    >>> test.shape
    (3, 5)
    """
    estimator = shaped(estimator)
    pool = Parallel(n_jobs=n_jobs, verbose=verbose, pre_dispatch=pre_dispatch)
    options = Options.of(estimator, strategy, order, seed, native=native, pool=pool, max_objects=max_objects)
    folds: list[list[Layout]] = []

    def job(estimator: Any, options: Options = options) -> Job:
        routed = _routed("validation_curve", estimator, cv, params, groups, scoring)

        def once(*data: Any) -> list[Layout]:
            if not folds:
                folds.append(lay_out(cv, *data, **routed.split))
            return folds[0]

        return prepare(estimator, X, y, once, routed, options)

    way = enter(estimator, strategy, cv, options, job, (X, y, groups))
    if isinstance(way, Elsewhere):
        own = way.estimator is estimator or is_one_pass(estimator)
        given: tuple[NDArray[np.float64], NDArray[np.float64]] = way.call(
            "validation_curve",
            X,
            y,
            param_name=param_name if own else f"estimator__{param_name}",
            param_range=param_range,
            groups=groups,
            scoring=scoring,
            n_jobs=n_jobs,
            pre_dispatch=pre_dispatch,
            verbose=verbose,
            error_score=error_score,
            params=params,
        )
        return given
    train, test = [], []
    for value in param_range:
        changed = clone(estimator).set_params(**{param_name: clone(value, safe=False)})
        wanted = Wanted(as_scorers(changed, scoring, called=way.calls_scorers), error_score, train_score=True)
        _, columns, _ = evaluate(job(changed), wanted)
        train.append(columns["train_score"])
        test.append(columns["test_score"])
    return np.array(train), np.array(test)


def _routed(caller: str, estimator: Any, cv: Any, params: Any, groups: Any, scoring: Any) -> Routed:
    scorers = check_scoring(estimator, scoring) if _routing_enabled() else None
    return route(caller, estimator, cv, params, groups, scorers)
