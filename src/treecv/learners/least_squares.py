"""Least squares of minimum norm from triangular factors.

Golub: Numerical methods for solving linear least squares problems, Numerische Mathematik 7 (1965), for the factor R of
a table with targets beside features, block after block; it has the same singular values as the table, without having
squared them. What lies below a share of the largest is left out, as LAPACK's `gelsd` does.
"""

from dataclasses import dataclass

import numpy as np
import scipy.linalg

from treecv.data import Feed, Rows
from treecv.learner import Schema, State
from treecv.learners.held_out import KEPT, Basis, Fit, OfSums, held_out
from treecv.learners.moments import Array, blocks, near, targets_of
from treecv.learners.ridge import deviations, shaped, trainings

_NOTHING = 1e-13
"""Singular values below this share of the largest are zeros that were rounded."""


@dataclass(slots=True)
class Triangle:
    """R of [1, x - origin, y - origin], each row times the root of its weight."""

    count: int
    origin: Array
    factor: Array

    @classmethod
    def empty(cls, width: int) -> "Triangle":
        """That of no rows."""
        return cls(0, np.zeros(width), np.zeros((width + 1, width + 1)))

    def copy(self) -> "Triangle":
        """An independent one."""
        return Triangle(self.count, self.origin, self.factor.copy())

    def add(self, other: "Triangle") -> None:
        """That of both."""
        if self.factor[0, 0] == 0:
            self.origin = other.origin
        self.learn(other.about(self.origin), other.count)

    def learn(self, table: Array, count: int) -> None:
        """That of these lines as well."""
        self.factor = _triangle(np.vstack([self.factor, table]))
        self.count += count

    def spread(self, d: int) -> tuple[Array, Array]:
        """The means and variances of the first d columns."""
        centred = self.factor[1 : d + 1, 1 : d + 1]
        offset = self.factor[0, 1 : d + 1] / self.factor[0, 0]
        return self.origin[:d] + offset, np.einsum("ij,ij->j", centred, centred) / self.factor[0, 0] ** 2

    def about(self, origin: Array) -> Array:
        """R about another origin: only its first line changes, as it alone has something in the column of ones."""
        factor = self.factor.copy()
        factor[0, 1:] += factor[0, 0] * (self.origin - origin)
        return factor


def _triangle(table: Array) -> Array:
    return np.asarray(scipy.linalg.qr(table, mode="r", overwrite_a=True, check_finite=False)[0][: table.shape[1]])


def triangle_of(rows: Rows) -> Triangle:
    """That of features and targets, side by side."""
    width = rows.X.shape[1] + targets_of(rows.y).shape[1]
    found = Triangle.empty(width)
    for part, block in blocks(rows, width):
        if part.start == 0:
            found.origin = near(block)
        d, table = block.X.shape[1], np.ones((len(block), width + 1))
        np.subtract(block.X, found.origin[:d], out=table[:, 1 : d + 1])
        np.subtract(targets_of(block.y), found.origin[d:], out=table[:, d + 1 :])
        if block.weights is not None:
            table *= np.sqrt(block.weights)[:, np.newaxis]
        found.learn(table, len(block))
    return found


@dataclass(frozen=True, slots=True)
class LeastSquares(OfSums):
    """Linear regression; of all solutions that are equally good, the one with the smallest coefficients.

    Parameters
    ----------
    fit_intercept : bool
        Whether there is a constant.
    cutoff : float
        Singular values of the training part's features are left out below this share of the largest.
    centres, scales : bool
        Whether features are standardised before, by the training part's own means and deviations.

    Examples
    --------
    >>> import numpy as np
    >>> from treecv.data import Chunks, Feed, Rows
    >>> from treecv.learner import Schema
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0.0, 1.0, 2.0, 4.0])
    >>> LeastSquares().held_out(Schema(4, 1, "float64"), Feed(Rows(X, y), Chunks(4))).round(3)
    array([-0.667,  1.143,  2.571,  3.   ])
    """

    fit_intercept: bool = True
    cutoff: float = 1e-6
    centres: bool = False
    scales: bool = False

    def init(self, schema: Schema) -> State:
        """A state that has learnt nothing."""
        return Triangle.empty(schema.n_features + schema.n_outputs)

    def update(self, state: State, rows: Rows) -> None:
        """Let `state` learn `rows`."""
        state.add(triangle_of(rows))

    def fit(self, state: Triangle, n_features: int) -> Fit | None:
        """The coefficients of all targets; None before there are rows."""
        return self.model(n_features).fit(state)

    def prepare(self, schema: Schema, rows: Rows) -> Triangle:
        """What all partitionings of the same rows share."""
        return triangle_of(rows)

    def held_out(self, schema: Schema, feed: Feed, prepared: Triangle | None = None) -> Array:
        """What each row's prediction is by the model that has not learnt its fold."""
        model = self.model(feed.rows.X.shape[1])
        return shaped(held_out([model], triangle_of, feed, prepared)[0], feed.rows.y)

    def held_out_trainings(self, n_rows: int, n_features: int, k: int) -> float:
        """What `held_out` costs, in trainings' worth."""
        return trainings(n_rows, n_features, k, by_leverages=n_rows - n_rows / k > n_features)

    def model(self, d: int) -> "Minimal":
        """What solves it for d features."""
        return Minimal(d, self.fit_intercept, self.cutoff, self.centres, self.scales)


