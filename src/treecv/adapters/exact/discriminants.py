"""scikit-learn's discriminant analyses, alone or after a StandardScaler."""

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.special import expit
from sklearn.base import clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils._param_validation import InvalidParameterError
from sklearn.utils.extmath import softmax

from treecv.adapters.exact.recognised import Exact
from treecv.data import Feed, Rows
from treecv.errors import CapabilityError, InputError
from treecv.learner import Schema
from treecv.learners.class_moments import ClassMoments
from treecv.learners.discriminants import scales
from treecv.learners.lda import LDA
from treecv.learners.left_out import all_but
from treecv.learners.qda import QDA

Floats = NDArray[np.float64]


def recognised(estimator: Any, steps: list[tuple[str, Any]], schema: Schema) -> Exact | str | None:
    """The exact counterpart of a discriminant analysis; a reason why there is none; None for other estimators."""
    *before, (_, model) = steps
    if not isinstance(model, LinearDiscriminantAnalysis | QuadraticDiscriminantAnalysis):
        return None
    linear = isinstance(model, LinearDiscriminantAnalysis)
    reason = _obstacle(estimator, [step for _, step in before], model, schema)
    reason = reason or (_obstacle_of_linear(model, schema) if linear else "")
    if reason:
        return reason
    return (LinearDiscriminant if linear else QuadraticDiscriminant)(estimator, steps, schema)


def _obstacle(estimator: Any, before: list[Any], model: Any, schema: Schema) -> str:
    """What is not known of either analysis."""
    known = (Pipeline, LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis)
    obstacles = {
        "it is a subclass, which may train in another way": type(estimator) not in known or type(model) not in known,
        "before it only a StandardScaler is known": before and [type(step) for step in before] != [StandardScaler],
        "its targets are not one column of labels": getattr(schema.classes, "ndim", 0) != 1,
        "its rows are sparse": schema.sparse,
        "in single precision `fit` adds up rounding errors of its own": schema.dtype != "float64",
    }
    reason = next((obstacle for obstacle, stands in obstacles.items() if stands), "")
    return reason or _obstacle_of_settings(before, model, schema)


def _obstacle_of_settings(before: list[Any], model: Any, schema: Schema) -> str:
    try:
        for step in (*before, model):
            step._validate_params()
    except InvalidParameterError:
        return "scikit-learn refuses its parameters"
    priors = None if model.priors is None else np.asarray(model.priors, np.float64)
    obstacles = {
        "shrinkage='auto' estimates how far from the rows themselves": model.shrinkage == "auto",
        "its covariance_estimator is not known": model.covariance_estimator is not None,
        "scikit-learn refuses shrinkage with solver='svd'": model.solver == "svd" and model.shrinkage is not None,
        "there is only one class": len(schema.classes) < 2,
        "its priors are not one positive number a class that sum to 1": priors is not None
        and (priors.shape != (len(schema.classes),) or not (priors > 0).all() or not abs(priors.sum() - 1) <= 1e-5),
    }
    return next((obstacle for obstacle, stands in obstacles.items() if stands), "")


def _obstacle_of_linear(model: Any, schema: Schema) -> str:
    most = min(len(schema.classes) - 1, schema.n_features)
    obstacles = {
        "scikit-learn refuses so many components": (model.n_components or 0) > most,
        "without more rows than features and classes its rank depends on every row": (
            not model.shrinkage and schema.n_rows <= schema.n_features + len(schema.classes)
        ),
    }
    return next((obstacle for obstacle, stands in obstacles.items() if stands), "")


