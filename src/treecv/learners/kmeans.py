"""K-means, row by row or in batches.

MacQueen: Some methods for classification and analysis of multivariate observations, Fifth Berkeley Symposium (1967).
In batches: Sculley: Web-scale k-means clustering, WWW 2010. The first centres are those of Arthur and Vassilvitskii:
k-means++: the advantages of careful seeding, SODA 2007, chosen among the first rows learnt.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from treecv.data import Rows
from treecv.errors import InputError
from treecv.learner import Schema, State
from treecv.learners import sums
from treecv.learners.compiled import compiled
from treecv.learners.seeding import seeds
from treecv.learners.settings import check_rows, check_whole


@compiled
@dataclass(frozen=True, slots=True)
class KMeans:
    """K-means; predicts the number of the nearest centre and the squared distance from it.

    Parameters
    ----------
    n_clusters : int
    start : int
        The most rows that the first centres are chosen from; 0: three times as many as there are centres.
    batch_size : int
        Rows that are dealt to the centres together, before these move; 0: each row by itself.
    seed : int
        Names the random numbers of the choice.

    Examples
    --------
    >>> import numpy as np
    >>> from treecv.data import Rows
    >>> from treecv.learner import Schema
    >>> learner = KMeans(n_clusters=2)
    >>> state = learner.init(Schema(n_rows=4, n_features=1, dtype="float64"))
    >>> learner.update(state, Rows(np.array([[0.0], [1.0], [10.0], [11.0]])))
    >>> learner.predict(state, Rows(np.array([[0.5], [12.5]])))[:, 1]
    array([0., 4.])
    """

    n_clusters: int
    start: int = 0
    batch_size: int = 0
    seed: int = 0

    order_free: ClassVar[bool] = False
    call_free: ClassVar[bool] = False
    outputs: ClassVar[int] = 2
    supervised: ClassVar[bool] = False
    weighs: ClassVar[bool] = True
    shows_nonfinite: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_whole(self, "n_clusters", 1)
        check_whole(self, "start", 0)
        check_whole(self, "batch_size", 0)
        check_whole(self, "seed", 0)
        if self.start == 0:
            object.__setattr__(self, "start", 3 * self.n_clusters)
        if self.start < self.n_clusters:
            raise InputError(
                f"KMeans: start={self.start} rows are too few to choose n_clusters={self.n_clusters} centres from. "
                "Give at least as many, or 0."
            )

    def settings(self) -> dict[str, Any]:
        """What the core is told."""
        told = {"n_clusters": self.n_clusters, "start": self.start}
        return told | {"batch_size": self.batch_size, "seed": self.seed}

    def init(self, schema: Schema) -> State:
        """A state that has learnt nothing."""
        if schema.n_rows < self.n_clusters:
            raise InputError(
                f"KMeans: n_clusters={self.n_clusters} centres cannot be chosen from {schema.n_rows} rows. Ask for "
                "fewer."
            )
        size = sums.width(schema.n_features, False, schema.dtype)
        return sums.blank(
            schema.n_features,
            {
                "centres": (schema.dtype, (self.n_clusters, size)),
                "counts": ("f8", (_padded(self.n_clusters),)),
                "started": "i8",
                "waiting": "i8",
                "unused": ("i8", (6,)),
                "first": (schema.dtype, (self.start, size)),
                "first_weights": ("f8", (_padded(self.start),)),
            },
        )

    def copy(self, state: State) -> State:
        """An independent state."""
        return state.copy()

    def targets(self, rows: Rows) -> None:
        """There are none to learn."""

    def update(self, state: State, rows: Rows) -> None:
        """Let `state` learn `rows`, in their order."""
        check_rows(self, state, rows)
        order = list(rows.order())
        size = self.batch_size or max(len(order), 1)
        with np.errstate(over="ignore", invalid="ignore"):
            for begin in range(0, len(order), size):
                self._call(state, rows, order[begin : begin + size])

    def _call(self, state: State, rows: Rows, order: list[int]) -> None:
        learnt = state[0]
        width = learnt["centres"].shape[1]
        vectors = [sums.completed(rows.X[row], False, width) for row in order]
        dealt: list[int | None] = [None] * len(order)
        if self.batch_size and learnt["started"]:
            dealt = [_nearest(learnt, x)[0] for x in vectors]
        for row, x, centre in zip(order, vectors, dealt, strict=True):
            weight = 1.0 if rows.weights is None else float(rows.weights[row])
            if learnt["started"]:
                _move(learnt, _nearest(learnt, x)[0] if centre is None else centre, x, weight)
                continue
            place = int(learnt["waiting"])
            learnt["first"][place], learnt["first_weights"][place] = x + x.dtype.type(0), weight  # -0 is 0
            learnt["waiting"] = place + 1
            if place + 1 == len(learnt["first"]):
                self._choose(learnt)
        if not learnt["started"] and learnt["waiting"] >= self.n_clusters:
            self._choose(learnt)
        learnt["count"] += len(order)

    def _choose(self, learnt: Any) -> None:
        """Among the first rows by k-means++; the others are learnt then."""
        n = int(learnt["waiting"])
        first, weights = learnt["first"][:n], learnt["first_weights"][:n]
        chosen = seeds(first, self.n_clusters, self.seed)
        learnt["centres"], learnt["counts"][: self.n_clusters] = first[chosen], weights[chosen]
        learnt["started"] = 1
        for i in range(n):
            if i not in chosen:
                _move(learnt, _nearest(learnt, first[i])[0], first[i], float(weights[i]))

    def predict(self, state: State, rows: Rows) -> NDArray[np.float64]:
        """The nearest centre of each row, and the squared distance from it; NaN before there are centres."""
        check_rows(self, state, rows)
        learnt = state[0]
        if not learnt["started"]:
            return np.tile([0.0, np.nan], (len(rows), 1))
        width = learnt["centres"].shape[1]
        with np.errstate(over="ignore", invalid="ignore"):
            found = [_nearest(learnt, sums.completed(rows.X[row], False, width)) for row in rows.order()]
        return np.array([(float(centre), float(distance)) for centre, distance in found]).reshape(-1, 2)

    def centres(self, state: State) -> NDArray[Any]:
        """The centres."""
        centres: NDArray[Any] = state[0]["centres"][:, : int(state["n_features"][0])].copy()
        return centres


def _padded(n: int) -> int:
    return -(-n // 8) * 8


def _nearest(learnt: Any, x: NDArray[Any]) -> tuple[int, Any]:
    best: tuple[int, Any] = 0, np.inf
    for c, centre in enumerate(learnt["centres"]):
        distance = sums.distance(centre, x)
        if distance < best[1]:
            best = c, distance
    return best


def _move(learnt: Any, c: int, x: NDArray[Any], weight: float) -> None:
    learnt["counts"][c] += weight
    if weight > 0:
        centre = learnt["centres"][c]
        centre += x.dtype.type(weight / learnt["counts"][c]) * (x - centre)
