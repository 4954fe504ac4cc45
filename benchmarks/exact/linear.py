"""Ridge over Covertype: leave-one-out, 100 folds and ten partitionings, beside RidgeCV; and kernel ridge.

Elevation, the first feature, from the other 53. One process, one thread; nothing is stored.
"""

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.kernel_ridge import KernelRidge as ScikitKernelRidge
from sklearn.linear_model import Ridge as ScikitRidge
from sklearn.linear_model import RidgeCV

from benchmarks import covertype
from benchmarks.clock import Lap, Timing, interleaved, timed
from benchmarks.guards import Limit, Line, in_columns, verdicts
from treecv.adapters.exact import exact_learner
from treecv.data import Chunks, Feed, Rows
from treecv.learner import Schema

ALPHAS = np.logspace(-3, 6, 20)
FIT, ONE, TWENTY = "Ridge.fit", "RidgeCV, 1 alpha", "RidgeCV, 20 alphas"
SINGLE, PATH, STORED, RANDOM = "leave-one-out", "leave-one-out, 20 alphas", "100 folds, stored", "100 folds, random"
TEN, WIDE_ONE, WIDE_TEN = "100 folds, 10 partitionings", "10 folds", "10 folds, 10 partitionings"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    covertype.add_arguments(parser)
    parser.add_argument("--rounds", type=int, default=5, help="how often each case is run; default: 5")
    arguments = parser.parse_args()
    name, X, y = covertype.part(*covertype.read(arguments.data), arguments.rows)
    X, y = np.ascontiguousarray(X[:, 1:], np.float64), X[:, 0].astype(np.float64)
    lines, limits = linear(X, y, arguments.rounds)
    more, others = kernels(X, y, arguments.rounds)
    print(
        f"{name} x {X.shape[1]} features\n\n{in_columns(lines + more)}\n\nMust be reached\n{verdicts(limits + others)}"
    )
    print(f"\nlargest difference to Ridge.fit without the row, of {CHECKED} rows, relative to the largest target")
    for alpha, worst in differences(X, y).items():
        print(f"alpha {alpha:8.3g}: {worst:.1e}")