class Discriminant(Exact):
    """What both analyses share.

    A rank that hangs on rounding is decided as scikit-learn decides it, by its own `fit` of the fold.
    """

    def __init__(self, estimator: Any, steps: list[tuple[str, Any]], schema: Schema) -> None:
        *before, (_, self.model) = steps
        self.scaler = before[0][1] if before else None
        super().__init__(estimator, self._learner(schema), schema)

    def _learner(self, schema: Schema) -> LDA | QDA:
        raise NotImplementedError

    def predict(self, state: ClassMoments, rows: Rows) -> Floats:
        """The score of each class for each row."""
        self._check_certain(state)
        scores: Floats = self.learner.predict(state, rows)
        return scores

    def held_out(self, schema: Schema, feed: Feed) -> Floats:
        """The scores of all held-out rows, each by the model that has learnt all other folds."""
        values: Floats
        values, undecided = self.learner.held_out_where_decided(schema, feed)
        for fold in undecided:
            begin, end = feed.chunks.span(int(fold), int(fold))
            place = slice(begin - feed.chunks.before, end - feed.chunks.before)
            values[place] = self._from_scratch(all_but(feed, int(fold)), feed.fold(int(fold)))
        return values

    def _from_scratch(self, learnt: Rows, asked: Rows) -> Floats:
        """The scores by a training of these rows alone."""
        state = self.learner.init(self.schema)
        self.learner.update(state, learnt)
        if self.learner.certain(state):
            scores: Floats = self.learner.predict(state, asked)
            return scores
        return self._trained(learnt, asked.X if asked.index is None else asked.X[asked.index])

    def fitted(self, state: ClassMoments) -> Any:
        """The estimator as `fit` leaves it."""
        self._check_certain(state)
        if not self.learner.possible(state.counts, state.means.shape[1]):
            raise InputError(f"{type(self.model).__name__} cannot be trained on rows of {state.counts} a class.")
        fitted = clone(self.estimator)
        scaler, model = (fitted[0], fitted[-1]) if self.scaler is not None else (None, fitted)
        for step in (scaler, model):
            if step is not None:
                step.n_features_in_ = state.means.shape[1]
        if scaler is not None:
            state = _scaled(scaler, state)
        self._restore(model, state)
        return fitted

    def answered(self, method: str, values: Floats) -> NDArray[Any]:
        """What a method of the estimator says of rows of these scores."""
        classes = np.asarray(self.schema.classes)
        if method == "predict":
            labels: NDArray[Any] = classes[values.argmax(axis=1)]
            return labels
        if method == "decision_function":
            return values[:, 1] - values[:, 0] if len(classes) == 2 else values
        if method == "predict_proba":
            return self._probabilities(values)
        if method == "predict_log_proba":
            return self._log_probabilities(values)
        raise AttributeError(f"{type(self.model).__name__!r} object has no attribute {method!r}")

    def _probabilities(self, values: Floats) -> Floats:
        raise NotImplementedError

    def _log_probabilities(self, values: Floats) -> Floats:
        raise NotImplementedError

    def _restore(self, model: Any, state: ClassMoments) -> None:
        raise NotImplementedError

    def _check_certain(self, state: ClassMoments) -> None:
        if not self.learner.certain(state):
            raise CapabilityError(
                f"{type(self.model).__name__}: with these rows it hangs on rounding which features are collinear, and "
                "moments alone do not tell what `fit` would find. Leave such features out, or use "
                "strategy='standard'."
            )

    def _trained(self, learnt: Rows, asked: Any) -> Floats:
        """The scores by scikit-learn's own training; NaN where that fails."""
        classes = np.asarray(self.schema.classes)
        scores = np.full((len(asked), len(classes)), np.nan)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                fitted = clone(self.estimator).fit(learnt.X, classes[learnt.y])
                fitted.predict(asked)
                found = fitted.decision_function(asked)
            except (ValueError, IndexError):  # LinAlgError is the first one, too
                return scores
        scores[:] = -np.inf
        if found.ndim == 1 and len(fitted.classes_) == 2:
            found = np.column_stack([np.zeros(len(found)), found])
        scores[:, np.searchsorted(classes, fitted.classes_)] = found.reshape(len(asked), -1)
        return scores


class LinearDiscriminant(Discriminant):
    """LinearDiscriminantAnalysis."""

    reads_rounding = True

    def _learner(self, schema: Schema) -> LDA:
        model, scaler = self.model, self.scaler
        return LDA(
            classes=len(schema.classes),
            solver=model.solver,
            shrinkage=float(model.shrinkage or 0),
            priors=() if model.priors is None else tuple(map(float, model.priors)),
            n_components=int(model.n_components or 0),
            tol=float(model.tol),
            centred=scaler is not None and bool(scaler.with_mean),
            scaled=scaler is not None and bool(scaler.with_std),
        )

    def _probabilities(self, values: Floats) -> Floats:
        if values.shape[1] == 2:
            second = expit(values[:, 1] - values[:, 0])
            return np.column_stack([1 - second, second])
        probabilities: Floats = softmax(values)
        return probabilities

    def _log_probabilities(self, values: Floats) -> Floats:
        """Where a probability is too small for a number, scikit-learn says the smallest one; none for no class."""
        probabilities = self._probabilities(values)
        probabilities[(probabilities == 0) & (values > -np.inf)] = np.finfo(np.float64).smallest_normal
        with np.errstate(divide="ignore"):
            return np.log(probabilities)

    def _restore(self, model: Any, state: ClassMoments) -> None:
        learner = LDA(**{name: getattr(self.learner, name) for name in _PLAIN})
        present = state.counts > 0
        model.classes_ = np.asarray(self.schema.classes)[present]
        model.priors_ = learner.priors_of(state.counts)[present]
        model.means_ = (state.means + state.origin)[present]
        model._max_components = model.n_components or min(len(model.classes_) - 1, state.means.shape[1])
        model._n_features_out = model._max_components
        _restore_solution(model, learner, state)
        coefficients, constants, point = learner.discriminant(state)
        model.coef_ = coefficients[present]
        model.intercept_ = constants[present] - model.coef_ @ (point + state.origin)
        if len(model.classes_) == 2:
            model.coef_ = model.coef_[1:] - model.coef_[:1]
            model.intercept_ = model.intercept_[1:] - model.intercept_[:1]


