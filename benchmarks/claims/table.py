"""The paper's table for PEGASOS on Covertype, beside what comes out here.

Joulani, György and Szepesvári (2015): misclassification x 100, mean ± standard deviation over 100 random
partitionings, cover type 1 against the rest, alpha = 1e-6. Features have mean 0 and variance 1, and the
intercept is on. A cell agrees where the means differ by at most three combined standard errors.
"""

import argparse
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks import covertype, machine, store
from benchmarks.claims.partitions import COLUMNS, Estimates, Problem, checked_repetitions, estimates, records
from benchmarks.machine import sentence
from treecv import Pegasos

ALPHA, ALL_ROWS, PAPER_REPETITIONS = 1e-6, 581_012, 100
PAPER = {
    5: ((30.682, 1.2127), (30.839, 0.9899), (30.825, 1.9248), (30.768, 1.1243)),
    10: ((30.665, 0.8299), (30.554, 0.7125), (30.767, 1.7754), (30.541, 0.7993)),
    100: ((30.677, 0.3040), (30.634, 0.2104), (30.636, 2.0019), (30.624, 0.2337)),
    ALL_ROWS: ((30.640, 0.0564), (30.637, 0.0592)),
}
"""Mean and standard deviation for each k, in the order of COLUMNS."""


@dataclass(frozen=True)
class Cell:
    """One cell of the table, theirs and ours."""

    k: int
    column: str
    paper: float
    paper_sd: float
    mean: float
    sd: float
    difference: float  # in combined standard errors
    agrees: bool


def main() -> None:
    """Estimate, compare, print, store."""
    parser = argparse.ArgumentParser(description=__doc__)
    covertype.add_arguments(parser)
    store.add_argument(parser)
    parser.add_argument("--repetitions", type=int, default=20, help="random partitionings; default: 20")
    arguments = parser.parse_args()
    repetitions = checked_repetitions(arguments.repetitions)
    described = machine.describe()
    data = covertype.load(arguments.data, arguments.rows)
    problem = Problem(data, Pegasos(alpha=ALPHA), "accuracy")
    found = estimates(problem, (5, 10, 100, len(data)), repetitions)
    compared = [compare(k, name, values) for (k, name), values in found.items()]
    print(f"\n{data.name}, Pegasos(alpha={ALPHA:g}), misclassification x 100 over {repetitions} partitionings")
    print(sentence(described) + "\n\n" + in_columns(compared))
    if len(data) != ALL_ROWS:
        print(f"\nThe paper's figures are for all {ALL_ROWS:,} rows: with {len(data):,} they are no measure.")
    command = f"python -m benchmarks.claims.table --repetitions {repetitions}"
    print(store.save(arguments.results, "table", command, described, _content(data, found)))


def _content(data: covertype.Data, found: Estimates) -> dict[str, object]:
    compared = {(k, name): compare(k, name, values) for (k, name), values in found.items()}
    cells = [record | asdict(compared[record["k"], record["column"]]) for record in records(found)]
    return {"data": data.name, "cells": cells}


def compare(k: int, column: str, ours: NDArray[np.float64]) -> Cell:
    """Our estimates beside the paper's cell; the last row of its table is leave-one-out, whatever n is."""
    theirs = PAPER.get(k, PAPER[ALL_ROWS])
    paper, paper_sd = theirs[[each.name for each in COLUMNS].index(column)]
    mean, sd = float(ours.mean()), float(ours.std(ddof=1))
    combined = np.hypot(paper_sd / np.sqrt(PAPER_REPETITIONS), sd / np.sqrt(len(ours)))
    difference = float((mean - paper) / combined)
    return Cell(k, column, paper, paper_sd, mean, sd, difference, abs(difference) <= 3)


def in_columns(cells: list[Cell]) -> str:
    """One line a cell."""
    text = [f"{'k':>8}  {'':<20}{'paper':>18}{'here':>18}{'difference':>12}"]
    for cell in cells:
        theirs, ours = f"{cell.paper:.3f} ± {cell.paper_sd:.4f}", f"{cell.mean:.3f} ± {cell.sd:.4f}"
        verdict = "agrees" if cell.agrees else "DIFFERS"
        text.append(f"{cell.k:>8,}  {cell.column:<20}{theirs:>18}{ours:>18}{cell.difference:>+9.2f} se  {verdict}")
    agreeing = sum(cell.agrees for cell in cells)
    return "\n".join(text) + f"\n{agreeing} of {len(cells)} cells lie within three combined standard errors."


if __name__ == "__main__":
    main()