@dataclass(frozen=True, slots=True)
class Minimal:
    """Least squares, and of all solutions the smallest."""

    n_features: int
    fit_intercept: bool
    cutoff: float
    centres: bool = False
    scales: bool = False

    def fit(self, sums: Triangle) -> Fit | None:
        """Solved from the factor of the training part."""
        if sums.factor[0, 0] == 0:
            return None
        d = self.n_features
        features, targets = self._parts(sums)
        scale = self._scale(sums)
        coef = scipy.linalg.lstsq(features / scale, targets, cond=self.cutoff)[0] / scale[:, np.newaxis]
        if not (self.fit_intercept or self.centres):
            return Fit(np.zeros(d), coef, np.zeros(targets.shape[1]))
        offset = sums.factor[0, 1:] / sums.factor[0, 0]
        constant = -(offset[:d] @ coef)
        if self.fit_intercept:
            constant += sums.origin[d:] + offset[d:]
        return Fit(sums.origin[:d], coef, constant)

    def basis(self, sums: Triangle) -> Basis | None:
        """Coordinates in which the features are orthonormal.

        A fold's model must leave out the same directions as the one of all rows: those that are nothing but rounding.
        Where other singular values come near the cutoff, that cannot be promised.
        """
        fit = None if self._moves() else self.fit(sums)
        if fit is None:
            return None
        features, _ = self._parts(sums)
        scale = self._scale(sums)
        _, values, directions = np.linalg.svd(features / scale, full_matrices=False)
        largest = values.max(initial=0.0)
        rank = int(np.count_nonzero(values > _NOTHING * largest))
        if rank == 0 or rank >= sums.count:
            return None
        kept = max(KEPT, self._share(largest, values[rank - 1], sums))
        if kept > 1 - KEPT:
            return None
        factor = np.ascontiguousarray(directions[:rank].T / values[:rank]) / scale[:, np.newaxis]
        if not self.fit_intercept:
            return Basis(fit, factor, 0.0, np.zeros(rank), kept)
        offset = sums.factor[0, 1 : self.n_features + 1] / sums.factor[0, 0]
        return Basis(fit, factor, float(1 / abs(sums.factor[0, 0])), offset @ factor, kept)

    def spectrum(self, sums: Triangle) -> tuple[int, Array]:
        """The rank of the features, and their singular values."""
        features, _ = self._parts(sums)
        values = np.linalg.svd(features / self._scale(sums), compute_uv=False)
        return int(np.count_nonzero(values > self.cutoff * values.max(initial=0.0))), np.asarray(values, np.float64)

    def _moves(self) -> bool:
        """Whether the training part's means or deviations take part without an intercept."""
        return (self.centres or self.scales) and not self.fit_intercept

    def _share(self, largest: float, smallest: float, sums: Triangle) -> float:
        """What a fold must leave of every direction for the smallest singular value to stay above the cutoff."""
        if not self.scales:
            return float(1.01 * (self.cutoff * largest / smallest) ** 2)
        # Columns of variance 1 have no larger one than this; a fold's own deviations shrink what it leaves once more.
        return float(1.01 * self.cutoff * abs(sums.factor[0, 0]) * np.sqrt(self.n_features) / smallest)

    def _scale(self, sums: Triangle) -> Array:
        """The deviations by which features are divided: 1 where one is constant, up to rounding."""
        if not self.scales:
            return np.ones(self.n_features)
        means, variances = sums.spread(self.n_features)
        return deviations(variances, means, sums.count)

    def _parts(self, sums: Triangle) -> tuple[Array, Array]:
        """Triangles of the features and what of the targets goes with them: about their means, or about zero."""
        d = self.n_features
        if self.fit_intercept or self.centres:
            return sums.factor[1 : d + 1, 1 : d + 1], sums.factor[1 : d + 1, d + 1 :]
        factor = sums.about(np.zeros(len(sums.origin)))
        return factor[: d + 1, 1 : d + 1], factor[: d + 1, d + 1 :]
