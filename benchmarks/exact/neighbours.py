"""Nearest neighbours of handwritten digits: every fold beside one search of scikit-learn over all rows.

One thread. `--data` names the folder that holds mnist.npz; nothing is stored.
"""

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors

from benchmarks import guards, machine
from benchmarks.clock import Lap, interleaved, timed
from benchmarks.guards import Limit
from treecv.adapters.exact.neighbours import NearestNeighbours, recognised
from treecv.data import Chunks, Feed, Rows
from treecv.learner import Schema

FOLDS = {"leave-one-out": 0, "10 folds": 10}
SEARCHES = 1.2
"""What every fold may cost, in searches over all rows."""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=machine.CHECKOUT.parent / "shared" / "data")
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    stored = np.load(arguments.data / "mnist.npz", allow_pickle=False)
    y = stored["y"][: arguments.rows].astype(np.int64)
    X = stored["X"][: arguments.rows].reshape(len(y), -1).astype(np.float64)
    limits = [limit for n_neighbors in (1, 5) for limit in measured(X, y, n_neighbors, arguments.rounds)]
    print(f"{len(X):,} digits\n" + guards.verdicts(limits))


def measured(X: NDArray[np.float64], y: NDArray[np.int64], n_neighbors: int, rounds: int) -> list[Limit]:
    """Each kind of folds beside one search."""
    search = NearestNeighbors(n_neighbors=n_neighbors)
    cases: dict[str, Callable[[], Lap]] = {"search": lambda: timed(lambda: search.fit(X).kneighbors())}
    cases |= {name: held_out(X, y, n_neighbors, k) for name, k in FOLDS.items()}
    timings = interleaved(cases, rounds)
    once = timings["search"]
    return [
        Limit(
            f"{n_neighbors} nearest, {name}",
            SEARCHES,
            timings[name].over(once),
            "searches",
            other=timings[name].over_by_round(once),
        )
        for name in FOLDS
    ]


def held_out(X: NDArray[np.float64], y: NDArray[np.int64], n_neighbors: int, k: int) -> Callable[[], Lap]:
    """All folds by the shortcut."""
    n, estimator = len(X), KNeighborsClassifier(n_neighbors)
    schema = Schema(n, X.shape[1], "float64", np.arange(10))
    shortcut: Any = recognised(estimator, [("", estimator)], schema)
    assert isinstance(shortcut, NearestNeighbours)  # noqa: S101 - it is
    feed = Feed(Rows(X, y), Chunks(n, np.linspace(0, n, k + 1).astype(np.int64) if k else None))
    return lambda: timed(lambda: shortcut.held_out(schema, feed))


if __name__ == "__main__":
    main()
