"""Ridge regression from moments: one penalty or many, in primal form.

Hoerl and Kennard: Ridge regression: biased estimation for nonorthogonal problems, Technometrics 12 (1970). Generalised
cross-validation is Golub, Heath and Wahba's, Technometrics 21 (1979).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray
from scipy.linalg import lapack

from treecv.data import Feed, Rows
from treecv.learner import Schema, State
from treecv.learners.held_out import FEW, KEPT, Basis, Fit, Merging, OfSums, held_out
from treecv.learners.kernel_ridge import KernelRidge
from treecv.learners.moments import Array, Moments, Room, blocks, moments_of, targets_of

_SOLVABLE = 1e-12
"""Reciprocal condition, after scaling, from which on leverages have digits left."""


@dataclass(frozen=True, slots=True)
class Penalised:
    """Least squares plus alpha times the sum of squared coefficients: one penalty for some of the targets.

    `centres` and `scales` say that features are standardised before, by the training part's own mean and deviation.
    """

    alpha: float
    n_features: int
    fit_intercept: bool = True
    centres: bool = False
    scales: bool = False

    def fit(self, sums: Moments) -> Fit | None:
        """Solved from the moments of the training part."""
        if sums.weight == 0:
            return None
        d = self.n_features
        squares, products = self._normal(sums)
        coef = _solved(squares + self._penalty(sums), products)
        if not (self.fit_intercept or self.centres):
            return Fit(np.zeros(d), coef, np.zeros(products.shape[1]))
        constant = -(sums.offset[:d] @ coef)
        if self.fit_intercept:
            constant += sums.origin[d:] + sums.offset[d:]
        return Fit(sums.origin[:d], coef, constant)

    def basis(self, sums: Moments) -> Basis | None:
        """Coordinates in which squares and penalty together are the identity."""
        d = self.n_features
        fit = None if self.scales or (self.centres and not self.fit_intercept) else self.fit(sums)
        if fit is None:
            return None
        squares, _ = self._normal(sums)
        factor = _whitener(squares + self._penalty(sums))
        if factor is None:
            return None
        if not self.fit_intercept:
            return Basis(fit, factor, 0.0, np.zeros(d), triangular=True)
        return centred_basis(fit, factor, sums, KEPT, triangular=True)

    def leaves(self, whole: Moments, others: Moments) -> bool:
        """Whether `others`, a difference, have enough of every direction that `whole` has for it to keep its digits."""
        systems = [symmetric(self._normal(sums)[0] + self._penalty(sums)) for sums in (others, whole)]
        try:
            return bool(scipy.linalg.eigvalsh(*systems)[0] >= KEPT)
        except np.linalg.LinAlgError:
            return False

    def _normal(self, sums: Moments) -> tuple[Array, Array]:
        """Squares of the features and their products with the targets."""
        d = self.n_features
        moments = sums.scatter if self.fit_intercept or self.centres else sums.about(np.zeros(len(sums.origin)))
        return moments[:d, :d], moments[:d, d:]

    def _penalty(self, sums: Moments) -> Array:
        if not self.scales:
            return np.diag(np.full(self.n_features, self.alpha))
        means, variances = sums.spread(self.n_features)
        return np.diag(self.alpha * deviations(variances, means, sums.count) ** 2)


def deviations(variances: Array, means: Array, count: int) -> Array:
    """Standard deviations as a scaler knows them: 1 where a feature is constant, up to rounding."""
    eps = np.finfo(np.float64).eps
    constant = variances <= count * eps * variances + (count * means * eps) ** 2
    found: Array = np.where(constant, 1.0, np.sqrt(np.maximum(variances, 0)))
    return found


def centred_basis(fit: Fit, factor: Array, sums: Moments, kept: float, triangular: bool = False) -> Basis:
    """A basis about the mean, which the intercept goes with."""
    d = len(factor)
    centre = sums.origin[:d] + sums.offset[:d]
    off = (sums.origin[:d] - centre) + sums.offset[:d]
    shift = off @ factor
    lead = 1 / np.sqrt(sums.weight)
    if np.abs(shift).max(initial=0.0) <= 1e-14 * lead:
        shift = np.zeros(factor.shape[1])
    moved = Fit(centre, fit.coef, fit.constant + (centre - fit.centre) @ fit.coef)
    return Basis(moved, factor, float(lead), shift, kept, triangular)


def symmetric(upper: Array) -> Array:
    """The whole of a matrix of which the upper triangle is known."""
    whole: Array = np.triu(upper) + np.triu(upper, 1).T
    return whole


def _solved(squares: Array, products: Array) -> Array:
    """By Cholesky's factor, which does not mind how features are scaled."""
    factor, info = lapack.dpotrf(squares, lower=0)
    if info == 0:
        coef: Array = lapack.dpotrs(factor, products, lower=0)[0]
        return coef
    values, vectors = np.linalg.eigh(symmetric(squares))
    kept = values > np.finfo(np.float64).eps * len(values) * max(values[-1], 0)
    return np.asarray((vectors[:, kept] / values[kept]) @ (vectors[:, kept].T @ products))


