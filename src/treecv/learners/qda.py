"""Quadratic discriminant analysis: a Gaussian density a class.

Smith: Some examples of discrimination, Annals of Eugenics 13 (1946). Left-out rows as downdates of rank one: Bartlett:
An inverse matrix adjustment arising in discriminant analysis, Annals of Mathematical Statistics 22 (1951).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treecv.learners.class_moments import ClassMoments, Floats, blocks, by_class
from treecv.learners.discriminants import Discriminants, least_kept, scales
from treecv.learners.left_out import LeftOut, columns
from treecv.learners.qda_folds import SAFE, Batch, Downdate, Shapes, noise_of
from treecv.learners.settings import check_among


@dataclass(frozen=True, slots=True)
class QDA(Discriminants):
    """Quadratic discriminant analysis by the moments of the classes; predicts a log density a class.

    Parameters
    ----------
    classes : int
        How many there are.
    solver : {"svd", "eigen"}
        As scikit-learn has them: the first one draws covariances by `regularization`, the other one by `shrinkage`.
    regularization : float
        From 0 to 1, how far each covariance is drawn towards the identity.
    shrinkage : float
        From 0 to 1, how far it is drawn towards a multiple of the identity.
    priors : tuple of float
        The probability of each class; none: its share of the rows.
    tol : float
        Where the variance in some direction is no larger there is no model.
    scaled : bool
        Whether the features are first put to variance 1.

    Examples
    --------
    >>> import numpy as np
    >>> from treecv.data import Rows
    >>> from treecv.learner import Schema
    >>> learner = QDA(classes=2)
    >>> state = learner.init(Schema(n_rows=4, n_features=1, dtype="float64"))
    >>> learner.update(state, Rows(np.array([[0.0], [2.0], [4.0], [8.0]]), np.array([0, 0, 1, 1])))
    >>> learner.predict(state, Rows(np.array([[5.0]]))).round(4)
    array([[-8.6931, -1.5113]])
    """

    classes: int
    solver: str = "svd"
    regularization: float = 0.0
    shrinkage: float = 0.0
    priors: tuple[float, ...] = ()
    tol: float = 1e-4
    scaled: bool = False

    def __post_init__(self) -> None:
        check_among(self, "solver", ("svd", "eigen"))

    def held_out_trainings(self, n_rows: int, n_features: int, k: int) -> float:
        """What `held_out` costs, in trainings."""
        if k == n_rows and not self._by_folds:
            return 1.5
        return 2.3 + 3.0 * k * self.classes * n_features / max(n_rows, 1)

    @property
    def _by_folds(self) -> bool:
        """Whether a left-out row changes covariances by more than its own product."""
        return bool(self.drawn and (self.scaled or self.solver == "eigen"))

    @property
    def drawn(self) -> float:
        """How far covariances are drawn towards the identity."""
        return self.regularization if self.solver == "svd" else self.shrinkage

    def possible(self, counts: Floats, width: int) -> NDArray[np.bool_]:
        """Whether scikit-learn's `fit` accepts rows of so many a class, of so many features."""
        present = counts > 0
        least = max(width, 2) if self.solver == "svd" else 2
        enough = present.sum(axis=-1) > (self.classes - 1 if self.priors else 1)
        return np.asarray(enough & (~present | (counts >= least)).all(axis=-1))

    def certain(self, state: ClassMoments) -> bool:
        """Whether no rank hangs on rounding."""
        if not self.possible(state.counts, state.means.shape[1]):
            return True
        scale, present = self.scale(state), state.counts > 0
        shapes = Shapes.of(
            self.covariances(state.scatters, state.counts, scale)[present], scale, noise_of(state, scale)
        )
        short = shapes.fall_short(self.tol)
        return bool(short.any() or (shapes.exceed(self.tol) & (shapes.sound > SAFE)).all())

    def covariances(self, scatters: Floats, counts: Floats, scale: Floats) -> Floats:
        """The covariance of each class, drawn towards the identity of features divided by `scale`."""
        covariance = scatters / np.maximum(counts, 1)[..., np.newaxis, np.newaxis]
        squares = np.broadcast_to(scale**2, covariance.shape[:-1])
        if not self.drawn:
            return covariance
        if self.solver == "eigen":
            squares = squares * np.mean(np.einsum("...jj->...j", covariance) / squares, axis=-1, keepdims=True)
        return (1 - self.drawn) * covariance + self.drawn * squares[..., np.newaxis] * np.eye(squares.shape[-1])

    def scale(self, state: ClassMoments) -> Floats:
        """What the features are divided by."""
        return scales(state) if self.scaled else np.ones(state.means.shape[1])

    def _scores(self, state: ClassMoments, X: Floats) -> Floats:
        scores = np.full((len(X), self.classes), np.nan)
        if not self.possible(state.counts, X.shape[1]):
            return scores
        scale = self.scale(state)
        present = np.flatnonzero(state.counts).tolist()
        shapes = Shapes.of(
            self.covariances(state.scatters, state.counts, scale)[present], scale, noise_of(state, scale)
        )
        if (shapes.least <= self.tol).any():
            return scores
        scores[:] = -np.inf
        logs = self.log_priors(state.counts)
        for label, whitening, log in zip(present, shapes.whitening, shapes.logs, strict=True):
            z = state.away(label, X) @ whitening
            scores[:, label] = logs[label] - 0.5 * (np.einsum("ij,ij->i", z, z) + log)
        return scores

    def _left(self, state: ClassMoments, rows: Any) -> float:
        least, scale = 1.0, self.scale(state)
        for label, stored in by_class(rows):
            left = state.counts[label] - len(stored)
            if left > 1:
                _, _, lost = state.share(label, rows.X[stored])
                whole = self.covariances(state.scatters[label], left, scale)
                fewer = self.covariances(state.scatters[label] - lost, left, scale)
                least = min(least, least_kept(whole, whole - fewer))
        return least

    def _held_out(self, state: ClassMoments, left_out: LeftOut, values: Floats) -> NDArray[np.int64]:
        scale = self.scale(state)
        shapes = Shapes.of(self.covariances(state.scatters, state.counts, scale), scale, noise_of(state, scale))
        folds = np.arange(len(left_out.sizes))
        if not self._by_folds:
            folds = self._one_by_one(state, left_out, shapes, values)
        return self._fold_by_fold(state, left_out, shapes, folds, values)

    def _one_by_one(self, state: ClassMoments, left_out: LeftOut, shapes: Shapes, values: Floats) -> NDArray[np.int64]:
        """Predict what is held out alone; returns the other folds."""
        alone = left_out.one_by_one
        codes = left_out.codes[left_out.starts[alone]]
        others = [np.flatnonzero(left_out.sizes != 1)]
        for label in np.flatnonzero(np.bincount(codes, minlength=1)):
            of_class = alone[codes == label]
            downdate = Downdate.of(self, state, int(label), shapes)
            if not self.possible(downdate.counts, state.means.shape[1]) or downdate.fails:
                continue
            for part in blocks(of_class, state.means.shape[1]):
                positions = left_out.starts[part]
                scores, decided = downdate.scores(left_out.read(positions))
                values[positions[decided] - left_out.before] = scores[decided]
                others.append(part[~decided])
        return np.sort(np.concatenate(others))

    def _fold_by_fold(
        self, state: ClassMoments, left_out: LeftOut, shapes: Shapes, folds: NDArray[np.int64], values: Floats
    ) -> NDArray[np.int64]:
        """Predict what these folds hold out; returns those that are not decided."""
        counts, width = state.counts - left_out.counts(self.classes), state.means.shape[1]
        folds = folds[self.possible(counts[folds], width)]
        undecided = [folds[:0]]
        batch = Batch.of(self, state, shapes)
        for part, positions in left_out.blocks(folds, (self.classes + 4) * width * width):
            models = batch.models(left_out, positions, counts[part])
            undecided.append(part[~(models.exist | models.fail)])
            for some in columns(positions, width):
                scores = models.scores(state, left_out, some)
                values[some[models.exist] - left_out.before] = scores[models.exist]
        return np.sort(np.concatenate(undecided))
