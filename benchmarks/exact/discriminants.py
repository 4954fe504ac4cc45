"""Discriminant analyses of Covertype, seven cover types: every fold beside one `fit` and `predict` of scikit-learn.

One thread. `--data` names the folder of the full data set; nothing is stored.
"""

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis

from benchmarks import covertype, guards
from benchmarks.clock import Lap, interleaved, timed
from benchmarks.guards import Limit
from treecv.adapters.exact.discriminants import Discriminant, recognised
from treecv.data import Chunks, Feed, Rows, encode
from treecv.learner import Schema

MODELS = {
    "linear": LinearDiscriminantAnalysis(),
    "quadratic": QuadraticDiscriminantAnalysis(reg_param=0.01),  # some features are constant within classes
}
FOLDS = {"leave-one-out": 0, "10 folds": 10}
TIMES = 3
"""What every fold may cost, in times of one fit and prediction of all rows."""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    covertype.add_arguments(parser)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    name, X, cover = covertype.part(*covertype.read(arguments.data), arguments.rows)
    X = np.ascontiguousarray(X, np.float64)
    limits = [limit for model in MODELS for limit in measured(model, X, cover, arguments.rounds)]
    print(f"{name}\n" + guards.verdicts(limits))


def measured(name: str, X: NDArray[np.float64], y: NDArray[Any], rounds: int) -> list[Limit]:
    """Each kind of folds beside one fit and prediction."""
    model = MODELS[name]
    cases: dict[str, Callable[[], Lap]] = {"once": lambda: timed(lambda: model.fit(X, y).predict(X))}
    timings = interleaved(cases | {kind: held_out(model, X, y, k) for kind, k in FOLDS.items()}, rounds)
    once = timings["once"]
    return [
        Limit(
            f"{name}, {kind}",
            TIMES,
            timings[kind].over(once),
            "fits and predictions",
            other=timings[kind].over_by_round(once),
        )
        for kind in FOLDS
    ]


def held_out(model: Any, X: NDArray[np.float64], y: NDArray[Any], k: int) -> Callable[[], Lap]:
    """All folds by the shortcut."""
    classes, codes = encode(y)
    n = len(X)
    schema = Schema(n, X.shape[1], "float64", classes)
    shortcut: Any = recognised(model, [("", model)], schema)
    assert isinstance(shortcut, Discriminant)  # noqa: S101 - it is
    mixed = np.random.default_rng(guards.SEED).permutation(n) if k else None
    feed = Feed(Rows(X, codes, None, mixed), Chunks(n, np.linspace(0, n, k + 1).astype(np.int64) if k else None))
    return lambda: timed(lambda: shortcut.held_out(schema, feed))


if __name__ == "__main__":
    main()
