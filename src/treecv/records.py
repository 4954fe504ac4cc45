"""Frozen numbers: what strategies return and reports are made of."""

from dataclasses import dataclass
from math import nan

ELSEWHERE = "scikit-learn"
"""The strategy of scores that scikit-learn's own function computed."""


@dataclass(frozen=True, slots=True)
class Counts:
    """Work done: chunks and rows learnt, counted once for every update that learnt them."""

    chunk_updates: int = 0
    row_updates: int = 0

    def __add__(self, other: "Counts") -> "Counts":
        return Counts(self.chunk_updates + other.chunk_updates, self.row_updates + other.row_updates)


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
    remark: str = ""

    @property
    def trainings(self) -> float:
        """The work, in passes over all rows; not a number where somebody else did it."""
        return self.counts.row_updates / self.n_rows if self.counts.row_updates or self.strategy != ELSEWHERE else nan


@dataclass(frozen=True, slots=True)
class Check:
    """Some folds trained again, from scratch: how far what was found is from what they give.

    Attributes
    ----------
    folds : tuple of int
        The folds that were trained again.
    differences : dict of str to float
        For each score, the mean absolute difference over these folds.
    agreement : float or None
        The share of their rows for which both models predict the same; None where no predictions were kept.
    """

    folds: tuple[int, ...]
    differences: dict[str, float]
    agreement: float | None