def _whitener(squares: Array) -> Array | None:
    """A lower triangle's transpose T for which T' squares T is the identity; None if too many digits would go."""
    diagonal = np.diagonal(squares)
    if not (diagonal > 0).all():
        return None
    scale = 1 / np.sqrt(diagonal)
    scaled = squares * scale * scale[:, np.newaxis]
    factor, info = lapack.dpotrf(scaled, lower=0)
    if info:
        return None
    condition, _ = lapack.dpocon(factor, np.abs(symmetric(scaled)).sum(axis=0).max(), uplo="U")
    if condition < _SOLVABLE:
        return None
    inverse, _ = lapack.dtrtri(factor, lower=0)
    return np.ascontiguousarray(scale[:, np.newaxis] * np.triu(inverse))


@dataclass(frozen=True, slots=True)
class Ridge(OfSums):
    """Ridge regression.

    Parameters
    ----------
    alpha : tuple of float
        The penalty: one, or one a target.
    fit_intercept : bool
        Whether there is a constant that is not penalised.
    centres, scales : bool
        Whether features are standardised before, by the training part's own means and deviations.

    Examples
    --------
    >>> import numpy as np
    >>> from treecv.data import Chunks, Feed, Rows
    >>> from treecv.learner import Schema
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0.0, 1.0, 2.0, 4.0])
    >>> feed = Feed(Rows(X, y), Chunks(4))
    >>> Ridge(alpha=(1.0,)).held_out(Schema(4, 1, "float64"), feed).round(3)
    array([0.333, 1.294, 2.412, 2.333])
    """

    alpha: tuple[float, ...] = (1.0,)
    fit_intercept: bool = True
    centres: bool = False
    scales: bool = False

    def init(self, schema: Schema) -> State:
        """A state that has learnt nothing."""
        return Moments.empty(schema.n_features + schema.n_outputs)

    def update(self, state: State, rows: Rows) -> None:
        """Let `state` learn `rows`."""
        state.add(moments_of(rows))

    def unlearnable(self, state: State, rows: Rows) -> bool:
        """Whether the other rows have enough of every direction for a difference to keep its digits."""
        part = moments_of(rows)
        if part.weight == 0:
            return True
        if not state.weight - part.weight >= KEPT * state.weight:
            return False
        others = state.copy()
        others.take_away(part)
        return all(model.leaves(state, others) for model in self._models(rows.X.shape[1]))

    def unlearn(self, state: State, rows: Rows) -> None:
        """Make `state` as if it had never learnt `rows`."""
        state.take_away(moments_of(rows))

    def fit(self, state: State, n_features: int) -> Fit | None:
        """The coefficients of all targets; None before there are rows."""
        fits = [model.fit(state) for model in self._models(n_features)]
        if fits[0] is None:
            return None
        coef, constant = ([getattr(fit, name) for fit in fits] for name in ("coef", "constant"))
        return Fit(fits[0].centre, self._chosen(coef), self._chosen(constant))

    def prepare(self, schema: Schema, rows: Rows) -> Any:
        """What all partitionings of the same rows share."""
        if self._is_wide(rows):
            return self._dual().prepare(schema, rows)
        return moments_of(rows)

    def held_out(self, schema: Schema, feed: Feed, prepared: Any = None) -> Array:
        """What each row's prediction is by the model that has not learnt its fold."""
        if self._is_wide(feed.rows):
            return np.asarray(self._dual().held_out(schema, feed, prepared))
        found = held_out(self._models(feed.rows.X.shape[1]), moments_of, feed, prepared)
        return shaped(self._chosen(found), feed.rows.y)

    def held_out_path(
        self, schema: Schema, feed: Feed, alphas: Sequence[float], prepared: Moments | None = None
    ) -> Array:
        """The same for many penalties at once, each for all targets: they are the last axis."""
        d = feed.rows.X.shape[1]
        models = [replace(self._models(d)[0], alpha=float(alpha)) for alpha in alphas]
        if self._is_wide(feed.rows):
            several = [replace(self, alpha=(model.alpha,)).held_out(schema, feed) for model in models]
            return np.stack(several, axis=-1)
        if feed.chunks.offsets is None and not (self.centres or self.scales):
            total = moments_of(feed.rows) if prepared is None else prepared
            found = along_path(models, feed, total)
        else:
            found = np.stack(held_out(models, moments_of, feed, prepared), axis=-1)
        return np.asarray(found[:, 0]) if feed.rows.y.ndim == 1 else found

    def generalised(
        self, schema: Schema, rows: Rows, alphas: Sequence[float], prepared: Moments | None = None
    ) -> Array:
        """Golub, Heath and Wahba's score of each penalty, a line each, a column a target: it is to be small.

        n |e|² / (n - tr H)², with the errors e of the fit to all rows and its hat matrix H. Weights take part in both.
        """
        d = rows.X.shape[1]
        model = self._models(d)[0]
        sums = moments_of(rows) if prepared is None else prepared
        spectrum = Spectrum.of(model, sums)
        shrunk = np.asarray(alphas, float)[:, np.newaxis] / (
            spectrum.squares + np.asarray(alphas, float)[:, np.newaxis]
        )
        errors = spectrum.beyond + shrunk**2 @ spectrum.along
        free = sums.count - (len(spectrum.squares) - shrunk.sum(axis=1)) - self.fit_intercept
        return np.asarray(sums.count * errors / free[:, np.newaxis] ** 2)

    def held_out_trainings(self, n_rows: int, n_features: int, k: int) -> float:
        """What `held_out` costs, in trainings' worth: each further penalty takes a pass of its own."""
        once = trainings(n_rows, n_features, k, by_leverages=not (self.centres or self.scales))
        return once * (1 + 0.6 * (len(set(self.alpha)) - 1))

    def _is_wide(self, rows: Rows) -> bool:
        return len(rows) < rows.X.shape[1] and not (self.centres or self.scales)

    def _dual(self) -> KernelRidge:
        return KernelRidge(_about_mean if self.fit_intercept else _products, self.alpha, self.fit_intercept)

    def _models(self, d: int) -> list[Penalised]:
        """One for each penalty that there is."""
        return [
            Penalised(alpha, d, self.fit_intercept, self.centres, self.scales) for alpha in dict.fromkeys(self.alpha)
        ]

    def _chosen(self, found: list[Array]) -> Array:
        """Of what each penalty gives for all targets, each target's own."""
        places = {alpha: i for i, alpha in enumerate(dict.fromkeys(self.alpha))}
        if len(places) == 1:
            return found[0]
        return np.stack([found[places[alpha]][..., target] for target, alpha in enumerate(self.alpha)], axis=-1)


