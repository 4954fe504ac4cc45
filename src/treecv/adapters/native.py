"""scikit-learn's estimators that the core trains itself: their twins, and the way back.

A twin gives what the estimator's own `partial_fit` gives when it is fed the same rows in the same calls. Where an
estimator shuffles the rows of a call, the core does so with random numbers of its own.
"""

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.linear_model import Perceptron, SGDClassifier, SGDOneClassSVM, SGDRegressor
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.class_weight import compute_class_weight

from treecv.adapters.steps import steps_of
from treecv.errors import InputError
from treecv.learner import Learner, Schema, State
from treecv.learners import SGD, Scaled

_MODELS = (SGDClassifier, SGDRegressor, SGDOneClassSVM, Perceptron)
_SPARSE_DECAY = 0.01
"""scikit-learn's factor on the steps of the intercept, where rows are sparse."""


@dataclass(frozen=True, slots=True)
class Twin:
    """What the core would train in place of an estimator; or why it does not."""

    learner: Learner | None
    why_not: str = ""


def twin_of(estimator: Any, schema: Schema, batch_size: int | None = None) -> Twin | None:
    """The twin of an estimator; None for estimators that the core knows nothing like."""
    steps = list(steps_of(estimator))
    model = steps[-1][1]
    if not isinstance(model, _MODELS):
        return None
    reason = _obstacle(steps, schema)
    if reason:
        return Twin(None, passed_over(estimator, reason))
    model._more_validate_params(for_partial_fit=True)
    for _, step in steps:
        step._validate_params()
    learner = _model(model, schema, batch_size or 0)
    return Twin(learner if len(steps) == 1 else _scaled(steps[0][1], learner))


def has_twin(estimator: Any) -> bool:
    """Whether this is an estimator of a kind that the core trains, or ends in one."""
    *_, (_, model) = steps_of(estimator)
    return isinstance(model, _MODELS)


def passed_over(estimator: Any, reason: str) -> str:
    """Why an estimator was not trained in the core."""
    *_, (_, model) = steps_of(estimator)
    return f"{type(model).__name__} was trained by its own `partial_fit`: {reason}."


def weights_name(estimator: Any) -> str:
    """What the weights of a model's rows are called among the parameters of `fit`."""
    *_, (name, _) = steps_of(estimator)
    return f"{name}__sample_weight" if name else "sample_weight"


def remark(learner: Any) -> str:
    """What a user should know of a twin."""
    if not getattr(learner, "shuffles", False):
        return ""
    return "The rows of each update were shuffled by treecv's own stream of random numbers, not by the estimator's."


def restored(estimator: Any, learner: Any, state: State, schema: Schema, names: Any = None) -> Any:
    """The estimator as a user would have it after these updates; it may go on learning.

    The first of its steps knows the names of the features, and the model those that a scaler hands on.
    """
    fitted = clone(estimator)
    model = learner.model if isinstance(learner, Scaled) else learner
    for _, step in steps_of(fitted):
        step.n_features_in_ = schema.n_features
        if names is not None:
            step.feature_names_in_ = names
        if isinstance(step, _MODELS):
            _restore_model(step, model, state, schema)
        else:
            _restore_scaler(step, state, schema)
            framed = _get_output_config("transform", step)["dense"] != "default"
            names = step.get_feature_names_out() if framed else None
    return fitted


def answered(estimator: Any, schema: Schema, method: str, values: NDArray[np.float64]) -> NDArray[Any]:
    """What a method of the estimator says of rows for which the twin predicts these values.

    A model whose weights are the identity finds these values itself, and goes on as ever.
    """
    *_, (_, model) = steps_of(estimator)
    model = clone(model)
    columns = values if values.ndim == 2 else values[:, np.newaxis]
    width = columns.shape[1]
    model.n_features_in_ = width
    if isinstance(model, SGDOneClassSVM):
        model.coef_, model.offset_ = np.ones(1), np.zeros(1)
    elif isinstance(model, SGDRegressor):
        model.coef_, model.intercept_, model.t_ = np.ones(1), np.zeros(1), 1.0
    else:
        model.classes_ = np.asarray(schema.classes)
        model.coef_, model.intercept_ = np.eye(width), np.zeros(width)
    if method == "score_samples":
        raise AttributeError(f"{type(model).__name__!r} has no {method!r} in the core: use native=False.")
    answer: NDArray[Any] = getattr(model, method)(columns)
    return answer