def linear(X: NDArray[np.float64], y: NDArray[np.float64], rounds: int) -> tuple[list[Line], list[Limit]]:
    """Ridge regression."""
    n, shortcut = len(X), _shortcut(ScikitRidge(), X)
    folds, rows = np.linspace(0, n, 101).astype(np.int64), Rows(X, y)
    orders = [np.random.default_rng(seed).permutation(n) for seed in range(10)]

    def partitioned(index: NDArray[np.int64] | None, prepared: Any = None) -> Any:
        return shortcut.held_out(shortcut.schema, Feed(Rows(X, y, None, index), Chunks(n, folds)), prepared)

    def several() -> None:
        prepared = shortcut.prepare(shortcut.schema, rows)
        for index in orders:
            partitioned(index, prepared)

    loo = Feed(rows, Chunks(n))
    measured = _interleaved(
        {
            FIT: lambda: ScikitRidge().fit(X, y),
            ONE: lambda: RidgeCV([1.0]).fit(X, y),
            SINGLE: lambda: shortcut.held_out(shortcut.schema, loo),
            PATH: lambda: shortcut.held_out_path(shortcut.schema, loo, ALPHAS),
            STORED: lambda: partitioned(None),
            RANDOM: lambda: partitioned(orders[0]),
        },
        rounds,
    )
    measured |= _interleaved({TWENTY: lambda: RidgeCV(ALPHAS).fit(X, y), TEN: several}, max(1, rounds // 2))
    limits = [
        _at_least("leave-one-out, 1 alpha", 2, measured[ONE], measured[SINGLE]),
        _at_least("leave-one-out, 20 alphas", 10, measured[TWENTY], measured[PATH]),
        _at_most("100 folds, stored, in leave-one-outs", 2, measured[STORED], measured[SINGLE]),
        _at_most("100 folds, random, in leave-one-outs", 2, measured[RANDOM], measured[SINGLE]),
        _at_most("10 partitionings, in one", 3, measured[TEN], measured[RANDOM]),
    ]
    return [_line("ridge", name, timing) for name, timing in measured.items()], limits


def kernels(X: NDArray[np.float64], y: NDArray[np.float64], rounds: int) -> tuple[list[Line], list[Limit]]:
    """Kernel ridge regression of some of the rows."""
    n = min(3000, len(X))
    X, y = (X - X.mean(axis=0))[:: len(X) // n][:n] / 1000, y[:: len(X) // n][:n]
    estimator = ScikitKernelRidge(kernel="rbf", alpha=0.1)
    shortcut, folds = _shortcut(estimator, X), np.linspace(0, n, 11).astype(np.int64)

    def several(count: int) -> None:
        prepared = shortcut.prepare(shortcut.schema, Rows(X, y))
        for seed in range(count):
            index = np.random.default_rng(seed).permutation(n)
            shortcut.held_out(shortcut.schema, Feed(Rows(X, y, None, index), Chunks(n, folds)), prepared)

    cases = {"KernelRidge.fit": lambda: estimator.fit(X, y), WIDE_ONE: lambda: several(1)}
    measured = _interleaved(cases | {WIDE_TEN: lambda: several(10)}, rounds)
    limits = [_at_most("kernel ridge, 10 partitionings, in one", 3, measured[WIDE_TEN], measured[WIDE_ONE])]
    return [_line(f"kernel ridge of {n:,} rows", name, timing) for name, timing in measured.items()], limits


CHECKED = 6


def differences(X: NDArray[np.float64], y: NDArray[np.float64]) -> dict[float, float]:
    """How far leave-one-out is from training without the row, by penalty; rows of large leverage are among them."""
    centred = X - X.mean(axis=0)
    leverages = np.einsum("ij,ij->i", centred @ np.linalg.inv(centred.T @ centred + np.eye(X.shape[1])), centred)
    rows = np.concatenate([np.argsort(-leverages)[: CHECKED // 2], np.arange(CHECKED // 2) * (len(X) // CHECKED)])
    found: dict[float, float] = {}
    for alpha in (1e-3, 1.0, 1e3):
        shortcut = _shortcut(ScikitRidge(alpha), X)
        predicted = shortcut.held_out(shortcut.schema, Feed(Rows(X, y), Chunks(len(X))))
        worst = 0.0
        for row in rows.tolist():
            model = ScikitRidge(alpha).fit(np.delete(X, row, axis=0), np.delete(y, row))
            worst = max(worst, abs(float(model.predict(X[row : row + 1])[0] - predicted[row])))
        found[alpha] = worst / float(np.abs(y).max())
    return found


def _shortcut(estimator: Any, X: NDArray[np.float64]) -> Any:
    found = exact_learner(estimator, Schema(len(X), X.shape[1], "float64"))
    assert not isinstance(found, str), found  # noqa: S101
    return found


def _interleaved(cases: dict[str, Callable[[], object]], rounds: int) -> dict[str, Timing]:
    laps: dict[str, Callable[[], Lap]] = {name: lambda case=case: timed(case) for name, case in cases.items()}  # type: ignore[misc]
    return interleaved(laps, rounds)


def _line(section: str, name: str, timing: Timing) -> Line:
    return Line(section, name, timing.best, timing.median)


def _at_most(name: str, limit: float, timing: Timing, yardstick: Timing) -> Limit:
    return Limit(name, limit, timing.over(yardstick), "times", other=_by_round(timing, yardstick))


def _at_least(name: str, limit: float, slow: Timing, fast: Timing) -> Limit:
    return Limit(name, limit, slow.over(fast), "times faster", at_least=True, other=_by_round(slow, fast))


def _by_round(one: Timing, other: Timing) -> float | None:
    return one.over_by_round(other) if len(one.laps) == len(other.laps) else None


if __name__ == "__main__":
    main()
