"""Scores of folds: from arrays of predictions where the metric allows, else from fitted estimators.

A metric that is a mean over rows, or made of such means, is computed for all folds at once. Any other
scorer is called with a fitted estimator per fold, as scikit-learn does.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import metrics
from sklearn.base import ClassifierMixin, RegressorMixin, is_classifier, is_outlier_detector
from sklearn.metrics import check_scoring, get_scorer
from sklearn.neighbors import KernelDensity, KNeighborsClassifier
from sklearn.pipeline import Pipeline
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping

from treecv.data import Chunks
from treecv.errors import InputError
from treecv.estimators.unsupervised import OnePassUnsupervised


@dataclass(frozen=True, slots=True)
class Folds:
    """Targets and predictions by position, and the folds they fall into; several columns are several outputs."""

    target: NDArray[Any]
    predicted: NDArray[Any]
    chunks: Chunks

    def means(self, values: NDArray[Any]) -> NDArray[np.float64]:
        """The mean of one value a row, for each fold and output."""
        if self.chunks.offsets is None:
            return np.asarray(values, np.float64)
        totals: NDArray[np.float64] = np.add.reduceat(values, self.chunks.offsets[:-1], dtype=np.float64)
        totals /= self.chunks.sizes if totals.ndim == 1 else self.chunks.sizes[:, np.newaxis]
        return totals

    def squared_errors(self) -> NDArray[np.float64]:
        """One a row."""
        errors: NDArray[np.float64] = self.target - self.predicted
        errors *= errors
        return errors


def accuracy(folds: Folds) -> NDArray[np.float64]:
    """The share of rows whose class is predicted; of several labels a row, all of them."""
    right = folds.predicted == folds.target
    return folds.means(right if right.ndim == 1 else right.all(axis=1))


def _even(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """scikit-learn's `uniform_average`: the mean over the outputs, each scored by itself."""
    averaged: NDArray[np.float64] = scores if scores.ndim == 1 else scores.mean(axis=1)
    return averaged


def mean_squared_error(folds: Folds) -> NDArray[np.float64]:
    """The mean squared error."""
    return _even(folds.means(folds.squared_errors()))


def root_mean_squared_error(folds: Folds) -> NDArray[np.float64]:
    """The root of each fold's mean squared error."""
    return _even(np.sqrt(folds.means(folds.squared_errors())))


def mean_absolute_error(folds: Folds) -> NDArray[np.float64]:
    """The mean absolute error."""
    return _even(folds.means(np.abs(folds.target - folds.predicted)))


def r2(folds: Folds) -> NDArray[np.float64]:
    """The share of each fold's variance that is predicted."""
    sizes = folds.chunks.sizes
    centred = folds.target - np.repeat(folds.means(folds.target), sizes, axis=0)
    total, residual = folds.means(centred**2), folds.means(folds.squared_errors())
    with np.errstate(divide="ignore", invalid="ignore"):
        score = 1 - residual / total
    # scikit-learn's convention for a constant target: 1 for a perfect prediction, else 0.
    constant: NDArray[np.float64] = np.where(total == 0, np.where(residual == 0, 1.0, 0.0), score)
    return _even(constant)


def mean_score(folds: Folds) -> NDArray[np.float64]:
    """The mean of what a model without targets says of each row."""
    return folds.means(folds.predicted)


def total_score(folds: Folds) -> NDArray[np.float64]:
    """The sum of what a model without targets says of each row."""
    return folds.means(folds.predicted) * folds.chunks.sizes


_VECTORISED: dict[Any, Callable[[Folds], NDArray[np.float64]]] = {
    metrics.accuracy_score: accuracy,
    metrics.mean_squared_error: mean_squared_error,
    metrics.root_mean_squared_error: root_mean_squared_error,
    metrics.mean_absolute_error: mean_absolute_error,
    metrics.r2_score: r2,
}


_DEFAULTS: dict[Any, Callable[[Folds], NDArray[np.float64]]] = {
    ClassifierMixin.score: accuracy,
    RegressorMixin.score: r2,
    KNeighborsClassifier.score: accuracy,
    OnePassUnsupervised.score: mean_score,
    KernelDensity.score: total_score,
}
"""What the methods `score` compute."""


_OF_SEVERAL_ROWS = frozenset(
    {metrics.r2_score, metrics.explained_variance_score, metrics.roc_auc_score}
    | {metrics.d2_absolute_error_score, metrics.d2_pinball_score, metrics.d2_tweedie_score}
)
"""Metrics that mean nothing for a single row."""


