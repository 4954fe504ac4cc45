"""Held-out predictions of models that are linear in their targets: by leverages, and by merging.

Cook: Detection of influential observation in linear regression, Technometrics 19 (1977), and Golub, Heath and Wahba:
Generalized cross-validation as a method for choosing a good ridge parameter, Technometrics 21 (1979), have the error
of a row that was left out from one fit to all rows: e / (1 - h). For a fold of m rows h is the m x m block of the
hat matrix. Where a fold is larger than the rows are wide, or where 1 - h is so small that digits would go, the fold's
model is solved from the sums of all other folds, which are merged by additions only.

Of a model is asked

    fit(sums) -> Fit       trained on rows of which these are the sums; None where training would fail
    basis(sums) -> Basis   what leverages need; None where they would not be exact

and sums have `copy` and `add`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas

from treecv.data import Feed, Rows
from treecv.learner import State
from treecv.learners.moments import Array, Room, all_but_one, blocks, stored, targets_of, without_training

SumsOf: TypeAlias = Callable[[Rows], Any]

FEW = 64
"""Rows of a fold that are always treated by leverages: with larger ones a step of Python costs little."""
KEPT = 0.1
"""What a fold must leave of every direction, at the least, for leverages to keep their digits."""
_HELD = 1 << 24
"""Numbers that the sums of all folds may take together: 128 megabytes."""
_NUMBERS = 1 << 17


@dataclass(frozen=True, slots=True)
class Fit:
    """Predicts (x - centre) coef + constant."""

    centre: Array
    coef: Array
    constant: Array

    def predict(self, X: NDArray[Any], room: Room) -> Array:
        """One line a row, one column a target."""
        table = room.table(*X.shape)
        np.subtract(X, self.centre, out=table)
        predicted: Array = table @ self.coef
        predicted += self.constant
        return predicted

    @property
    def intercept(self) -> Array:
        """The prediction at zero."""
        intercept: Array = self.constant - self.centre @ self.coef
        return intercept


class OfSums:
    """What linear models have in common whose states are sums over rows, that add up."""

    __slots__ = ()

    centres: bool
    scales: bool

    order_free: ClassVar[bool] = True
    call_free: ClassVar[bool] = True
    several_targets: ClassVar[bool] = True
    closed: ClassVar[bool] = True

    @property
    def weighs(self) -> bool:
        """A scaler before the model knows no weights."""
        return not (self.centres or self.scales)

    def fit(self, state: State, n_features: int) -> Fit | None:
        """The coefficients of all targets; None before there are rows."""
        raise NotImplementedError  # pragma: no cover - each has its own

    def copy(self, state: State) -> State:
        """An independent state."""
        return state.copy()

    def merge(self, state: State, other: State) -> None:
        """Let `state` learn what `other` has learnt."""
        state.add(other)

    def predict(self, state: State, rows: Rows) -> Array:
        """One prediction a row and target; NaN before there are rows."""
        d = rows.X.shape[1]
        fit, predicted = self.fit(state, d), np.full((len(rows), len(state.origin) - d), np.nan)
        room = Room()
        if fit is not None:
            for part, block in blocks(rows, d):
                predicted[part] = fit.predict(block.X, room)
        return predicted[:, 0] if predicted.shape[1] == 1 else predicted


@dataclass(frozen=True, slots=True)
class Basis:
    """The fit to all rows, and coordinates in which the hat matrix is q q'.

    q is (x - centre - shift) factor, and `lead` beside it for the intercept. `kept` is the share of each direction
    that the other rows must have for the shortcut to hold.
    """

    fit: Fit
    factor: Array
    lead: float
    shift: Array
    kept: float = KEPT
    triangular: bool = False

    def coordinates(self, table: Array) -> Array:
        """The q of rows from which the centre is subtracted already; may overwrite them."""
        if self.triangular:
            q: Array = blas.dtrmm(1.0, self.factor.T, table.T, lower=1, overwrite_b=1).T
        else:
            q = table @ self.factor
        if self.shift.any():
            q -= self.shift
        return q


def held_out(models: Sequence[Any], sums_of: SumsOf, feed: Feed, total: Any = None) -> list[Array]:
    """The predictions of each model for all held-out rows; `total` are the sums of all rows, if they are known."""
    d, targets = feed.rows.X.shape[1], targets_of(feed.rows.y).shape[1]
    sizes = feed.chunks.sizes
    small = sizes <= max(d, FEW)
    found = [np.full((feed.n_rows, targets), np.nan) for _ in models]
    if small.any() and total is None:
        total = sums_of(feed.rows)
    bases = [model.basis(total) if small.any() else None for model in models]
    left = ~small
    for basis, predicted in zip(bases, found, strict=True):
        if basis is not None:
            left = left | by_leverages(basis, feed, np.flatnonzero(small), predicted)
    merging = Merging(sums_of, feed, d + targets)
    for folds, exact in ((left, True), (np.ones(feed.k, bool), False)):
        several = [i for i, basis in enumerate(bases) if (basis is not None or not small.any()) == exact]
        merging.predict([models[i] for i in several], np.flatnonzero(folds), [found[i] for i in several])
    held = [predicted[feed.chunks.before :] for predicted in found]
    nothing = np.repeat(without_training(feed.rows, feed.chunks), sizes)
    for predicted in held:
        predicted[nothing] = np.nan
    return held


@dataclass(frozen=True, slots=True)
class Merging:
    """Solves the models of folds from the sums of all other rows."""

    sums_of: SumsOf
    feed: Feed
    width: int

    def predict(self, models: Sequence[Any], folds: NDArray[np.int64], found: Sequence[Array]) -> None:
        """Fill in what each model predicts for the rows of these folds."""
        most = max(1, _HELD // (self.width + 1) ** 2)
        for begin in range(0, len(folds) if models else 0, most):
            self._several(models, folds[begin : begin + most], found)

    def _several(self, models: Sequence[Any], folds: NDArray[np.int64], found: Sequence[Array]) -> None:
        spans = [self.feed.chunks.span(int(fold), int(fold)) for fold in folds]
        parts = [self.sums_of(self.feed.rows.stretch(*span)) for span in spans]
        others = np.ones(self.feed.n_rows, bool)
        for span in spans:
            others[slice(*span)] = False
        rest = self.sums_of(self.feed.rows.pick(np.flatnonzero(others)))
        room = Room()
        for span, sums in zip(spans, all_but_one(parts, rest), strict=True):
            rows = self.feed.rows.stretch(*span)
            for model, predicted in zip(models, found, strict=True):
                fit = model.fit(sums)
                if fit is not None:
                    for part, block in blocks(rows, self.width):
                        predicted[slice(*span)][part] = fit.predict(block.X, room)


def by_leverages(basis: Basis, feed: Feed, folds: NDArray[np.int64], found: Array) -> NDArray[np.bool_]:
    """Fill in the predictions for the rows of these folds; returns the folds for which that was not safe."""
    if feed.chunks.offsets is None:
        return _single_rows(basis, feed.rows, found)
    unsafe = np.zeros(feed.k, bool)
    sizes, first = feed.chunks.sizes[folds], feed.chunks.offsets[folds]
    ordered = np.argsort(sizes, kind="stable")
    width = feed.rows.X.shape[1] + found.shape[1]
    begin = 0
    while begin < len(ordered):
        end = begin + _alike(sizes[ordered[begin:]], width)
        several = ordered[begin:end]
        places = first[several][:, np.newaxis] + np.arange(sizes[several[-1]])
        inside = np.arange(sizes[several[-1]]) < sizes[several][:, np.newaxis]
        unsafe[folds[several]] = _blocks(basis, feed.rows, np.where(inside, places, places[:, :1]), inside, found)
        begin = end
    return unsafe


def _alike(sizes: NDArray[np.int64], width: int) -> int:
    """How many of these folds, the smallest first, are taken together: a block of rows, of similar size."""
    similar = int(np.searchsorted(sizes, sizes[0] * 5 // 4, side="right"))
    each = int(sizes[similar - 1]) * (width + int(sizes[similar - 1]))
    return min(similar, max(1, _NUMBERS // each))


def _single_rows(basis: Basis, rows: Rows, found: Array) -> NDArray[np.bool_]:
    unsafe = np.zeros(len(rows), bool)
    d = rows.X.shape[1]
    room = Room()
    for part, block in blocks(rows, d):
        predicted = basis.fit.predict(block.X, room)
        table = room.table(*block.X.shape)  # which has the rows about the centre now
        q = basis.coordinates(table)
        h = np.einsum("ij,ij->i", q, q)
        h += basis.lead**2
        if block.weights is not None:
            h *= block.weights
        unsafe[part] = ~(h <= 1 - basis.kept)
        h[unsafe[part]] = 0.0
        h /= 1 - h
        errors = targets_of(block.y) - predicted
        errors *= h[:, np.newaxis]
        np.subtract(predicted, errors, out=found[part])
    return unsafe


def _blocks(
    basis: Basis, rows: Rows, places: NDArray[np.int64], inside: NDArray[np.bool_], found: Array
) -> NDArray[np.bool_]:
    """Folds of similar size at once, filled up with rows of weight nothing."""
    shape, block = places.shape, stored(rows, places.ravel(), Room(rows.X.dtype))
    room = Room()
    predicted = basis.fit.predict(block.X, room)
    q = _beside(basis.coordinates(room.table(*block.X.shape)), basis.lead).reshape(*shape, -1)
    errors = (targets_of(block.y) - predicted).reshape(*shape, -1)
    roots = inside.astype(np.float64)
    if block.weights is not None:
        roots *= np.sqrt(block.weights).reshape(shape)
    weighed = q * roots[:, :, np.newaxis]
    left = np.eye(shape[1]) - weighed @ weighed.swapaxes(1, 2)
    unsafe = _unsafe(left, basis.kept)
    left[unsafe] = np.eye(shape[1])
    shares = np.linalg.solve(left, errors * roots[:, :, np.newaxis])
    moved = predicted.reshape(errors.shape) - q @ (weighed.swapaxes(1, 2) @ shares)
    found[places[inside]] = moved[inside]
    return unsafe


def _beside(q: Array, lead: float) -> Array:
    if lead == 0:
        return q
    return np.hstack([q, np.full((len(q), 1), lead)])


def _unsafe(left: Array, kept: float) -> NDArray[np.bool_]:
    """Where the smallest eigenvalue is too small; only few have a trace so large that it must be looked at."""
    doubtful = np.flatnonzero(~(left.shape[1] - np.trace(left, axis1=1, axis2=2) <= 1 - max(kept, 0.5)))
    unsafe = np.zeros(len(left), bool)
    for fold in doubtful:  # not more than twice as many as there are features
        unsafe[fold] = not np.linalg.eigvalsh(left[fold])[0] >= kept
    return unsafe
