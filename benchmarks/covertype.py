"""Covertype, ready to learn: features of mean 0 and variance 1, cover type 1 against the rest.

Blackard: Covertype, UCI Machine Learning Repository, 1998, https://doi.org/10.24432/C50K5N, CC BY 4.0.
The full data set has 581,012 rows. Where it is not at hand the bundled sample of 20,000 rows stands in, and
whatever is printed says so.
"""

import argparse
import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import scale

from benchmarks.machine import CHECKOUT
from treecv.data import load_covtype

FILES = ("covtype.npz", "covtype.data.gz", "covtype.data")
"""Our own archive (X and y), or UCI's text."""


@dataclass(frozen=True)
class Data:
    """Features and targets, and what to call them in print."""

    name: str
    X: NDArray[np.float32]
    y: NDArray[np.bool_] | NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.X)

    def permuted(self, seed: int) -> "Data":
        """The rows in random order: cut into equal parts, a random partition."""
        order = np.random.default_rng(seed).permutation(len(self))
        return replace(self, X=self.X[order], y=self.y[order])

    def head(self, rows: int) -> "Data":
        """The first rows only."""
        return replace(self, X=self.X[:rows], y=self.y[:rows])


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options that say which data to read, and how much of it."""
    parser.add_argument(
        "--data",
        type=Path,
        metavar="DIR",
        help=f"where the full Covertype lies, as one of {', '.join(FILES)}; default: the environment variable "
        "TREECV_DATA, then ../shared/data beside the checkout, then the bundled sample",
    )
    parser.add_argument("--rows", type=int, help="a random part of so many rows; default: all")


def load(folder: Path | None = None, rows: int | None = None) -> Data:
    """Covertype, cover type 1 against the rest."""
    name, X, y = read(folder)
    name, X, y = part(name, X, y, rows)
    return Data(name, standardised(X), y == 1)


def read(folder: Path | None = None) -> tuple[str, NDArray[np.int16], NDArray[np.uint8]]:
    """What to call it, the 54 features and the cover types 1 to 7, as stored."""
    path = find(folder)
    if path is None:
        X, y = load_covtype()
        return f"the bundled sample of Covertype ({len(X):,} rows; the full data set was not found)", X, y
    if path.suffix == ".npz":
        stored = np.load(path, allow_pickle=False)
        X, y = stored["X"], stored["y"]
    else:
        table = np.loadtxt(path, dtype=np.int16, delimiter=",")
        X, y = table[:, :-1], table[:, -1].astype(np.uint8)
    return f"Covertype ({len(X):,} rows)", X, y


def find(folder: Path | None) -> Path | None:
    """The file of the full data set; None where nobody said where it is and it is not beside the checkout."""
    asked = folder or os.environ.get("TREECV_DATA")
    home = Path(asked) if asked else CHECKOUT.parent / "shared" / "data"
    for name in FILES:
        if (home / name).is_file():
            return home / name
    if asked:
        raise SystemExit(
            f"{home}: none of {', '.join(FILES)} is there. Name another folder with --data or TREECV_DATA, or give "
            "neither to use the bundled sample."
        )
    return None


def part(name: str, X: NDArray[Any], y: NDArray[Any], rows: int | None) -> tuple[str, NDArray[Any], NDArray[Any]]:
    """So many rows at random, in stored order."""
    if rows is None:
        return name, X, y
    if not 1000 <= rows <= len(X):
        raise SystemExit(f"--rows {rows}: ask for 1000 to {len(X)}; {name} has no more.")
    kept = np.sort(np.random.default_rng(0).permutation(len(X))[:rows])
    return f"{rows:,} rows of {name}", X[kept], y[kept]


def standardised(X: NDArray[np.generic]) -> NDArray[np.float32]:
    """Mean 0 and variance 1, each row contiguous; a constant column becomes zeros."""
    return np.ascontiguousarray(scale(X.astype(np.float64)), dtype=np.float32)
