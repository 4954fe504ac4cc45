"""Many penalties at once give what Ridge gives with each of them."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge, RidgeCV
from sklearn.model_selection import GroupKFold, KFold, LeaveOneOut, PredefinedSplit, RepeatedKFold, TimeSeriesSplit
from sklearn.model_selection import cross_val_predict as their_predict

from treecv import ridge_path
from treecv.errors import InputError

ALPHAS = np.logspace(-2, 3, 6)
RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(60, 4)) * [1, 10, 0.1, 0]
Y = X @ RANDOM.normal(size=(4, 2)) + RANDOM.normal(size=(60, 2))
GROUPS = np.arange(60) % 7


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("y", [Y[:, 0], Y], ids=["one target", "two"])
@pytest.mark.parametrize("cv", ["loo", 5, KFold(9, shuffle=True, random_state=1), GroupKFold(7)], ids=str)
def test_predictions_and_errors(cv, y, fit_intercept):
    groups = GROUPS if isinstance(cv, GroupKFold) else None
    path = ridge_path(X, y, ALPHAS, cv=cv, groups=groups, fit_intercept=fit_intercept)
    theirs = LeaveOneOut() if cv == "loo" else cv
    for i, alpha in enumerate(ALPHAS):
        estimator = Ridge(alpha, fit_intercept=fit_intercept)
        expected = their_predict(estimator, X, y, cv=theirs, groups=groups)
        np.testing.assert_allclose(path.predictions[..., i], expected, atol=1e-9)
        assert path.errors[i] == pytest.approx(((expected - y) ** 2).mean())
    assert path.best == ALPHAS[path.errors.argmin()]


def test_weights_and_the_choice_of_ridge_cv():
    weights = RANDOM.random(60)
    path = ridge_path(X, Y[:, 0], ALPHAS, sample_weight=weights)
    for i, alpha in enumerate(ALPHAS):
        params = {"sample_weight": weights}
        expected = their_predict(Ridge(alpha), X, Y[:, 0], cv=LeaveOneOut(), params=params)
        np.testing.assert_allclose(path.predictions[:, i], expected, atol=1e-9)
        assert path.errors[i] == pytest.approx(np.average((expected - Y[:, 0]) ** 2, weights=weights))
    assert ridge_path(X, Y[:, 0], ALPHAS).best == RidgeCV(ALPHAS).fit(X, Y[:, 0]).alpha_


def test_generalised_cross_validation_by_its_formula():
    path, n = ridge_path(X, Y[:, 0], ALPHAS), 60
    middle = np.eye(n) - 1 / n
    centred = middle @ X
    for alpha, score in zip(ALPHAS, path.generalised, strict=True):
        hat = centred @ np.linalg.solve(centred.T @ centred + alpha * np.eye(4), centred.T) + 1 / n
        error = Y[:, 0] - hat @ Y[:, 0]
        assert score == pytest.approx(n * error @ error / (n - np.trace(hat)) ** 2)


def test_rows_in_no_fold_have_no_prediction():
    cv = PredefinedSplit(np.where(np.arange(60) < 10, -1, np.arange(60) % 5))
    path = ridge_path(X, Y[:, 0], ALPHAS, cv=cv)
    assert np.isnan(path.predictions).all(axis=1).tolist() == [i < 10 for i in range(60)]
    assert np.isfinite(path.errors).all()


@pytest.mark.parametrize("alphas", [[], [1.0, -1.0], [np.inf], [[1.0]], ["many"], 3.0, [0.0]])
def test_penalties_that_are_none(alphas):
    with pytest.raises(InputError, match="alphas="):
        ridge_path(X, Y[:, 0], alphas)


@pytest.mark.parametrize("cv", [TimeSeriesSplit(3), RepeatedKFold(n_splits=5, n_repeats=2)])
def test_folds_that_are_none(cv):
    with pytest.raises(InputError, match="ridge_path needs folds that hold out each row once"):
        ridge_path(X, Y[:, 0], ALPHAS, cv=cv)


def test_data_with_gaps():
    broken = X.copy()
    broken[3, 1] = np.nan
    with pytest.raises(InputError, match="Input X contains NaN at row 3, column 1"):
        ridge_path(broken, Y[:, 0], ALPHAS)
