"""Least squares and ridge of scikit-learn, whose folds are solved from one factorisation of all rows."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.linear_model import LinearRegression, RidgeClassifier
from sklearn.linear_model import Ridge as ScikitRidge
from sklearn.preprocessing import LabelBinarizer, StandardScaler

from treecv.adapters.exact.recognised import Exact
from treecv.adapters.steps import steps_of
from treecv.learner import Schema, State
from treecv.learners.held_out import Fit
from treecv.learners.indicators import Indicators
from treecv.learners.least_squares import LeastSquares
from treecv.learners.ridge import Ridge, deviations

_DIRECT = ("auto", "cholesky", "svd")


def recognised(estimator: Any, steps: list[tuple[str, Any]], schema: Schema) -> Exact | str | None:
    """The shortcut of an estimator, why it has none, or None for estimators of other families."""
    *before, (_, model) = steps
    if not isinstance(model, LinearRegression | ScikitRidge | RidgeClassifier):
        return None
    reason = _obstacle([step for _, step in before], model, schema)
    if reason:
        return reason
    for _, step in steps:
        step._validate_params()
    learner = _LEARNERS[type(model)](model, schema, *(step for _, step in before))
    return Linear(estimator, learner, schema)


class Linear(Exact):
    """A linear model, alone or after a scaler."""

    @property
    def outputs(self) -> int:
        """A number for each target, or for each class."""
        return self.schema.n_outputs if self.schema.classes is None else len(self.schema.classes)

    def answered(self, method: str, values: NDArray[np.float64]) -> NDArray[Any]:
        """Predictions are the values; a classifier's are the labels of its highest scores."""
        classes = self.schema.classes
        if classes is None:
            if method != "predict":
                raise AttributeError(f"{type(self.estimator).__name__!r} object has no attribute {method!r}")
            single = isinstance(self.learner, Ridge) and values.ndim == 2 and values.shape[1] == 1
            return values[:, 0] if single else values
        if method == "predict":
            labels: NDArray[Any] = np.asarray(classes)[np.argmax(values, axis=1)]
            return labels
        if method != "decision_function":
            raise AttributeError(f"{type(self.estimator).__name__!r} object has no attribute {method!r}")
        if len(classes) > 2:
            return values
        alone = np.isneginf(values).any(axis=1)  # scikit-learn has a column for the other class only
        return np.where(alone, -values.max(axis=1), values[:, -1])

    def fitted(self, state: State) -> Any:
        """The estimator as `fit` would have left it."""
        fitted = clone(self.estimator)
        *before, (_, model) = steps_of(fitted)
        _FITTED[type(model)](model, self.learner, state, self.schema)
        for _, scaler in before:
            _restore_scaler(scaler, model, state[1] if isinstance(self.learner, Indicators) else state)
        return fitted


def _obstacle(before: list[Any], model: Any, schema: Schema) -> str:
    """What the shortcut does not know about an estimator."""
    solver = getattr(model, "solver", "auto")
    obstacles = {
        "it is a subclass, whose own methods the shortcut would not ask": type(model) not in _LEARNERS,
        "positive=True bounds the coefficients": model.positive,
        f"solver={solver!r} stops at a tolerance": solver not in _DIRECT,
        "in single precision scikit-learn's own rounding shows": schema.dtype == "float32",
        "for sparse rows its solver stops at a tolerance": schema.sparse,
        "alpha=0 may leave nothing to divide by; LinearRegression is made for it": (
            hasattr(model, "alpha") and not np.all(np.asarray(model.alpha, float) > 0)
        ),
        "there must be one alpha, or one for each target": (
            hasattr(model, "alpha") and np.size(model.alpha) not in (1, _targets(model, schema))
        ),
        "before it only a StandardScaler is known": (
            len(before) > 1 or any(type(step) is not StandardScaler for step in before)
        ),
    }
    obstacles |= _obstacles_of_classes(model, schema) if isinstance(model, RidgeClassifier) else {}
    return next((obstacle for obstacle, stands in obstacles.items() if stands), "")


def _obstacles_of_classes(model: RidgeClassifier, schema: Schema) -> dict[str, bool]:
    weights, classes = model.class_weight, schema.classes
    plain = getattr(classes, "ndim", 0) == 1
    return {
        "its targets are not one column of labels": not plain,
        "it has a single class": plain and len(classes) < 2,
        "class_weight='balanced' weighs the rows of each training part anew": isinstance(weights, str),
        "class_weight does not name each class": (
            isinstance(weights, dict) and bool(weights) and (not plain or set(weights) != set(classes.tolist()))
        ),
        "it has a penalty for each class": np.size(model.alpha) > 1,
    }


