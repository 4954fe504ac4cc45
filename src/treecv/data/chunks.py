"""Chunks: the folds as stretches of positions."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Chunks:
    """k folds over n positions; fold i is offsets[i] .. offsets[i + 1] - 1.

    Positions before the first fold belong to none: every model learns them. Without offsets every position
    is a fold of its own: leave-one-out needs no memory for its folds.
    """

    n_rows: int
    offsets: NDArray[np.int64] | None = None

    @property
    def k(self) -> int:
        """The number of folds."""
        return self.n_rows if self.offsets is None else len(self.offsets) - 1

    @property
    def before(self) -> int:
        """How many positions come before the first fold."""
        return 0 if self.offsets is None else int(self.offsets[0])

    @property
    def sizes(self) -> NDArray[np.int64]:
        """The rows of each fold."""
        return np.ones(self.n_rows, np.int64) if self.offsets is None else np.diff(self.offsets)

    def span(self, first: int, last: int) -> tuple[int, int]:
        """The positions begin .. end - 1 of the chunks first .. last."""
        if self.offsets is None:
            return first, last + 1
        return int(self.offsets[first]), int(self.offsets[last + 1])

    def held_out(self) -> "Chunks":
        """The same folds over the positions that are in one."""
        if not self.before:
            return self
        return Chunks(self.n_rows - self.before, np.asarray(self.offsets) - self.before)
