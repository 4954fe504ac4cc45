"""Linear discriminant analysis: classes that share one covariance.

Fisher: The use of multiple measurements in taxonomic problems, Annals of Eugenics 7 (1936). Left-out rows as
downdates of rank one: Lachenbruch and Mickey: Estimation of error rates in discriminant analysis, Technometrics 10
(1968).

Everything happens in coordinates in which the covariance of all rows is the identity. Without some rows it is the
identity less what they had in it, so its smallest eigenvalue says how many digits that subtraction leaves.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treecv.learners.class_moments import ClassMoments, Floats, blocks, by_class
from treecv.learners.discriminants import EPS, Discriminants, least_kept, scales
from treecv.learners.lda_folds import CERTAIN, MARGIN, Batch, Downdate, Frame
from treecv.learners.left_out import LeftOut, columns
from treecv.learners.settings import check_among

NULL = 1e-13
"""The eigenvalue of a correlation below which it is rounding, and the features are collinear."""
SHARP = 1e-7
"""The least eigenvalue of a correlation from which its root is known to nine digits."""


@dataclass(frozen=True, slots=True)
class LDA(Discriminants):
    """Linear discriminant analysis by the moments of the classes; predicts a score a class.

    Parameters
    ----------
    classes : int
        How many there are.
    solver : {"svd", "lsqr", "eigen"}
        As scikit-learn has them: what happens to collinear features, and where the scores have their origin.
    shrinkage : float
        From 0 to 1, how far the covariance is drawn towards a multiple of the identity.
    priors : tuple of float
        The probability of each class; none: its share of the rows.
    n_components : int
        With too few classes for so many components there is no model; 0 asks for none.
    tol : float
        Below it a singular value counts as 0, with the solver "svd".
    centred, scaled : bool
        Whether the features are first put to mean 0, and to variance 1.

    Examples
    --------
    >>> import numpy as np
    >>> from treecv.data import Rows
    >>> from treecv.learner import Schema
    >>> learner = LDA(classes=2)
    >>> state = learner.init(Schema(n_rows=4, n_features=1, dtype="float64"))
    >>> learner.update(state, Rows(np.array([[0.0], [2.0], [4.0], [6.0]]), np.array([0, 0, 1, 1])))
    >>> learner.predict(state, Rows(np.array([[5.0]]))).round(4)
    array([[-6.6931,  1.3069]])
    """

    classes: int
    solver: str = "svd"
    shrinkage: float = 0.0
    priors: tuple[float, ...] = ()
    n_components: int = 0
    tol: float = 1e-4
    centred: bool = False
    scaled: bool = False

    def __post_init__(self) -> None:
        check_among(self, "solver", ("svd", "lsqr", "eigen"))

    def held_out_trainings(self, n_rows: int, n_features: int, k: int) -> float:
        """What `held_out` costs, in trainings."""
        base, each = (0.8, 1.5) if self.solver == "svd" else (1.1, 4.0)
        return base + (each * k * n_features / max(n_rows, 1) if k < n_rows or self.shrinkage else 0)

    def discriminant(self, state: ClassMoments) -> tuple[Floats, Floats, Floats]:
        """A coefficient for each class and feature, a constant for each class, and the point they are counted from.

        The point is itself counted from the origin of the moments. Raises LinAlgError where the solver does.
        """
        priors = self.priors_of(state.counts)
        basis = self.basis(state, self.covariance(state, state.counts))
        point = self._point(state, priors)
        apart = (state.means - point) @ basis
        if self.solver == "svd":
            _, singular, axes = np.linalg.svd(np.sqrt(priors)[:, np.newaxis] * apart, full_matrices=False)
            axes = axes[singular > self.tol * singular[:1]]
            apart = apart @ axes.T
            basis = basis @ axes.T
        constants = self.log_priors(state.counts) - 0.5 * (apart**2).sum(axis=1)
        return apart @ basis.T, constants, point

    def _scores(self, state: ClassMoments, X: Floats) -> Floats:
        none = np.full((len(X), self.classes), np.nan)
        if not self.possible(state.counts, X.shape[1]):
            return none
        try:
            coefficients, constants, point = self.discriminant(state)
        except np.linalg.LinAlgError:
            return none
        scores: Floats = (X - state.origin - point) @ coefficients.T + constants
        return scores

    def _left(self, state: ClassMoments, rows: Any) -> float:
        counts, shares = state.counts.copy(), {}
        for label, stored in by_class(rows):
            counts[label] -= len(stored)
            _, _, shares[label] = state.share(label, rows.X[stored])
        weights = self.weights_of(counts)
        lost = sum(weights[label] * scatter for label, scatter in shares.items())
        return least_kept(np.tensordot(weights, state.scatters, 1), lost)

    def possible(self, counts: Floats, width: int) -> NDArray[np.bool_]:
        """Whether scikit-learn's `fit` accepts rows of so many a class, of so many features."""
        present, n = (counts > 0).sum(axis=-1), counts.sum(axis=-1)
        enough = (n >= 2) & (n != present)
        if self.priors:
            enough &= present == self.classes
        return np.asarray(enough & (self.n_components <= np.minimum(present - 1, width)))

    def certain(self, state: ClassMoments) -> bool:
        """Whether neither the rank nor a factorisation hangs on rounding."""
        if not self.possible(state.counts, state.means.shape[1]):
            return True
        covariance = self.covariance(state, state.counts)
        if self.solver == "svd":
            return self._rank_is_certain(state, covariance)
        least = self._least(state, self.drawn(covariance, self._scale(state)))
        return bool(least > CERTAIN and (state.counts > 0).sum() > 1)

    def _rank_is_certain(self, state: ClassMoments, covariance: Floats) -> bool:
        constant = constants_of(state, self.centred or self.scaled)
        varying = np.flatnonzero(constant == 0)
        own = np.sqrt(np.diag(covariance))[varying]
        spread = np.linalg.eigvalsh(covariance[np.ix_(varying, varying)] / own / own[:, np.newaxis])
        kept = spread > MARGIN * self.tol**2
        dropped = spread < self.tol**2 / MARGIN
        sharp = spread[kept].min(initial=1) > SHARP and (kept.all() or self.tol**2 > 100 * NULL)
        if not kept.any():
            return bool((constant < 2).all())
        priors, basis = self.priors_of(state.counts), self.basis(state, covariance)
        apart = (state.means - priors @ state.means) @ basis
        singular = np.linalg.svd(np.sqrt(priors)[:, np.newaxis] * apart, compute_uv=False)
        limit = self.tol * singular.max(initial=0)
        clear = (singular > MARGIN * limit) | (singular < limit / MARGIN)
        return bool((constant < 2).all() and (kept | dropped).all() and sharp and (clear.all() or limit == 0))

    def weights_of(self, counts: Floats) -> Floats:
        """How much the scatter of each class counts in the covariance."""
        n = counts.sum(axis=-1, keepdims=True)
        if not self.priors or self.solver == "svd":
            return np.where(counts > 0, 1 / np.maximum(n, 1), 0)
        return np.where(counts > 0, self.priors_of(counts) / np.maximum(counts, 1), 0)

    def covariance(self, state: ClassMoments, counts: Floats) -> Floats:
        """The covariance within the classes, of models that know so many rows of each."""
        covariance: Floats = np.tensordot(self.weights_of(counts), state.scatters, 1)
        return covariance

    def _point(self, state: ClassMoments, priors: Floats) -> Floats:
        """Where the scores have their origin, counted from that of the moments."""
        if self.solver == "svd":
            middle: Floats = priors @ state.means
            return middle
        return state.total_mean if self.centred else -state.origin

    def drawn(self, covariance: Floats, scale: Floats) -> Floats:
        """Drawn towards the identity of features divided by `scale`."""
        if not self.shrinkage:
            return covariance
        mean = np.mean(np.diag(covariance) / scale**2)
        shrunk: Floats = (1 - self.shrinkage) * covariance + np.diag(self.shrinkage * mean * scale**2)
        return shrunk

    def basis(self, state: ClassMoments, covariance: Floats) -> Floats:
        """Leads to where the covariance of these rows is the identity, without what the solver drops."""
        scale = self._scale(state)
        covariance = self.drawn(covariance, scale)
        if self.solver != "lsqr":
            scale = deviations(state, covariance)
        spread, directions = np.linalg.eigh(covariance / scale / scale[:, np.newaxis])
        if self.solver == "eigen" and spread[0] <= len(spread) * EPS:
            raise np.linalg.LinAlgError("the covariance within the classes is not positive definite")
        kept = spread > (self.tol**2 if self.solver == "svd" else EPS * spread[-1])
        if self.solver == "svd" and not kept.any():
            raise np.linalg.LinAlgError("no feature differs within the classes")
        basis: Floats = directions[:, kept] / np.sqrt(spread[kept]) / scale[:, np.newaxis]
        return basis

    def _frame(self, state: ClassMoments, counts: Floats, constant: NDArray[np.int64]) -> Frame:
        """The coordinates for folds without a few of these rows."""
        covariance = self.covariance(state, counts)
        if self.solver == "svd":
            return self._frame_of_rank(state, covariance, constant)
        covariance = self.drawn(covariance, self._scale(state))
        own = deviations(state, covariance)
        spread, directions = np.linalg.eigh(covariance / own / own[:, np.newaxis])
        basis = directions / np.sqrt(np.maximum(spread, NULL)) / own[:, np.newaxis]
        return Frame(basis, self._least(state, covariance), bool(spread[0] > CERTAIN))

    def _least(self, state: ClassMoments, covariance: Floats) -> float:
        """The share of the largest eigenvalue that the smallest one has, as the solver sees them."""
        scale = deviations(state, covariance) if self.solver == "eigen" else self._scale(state)
        spread = np.linalg.eigvalsh(covariance / scale / scale[:, np.newaxis])
        folds_differ = 2 * len(scale) if self.scaled else 1
        return float(spread[0] / spread[-1] / folds_differ) if spread[-1] > 0 else 0.0

    def _scale(self, state: ClassMoments) -> Floats:
        return scales(state) if self.scaled else np.ones(state.means.shape[1])

    def _frame_of_rank(self, state: ClassMoments, covariance: Floats, constant: NDArray[np.int64]) -> Frame:
        """The coordinates of the features that are not collinear.

        Where the means differ in a direction in which no class has any spread, what is dropped depends on the
        deviations of the features, and with them on the fold.
        """
        varying = np.flatnonzero(constant == 0)
        own = np.sqrt(np.diag(covariance))[varying]
        spread, directions = np.linalg.eigh(covariance[np.ix_(varying, varying)] / own / own[:, np.newaxis])
        null = spread < NULL * max(len(spread), 1)
        kept, least = ~null, spread[~null].min(initial=np.inf)
        apart = (state.means - state.total_mean)[state.counts > 0][:, varying] / own
        outside = np.abs(apart @ directions[:, null]).max(initial=0) <= 1e-10 * np.abs(apart).max(initial=1)
        sharp = not null.any() or self.tol**2 > 100 * NULL
        basis = np.zeros((len(covariance), int(kept.sum())))
        basis[varying] = directions[:, kept] / np.sqrt(spread[kept]) / own[:, np.newaxis]
        return Frame(basis, least, bool(outside and sharp and least > SHARP and (constant < 2).all() and kept.any()))

    def _held_out(self, state: ClassMoments, left_out: LeftOut, values: Floats) -> NDArray[np.int64]:
        constant = constants_of(state, self.centred or self.scaled)
        folds = np.arange(len(left_out.sizes))
        if not self.shrinkage:
            folds = self._one_by_one(state, left_out, constant, values)
        return self._fold_by_fold(state, left_out, constant, folds, values)

    def _one_by_one(
        self, state: ClassMoments, left_out: LeftOut, constant: NDArray[np.int64], values: Floats
    ) -> NDArray[np.int64]:
        """Predict what is held out alone; returns the other folds."""
        alone = left_out.one_by_one
        codes = left_out.codes[left_out.starts[alone]]
        others = [np.flatnonzero(left_out.sizes != 1)]
        for label in np.flatnonzero(np.bincount(codes, minlength=1)):
            of_class = alone[codes == label]
            counts = state.counts.copy()
            counts[label] -= 1
            if counts[label] == 0 or (counts > 0).sum() < 2 or not self.possible(counts, state.means.shape[1]):
                others.append(of_class)
                continue
            frame = self._frame(state, counts, constant)
            if not frame.sound:
                others.append(of_class)
                continue
            downdate = Downdate.of(self, state, int(label), counts, frame)
            for part in blocks(of_class, state.means.shape[1]):
                positions = left_out.starts[part]
                scores, decided = downdate.scores(state.away(int(label), left_out.read(positions)))
                values[positions[decided] - left_out.before] = scores[decided]
                others.append(part[~decided])
        return np.sort(np.concatenate(others))

    def _fold_by_fold(
        self,
        state: ClassMoments,
        left_out: LeftOut,
        constant: NDArray[np.int64],
        folds: NDArray[np.int64],
        values: Floats,
    ) -> NDArray[np.int64]:
        """Predict what these folds hold out; returns those that are not decided."""
        counts, undecided = state.counts - left_out.counts(self.classes), []
        possible = self.possible(counts, state.means.shape[1])
        folds = folds[possible[folds]]
        if not len(folds):
            return folds
        several = (counts[folds] > 0).sum(axis=1) > 1
        undecided.append(folds[~several])
        frame = self._frame(state, state.counts, constant)
        if not frame.sound:
            return folds
        batch = Batch.of(self, state, frame)
        width = state.means.shape[1]
        for part, positions in left_out.blocks(folds[several], (self.classes + 4 * width) * width):
            model = batch.model(left_out, positions, counts[part])
            undecided.append(part[~model.decided])
            for some in columns(positions, width):
                scores = model.scores(state, left_out, some)
                values[some[model.decided] - left_out.before] = scores[model.decided]
        return np.sort(np.concatenate(undecided))