def _targets(model: Any, schema: Schema) -> int:
    return len(schema.classes) if isinstance(model, RidgeClassifier) else schema.n_outputs


def _least_squares(model: LinearRegression, schema: Schema, scaler: StandardScaler | None = None) -> Any:
    if scaler is None:
        return LeastSquares(bool(model.fit_intercept), float(model.tol))
    return LeastSquares(bool(model.fit_intercept), float(model.tol), bool(scaler.with_mean), bool(scaler.with_std))


def _ridge(model: Any, schema: Schema, scaler: StandardScaler | None = None) -> Ridge:
    alpha = tuple(np.ravel(np.asarray(model.alpha, float)).tolist())
    if scaler is None:
        return Ridge(alpha, bool(model.fit_intercept))
    return Ridge(alpha, bool(model.fit_intercept), bool(scaler.with_mean), bool(scaler.with_std))


def _classifier(model: RidgeClassifier, schema: Schema, scaler: StandardScaler | None = None) -> Indicators:
    weights = model.class_weight
    factors = tuple(float(weights[label]) for label in schema.classes.tolist()) if weights else ()
    return Indicators(_ridge(model, schema, scaler), len(schema.classes), factors)


_LEARNERS: dict[type, Callable[..., Any]] = {
    LinearRegression: _least_squares,
    ScikitRidge: _ridge,
    RidgeClassifier: _classifier,
}


def _fitted_least_squares(fitted: Any, learner: LeastSquares, state: State, schema: Schema) -> Any:
    model = learner.model(schema.n_features)
    fitted.rank_, fitted.singular_ = model.spectrum(state)
    return _with_coefficients(fitted, model.fit(state), schema, flat=schema.n_outputs == 1)


def _fitted_ridge(fitted: Any, learner: Ridge, state: State, schema: Schema) -> Any:
    fitted.n_iter_, fitted.solver_ = None, "cholesky" if fitted.solver == "auto" else fitted.solver
    return _with_coefficients(fitted, learner.fit(state, schema.n_features), schema, flat=schema.n_outputs == 1)


def _fitted_classifier(fitted: Any, learner: Indicators, state: State, schema: Schema) -> Any:
    counts, moments = state
    present = np.flatnonzero(counts)
    binarizer = LabelBinarizer(pos_label=1, neg_label=-1).fit(np.asarray(schema.classes)[present])
    fitted._label_binarizer, fitted.classes_ = binarizer, binarizer.classes_
    fitted.n_iter_, fitted.solver_ = None, "cholesky" if fitted.solver == "auto" else fitted.solver
    fit = learner.model.fit(moments, schema.n_features)
    columns = present[-1:] if len(present) == 2 else present
    chosen = None if fit is None else Fit(fit.centre, fit.coef[:, columns], fit.constant[columns])
    if chosen is not None and len(present) == 1:  # scikit-learn's single column is of the other class
        chosen = Fit(chosen.centre, -chosen.coef, -chosen.constant)
    _with_coefficients(fitted, chosen, schema, flat=False)
    if len(columns) == 1:
        fitted.coef_ = fitted.coef_.ravel()
    return fitted


def _restore_scaler(scaler: StandardScaler, model: Any, state: State) -> None:
    """The scaler as `fit` leaves it, and the model's coefficients of scaled features."""
    d = scaler.n_features_in_ = model.n_features_in_
    means, variances = state.spread(d)
    scaler.n_samples_seen_ = np.int64(state.count)
    scaler.mean_ = means if scaler.with_mean or scaler.with_std else None
    scaler.var_ = variances if scaler.with_std else None
    scaler.scale_ = deviations(variances, means, state.count) if scaler.with_std else None
    if scaler.with_mean:
        model.intercept_ = model.intercept_ + model.coef_ @ means if model.fit_intercept else 0.0
    if scaler.with_std:
        model.coef_ = model.coef_ * scaler.scale_


def _with_coefficients(fitted: Any, fit: Fit | None, schema: Schema, flat: bool) -> Any:
    if fit is None:
        raise ValueError(f"{type(fitted).__name__} has learnt no rows of any weight: there are no coefficients.")
    coef, intercept = fit.coef.T.astype(schema.dtype), fit.intercept.astype(schema.dtype)
    fitted.coef_ = coef[0] if flat else coef
    fitted.intercept_ = (intercept[0] if flat else intercept) if fitted.fit_intercept else 0.0
    fitted.n_features_in_ = schema.n_features
    return fitted


_FITTED: dict[type, Callable[..., Any]] = {
    LinearRegression: _fitted_least_squares,
    ScikitRidge: _fitted_ridge,
    RidgeClassifier: _fitted_classifier,
}
