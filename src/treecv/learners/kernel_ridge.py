"""Kernel ridge regression, least-squares support vector machines and ridge regression of wide tables, in dual form.

An, Liu and Venkatesh: Fast cross-validation algorithms for least squares support vector machine and kernel ridge
regression, Pattern Recognition 40 (2007); Pahikkala, Boberg and Salakoski: Fast n-fold cross-validation for regularized
least-squares, SCAI (2006); Cawley: Leave-one-out cross-validation based model selection criteria for weighted LS-SVMs,
IJCNN (2006).

With P the inverse of the system of all rows and a its solution, the rows f of a fold are off by (P_ff)⁻¹ a_f: one
inverse serves every partitioning.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.linalg
from numpy.typing import NDArray
from scipy.linalg import lapack

from treecv.data import Chunks, Feed, Rows
from treecv.learner import Schema
from treecv.learners.moments import Array, targets_of, without_training

_SOLVABLE = 1e-9
"""Reciprocal condition of the system below which each fold is solved from its own rows."""


@dataclass(frozen=True, slots=True)
class KernelRidge:
    """Ridge regression of the features that a kernel stands for.

    Parameters
    ----------
    kernel : function
        The kernel matrix of a table's rows.
    alpha : tuple of float
        The penalty: one, or one a target.
    fit_intercept : bool
        Whether there is a constant that is not penalised: a least-squares support vector machine.
    centres : bool
        Whether the mean of the training part's targets is taken away before, and added afterwards.
    strict : bool
        Whether training fails where the system is not positive definite; else it is solved by least squares.
    weighs : bool
        Whether rows may have weights.

    Examples
    --------
    >>> import numpy as np
    >>> from treecv.data import Chunks, Feed, Rows
    >>> from treecv.learner import Schema
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0.0, 1.0, 2.0, 4.0])
    >>> machine = KernelRidge(lambda X: X @ X.T, alpha=(1.0,), fit_intercept=True)
    >>> machine.held_out(Schema(4, 1, "float64"), Feed(Rows(X, y), Chunks(4))).round(3)
    array([0.333, 1.294, 2.412, 2.333])
    """

    kernel: Callable[[Any], Array]
    alpha: tuple[float, ...] = (1.0,)
    fit_intercept: bool = False
    centres: bool = False
    strict: bool = False
    weighs: bool = True

    order_free: ClassVar[bool] = True
    call_free: ClassVar[bool] = True
    several_targets: ClassVar[bool] = True
    closed: ClassVar[bool] = True
    sparse: ClassVar[bool] = True

    def prepare(self, schema: Schema, rows: Rows) -> "list[Dual]":
        """The inverse for each penalty, which all partitionings of the same rows share."""
        named = None if rows.index is None else np.unique(rows.index)
        matrix = np.asarray(self.kernel(rows.X), np.float64)
        if named is not None and len(named) < rows.n_stored:
            matrix = matrix[np.ix_(named, named)]
        weights = rows.weights if rows.weights is None or named is None else rows.weights[named]
        return [Dual.of(matrix, weights, alpha, self.fit_intercept) for alpha in dict.fromkeys(self.alpha)]

    def held_out(self, schema: Schema, feed: Feed, prepared: "list[Dual] | None" = None) -> Array:
        """What each row's prediction is by the model that has not learnt its fold."""
        rows, y = feed.rows, targets_of(feed.rows.y)
        duals = self.prepare(schema, rows) if prepared is None else prepared
        places, targets = np.arange(len(rows)), np.asarray(y, np.float64)
        if rows.index is not None:
            named, places = np.unique(rows.index, return_inverse=True)
            targets = targets[named]
        if self.centres:
            targets = np.hstack([targets, np.ones((len(targets), 1))])
        lost = without_training(rows, feed.chunks)
        found = [dual.held_out(feed.chunks, places, targets, lost, self.strict) for dual in duals]
        penalties = list(dict.fromkeys(self.alpha))
        columns = [penalties.index(self.alpha[target % len(self.alpha)]) for target in range(y.shape[1])]
        predicted = np.stack([found[column][:, target] for target, column in enumerate(columns)], axis=1)
        if self.centres:
            means = _means_of_others(feed.chunks, targets[places, : y.shape[1]])
            unit = np.stack([found[column][:, -1] for column in columns], axis=1)
            predicted += means * (1 - unit)
        return predicted[:, 0] if feed.rows.y.ndim == 1 else predicted

    def held_out_trainings(self, n_rows: int, n_features: int, k: int) -> float:
        """What `held_out` costs, in trainings' worth: an inverse is two, and each fold's own block."""
        n, size = n_rows, n_rows / k
        training = 3e-4 + 3e-11 * n**3 + 1e-8 * n**2
        folds = k * (3e-5 + 4e-11 * size**3) if k < n else 0.0
        inverse = 3e-4 + 5.5e-11 * n**3 + 3e-8 * n**2
        return float((inverse * len(set(self.alpha)) + folds) / training)