def deviations(state: ClassMoments, covariance: Floats) -> Floats:
    """The root of each variance, 1 where there is none but what rounding left."""
    variance = np.diag(covariance)
    noise = (32 * EPS * np.abs(state.means).max(axis=0)) ** 2
    return np.where(variance > noise, np.sqrt(np.maximum(variance, 0)), 1)


def constants_of(state: ClassMoments, moved: bool) -> NDArray[np.int64]:
    """How constant each feature is within the classes: 0 not at all; 1 exactly; 2 if that hangs on rounding.

    Sums of equal numbers are exact where these have few digits, which numbers that were `moved` by a scaler have not.
    Else their mean misses them by a rounding error, which scikit-learn divides by its own size.
    """
    n = state.counts.sum()
    means = (state.means + state.origin)[state.counts > 0]
    deviation = np.sqrt(np.maximum(np.einsum("cjj->j", state.scatters), 0) / n)
    flat = deviation <= n * EPS * np.abs(means).max(axis=0)
    mantissas, _ = np.frexp(means)
    digits = mantissas * 2.0 ** (53 - np.ceil(np.log2(n)))
    exact = (deviation == 0) & (digits == np.floor(digits)).all(axis=0)
    if moved:
        exact &= np.ptp(means, axis=0) == 0
    return np.where(flat, np.where(exact, 1, 2), 0)
