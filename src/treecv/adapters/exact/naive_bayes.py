"""Naive Bayes: sums of rows that a fold is taken away from again.

Known are GaussianNB, also behind a StandardScaler, MultinomialNB, BernoulliNB, ComplementNB and CategoricalNB. Their
`fit` on a training part sees the classes, the smoothing, the scales and the categories of this part alone, and so does
each fold's model here.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.naive_bayes import BernoulliNB, CategoricalNB, ComplementNB, GaussianNB, MultinomialNB
from sklearn.preprocessing import StandardScaler

from treecv.adapters.exact.recognised import Exact
from treecv.adapters.steps import steps_of
from treecv.learner import Schema
from treecv.learners.categorical_bayes import CategoricalBayes, Categories
from treecv.learners.count_bayes import BernoulliBayes, ComplementBayes, MultinomialBayes
from treecv.learners.count_folds import Tally
from treecv.learners.gaussian_bayes import GaussianBayes, Moments

Steps = list[tuple[str, Any]]

_MODELS = (GaussianNB, MultinomialNB, BernoulliNB, ComplementNB, CategoricalNB)
_LEAST_ALPHA = 1e-10
_LEAST_BESIDE_OTHERS = 1e-5
_LEAST_BESIDE_ROWS = 1e-12


class NaiveBayes(Exact):
    """What all five of them answer."""

    def answered(self, method: str, values: NDArray[np.float64]) -> NDArray[Any]:
        """Labels, or logarithms of probabilities."""
        if method == "predict":
            labels: NDArray[Any] = np.asarray(self.schema.classes)[values.argmax(axis=1)]
            return labels
        if method == "predict_joint_log_proba":
            return values
        if method not in ("predict_proba", "predict_log_proba"):
            *_, (_, model) = steps_of(self.estimator)
            raise AttributeError(f"{type(model).__name__!r} object has no attribute {method!r}")
        with np.errstate(invalid="ignore", divide="ignore"):
            away = values - values.max(axis=1, keepdims=True)
            logs: NDArray[np.float64] = away - np.log(np.exp(away).sum(axis=1, keepdims=True))
        if method == "predict_proba":
            return np.exp(logs)
        # What cross_val_predict says of a class that a training part lacks; there is no smaller number.
        return np.where(np.isneginf(logs), np.finfo(np.float64).min, logs)

    def fitted(self, state: Any) -> Any:
        """The estimator as `fit` would have left it."""
        fitted = clone(self.estimator)
        *before, (_, model) = steps_of(fitted)
        for _, scaler in before:
            scaler.n_features_in_ = self.schema.n_features
            _restore_scaler(scaler, state)
        present = _present(state, self.learner.classes)
        model.n_features_in_ = self.schema.n_features
        model.classes_ = np.asarray(self.schema.classes)[present]
        if isinstance(model, GaussianNB):
            self._restore_gaussian(model, [scaler for _, scaler in before], state, present)
        else:
            _restore_counts(model, state, present)
        return fitted

    def _restore_gaussian(self, model: GaussianNB, scalers: list[Any], state: Moments, present: Any) -> None:
        known = self.learner.model(state)
        if known is None:
            raise ValueError(
                f"{type(model).__name__} cannot be trained on these rows: no row, class or weight is left."
            )
        model.class_count_ = state.weight[:-1][present]
        model.class_prior_ = (
            model.class_count_ / model.class_count_.sum() if model.priors is None else np.array(model.priors, float)
        )
        mean = known.mean + known.rest
        if any(scaler.with_mean for scaler in scalers):
            mean = (known.mean - state.mean[-1]) + (known.rest - state.rest[-1])
        model.theta_ = (mean / known.scale)[present]
        model.epsilon_ = (known.added / known.scale**2).max()
        model.var_ = ((known.variance + known.added) / known.scale**2)[present]


def _present(state: Any, classes: int) -> NDArray[np.intp]:
    counts = state.count[:-1] if isinstance(state, Moments) else state.rows
    return np.flatnonzero(counts[:classes] > 0)


def _restore_scaler(scaler: Any, state: Moments) -> None:
    scaler.n_samples_seen_ = np.int64(state.count[-1])
    learner = GaussianBayes(1, scaled=True)
    used = scaler.with_mean or scaler.with_std
    scaler.mean_ = state.mean[-1] + state.rest[-1] if used else None
    scaler.var_ = state.variance[-1] if scaler.with_std else None
    scaler.scale_ = learner.smoothed(state)[1] if scaler.with_std else None


def _restore_counts(model: Any, state: Tally, present: NDArray[np.intp]) -> None:
    """The counts; what follows from them, the model finds itself."""
    model.class_count_ = state.weight[present]
    if isinstance(state, Categories):
        sizes = np.maximum(state.tops() + 1, 0 if model.min_categories is None else model.min_categories)
        parts = zip(state.begins[:-1], state.begins[:-1] + sizes, strict=True)
        model.category_count_ = [state.table[begin:end, present].T.copy() for begin, end in parts]
        model.n_categories_ = sizes
    else:
        model.feature_count_ = np.ascontiguousarray(state.table[:, present].T)
    if isinstance(model, ComplementNB):
        model.feature_all_ = model.feature_count_.sum(axis=0)
    model._update_feature_log_prob(model._check_alpha())
    model._update_class_log_prior(class_prior=model.class_prior)


def recognised(estimator: Any, steps: Steps, schema: Schema) -> Exact | str | None:
    """The learner of a naive Bayes estimator; why it is passed over; or None for others."""
    *before, (_, model) = steps
    if not isinstance(model, _MODELS):
        return None
    if type(model) not in _MODELS:
        return f"{type(model).__name__} is a subclass, whose own methods may differ"
    if getattr(schema.classes, "ndim", 0) != 1:
        return "its targets are not one column of labels"
    try:
        for _, step in steps:
            step._validate_params()
    except ValueError as error:
        return f"its settings are not valid: {error}"
    found = _gaussian(model, before, schema) if isinstance(model, GaussianNB) else _counts(model, before, schema)
    return found if isinstance(found, str) else NaiveBayes(estimator, found, schema)


def _gaussian(model: GaussianNB, before: Steps, schema: Schema) -> GaussianBayes | str:
    scalers = [step for _, step in before]
    if len(scalers) > 1 or any(type(step) is not StandardScaler for step in scalers):
        return "of transformers before it, one StandardScaler is known"
    if schema.sparse:
        return "GaussianNB takes no sparse rows"
    if schema.dtype == "float32":
        return "in single precision its sums depend on how they are rounded: use X.astype('float64')"
    priors = None if model.priors is None else np.asarray(model.priors, np.float64)
    if priors is not None and (
        len(priors) != len(schema.classes) or (priors < 0).any() or not np.isclose(priors.sum(), 1.0)
    ):
        return "its priors do not fit the classes"
    return GaussianBayes(
        len(schema.classes),
        float(model.var_smoothing),
        None if priors is None else tuple(priors.tolist()),
        any(scaler.with_mean for scaler in scalers),
        any(scaler.with_std for scaler in scalers),
    )


def _counts(model: Any, before: Steps, schema: Schema) -> Any:
    if before:
        return "no transformer before it is known"
    alpha = np.asarray(model.alpha, np.float64)
    if not model.force_alpha:
        alpha = np.maximum(alpha, _LEAST_ALPHA)
    reason = _obstacle(model, alpha, schema)
    if reason:
        return reason
    settings = {
        "classes": len(schema.classes),
        "alpha": tuple(alpha.tolist()) if alpha.ndim else float(alpha),
        "fit_prior": bool(model.fit_prior),
        "priors": None if model.class_prior is None else tuple(np.asarray(model.class_prior, float).tolist()),
    }
    return _LEARNERS[type(model)](model, schema, settings)


def _obstacle(model: Any, alpha: NDArray[np.float64], schema: Schema) -> str:
    """What the learners do not know about a model of counts."""
    least = float(alpha.min()) if alpha.size else 0.0
    priors = None if model.class_prior is None else np.asarray(model.class_prior, np.float64)
    obstacles = {
        "alpha is not one number for each feature": alpha.ndim > 1 or (alpha.ndim and len(alpha) != schema.n_features),
        "BernoulliNB adds an alpha for each feature to the classes": alpha.ndim and isinstance(model, BernoulliNB),
        "alpha=0 leaves logarithms of 0": not least > 0,
        "so small an alpha gets lost where scikit-learn subtracts counts": (
            isinstance(model, ComplementNB) and least < _LEAST_BESIDE_OTHERS
        ),
        "so small an alpha gets lost beside the number of rows": (
            isinstance(model, BernoulliNB) and least < _LEAST_BESIDE_ROWS * schema.n_rows
        ),
        "its class_prior does not fit the classes": (
            priors is not None and (priors.shape != (len(schema.classes),) or (priors < 0).any())
        ),
        "normalised weights make ties that its own rounding breaks": (isinstance(model, ComplementNB) and model.norm),
    }
    if isinstance(model, CategoricalNB):
        obstacles |= _obstacles_of_categories(model, schema)
    return next((obstacle for obstacle, stands in obstacles.items() if stands), "")


def _obstacles_of_categories(model: CategoricalNB, schema: Schema) -> dict[str, Any]:
    least = None if model.min_categories is None else np.asarray(model.min_categories)
    return {
        "CategoricalNB takes no sparse rows": schema.sparse,
        "its min_categories are not one integer, or one for each feature": (
            least is not None
            and not (np.issubdtype(least.dtype, np.signedinteger) and least.shape in ((), (schema.n_features,)))
        ),
    }


def _categorical(model: CategoricalNB, schema: Schema, settings: dict[str, Any]) -> CategoricalBayes:
    if model.min_categories is None:
        return CategoricalBayes(**settings)
    least = np.broadcast_to(np.maximum(model.min_categories, 0), schema.n_features)
    return CategoricalBayes(**settings, least=tuple(least.tolist()))


_LEARNERS: dict[type, Callable[[Any, Schema, dict[str, Any]], Any]] = {
    MultinomialNB: lambda model, schema, settings: MultinomialBayes(**settings),
    BernoulliNB: lambda model, schema, settings: BernoulliBayes(**settings, threshold=model.binarize),
    ComplementNB: lambda model, schema, settings: ComplementBayes(**settings, norm=bool(model.norm)),
    CategoricalNB: _categorical,
}