@dataclass(frozen=True, slots=True)
class Dual:
    """(S K S + alpha I), with roots of weights S, bordered by S 1 where there is an intercept; and its inverse.

    `inverse` is None where too many digits would go; `border` is the last column of the inverse.
    """

    matrix: Array
    alpha: float
    roots: Array
    fit_intercept: bool
    inverse: Array | None
    border: Array

    @classmethod
    def of(cls, matrix: Array, weights: Array | None, alpha: float, fit_intercept: bool) -> "Dual":
        """Factorised once."""
        roots = np.ones(len(matrix)) if weights is None else np.sqrt(weights)
        border = np.zeros(len(matrix))
        inverse = _inverse(_system(matrix, roots, alpha, fit_intercept))
        if inverse is not None and fit_intercept and roots.any():
            border = inverse @ roots
            length = float(roots @ border)
            inverse -= np.outer(border / length, border)
            border /= length
        return cls(matrix, alpha, roots, fit_intercept, inverse, border)

    @property
    def condition(self) -> float:
        """How many times larger errors may become; infinite where there is no inverse."""
        if self.inverse is None:
            return float("inf")
        largest = np.abs(self.matrix * self.roots * self.roots[:, np.newaxis]).sum(axis=0).max() + self.alpha
        return float(largest * np.abs(self.inverse).sum(axis=0).max())

    def held_out(self, chunks: Chunks, places: NDArray[np.int64], targets: Array, lost: Any, strict: bool) -> Array:
        """The predictions for all held-out rows.

        `places` has the row of the matrix for each position; `lost` says which folds have no model.
        """
        if self.inverse is None:
            return self._one_by_one(chunks, places, targets, lost, strict)
        held = places[chunks.before :]
        solution = self.inverse @ (targets * self.roots[:, np.newaxis])
        off = self._off(chunks, places, solution, lost)[chunks.before :]
        roots = self.roots[held, np.newaxis]
        with np.errstate(divide="ignore", invalid="ignore"):
            predicted: Array = targets[held] - off / roots
        without = np.flatnonzero((roots[:, 0] == 0) & ~np.isnan(off).any(axis=1))
        if len(without):
            predicted[without] = self._without_weight(chunks, held, without, targets, solution, off)
        return predicted

    def _off(self, chunks: Chunks, places: NDArray[np.int64], solution: Array, lost: NDArray[np.bool_]) -> Array:
        """What the targets are off by, times roots of weights; NaN where there is no model."""
        inverse, off = np.asarray(self.inverse), np.full((len(places), solution.shape[1]), np.nan)
        if chunks.offsets is None:
            learnt = places[~lost]
            off[~lost] = solution[learnt] / np.diagonal(inverse)[learnt, np.newaxis]
            return off
        for rows, span in _spans(chunks, places, lost):
            off[span] = scipy.linalg.solve(inverse[np.ix_(rows, rows)], solution[rows], assume_a="sym")
        return off

    def _without_weight(
        self, chunks: Chunks, held: Any, without: NDArray[np.int64], targets: Array, solution: Array, off: Array
    ) -> Array:
        """What their fold's coefficients predict for rows that are of no weight themselves."""
        kernel = self.matrix[held[without]] * self.roots
        constant = self.border @ (targets * self.roots[:, np.newaxis])
        folds = np.repeat(np.arange(chunks.k), chunks.sizes)
        among = folds[without][:, np.newaxis] == folds
        moved = (kernel @ np.asarray(self.inverse) + self.border)[:, held] * among
        predicted: Array = kernel @ solution + constant - moved @ np.nan_to_num(off)
        return predicted

    def _one_by_one(self, chunks: Chunks, places: NDArray[np.int64], targets: Array, lost: Any, strict: bool) -> Array:
        """Each fold's system from its own rows."""
        found = np.full((len(places), targets.shape[1]), np.nan)
        for rows, span in _spans(chunks, places, lost):
            others = np.delete(places, np.arange(span.start, span.stop))
            found[span] = self._alone(others, rows, targets, strict)
        return found[chunks.before :]

    def _alone(self, others: NDArray[np.int64], rows: NDArray[np.int64], targets: Array, strict: bool) -> Array:
        roots, learnt = self.roots[others], np.ix_(others, others)
        system = _system(self.matrix[learnt], roots, self.alpha, self.fit_intercept)
        right = targets[others] * roots[:, np.newaxis]
        solved = _solved(system, np.hstack([right, roots[:, np.newaxis]]) if self.fit_intercept else right, strict)
        constant = np.zeros(targets.shape[1])
        if self.fit_intercept:
            solved, border = solved[:, :-1], solved[:, -1:]
            constant = (roots @ solved) / (roots @ border)
            solved = solved - border * constant
        predicted: Array = (self.matrix[np.ix_(rows, others)] * roots) @ solved + constant
        return predicted


