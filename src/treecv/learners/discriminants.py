"""What linear and quadratic discriminant analysis share: moments of the classes, and what may be made of them.

Fisher: The use of multiple measurements in taxonomic problems, Annals of Eugenics 7 (1936).
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from treecv.data import Feed, Rows
from treecv.errors import CapabilityError, InputError
from treecv.learner import Schema
from treecv.learners.class_moments import ClassMoments, Floats
from treecv.learners.left_out import LeftOut, all_but
from treecv.learners.settings import check_codes

LEAST_LEFT = 1e-3
"""What must be left of the spread in every direction where rows are taken away: no more than three digits are lost."""

EPS = float(np.finfo(np.float64).eps)


class Discriminants:
    """Learns count, mean and scatter of each class.

    An heir has the settings `classes`, `priors` and `scaled`, and says what it predicts (`_scores`), which states can
    be made by taking rows away (`_loss`), and what it predicts for held-out rows, all at once (`_held_out`).
    """

    __slots__ = ()

    classes: int
    priors: tuple[float, ...]
    scaled: bool

    order_free = True
    call_free = True
    margins = True
    same_bits = False

    @property
    def outputs(self) -> int:
        """A score a class."""
        return self.classes

    def init(self, schema: Schema) -> ClassMoments:
        """A state that has learnt nothing."""
        return ClassMoments.blank(self.classes, schema.n_features)

    def copy(self, state: ClassMoments) -> ClassMoments:
        """An independent state."""
        return state.copy()

    def update(self, state: ClassMoments, rows: Rows) -> None:
        """Let `state` learn `rows`."""
        self._check(state, rows)
        state.learn(rows)

    def merge(self, state: ClassMoments, other: ClassMoments) -> None:
        """Let `state` learn what `other` has learnt."""
        state.merge(other)

    def unlearn(self, state: ClassMoments, rows: Rows) -> None:
        """Leave `state` as if it had never learnt `rows`."""
        self._check(state, rows)
        state.unlearn(rows)

    def unlearnable(self, state: ClassMoments, rows: Rows) -> bool:
        """Whether enough digits are left when `rows` are taken away."""
        return len(rows) == 0 or bool(self._left(state, rows) > LEAST_LEFT)

    def predict(self, state: ClassMoments, rows: Rows) -> Floats:
        """The score of each class for each row.

        NaN where these rows make no model, and minus infinity for a class that was not learnt.
        """
        self._check(state, rows, targets=False)
        X = rows.X if rows.index is None else rows.X[rows.index]
        return self._scores(state, X.astype(np.float64, copy=False))

    def held_out(self, schema: Schema, feed: Feed) -> Floats:
        """The scores of all held-out rows, each by the model that has learnt all other folds."""
        values, undecided = self.held_out_where_decided(schema, feed)
        for fold in undecided:
            state = self.init(schema)
            self.update(state, all_but(feed, int(fold)))
            begin, end = feed.chunks.span(int(fold), int(fold))
            values[begin - feed.chunks.before : end - feed.chunks.before] = self.predict(state, feed.fold(int(fold)))
        return values

    def held_out_where_decided(self, schema: Schema, feed: Feed) -> tuple[Floats, NDArray[np.int64]]:
        """The scores of all held-out rows, and the folds that must be trained by themselves.

        Of those, what rows are taken away leaves too few digits, or a rank hangs on rounding.
        """
        state = self.init(schema)
        self._check(state, feed.rows)
        state.learn(feed.rows)
        left_out = LeftOut.of(feed)
        values = np.full((len(feed.rows) - feed.chunks.before, self.classes), np.nan)
        with np.errstate(all="ignore"):
            undecided = self._held_out(state, left_out, values)
        return values, undecided

    def _check(self, state: ClassMoments, rows: Rows, targets: bool = True) -> None:
        name, width = type(self).__name__, state.means.shape[1]
        if not isinstance(rows.X, np.ndarray):
            raise CapabilityError(f"{name} does not read sparse rows: use X.toarray().")
        if rows.X.shape[1] != width:
            raise InputError(f"{name}: a state of {width} features cannot read rows of {rows.X.shape[1]}.")
        if targets and rows.weights is not None:
            raise CapabilityError(f"{name} does not weigh rows, but got weights: leave them out.")
        if targets:
            check_codes(self, rows.y, self.classes)

    def _left(self, state: ClassMoments, rows: Rows) -> float:
        raise NotImplementedError

    def _scores(self, state: ClassMoments, X: Floats) -> Floats:
        raise NotImplementedError

    def _held_out(self, state: ClassMoments, left_out: LeftOut, values: Floats) -> NDArray[np.int64]:
        raise NotImplementedError

    def priors_of(self, counts: Floats) -> Floats:
        """The share of each class, along the last axis."""
        if self.priors:
            return np.broadcast_to(np.array(self.priors), counts.shape)
        shares: Floats = counts / np.maximum(counts.sum(axis=-1, keepdims=True), 1)
        return shares

    def log_priors(self, counts: Floats) -> Floats:
        """Its logarithm; minus infinity for a class without rows."""
        with np.errstate(divide="ignore"):
            logs: Floats = np.where(counts > 0, np.log(self.priors_of(counts)), -np.inf)
        return logs


def scales(moments: ClassMoments) -> Floats:
    """What StandardScaler divides by: the deviation of each feature over all classes, 1 where it is constant."""
    n = moments.counts.sum()
    apart = moments.means - moments.total_mean
    squares = np.einsum("cjj->j", moments.scatters) + moments.counts @ apart**2
    scale, _ = scale_of(squares / n, moments.total_mean + moments.origin, n)
    return scale


def scale_of(variance: Floats, mean: Floats, n: Any) -> tuple[Floats, NDArray[np.bool_]]:
    """Deviations, 1 where a feature is as good as constant; and where that hangs on rounding."""
    variance = np.maximum(variance, 0)
    bound = n * EPS * variance + (n * mean * EPS) ** 2
    near = (variance > bound / 100) & (variance < bound * 100) & (variance > 0)
    return np.where(variance <= bound, 1, np.sqrt(variance)), near


def least_kept(whole: Floats, lost: Floats) -> float:
    """What share of `whole` is left at the least in any direction when `lost` is taken away.

    Directions in which there is nothing to lose do not count.
    """
    scale = np.sqrt(np.maximum(np.diag(whole), 0))
    if not scale.any():
        return 1.0
    scale = np.where(scale > 0, scale, 1)
    spread, directions = np.linalg.eigh(whole / scale / scale[:, np.newaxis])
    kept = spread > len(spread) * 8 * EPS
    whitening = directions[:, kept] / np.sqrt(spread[kept]) / scale[:, np.newaxis]
    return float(1 - np.linalg.eigvalsh(whitening.T @ lost @ whitening)[-1])
