"""Estimates over random partitionings, as Joulani, György and Szepesvári (2015) repeat them.

A random partitioning is made by permuting the rows once and cutting them into k equal stretches. That is not
`KFold(k, shuffle=True)` of scikit-learn, which sorts the rows inside each fold: rows of Covertype that are
stored side by side look alike, and one pass over sorted folds learns something else. For k = n both are one.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import KFold

from benchmarks.covertype import Data
from treecv import cross_val_score


@dataclass(frozen=True)
class Column:
    """A way to the estimate; `most` is the largest k it is asked for."""

    strategy: str
    order: str
    most: float = np.inf

    @property
    def name(self) -> str:
        """As the paper's tables are headed."""
        return f"{self.strategy} {self.order}"


COLUMNS = (
    Column("tree", "fixed"),
    Column("tree", "randomized"),
    Column("standard", "fixed", most=100),
    Column("standard", "randomized", most=100),
)


@dataclass(frozen=True)
class Problem:
    """What is estimated: `scoring` is a mean of losses, negated or subtracted from 1."""

    data: Data
    estimator: Any
    scoring: str

    def loss(self, data: Data, k: int, column: Column, seed: int) -> float:
        """The estimated loss x 100 over one partitioning."""
        scores = cross_val_score(
            self.estimator,
            data.X,
            data.y,
            cv="loo" if k == len(data) else KFold(k),
            scoring=self.scoring,
            strategy=column.strategy,
            order=column.order,
            seed=seed,
        )
        best = 1.0 if self.scoring == "accuracy" else 0.0
        return 100 * (best - float(scores.mean()))


Estimates = dict[tuple[int, str], NDArray[np.float64]]
"""For each number of folds and each column's name, one estimate a repetition."""


def estimates(problem: Problem, ks: tuple[int, ...], repetitions: int) -> Estimates:
    """All cells over the same partitionings."""
    found: dict[tuple[int, str], list[float]] = {}
    for seed in range(repetitions):
        data = problem.data.permuted(seed)
        for k, column in cells(ks):
            found.setdefault((k, column.name), []).append(problem.loss(data, k, column, seed))
        print(f"\rpartitioning {seed + 1} of {repetitions}", end="\n" if seed + 1 == repetitions else "", flush=True)
    return {cell: np.array(values) for cell, values in found.items()}


def cells(ks: tuple[int, ...]) -> Iterator[tuple[int, Column]]:
    """The cells that are asked for."""
    for k in ks:
        yield from ((k, column) for column in COLUMNS if k <= column.most)


def checked_repetitions(repetitions: int) -> int:
    """As it is, if a standard deviation can be had from so many."""
    if repetitions < 2:
        raise SystemExit(f"--repetitions {repetitions}: at least 2 are needed for a standard deviation.")
    return repetitions


def records(found: Estimates) -> list[dict[str, Any]]:
    """For JSON: every single estimate is kept."""
    return [
        {
            "k": k,
            "column": name,
            "mean": float(values.mean()),
            "sd": float(values.std(ddof=1)),
            "estimates": [round(float(value), 6) for value in values],
        }
        for (k, name), values in found.items()
    ]