def _products(X: NDArray[Any]) -> Array:
    X = X.astype(np.float64, copy=False)
    return np.asarray(X @ X.T)


def _about_mean(X: NDArray[Any]) -> Array:
    return _products(X - X.mean(axis=0, dtype=np.float64))


def shaped(found: Array, y: NDArray[Any]) -> Array:
    """Predictions as the targets were given: one column is none."""
    return found[:, 0] if y.ndim == 1 else found


def trainings(n_rows: int, n_features: int, k: int, by_leverages: bool) -> float:
    """What held-out predictions cost, in trainings of all rows, as measured on one core: seconds over seconds."""
    d, size = n_features, n_rows / k
    numbers = n_rows * (d + 40) * (d + 5)
    training = (4e-4 if by_leverages else 1e-3) + 5.5e-11 * numbers
    if size > max(d, FEW) or not by_leverages:
        return float((2e-4 + 5.2e-11 * numbers + k * (8e-5 + 1e-10 * d**3 + 1e-9 * d**2)) / training)
    folds = n_rows * (1.5e-7 + 2e-10 * size * (d + size)) if k < n_rows else 0.0
    return float((4e-4 + 7.4e-11 * numbers + folds) / training)


@dataclass(frozen=True, slots=True)
class Spectrum:
    """Squared singular values of the features, their directions, and what of the targets lies along them.

    `along` are squared coordinates of the targets, a line a direction, a column a target; `beyond` what lies along
    none.
    """

    squares: Array
    directions: Array
    products: Array
    along: Array
    beyond: Array

    @classmethod
    def of(cls, model: Penalised, sums: Moments) -> "Spectrum":
        """From moments: Cholesky's factor with pivots first, as it does not mind how features are scaled."""
        d = model.n_features
        moments = sums.scatter if model.fit_intercept else sums.about(np.zeros(len(sums.origin)))
        factor, pivots, rank, _ = lapack.dpstrf(moments[:d, :d], lower=0, tol=-1.0)
        root = np.empty((rank, d))
        root[:, pivots - 1] = np.triu(factor)[:rank]
        _, values, rows = np.linalg.svd(root, full_matrices=False)
        directions, products = rows.T, rows @ moments[:d, d:]
        along = products**2 / np.maximum(values**2, np.finfo(np.float64).tiny)[:, np.newaxis]
        beyond = np.maximum(np.diagonal(moments)[d:] - along.sum(axis=0), 0)
        return cls(values**2, directions, products, along, beyond)