def _obstacle(steps: list[tuple[str, Any]], schema: Schema) -> str:
    """What the core does not know about an estimator."""
    *before, (_, model) = steps
    labels = not isinstance(model, SGDRegressor | SGDOneClassSVM)
    obstacles = {
        "it is a subclass, whose own methods the core would not ask": type(model) not in _MODELS,
        "early_stopping=True holds rows out": getattr(model, "early_stopping", False),
        "class_weight='balanced' needs all labels of a training part at once": (
            getattr(model, "class_weight", None) == "balanced"
        ),
        "its targets are not one column of labels": labels and getattr(schema.classes, "ndim", 0) != 1,
        "of transformers before it, the core knows one of StandardScaler, MinMaxScaler and MaxAbsScaler": (
            len(before) > 1 or any(type(step) not in _SCALERS for _, step in before)
        ),
        "the core scales dense rows only": before and schema.sparse,
    }
    return next((obstacle for obstacle, stands in obstacles.items() if stands), "")


def _model(model: Any, schema: Schema, batch_size: int) -> SGD:
    one_class = isinstance(model, SGDOneClassSVM)
    classes = 1 if one_class else 0 if isinstance(model, SGDRegressor) else len(schema.classes)
    weights: tuple[float, ...] = ()
    if getattr(model, "class_weight", None) is not None:
        weights = tuple(compute_class_weight(model.class_weight, classes=schema.classes, y=schema.classes).tolist())
    seed = model.random_state
    return SGD(
        loss="hinge" if one_class else model.loss,
        epsilon=getattr(model, "epsilon", 0.1),
        penalty="l2" if one_class else model.penalty or "none",
        alpha=model.nu if one_class else model.alpha,
        l1_ratio=0.0 if one_class else model.l1_ratio or 0.0,
        schedule=model.learning_rate,
        eta0=model.eta0,
        power_t=model.power_t,
        average=int(model.average),
        fit_intercept=bool(model.fit_intercept),
        decay=_SPARSE_DECAY if schema.sparse else 1.0,
        classes=classes,
        class_weights=weights,
        batch_size=batch_size,
        random=bool(model.shuffle),
        seed=int(seed) if isinstance(seed, Integral) else None,
    )


def _standard(scaler: Any, model: SGD) -> Scaled:
    return Scaled(model, centres=bool(scaler.with_mean), scales=bool(scaler.with_std))


def _minmax(scaler: Any, model: SGD) -> Scaled:
    low, high = scaler.feature_range
    if not low < high:
        raise InputError(f"MinMaxScaler: feature_range={scaler.feature_range} must rise from the first to the second.")
    return Scaled(model, scaler="minmax", low=low, high=high, clips=bool(scaler.clip))


def _maxabs(scaler: Any, model: SGD) -> Scaled:
    return Scaled(model, scaler="maxabs", clips=bool(scaler.clip))


_SCALERS: dict[type, Callable[[Any, SGD], Scaled]] = {
    StandardScaler: _standard,
    MinMaxScaler: _minmax,
    MaxAbsScaler: _maxabs,
}


def _scaled(scaler: Any, model: SGD) -> Scaled:
    return _SCALERS[type(scaler)](scaler, model)


def _restore_model(fitted: Any, learner: SGD, state: State, schema: Schema) -> None:
    dtype = np.dtype(schema.dtype)
    rows = int(state["count"][0])
    fitted.t_, fitted.n_iter_ = 1.0 + rows, 1
    fitted._loss_function_ = fitted._get_loss_function(fitted.loss)
    flat = isinstance(fitted, SGDRegressor | SGDOneClassSVM)
    if not flat:
        fitted.classes_ = np.asarray(schema.classes)

    def shaped(weights: NDArray[np.float64], intercept: NDArray[np.float64]) -> tuple[NDArray[Any], NDArray[Any]]:
        return np.array(weights[0] if flat else weights, dtype, order="C"), intercept.astype(dtype)

    coef, intercept = shaped(*learner.weights(state))
    if learner.average:
        fitted._standard_coef, fitted._standard_intercept = coef, intercept
        fitted._average_coef, fitted._average_intercept = shaped(*learner.averages(state))
        if learner.average <= rows:
            coef, intercept = fitted._average_coef, fitted._average_intercept
    fitted.coef_ = coef
    if isinstance(fitted, SGDOneClassSVM):
        fitted.offset_ = 1 - intercept
    else:
        fitted.intercept_ = intercept


def _restore_scaler(fitted: Any, state: State, schema: Schema) -> None:
    first, second, _, factor = (state[0][field][: schema.n_features].copy() for field in Scaled.known)
    rows = int(state["count"][0])
    fitted.n_samples_seen_ = rows
    if isinstance(fitted, StandardScaler):
        fitted.n_samples_seen_ = np.int64(rows)  # it asks for its shape when it goes on
        fitted.mean_ = first if fitted.with_mean or fitted.with_std else None
        fitted.var_ = second / max(rows, 1) if fitted.with_std else None
        fitted.scale_ = 1 / factor if fitted.with_std else None
    elif isinstance(fitted, MinMaxScaler):
        fitted.data_min_, fitted.data_max_, fitted.data_range_ = first, second, second - first
        fitted.scale_, fitted.min_ = factor, fitted.feature_range[0] - first * factor
    else:
        fitted.max_abs_, fitted.scale_ = second, 1 / factor
