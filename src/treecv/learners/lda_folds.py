"""Linear discriminant analysis without the rows of a fold: one row of a class, or whatever many folds hold out."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from treecv.learners.class_moments import ClassMoments, Floats
from treecv.learners.discriminants import scale_of
from treecv.learners.left_out import LeftOut, columns

SAFE = 1e-5
"""The least eigenvalue, with that of all rows being 1, that leaves enough digits."""
CERTAIN = 1e-9
"""The least share of the largest eigenvalue at which neither a rank nor a factorisation hangs on rounding."""
FLOOR = 1e-12
"""In place of smaller eigenvalues, so that models which are not certain have finite numbers."""
MARGIN = 1.01
"""How far from a threshold a number must be for its side to be certain."""


class Frame(NamedTuple):
    """Coordinates in which the covariance of all rows is the identity.

    `basis` leads there. `least` is the smallest eigenvalue of what the solver decides a rank by, and `sound` says
    whether what these coordinates drop is dropped in every fold, and nothing of it hangs on rounding.
    """

    basis: Floats
    least: float
    sound: bool

    def decides(self, learner: Any, least: Floats) -> NDArray[np.bool_]:
        """Whether covariances are certain whose smallest eigenvalue in these coordinates is `least`."""
        limit = MARGIN * learner.tol**2 if learner.solver == "svd" else CERTAIN
        return np.asarray((least > SAFE) & (least * self.least > limit) & self.sound)


@dataclass(frozen=True, slots=True)
class Downdate:
    """The models that lack one row of a class.

    With z the row counted from the mean of its class, in coordinates in which the covariance without it would be the
    identity if it were at that mean: the covariance is I - factor zz', the mean of its class is -z / (count - 1), the
    origin of the scores `point` - drift z, and the mean of each class, from there, `apart` + shifts z.
    """

    learner: Any
    frame: Frame
    factor: float
    point: Floats
    apart: Floats
    drift: float
    shifts: Floats
    priors: Floats

    @classmethod
    def of(cls, learner: Any, state: ClassMoments, label: int, counts: Floats, frame: Frame) -> "Downdate":
        """For the rows of one class; `counts` are those of the models."""
        priors, own = learner.priors_of(counts), 1 / counts[label]
        means = (state.means - state.means[label]) @ frame.basis
        if learner.solver == "svd":
            point, drift = priors @ means, priors[label] * own
        elif learner.centred:
            point, drift = counts @ means / counts.sum(), 1 / counts.sum()
        else:
            point, drift = -(state.origin + state.means[label]) @ frame.basis, 0.0
        shifts = np.full(len(counts), drift)
        shifts[label] -= own
        factor = learner.weights_of(counts)[label] * (1 + own)
        present = (counts > 0)[:, np.newaxis]
        apart = np.where(present, means - point, 0)
        return cls(learner, frame, factor, point, apart, drift, shifts, np.where(counts > 0, priors, 0))

    def scores(self, away: Floats) -> tuple[Floats, NDArray[np.bool_]]:
        """The scores of rows, counted from the mean of their class, and whether they are certain."""
        z = away @ self.frame.basis
        square = np.einsum("ij,ij->i", z, z)[:, np.newaxis]
        left = 1 - self.factor * square
        along, at_point = z @ self.apart.T, (z @ self.point)[:, np.newaxis]
        beyond = 1 + self.drift
        means_z = along + self.shifts * square
        row_z = beyond * square - at_point
        linear = beyond * means_z - self.apart @ self.point - self.shifts * at_point
        own = (self.apart**2).sum(axis=1) + self.shifts * (2 * along + self.shifts * square)
        rise = self.factor / left * means_z
        scores = linear + rise * row_z - 0.5 * (own + rise * means_z) + np.log(self.priors)
        left = left[:, 0]
        return scores, self.frame.decides(self.learner, left) & self._keeps_means(np.sqrt(square[:, 0]), left)

    def _keeps_means(self, length: Floats, left: Floats) -> NDArray[np.bool_]:
        """Whether no direction in which the means differ is dropped: a row moves singular values by its length."""
        if self.learner.solver != "svd":
            return np.ones(len(length), bool)
        singular = np.linalg.svd(np.sqrt(self.priors)[:, np.newaxis] * self.apart, compute_uv=False)
        directions = min(int((self.priors > 0).sum()) - 1, self.apart.shape[1])
        moved = length * np.sqrt((self.priors * self.shifts**2).sum())
        largest = (singular[0] + moved) / np.sqrt(left)
        return np.asarray(singular[directions - 1] - moved > MARGIN * self.learner.tol * largest)


class Model(NamedTuple):
    """What some folds predict by: the origin of the scores, coefficients and constants; and whether it is certain."""

    points: Floats
    coefficients: Floats
    constants: Floats
    decided: NDArray[np.bool_]

    def scores(self, state: ClassMoments, left_out: LeftOut, positions: NDArray[np.int64]) -> Floats:
        """The scores of the rows at these positions, those of a fold in each line."""
        away = left_out.read(positions) - state.origin - self.points[:, np.newaxis]
        return away @ self.coefficients.transpose(0, 2, 1) + self.constants[:, np.newaxis]


@dataclass(frozen=True, slots=True)
class Batch:
    """The models that lack the rows of a fold each, many folds at a time."""

    learner: Any
    state: ClassMoments
    frame: Frame
    scatters: Floats
    total: Floats

    @classmethod
    def of(cls, learner: Any, state: ClassMoments, frame: Frame) -> "Batch":
        """For the folds of these rows."""
        apart = state.means - state.total_mean
        total = np.einsum("cjj->j", state.scatters) + state.counts @ apart**2
        return cls(learner, state, frame, frame.basis.T @ state.scatters @ frame.basis, total)

    def model(self, left_out: LeftOut, positions: NDArray[np.int64], counts: Floats) -> Model:
        """The models of folds that hold out the rows at these positions and keep so many of each class."""
        learner, basis = self.learner, self.frame.basis
        lost = self._lost(left_out, positions, counts)
        covariance = np.tensordot(learner.weights_of(counts), self.scatters, 1) - lost.covariance
        certain = np.ones(len(positions), bool)
        if learner.shrinkage:
            covariance, certain = self._shrunk(covariance, lost, counts)
        spread, directions = np.linalg.eigh(covariance)
        inward = directions / np.sqrt(np.maximum(spread, FLOOR))[:, np.newaxis]
        means = self.state.means - lost.sums / np.maximum(counts, 1)[:, :, np.newaxis]
        priors = learner.priors_of(counts)
        points = self._points(means, counts, priors)
        apart = np.where((counts > 0)[:, :, np.newaxis], means - points[:, np.newaxis], 0)
        apart = apart @ basis @ inward
        coefficients = apart @ inward.transpose(0, 2, 1) @ basis.T
        constants = learner.log_priors(counts) - 0.5 * (apart**2).sum(axis=2)
        n = counts.sum(axis=1)
        least = spread[:, 0] * n / self.state.counts.sum()
        if learner.solver != "svd":
            least = spread[:, 0] / np.maximum(spread[:, -1], 1)
        certain &= self.frame.decides(learner, least) & self._keeps_means(apart, counts, priors)
        return Model(points, coefficients, constants, certain)

    def _points(self, means: Floats, counts: Floats, priors: Floats) -> Floats:
        if self.learner.solver == "svd" or self.learner.centred:
            shares = priors if self.learner.solver == "svd" else counts / counts.sum(axis=1, keepdims=True)
            points: Floats = np.einsum("bc,bcj->bj", shares, means)
            return points
        return np.broadcast_to(-self.state.origin, (len(means), means.shape[2]))

    def _keeps_means(self, apart: Floats, counts: Floats, priors: Floats) -> NDArray[np.bool_]:
        """Whether no direction in which the means differ is dropped."""
        if self.learner.solver != "svd":
            return np.ones(len(apart), bool)
        singular = np.linalg.svd(np.sqrt(priors)[:, :, np.newaxis] * apart, compute_uv=False)
        directions = np.minimum((counts > 0).sum(axis=1) - 1, apart.shape[2])
        last = np.take_along_axis(singular, directions[:, np.newaxis] - 1, 1)[:, 0]
        return np.asarray(last > MARGIN * self.learner.tol * singular[:, 0])

    def _lost(self, left_out: LeftOut, positions: NDArray[np.int64], counts: Floats) -> "Lost":
        """What the moments lose with the rows at these positions."""
        state, weights = self.state, self.learner.weights_of(counts)
        lost = Lost.none(len(positions), len(state.counts), *self.frame.basis.shape)
        labels, middle = np.arange(len(state.counts)), state.total_mean
        for some in columns(positions, state.means.shape[1]):
            codes = left_out.codes[some]
            away = left_out.read(some) - state.origin - state.means[codes]
            lost.sums[:] += (codes[:, np.newaxis] == labels[:, np.newaxis]).astype(float) @ away
            if self.learner.scaled and self.learner.shrinkage:
                from_middle = away + (state.means - middle)[codes]
                lost.total[:] += (from_middle**2).sum(axis=1)
                lost.total_sum[:] += from_middle.sum(axis=1)
            away *= np.sqrt(np.take_along_axis(weights, codes, 1))[:, :, np.newaxis]
            lost.take(away, self.frame.basis)
        root = np.sqrt(np.where(counts > 0, weights / np.maximum(counts, 1), 0))
        lost.take(root[:, :, np.newaxis] * lost.sums, self.frame.basis)
        return lost

    def _shrunk(self, covariance: Floats, lost: "Lost", counts: Floats) -> tuple[Floats, NDArray[np.bool_]]:
        """Drawn towards the identity, among features that are scaled as in each fold; and whether that is certain."""
        n = counts.sum(axis=1, keepdims=True)
        variances = self.learner.weights_of(counts) @ np.einsum("cjj->cj", self.state.scatters) - lost.variances
        scale, certain = np.ones_like(variances), np.ones(len(counts), bool)
        if self.learner.scaled:
            total = self.total - lost.total - lost.total_sum**2 / n
            mean = self.state.origin + self.state.total_mean - lost.total_sum / n
            scale, near = scale_of(total / n, mean, n)
            certain = ~(near | ((total < SAFE * self.total) & (self.total > 0))).any(axis=1)
        pull = self.learner.shrinkage * np.mean(variances / scale**2, axis=1)
        basis = self.frame.basis
        identity = (basis.T * (pull[:, np.newaxis] * scale**2)[:, np.newaxis]) @ basis
        return (1 - self.learner.shrinkage) * covariance + identity, certain


class Lost(NamedTuple):
    """What moments lose with the rows of each fold."""

    sums: Floats
    covariance: Floats
    variances: Floats
    total: Floats
    total_sum: Floats

    @classmethod
    def none(cls, folds: int, classes: int, features: int, size: int) -> "Lost":
        """Nothing yet."""
        variances, total, total_sum = np.zeros((3, folds, features))
        sums, covariance = np.zeros((folds, classes, features)), np.zeros((folds, size, size))
        return cls(sums, covariance, variances, total, total_sum)

    def take(self, rows: Floats, basis: Floats) -> None:
        """Take the products of these rows away."""
        inside = rows @ basis
        self.covariance[:] += inside.transpose(0, 2, 1) @ inside
        self.variances[:] += (rows**2).sum(axis=1)