_PLAIN = ("classes", "solver", "shrinkage", "priors", "n_components", "tol")
"""The settings of a learner among features that are scaled already."""


def _restore_solution(model: Any, learner: LDA, state: ClassMoments) -> None:
    """The attributes that the solvers have each for itself."""
    if learner.solver != "svd" or model.store_covariance:
        weights = np.where(state.counts > 0, learner.priors_of(state.counts) / np.maximum(state.counts, 1), 0)
        within = np.tensordot(weights, state.scatters, 1)
        model.covariance_ = learner.drawn(within, np.ones(len(within)))
    if learner.solver == "svd":
        _restore_axes(model, learner, state)
    if learner.solver == "eigen":
        apart = (state.means - state.total_mean) * np.sqrt(state.counts)[:, np.newaxis]
        total = (state.scatters.sum(axis=0) + apart.T @ apart) / state.counts.sum()
        values, vectors = eigh(learner.drawn(total, np.ones(len(total))) - model.covariance_, model.covariance_)
        model.explained_variance_ratio_ = np.sort(values / np.sum(values))[::-1][: model._max_components]
        model.scalings_ = vectors[:, np.argsort(values)[::-1]]


def _restore_axes(model: Any, learner: LDA, state: ClassMoments) -> None:
    model.xbar_ = model.priors_ @ model.means_
    basis = learner.basis(state, learner.covariance(state, state.counts))
    priors = learner.priors_of(state.counts)
    apart = (state.means - priors @ state.means) @ basis
    _, singular, axes = np.linalg.svd(np.sqrt(priors)[:, np.newaxis] * apart, full_matrices=False)
    model.explained_variance_ratio_ = (singular**2 / np.sum(singular**2))[: model._max_components]
    model.scalings_ = basis @ axes[singular > learner.tol * singular[0]].T


class QuadraticDiscriminant(Discriminant):
    """QuadraticDiscriminantAnalysis."""

    def _learner(self, schema: Schema) -> QDA:
        model = self.model
        return QDA(
            classes=len(schema.classes),
            solver=model.solver,
            regularization=float(model.reg_param),
            shrinkage=float(model.shrinkage or 0),
            priors=() if model.priors is None else tuple(map(float, model.priors)),
            tol=float(model.tol),
            scaled=self.scaler is not None and bool(self.scaler.with_std),
        )

    def _probabilities(self, values: Floats) -> Floats:
        return np.exp(self._log_probabilities(values))

    def _log_probabilities(self, values: Floats) -> Floats:
        likelihoods = values - values.max(axis=1)[:, np.newaxis]
        logs: Floats = likelihoods - np.log(np.exp(likelihoods).sum(axis=1)[:, np.newaxis])
        return logs

    def _restore(self, model: Any, state: ClassMoments) -> None:
        present = state.counts > 0
        model.classes_ = np.asarray(self.schema.classes)[present]
        model.priors_ = np.array(self.learner.priors_of(state.counts)[present])
        model.means_ = (state.means + state.origin)[present]
        ones = np.ones(state.means.shape[1])
        covariances = self.learner.covariances(state.scatters, state.counts, ones)[present]
        found = [np.linalg.eigh(covariance) for covariance in covariances]
        model.scalings_ = [values[::-1] for values, _ in found]
        model.rotations_ = [vectors[:, ::-1] for _, vectors in found]
        if model.store_covariance:
            model.covariance_ = list(covariances)


def _scaled(scaler: StandardScaler, state: ClassMoments) -> ClassMoments:
    """Restore a scaler; returns the moments among the features that it scaled."""
    n, mean = state.counts.sum(), state.origin + state.total_mean
    apart = state.means - state.total_mean
    variance = (np.einsum("cjj->j", state.scatters) + state.counts @ apart**2) / n
    scaler.n_samples_seen_ = np.int64(n)
    scaler.mean_ = mean if scaler.with_mean or scaler.with_std else None
    scaler.var_ = variance if scaler.with_std else None
    scaler.scale_ = scales(state) if scaler.with_std else None
    scale = scaler.scale_ if scaler.with_std else np.ones(len(mean))
    middle = np.zeros(len(mean)) if scaler.with_mean else mean / scale
    scatters = state.scatters / scale / scale[:, np.newaxis]
    return ClassMoments(middle, state.counts.copy(), apart / scale, scatters)