def _spans(chunks: Chunks, places: NDArray[np.int64], lost: NDArray[np.bool_]) -> Iterator[tuple[Any, slice]]:
    """The rows of each fold that has a model, and their positions."""
    for fold in np.flatnonzero(~lost).tolist():
        span = slice(*chunks.span(fold, fold))
        yield places[span], span


def _system(matrix: Array, roots: Array, alpha: float, fit_intercept: bool) -> Array:
    """What is inverted; a multiple of the border's square changes nothing and fills the direction it takes away."""
    system = matrix * roots * roots[:, np.newaxis]
    system.flat[:: len(system) + 1] += alpha
    if fit_intercept and roots.any():
        system += np.outer(roots * (np.trace(system) / len(system) / (roots @ roots)), roots)
    return system


def _inverse(system: Array) -> Array | None:
    factor, info = lapack.dpotrf(system, lower=1)
    if info:
        return None
    condition, _ = lapack.dpocon(factor, np.abs(system).sum(axis=0).max(), uplo="L")
    if condition < _SOLVABLE:
        return None
    lower = np.tril(lapack.dpotri(factor, lower=1)[0])
    inverse: Array = lower + np.tril(lower, -1).T
    return inverse


def _solved(system: Array, right: Array, strict: bool) -> Array:
    """By Cholesky's factor; where there is none NaN, or least squares."""
    try:
        return np.asarray(scipy.linalg.cho_solve(scipy.linalg.cho_factor(system, lower=True), right))
    except np.linalg.LinAlgError:
        return np.full(right.shape, np.nan) if strict else np.asarray(scipy.linalg.lstsq(system, right)[0])


def _means_of_others(chunks: Chunks, targets: Array) -> Array:
    """For each held-out row the mean of the targets that its model learns."""
    folds, held = np.repeat(np.arange(chunks.k), chunks.sizes), targets[chunks.before :]
    middle = targets.mean(axis=0)
    sums = np.stack([np.bincount(folds, column, minlength=chunks.k) for column in (held - middle).T], axis=1)
    total, left = (targets - middle).sum(axis=0), chunks.n_rows - chunks.sizes
    means: Array = (middle + (total - sums) / left[:, np.newaxis])[folds]
    return means
