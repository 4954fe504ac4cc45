"""Ridge regression with many penalties at once."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import Ridge

from treecv.data import Rows
from treecv.errors import InputError
from treecv.model_selection.job import Options
from treecv.model_selection.validation import job_of


@dataclass(frozen=True)
class RidgePath:
    """What ridge regression predicts for rows that it has not seen, for each of many penalties.

    Attributes
    ----------
    alphas : ndarray of shape (n_alphas,)
    predictions : ndarray of shape (n_samples, n_alphas) or (n_samples, n_targets, n_alphas)
        Out of fold; NaN for rows that no fold holds out.
    errors : ndarray of shape (n_alphas,)
        The mean squared error of these predictions, over rows by their weights, and over targets.
    generalised : ndarray of shape (n_alphas,)
        The generalised cross-validation of Golub, Heath and Wahba (1979), which needs no folds; the mean over targets.
    """

    alphas: NDArray[np.float64]
    predictions: NDArray[np.float64]
    errors: NDArray[np.float64]
    generalised: NDArray[np.float64]

    @property
    def best(self) -> float:
        """The penalty of the least error."""
        return float(self.alphas[self.errors.argmin()])


def ridge_path(
    X: Any,
    y: Any,
    alphas: Sequence[float],
    *,
    groups: Any = None,
    cv: Any = "loo",
    fit_intercept: bool = True,
    sample_weight: Any = None,
) -> RidgePath:
    """Cross-validate `Ridge` for many penalties, exactly, from one factorisation.

    What it predicts is what scikit-learn's `Ridge` with each of the penalties predicts when it is fitted to each
    training part, to rounding.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
    y : array-like of shape (n_samples,) or (n_samples, n_targets)
    alphas : sequence of float
        The penalties, above 0.
    groups, cv
        As in `cross_validate`. The default is leave-one-out.
    fit_intercept : bool
    sample_weight : array-like of shape (n_samples,), optional

    Returns
    -------
    RidgePath

    Examples
    --------
    >>> import numpy as np
    >>> from treecv import ridge_path
    >>> from treecv.data import load_covtype
    >>> X, _ = load_covtype()
    >>> elevation, X = X[:, 0].astype(float), X[:, 1:].astype(float)
    >>> path = ridge_path(X, elevation, np.logspace(-3, 5, 9))
    >>> path.best, path.predictions.shape
    (0.1, (20000, 9))
    """
    penalties = _checked(alphas)
    estimator = Ridge(fit_intercept=fit_intercept)
    params = None if sample_weight is None else {"sample_weight": sample_weight}
    options = replace(Options.of(estimator, "closed_form", None, 0), exact=True)
    job = job_of("cross_validate", X, y, groups, cv, params)(estimator, options)
    job.check_finite()
    layout = job.layouts[0]
    learner: Any = job.learner
    if len(job.layouts) > 1 or layout.grows:
        raise InputError(f"cv={cv!r}: ridge_path needs folds that hold out each row once at the most, such as KFold.")
    rows = Rows(job.rows.X, job.rows.y, job.rows.weights)
    feed = layout.feed(rows)
    values = learner.held_out_path(job.schema, feed, penalties)
    predictions = np.full((job.schema.n_rows, *values.shape[1:]), np.nan)
    predictions[feed.where(0, feed.k - 1)] = values
    scores = learner.generalised(job.schema, Rows(rows.X, rows.y, rows.weights), penalties)
    return RidgePath(penalties, predictions, _errors(predictions, rows), scores.mean(axis=1))


def _checked(alphas: Sequence[float]) -> NDArray[np.float64]:
    try:
        penalties = np.array(alphas, np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"alphas={alphas!r} must be numbers: {error}.") from error
    if penalties.ndim != 1 or len(penalties) == 0 or not ((penalties > 0) & np.isfinite(penalties)).all():
        raise InputError(f"alphas={alphas!r} must be a flat list of finite numbers above 0, at least one of them.")
    return penalties


def _errors(predictions: NDArray[np.float64], rows: Rows) -> NDArray[np.float64]:
    """Mean squared errors over the rows that have a prediction."""
    squared = (predictions - np.asarray(rows.y)[..., np.newaxis]) ** 2
    by_row = squared if squared.ndim == 2 else squared.mean(axis=1)
    held = ~np.isnan(by_row).any(axis=1)
    weights = None if rows.weights is None else rows.weights[held]
    averaged: NDArray[np.float64] = np.average(by_row[held], axis=0, weights=weights)
    return averaged
