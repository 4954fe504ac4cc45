"""Classification by regression: a column of targets for each class, 1 where a row is of it and -1 elsewhere.

Fisher: The use of multiple measurements in taxonomic problems, Annals of Eugenics 7 (1936), for two classes, where it
gives his linear discriminant.
"""

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from treecv.data import Feed, Rows
from treecv.learner import Schema, State
from treecv.learners.moments import Array, in_folds


@dataclass(frozen=True, slots=True)
class Indicators:
    """A regression of several targets, which knows its classes.

    Parameters
    ----------
    model : learner
        The regression.
    classes : int
        How many there are.
    class_weights : tuple of float
        A factor on the weights of the rows of each class; () for none.
    """

    model: Any
    classes: int
    class_weights: tuple[float, ...] = ()

    order_free: ClassVar[bool] = True
    call_free: ClassVar[bool] = True
    margins: ClassVar[bool] = True
    closed: ClassVar[bool] = True

    @property
    def weighs(self) -> bool:
        """As the regression does."""
        return bool(self.model.weighs)

    @property
    def outputs(self) -> int:
        """A score for each class."""
        return self.classes

    def init(self, schema: Schema) -> State:
        """A state that has learnt nothing: how many rows of each class, and the regression's own."""
        return [np.zeros(self.classes, np.int64), self.model.init(replace(schema, n_outputs=self.classes))]

    def copy(self, state: State) -> State:
        """An independent state."""
        return [state[0].copy(), self.model.copy(state[1])]

    def update(self, state: State, rows: Rows) -> None:
        """Let `state` learn `rows`."""
        state[0] += self._counts(_codes(rows))
        self.model.update(state[1], self.indicated(rows))

    def merge(self, state: State, other: State) -> None:
        """Let `state` learn what `other` has learnt."""
        state[0] += other[0]
        self.model.merge(state[1], other[1])

    def unlearnable(self, state: State, rows: Rows) -> bool:
        """Whether the regression's state keeps its digits."""
        return bool(self.model.unlearnable(state[1], self.indicated(rows)))

    def unlearn(self, state: State, rows: Rows) -> None:
        """Make `state` as if it had never learnt `rows`."""
        state[0] -= self._counts(_codes(rows))
        self.model.unlearn(state[1], self.indicated(rows))

    def predict(self, state: State, rows: Rows) -> Array:
        """A score a row and class; -inf for classes that were never learnt."""
        scores: Array = self.model.predict(state[1], rows).reshape(len(rows), self.classes)
        scores[:, state[0] == 0] = -np.inf
        return scores

    def prepare(self, schema: Schema, rows: Rows) -> Any:
        """What all partitionings of the same rows share."""
        return self.model.prepare(schema, self.indicated(rows))

    def held_out(self, schema: Schema, feed: Feed, prepared: Any = None) -> Array:
        """The scores of each row by the model that has not learnt its fold."""
        scores: Array = self.model.held_out(schema, feed.over(self.indicated(feed.rows)), prepared)
        codes, chunks = _codes(feed.rows), feed.chunks
        counts = self._counts(codes)
        once = np.flatnonzero(counts <= chunks.sizes.max(initial=0))
        failed = np.isnan(scores).all(axis=1)
        for code in once:
            absent = in_folds(feed.chunks, codes == code) == counts[code]
            scores[np.repeat(absent, chunks.sizes), code] = -np.inf
        scores[failed] = np.nan
        return scores

    def held_out_trainings(self, n_rows: int, n_features: int, k: int) -> float:
        """What `held_out` costs, in trainings' worth."""
        return float(self.model.held_out_trainings(n_rows, n_features, k))

    def indicated(self, rows: Rows) -> Rows:
        """The rows as the regression learns them, in the order that they have."""
        targets = np.full((rows.n_stored, self.classes), -1.0)
        targets[np.arange(rows.n_stored), rows.y] = 1.0
        weights = rows.weights
        if self.class_weights:
            factors = np.asarray(self.class_weights)[rows.y]
            weights = factors if weights is None else weights * factors
        return replace(rows, y=targets, weights=weights)

    def _counts(self, codes: NDArray[Any]) -> NDArray[np.int64]:
        return np.bincount(codes, minlength=self.classes)


def _codes(rows: Rows) -> NDArray[Any]:
    codes: NDArray[Any] = rows.y if rows.index is None else rows.y[rows.index]
    return codes