def along_path(models: Sequence[Penalised], feed: Feed, total: Moments) -> Array:
    """Leave-one-out for many penalties from one decomposition; the penalties are the last axis."""
    y, d = targets_of(feed.rows.y), models[0].n_features
    alphas = np.array([model.alpha for model in models])
    found = np.empty((len(feed.rows), y.shape[1], len(alphas)))
    if total.weight == 0:
        found[:] = np.nan
        return found
    spectrum = Spectrum.of(models[0], total)
    shrinking = 1 / (spectrum.squares[:, np.newaxis] + alphas)
    coef = spectrum.products[:, :, np.newaxis] * shrinking[:, np.newaxis]
    basis = _spectral_basis(models[0], spectrum, total)
    unsafe, room = np.zeros(len(feed.rows), bool), Room()
    for part, block in blocks(feed.rows, d):
        table = room.table(*block.X.shape)
        q = basis.coordinates(np.subtract(block.X, basis.fit.centre, out=table))
        predicted = found[part]
        np.dot(q, coef.reshape(len(q.T), -1), out=predicted.reshape(len(q), -1))
        predicted += basis.fit.constant[:, np.newaxis]
        h = np.square(q, out=q) @ shrinking
        h += basis.lead**2
        if block.weights is not None:
            h *= block.weights[:, np.newaxis]
        unsafe[part] = ~(h <= 1 - KEPT).all(axis=1)
        h[unsafe[part]] = 0.0
        h /= 1 - h
        for target, column in enumerate(targets_of(block.y).T):
            errors = column[:, np.newaxis] - predicted[:, target]
            errors *= h
            predicted[:, target] -= errors
    columns = [np.ascontiguousarray(found[..., i]) for i in range(len(alphas))] if unsafe.any() else []
    if columns:
        Merging(moments_of, feed, d + y.shape[1]).predict(models, np.flatnonzero(unsafe), columns)
        found[unsafe] = np.stack(columns, axis=-1)[unsafe]
    return found


def _spectral_basis(model: Penalised, spectrum: Spectrum, sums: Moments) -> Basis:
    d, targets = model.n_features, spectrum.products.shape[1]
    if not model.fit_intercept:
        nothing = Fit(np.zeros(d), np.zeros((d, targets)), np.zeros(targets))
        return Basis(nothing, spectrum.directions, 0.0, np.zeros(len(spectrum.squares)))
    mean = Fit(sums.origin[:d], np.zeros((d, targets)), sums.origin[d:] + sums.offset[d:])
    return centred_basis(mean, spectrum.directions, sums, KEPT)