@dataclass(frozen=True, slots=True)
class Scorer:
    """A metric under the name its scores get: `vectorised` over all folds, or called fold by fold."""

    name: str
    call: Callable[..., Any]
    vectorised: Callable[[Folds], NDArray[np.float64]] | None = None
    sign: int = 1

    def scores(self, folds: Folds) -> NDArray[np.float64]:
        """Of all folds at once."""
        if self.vectorised is None:
            raise TypeError(f"{self.name} is not computed from predictions")
        scores = self.vectorised(folds)
        return scores if self.sign == 1 else np.negative(scores, out=scores)

    def own(self, params: Mapping[str, Any]) -> Mapping[str, Any]:
        """Those of the routed parameters that this scorer has asked for."""
        if not params:
            return params
        mapping = MethodMapping().add(caller="score", callee="score")
        router = MetadataRouter(owner=self.name).add(scorer=self.call, method_mapping=mapping)
        asked: Mapping[str, Any] = router.route_params(params=params, caller="score")["scorer"].score
        return asked

    @property
    def made_of_predictions(self) -> bool:
        """Whether what the estimator says of the rows is all that this needs."""
        return self.vectorised is not None or hasattr(self.call, "_score_func")

    @property
    def needs_several_rows(self) -> bool:
        """Whether the metric means nothing for a single row."""
        return self.vectorised is r2 or getattr(self.call, "_score_func", None) in _OF_SEVERAL_ROWS


def check_sizes(scorers: list[Scorer], chunks: Chunks) -> None:
    """Raise before any work if a fold is too small for a metric."""
    smallest = int(chunks.sizes.min())
    for scorer in scorers:
        if scorer.needs_several_rows and smallest < 2:
            what = "scoring='r2' (the default of regressors)" if scorer.vectorised is r2 else f"scorer {scorer.name!r}"
            raise InputError(
                f"{what} needs folds of at least 2 rows, and the smallest has {smallest}: R² of one row is undefined, "
                "and so are other scores that compare rows. Use aggregate='pooled', another metric, such as "
                "'neg_mean_squared_error', or fewer folds."
            )


def as_scorers(estimator: Any, scoring: Any, *, called: bool = False) -> list[Scorer]:
    """scikit-learn's `scoring`: None, a name, a callable, or several of them by name.

    `called`: none of them is computed from predictions, whatever it is.
    """
    scorers = _as_scorers(estimator, scoring)
    return [replace(scorer, vectorised=None) for scorer in scorers] if called else scorers


def needs_of(estimator: Any, scoring: Any, *, models: bool = False, pooled: bool = False) -> frozenset[str]:
    """What scores are made of: "predictions", and "models" where a scorer asks for more."""
    asks = scoring is None or hasattr(estimator, "predict")  # else a metric fails, in the words of its own
    made = pooled or (asks and all(scorer.made_of_predictions for scorer in as_scorers(estimator, scoring)))
    return frozenset({"predictions"} if made and not models else {"predictions", "models"})


def _as_scorers(estimator: Any, scoring: Any) -> list[Scorer]:
    if isinstance(scoring, Mapping):
        if not scoring:
            raise InputError("scoring={} names no metric: give at least one, or None for the estimator's own.")
        return [_scorer(name, estimator, scorer) for name, scorer in scoring.items()]
    if isinstance(scoring, list | tuple | set):
        if not scoring or not all(isinstance(name, str) for name in scoring) or len(set(scoring)) < len(scoring):
            raise InputError(f"scoring={scoring!r} must be a name, a callable, or different names in a list.")
        return [_scorer(name, estimator, name) for name in (sorted(scoring) if isinstance(scoring, set) else scoring)]
    return [_scorer("score", estimator, scoring)]


def _scorer(name: str, estimator: Any, scoring: Any) -> Scorer:
    if scoring is None:
        call = check_scoring(estimator)
        own = getattr(type(_scored(estimator)), "score", None)
        default = _DEFAULTS.get(own)
        return Scorer(name, call, default)
    call = get_scorer(scoring) if isinstance(scoring, str) else scoring
    if not callable(call):
        raise InputError(f"scoring={scoring!r} is not callable: use a name of sklearn.metrics or a scorer.")
    metric, options = getattr(call, "_score_func", None), getattr(call, "_kwargs", None)
    response = getattr(call, "_response_method", "predict")
    vectorised = _VECTORISED.get(metric) if not options and response == "predict" else None
    without_targets = is_outlier_detector(estimator) or isinstance(_scored(estimator), OnePassUnsupervised)
    if vectorised is not None and ((vectorised is accuracy) != is_classifier(estimator) or without_targets):
        vectorised = None
    return Scorer(name, call, vectorised, getattr(call, "_sign", 1))


def _scored(estimator: Any) -> Any:
    """The estimator whose `score` it is in the end: inside of wrappers and pipelines."""
    if hasattr(estimator, "__treecv_wraps__"):
        return _scored(estimator.__treecv_wraps__()[0])
    return _scored(estimator.steps[-1][1]) if isinstance(estimator, Pipeline) else estimator
