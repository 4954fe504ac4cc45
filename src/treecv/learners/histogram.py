"""A histogram as a density: cells between fixed edges, and the share of the rows in each.

Freedman and Diaconis: On the histogram as a density estimator: L2 theory, Zeitschrift für Wahrscheinlichkeitstheorie
und verwandte Gebiete 57 (1981).
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import prod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from treecv.data import Feed, Rows
from treecv.errors import CapabilityError, InputError
from treecv.learner import Schema
from treecv.learners.gaussian_folds import DIGITS

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(slots=True)
class Cells:
    """What a histogram has learnt: how many rows lie in each cell that has some, and their weight.

    Attributes
    ----------
    rows, weights : dict of bytes
        By the places of a cell along each feature.
    count : int
        All rows, those beyond the edges as well.
    total : float
        Their weight.
    """

    n_features: int
    dtype: str
    count: int = 0
    total: float = 0.0
    rows: dict[bytes, int] = field(default_factory=dict)
    weights: dict[bytes, float] = field(default_factory=dict)

    def add(self, cell: bytes, rows: int, weight: float) -> None:
        """Learn so many rows of a cell; negative: forget them. A cell without rows is none."""
        left = self.rows.get(cell, 0) + rows
        self.rows[cell], self.weights[cell] = left, self.weights.get(cell, 0.0) + weight
        if left == 0:
            del self.rows[cell], self.weights[cell]


@dataclass(frozen=True, slots=True)
class Histogram:
    """A histogram of all features together; predicts the logarithm of the density.

    Edges are given, not found in the data: all folds have the same cells. What is learnt does not depend on the order
    of the rows.

    Parameters
    ----------
    edges : tuple of tuples of float
        The rising edges along each feature; a single tuple is for all of them.
    alpha : float
        Added to the weight of every cell, so that there is a density also where no row was.

    Examples
    --------
    >>> import numpy as np
    >>> from treecv.data import Rows
    >>> from treecv.learner import Schema
    >>> learner = Histogram(((0.0, 1.0, 3.0),), alpha=1.0)
    >>> state = learner.init(Schema(n_rows=2, n_features=1, dtype="float64"))
    >>> learner.update(state, Rows(np.array([[0.5], [0.6]])))
    >>> np.exp(learner.predict(state, Rows(np.array([[0.2], [2.0], [7.0]]))))
    array([0.75 , 0.125, 0.   ])
    """

    edges: tuple[tuple[float, ...], ...]
    alpha: float = 1.0

    order_free: ClassVar[bool] = True
    call_free: ClassVar[bool] = True
    supervised: ClassVar[bool] = False
    weighs: ClassVar[bool] = True
    absences: ClassVar[bool] = True
    shows_nonfinite: ClassVar[bool] = True

    def __post_init__(self) -> None:
        edges = tuple(tuple(map(float, along)) for along in self.edges)
        for along in edges:
            if len(along) < 2 or not np.isfinite(along).all() or not (np.diff(along) > 0).all():
                raise InputError(f"Histogram: edges={list(along)} must be two or more finite numbers that rise.")
        if not edges:
            raise InputError("Histogram: edges=() must name the edges along one feature at least.")
        if not 0 <= self.alpha < np.inf:
            raise InputError(f"Histogram: alpha={self.alpha!r} must be a finite number, 0 or more.")
        object.__setattr__(self, "edges", edges)
        object.__setattr__(self, "alpha", float(self.alpha))

    def settings(self) -> dict[str, Any]:
        """What a learner of the same kind is made of."""
        return {"edges": self.edges, "alpha": self.alpha}

    def init(self, schema: Schema) -> Cells:
        """A state that has learnt nothing."""
        self._along(schema.n_features)
        return Cells(schema.n_features, schema.dtype)

    def copy(self, state: Cells) -> Cells:
        """An independent state."""
        return Cells(state.n_features, state.dtype, state.count, state.total, dict(state.rows), dict(state.weights))

    def update(self, state: Cells, rows: Rows) -> None:
        """Let `state` learn `rows`."""
        self._learn(state, rows, 1)

    def unlearn(self, state: Cells, rows: Rows) -> None:
        """Let `state` be as if it had never learnt `rows`."""
        self._learn(state, rows, -1)
        if state.count == 0:
            state.total = 0.0

    def unlearnable(self, state: Cells, rows: Rows) -> bool:
        """Whether `unlearn` spoils no more than three digits: no cell loses nearly all weight but keeps rows."""
        gone = float(_weights(rows).sum())
        if rows.weights is None or len(rows) == state.count:
            return True
        if state.total - gone < DIGITS * state.total:
            return False
        return all(
            state.rows[cell] == lost or state.weights[cell] - weight >= DIGITS * state.weights[cell]
            for cell, lost, weight in self._cells(rows)
        )

    def merge(self, state: Cells, other: Cells) -> Cells:
        """Let `state` have learnt also what `other` has; returns it."""
        for cell, rows in list(other.rows.items()):
            state.add(cell, rows, other.weights[cell])
        state.count += other.count
        state.total += other.total
        return state

    def predict(self, state: Cells, rows: Rows) -> Floats:
        """The log density of each row: -inf beyond the edges, NaN before there are rows."""
        self._check(state, rows)
        places, volumes = self._places(rows)
        weights = np.array([state.weights.get(cell, 0.0) for cell in _keys(places)])
        return self._density(weights, np.full(len(rows), state.total), places, volumes, rows)

    def held_out(self, schema: Schema, feed: Feed) -> Floats:
        """The log density of each held-out row, in the order of positions, by all rows outside of its own fold."""
        rows, before = feed.rows, feed.chunks.before
        places, volumes = self._places(rows)
        weights, sizes = _weights(rows), feed.chunks.sizes
        folds = np.repeat(np.arange(-1, len(sizes)), [before, *sizes])
        _, cells = np.unique(places, axis=0, return_inverse=True)
        left = _outside(cells.ravel(), folds, weights)
        totals = _outside(np.zeros(len(folds), np.int64), folds, weights)
        held = slice(before, None)
        return self._density(left[held], totals[held], places[held], volumes[held], rows.stretch(before, len(rows)))

    def held_out_trainings(self, n_rows: int, n_features: int, k: int) -> float:
        """What `held_out` costs, in trainings: the rows are put into cells, and sorted by them."""
        return 3.0

    def _learn(self, state: Cells, rows: Rows, sign: int) -> None:
        self._check(state, rows)
        for cell, n, weight in self._cells(rows):
            state.add(cell, sign * n, sign * weight)
        state.count += sign * len(rows)
        state.total += sign * float(_weights(rows).sum())

    def _check(self, state: Cells, rows: Rows) -> None:
        """Raise unless a state can read these rows."""
        if not isinstance(rows.X, np.ndarray):
            raise CapabilityError("Histogram does not read sparse rows: use X.toarray().")
        if rows.X.shape[1] != state.n_features:
            raise InputError(
                f"Histogram: a state of {state.n_features} features cannot read rows of {rows.X.shape[1]}."
            )
        if rows.X.dtype != state.dtype:
            raise InputError(
                f"Histogram: a state of {state.dtype} cannot read rows of {rows.X.dtype}: use "
                f"X.astype({state.dtype!r})."
            )

    def _along(self, n_features: int) -> list[Floats]:
        """The edges along each feature."""
        if len(self.edges) not in (1, n_features):
            raise InputError(
                f"Histogram: {len(self.edges)} rows of edges for {n_features} features: give one for each, or one for "
                "all."
            )
        return [np.array(along) for along in (self.edges * n_features if len(self.edges) == 1 else self.edges)]

    def _places(self, rows: Rows) -> tuple[NDArray[np.int32], Floats]:
        """The place of each row along each feature, -1 beyond the edges; and the logarithm of its cell's volume.

        The last edge belongs to the last cell, any other one to the cell above.
        """
        X = rows.X if rows.index is None else rows.X[rows.index]
        places, volumes = np.empty(X.shape, np.int32), np.zeros(len(X))
        for feature, edges in enumerate(self._along(X.shape[1])):
            x = X[:, feature].astype(np.float64)
            place = np.searchsorted(edges, x, side="right") - 1
            place[x == edges[-1]] -= 1
            place[(place == len(edges) - 1) | np.isnan(x)] = -1
            places[:, feature] = place
            volumes += np.log(np.diff(edges))[place]
        return places, volumes

    def _cells(self, rows: Rows) -> Iterator[tuple[bytes, int, float]]:
        """The cells in which there are some of these rows, how many, and of which weight."""
        places, _ = self._places(rows)
        inside = (places >= 0).all(axis=1)
        cells, which, counts = np.unique(places[inside], axis=0, return_inverse=True, return_counts=True)
        weights = np.bincount(which.ravel(), _weights(rows)[inside], len(cells))
        yield from zip(_keys(cells), counts.tolist(), weights.tolist(), strict=True)

    def _density(self, weights: Floats, totals: Floats, places: NDArray[Any], volumes: Floats, rows: Rows) -> Floats:
        """The log densities of rows in cells of these weights."""
        n_cells = prod(len(edges) - 1 for edges in self._along(places.shape[1]))
        X = rows.X if rows.index is None else rows.X[rows.index]
        with np.errstate(divide="ignore", invalid="ignore"):
            found = np.log(weights + self.alpha) - np.log(totals + self.alpha * float(n_cells)) - volumes
        found[(places < 0).any(axis=1)] = -np.inf
        found[(totals <= 0) | ~np.isfinite(X).all(axis=1)] = np.nan
        return found


def _outside(groups: Ints, folds: Ints, weights: Floats) -> Floats:
    """For each row the weight of all rows of its group that are outside of its fold.

    Where next to nothing would be left of a subtraction, the others are summed.
    """
    pairs, which = np.unique(np.stack([groups, folds]), axis=1, return_inverse=True)
    which = which.ravel()
    own, rows = np.bincount(which, weights), np.bincount(which)
    whole, members = np.bincount(groups, weights)[pairs[0]], np.bincount(groups)[pairs[0]]
    left = np.where(rows == members, 0.0, whole - own)
    for pair in np.flatnonzero((rows < members) & (left < DIGITS * whole)).tolist():
        left[pair] = weights[(groups == pairs[0, pair]) & (folds != pairs[1, pair])].sum()
    return left[which]


def _keys(places: NDArray[np.int32]) -> list[bytes]:
    """Each row of places as one key."""
    return [row.tobytes() for row in places]


def _weights(rows: Rows) -> Floats:
    if rows.weights is None:
        return np.ones(len(rows))
    weights: Floats = (rows.weights if rows.index is None else rows.weights[rows.index]).astype(np.float64)
    return weights
