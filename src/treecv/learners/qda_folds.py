"""Quadratic discriminant analysis without the rows of a fold: one row of a class, or whatever many folds hold out."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from treecv.learners.class_moments import ClassMoments, Floats
from treecv.learners.discriminants import EPS, scale_of
from treecv.learners.left_out import LeftOut, columns

SAFE = 1e-6
"""The least eigenvalue of a correlation, and share of a variance, that leave enough digits."""
NEAR = 1e-9
"""How near to a threshold, by its size, a number may be on either side of it."""


class Shapes(NamedTuple):
    """Covariances, as what leads to coordinates in which they are the identity, and their determinants' logarithms.

    The smallest eigenvalue among scaled features is about `least`, and for certain from `low` to `high`; `largest` is
    the largest one. That of the correlation is `sound`.
    """

    whitening: Floats
    logs: Floats
    least: Floats
    low: Floats
    high: Floats
    largest: Floats
    sound: Floats

    @classmethod
    def of(cls, covariance: Floats, scale: Floats, noise: float, largest: float = 0.0) -> "Shapes":
        """The shape of each covariance; `scale` is what the features are divided by.

        Rounding is that of the `largest` eigenvalue which the covariances, or what they are differences of, have had,
        and of the means: `noise` is the variance that equal numbers may seem to have.
        """
        own = np.sqrt(np.maximum(np.einsum("...jj->...j", covariance), 0))
        own = np.where(own > 0, own, 1)
        spread, directions = np.linalg.eigh(_divided(covariance, own))
        values = np.asarray(np.linalg.eigvalsh(_divided(covariance, scale)), np.float64)
        with np.errstate(divide="ignore", invalid="ignore"):  # whoever reads them asks for `least` first
            logs = np.log(spread).sum(axis=-1) + 2 * (np.log(own) - np.log(scale)).sum(axis=-1)
            whitening = directions / np.sqrt(spread)[..., np.newaxis, :] / own[..., np.newaxis]
        floor = spread[..., 0] * ((own / scale) ** 2).min(axis=-1) * (1 - NEAR)
        doubt = 64 * EPS * np.maximum(values[..., -1], largest)
        least, low = np.maximum(values[..., 0], floor), np.maximum(values[..., 0] - doubt, floor) - noise
        return cls(whitening, logs, least, low, least + doubt + noise, values[..., -1], spread[..., 0])

    def exceed(self, tol: float) -> NDArray[np.bool_]:
        """Whether all eigenvalues are greater than `tol` for certain."""
        return np.asarray(self.low * (1 - NEAR) > tol)

    def fall_short(self, tol: float) -> NDArray[np.bool_]:
        """Whether an eigenvalue is less than `tol` for certain."""
        return np.asarray(self.high * (1 + NEAR) < tol)


def _divided(covariance: Floats, scale: Floats) -> Floats:
    divided: Floats = covariance / scale[..., np.newaxis] / scale[..., np.newaxis, :]
    return divided


@dataclass(frozen=True, slots=True)
class Downdate:
    """The models that lack one row of a class: of the other classes they know all rows.

    `fails` says that none of them exists, whichever row it is.
    """

    learner: Any
    state: ClassMoments
    label: int
    counts: Floats
    shapes: Shapes
    own: Shapes
    fails: bool
    certain: bool

    @classmethod
    def of(cls, learner: Any, state: ClassMoments, label: int, shapes: Shapes) -> "Downdate":
        """For the rows of one class."""
        counts, scale = state.counts.copy(), learner.scale(state)
        counts[label] -= 1
        own = Shapes.of(learner.covariances(state.scatters[label], counts[label], scale), scale, noise_of(state, scale))
        others = np.flatnonzero(counts * (np.arange(len(counts)) != label))
        short = bool(shapes.fall_short(learner.tol)[others].any())
        short |= bool(counts[label] > 0 and own.fall_short(learner.tol))
        n = state.counts.sum()
        enough = shapes.exceed(learner.tol * n / (n - 1)) & (shapes.sound > SAFE)
        fails = short and not learner.scaled
        return cls(learner, state, label, counts, shapes, own, fails, bool(enough[others].all()))

    def scores(self, X: Floats) -> tuple[Floats, NDArray[np.bool_]]:
        """The scores of rows of the class, and whether they are certain."""
        shift, decided = self._scaling(X) if self.learner.scaled else (np.zeros(len(X)), np.ones(len(X), bool))
        scores = np.full((len(X), len(self.counts)), -np.inf)
        logs = self.learner.log_priors(self.counts)
        for label in np.flatnonzero(self.counts).tolist():
            if label == self.label:
                distance, left = self._of_own(X)
                decided &= self._keeps_rank(left)
            else:
                distance = self.shapes.logs[label] + _squares(self.state.away(label, X) @ self.shapes.whitening[label])
            scores[:, label] = logs[label] + shift - 0.5 * distance
        return scores, decided & self.certain

    def _of_own(self, X: Floats) -> tuple[Floats, Floats]:
        """Distance and determinant in the class itself, and how much of its covariance is left."""
        beyond = 1 + 1 / self.counts[self.label]
        square = _squares(self.state.away(self.label, X) @ self.own.whitening)
        left = 1 - (1 - self.learner.drawn) * beyond / self.counts[self.label] * square
        return beyond**2 * square / left + self.own.logs + np.log(left), left

    def _keeps_rank(self, left: Floats) -> NDArray[np.bool_]:
        n = self.state.counts.sum()
        least = left * self.own.low * (1 - NEAR)
        return np.asarray((least > self.learner.tol * n / (n - 1)) & (left * self.own.sound > SAFE))

    def _scaling(self, X: Floats) -> tuple[Floats, NDArray[np.bool_]]:
        """By how much scores rise where features are scaled without a row, and whether that is certain."""
        n, middle, scale = self.state.counts.sum(), self.state.total_mean, self.learner.scale(self.state)
        away = X - self.state.origin - middle
        total = total_scatter(self.state)
        fewer = total - away**2 * (n / (n - 1))
        mean = self.state.origin + middle - away / (n - 1)
        own, near = scale_of(fewer / (n - 1), mean, n - 1)
        certain = ~(near | ((fewer < SAFE * total) & (total > 0))).any(axis=1)
        return (np.log(own) - np.log(scale)).sum(axis=1), certain


def _squares(z: Floats) -> Floats:
    squares: Floats = np.einsum("...j,...j->...", z, z)
    return squares


def total_scatter(state: ClassMoments) -> Floats:
    """The sum of squares of each feature over all classes."""
    total: Floats = np.einsum("cjj->j", state.scatters) + state.counts @ (state.means - state.total_mean) ** 2
    return total


def noise_of(state: ClassMoments, scale: Floats) -> float:
    """The variance that equal numbers may seem to have, for their mean is rounded."""
    means = np.abs(state.means + state.origin)[state.counts > 0].max(axis=0)
    return float(np.max(state.counts.sum() * EPS * means / scale, initial=0) ** 2)


class Models(NamedTuple):
    """What some folds predict by. Where a model neither exists nor fails for certain it must be trained by itself."""

    counts: Floats
    means: Floats
    whitening: Floats
    constants: Floats
    exist: NDArray[np.bool_]
    fail: NDArray[np.bool_]

    def scores(self, state: ClassMoments, left_out: LeftOut, positions: NDArray[np.int64]) -> Floats:
        """The scores of the rows at these positions, those of a fold in each line."""
        away = left_out.read(positions) - state.origin
        scores = np.broadcast_to(self.constants[:, np.newaxis], (*positions.shape, len(state.counts))).copy()
        for label in np.flatnonzero(self.counts.any(axis=0)):
            z = (away - self.means[:, np.newaxis, label]) @ self.whitening[:, label]
            scores[:, :, label] -= 0.5 * _squares(z)
        return np.where((self.counts > 0)[:, np.newaxis], scores, -np.inf)  # no class of one row has a whitening


@dataclass(frozen=True, slots=True)
class Batch:
    """The models that lack the rows of a fold each, many folds at a time."""

    learner: Any
    state: ClassMoments
    shapes: Shapes
    variances: Floats
    enough: NDArray[np.bool_]
    short: NDArray[np.bool_]

    @classmethod
    def of(cls, learner: Any, state: ClassMoments, shapes: Shapes) -> "Batch":
        """For the folds of these rows."""
        whole = learner.covariances(state.scatters, state.counts, learner.scale(state))
        enough, short = shapes.exceed(learner.tol) & (shapes.sound > SAFE), shapes.fall_short(learner.tol)
        return cls(learner, state, shapes, np.einsum("cjj->cj", whole), enough, short)

    def models(self, left_out: LeftOut, positions: NDArray[np.int64], counts: Floats) -> Models:
        """The models of folds that hold out the rows at these positions and keep so many of each class."""
        state, learner = self.state, self.learner
        scale, certain = self._scales(left_out, positions, counts)
        means, whitening, logs = (
            np.broadcast_to(whole, (len(counts), *whole.shape)).copy()
            for whole in (state.means, self.shapes.whitening, self.shapes.logs)
        )
        exist, fail = certain.copy(), np.zeros(len(counts), bool)
        for label in np.flatnonzero(state.counts).tolist():
            present = counts[:, label] > 0
            lack = present & ((counts[:, label] < state.counts[label]) | learner.scaled)
            sums, lost = self._lost(left_out, positions[lack], label, counts[lack, label])
            means[lack, label] -= sums / counts[lack, label, np.newaxis]
            covariance = learner.covariances(state.scatters[label] - lost, counts[lack, label], scale[lack])
            noise = noise_of(state, scale[lack])
            shapes = Shapes.of(covariance, scale[lack], noise, float(self.shapes.largest[label]))
            whitening[lack, label], logs[lack, label] = shapes.whitening, shapes.logs
            enough, short = (np.full(len(counts), whole[label]) for whole in (self.enough, self.short))
            sound = self._left_at_least(label, covariance) * shapes.sound
            enough[lack] = shapes.exceed(learner.tol) & (sound > SAFE)
            short[lack] = shapes.fall_short(learner.tol)
            exist &= ~present | enough
            fail |= present & short
        constants = learner.log_priors(counts) - 0.5 * logs
        return Models(counts, means, whitening, constants, exist & ~fail, fail & certain)

    def _left_at_least(self, label: int, covariance: Floats) -> Floats:
        """The share of its variance that is left to the feature that loses most."""
        whole = np.where(self.variances[label] > 0, self.variances[label], 1)
        left = np.where(self.variances[label] > 0, np.einsum("bjj->bj", covariance) / whole, 1)
        least: Floats = left.min(axis=1)
        return np.minimum(least, 1)

    def _lost(
        self, left_out: LeftOut, positions: NDArray[np.int64], label: int, counts: Floats
    ) -> tuple[Floats, Floats]:
        """The sum of the rows of a class that each fold holds out, from its mean, and what its scatter loses."""
        width = self.state.means.shape[1]
        sums, lost = np.zeros((len(positions), width)), np.zeros((len(positions), width, width))
        positions = positions[:, (left_out.codes[positions] == label).any(axis=0)]
        for part in columns(positions, width):
            away = self.state.away(label, left_out.read(part))
            away *= (left_out.codes[part] == label)[:, :, np.newaxis]
            sums += away.sum(axis=1)
            lost += away.transpose(0, 2, 1) @ away
        lost += sums[:, :, np.newaxis] * (sums / counts[:, np.newaxis])[:, np.newaxis]
        return sums, lost

    def _scales(
        self, left_out: LeftOut, positions: NDArray[np.int64], counts: Floats
    ) -> tuple[Floats, NDArray[np.bool_]]:
        """What each fold divides features by, and whether that is certain."""
        width, folds = self.state.means.shape[1], len(positions)
        if not self.learner.scaled:
            return np.ones((folds, width)), np.ones(folds, bool)
        n, middle, total = counts.sum(axis=1, keepdims=True), self.state.total_mean, total_scatter(self.state)
        sums, squares = np.zeros((folds, width)), np.zeros((folds, width))
        for some in columns(positions, width):
            away = left_out.read(some) - self.state.origin - middle
            sums += away.sum(axis=1)
            squares += (away**2).sum(axis=1)
        fewer = total - squares - sums**2 / n
        scale, near = scale_of(fewer / n, self.state.origin + middle - sums / n, n)
        return scale, ~(near | ((fewer < SAFE * total) & (total > 0))).any(axis=1)
