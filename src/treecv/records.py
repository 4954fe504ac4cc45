"""Frozen numbers: what strategies return and reports are made of."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Counts:
    """Work done: chunks and rows learnt, counted once for every update that learnt them."""

    chunk_updates: int = 0
    row_updates: int = 0


@dataclass(frozen=True, slots=True)
class Record:
    """How the scores of a cross-validation came about."""

    strategy: str
    order: str
    seed: int
    k: int
    n_rows: int
    exact: bool
    counts: Counts
    seconds: float

    @property
    def trainings(self) -> float:
        """The work, in passes over all rows."""
        return self.counts.row_updates / self.n_rows
