"""The feed: which rows an update learns, in which order, and how many it were so far."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from treecv.data.chunks import Chunks
from treecv.data.rows import Rows
from treecv.order import Stream
from treecv.records import Counts
from treecv.tree import Step


@dataclass(slots=True)
class Feed:
    """Rows cut into chunks, handed out in one of three orders.

    Parameters
    ----------
    rows, chunks
        The data and its folds; both have the same number of positions.
    order : {"fixed", "randomized", "blocks"}
        Chunk after chunk, each as it is stored; all rows of an update permuted together; chunk after chunk,
        each permuted.
    seed, repetition : int
        With the place of an update they name the permutation.
    """

    rows: Rows
    chunks: Chunks
    order: str = "fixed"
    seed: int = 0
    repetition: int = 0
    counts: Counts = field(default_factory=Counts)

    def lesson(self, step: Step) -> Rows:
        """What a step of the tree learns."""
        learn, parent = step.learn, step.parent
        return self._hand_out(range(learn.first, learn.last + 1), (parent.first, parent.last, step.side))

    def all_but(self, fold: int) -> Rows:
        """What the model of a fold learns when it is trained from scratch: if "fixed", in stored order.

        That is what scikit-learn feeds, whose training indices are sorted.
        """
        others = [chunk for chunk in range(self.chunks.k) if chunk != fold]
        return self._hand_out(others, (fold, fold, 0))

    def fold(self, fold: int) -> Rows:
        """The rows a fold holds out."""
        return self.rows.stretch(*self.chunks.span(fold, fold))

    def _hand_out(self, chunks: Sequence[int], place: tuple[int, int, int]) -> Rows:
        rows = self._ordered(chunks, place)
        self.counts = Counts(self.counts.chunk_updates + len(chunks), self.counts.row_updates + len(rows))
        return rows

    def _ordered(self, chunks: Sequence[int], place: tuple[int, int, int]) -> Rows:
        if self.order == "fixed" and isinstance(chunks, range):
            return self.rows.stretch(*self.chunks.span(chunks[0], chunks[-1]))
        parts = [np.arange(*self.chunks.span(chunk, chunk)) for chunk in chunks]
        stream = Stream(self.seed).at(self.repetition).at(*place)
        if self.order == "blocks":
            parts = [_shuffled(part, stream.at(chunk)) for chunk, part in zip(chunks, parts, strict=True)]
        positions = np.concatenate(parts)
        if self.order == "randomized":
            positions = _shuffled(positions, stream)
        elif self.order == "fixed" and self.rows.index is not None:
            positions = positions[np.argsort(self.rows.index[positions], kind="stable")]
        return self.rows.pick(positions)


def _shuffled(positions: NDArray[np.int64], stream: Stream) -> NDArray[np.int64]:
    return positions[stream.permutation(len(positions))]
