"""The paper's figure: the time of leave-one-out against n, and the estimates against k, for both learners.

Joulani, György and Szepesvári (2015) drew PEGASOS on Covertype and LSQSGD on YearPredictionMSD. That file is
not ours to give away: name your own copy with --msd (UCI's text: the year, then 90 features; the first 463,715
rows are the training part that the paper used). How the paper scaled it is not known; here features get mean 0
and variance 1 and years are mapped to [0, 1]. Without it Covertype's Elevation stands in, predicted from the
other 53 features: rows of length about 1, targets in [0, 1].
"""

import argparse
import io
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray
from PIL import Image

from benchmarks import covertype, machine, store
from benchmarks.claims.partitions import COLUMNS, Estimates, Problem, checked_repetitions, estimates, records
from benchmarks.clock import Lap, Timing, interleaved
from benchmarks.covertype import Data
from treecv import LSQSGD, Pegasos, cross_validate

ALPHA, MSD_ROWS, MSD_FEATURES, ROUNDS = 1e-6, 463_715, 90, 3
STYLES = {
    "tree fixed": ("#0072b2", "o", "-"),
    "tree randomized": ("#56b4e9", "s", "-"),
    "standard fixed": ("#d55e00", "^", "--"),
    "standard randomized": ("#e69f00", "v", "--"),
}
Times = dict[tuple[str, int], Timing]


def main() -> None:
    """Measure, draw, store."""
    parser = argparse.ArgumentParser(description=__doc__)
    covertype.add_arguments(parser)
    store.add_argument(parser)
    parser.add_argument("--msd", type=Path, metavar="FILE", help="your copy of YearPredictionMSD.txt")
    parser.add_argument("--repetitions", type=int, default=10, help="random partitionings; default: 10")
    arguments = parser.parse_args()
    repetitions = checked_repetitions(arguments.repetitions)
    described = machine.describe()
    problems = (classification(arguments), regression(arguments))
    measured = [(problem, times(problem), _estimates(problem, repetitions)) for problem in problems]
    print(f"\n{repetitions} random partitionings; one thread\n{machine.sentence(described)}")
    print("\n".join(in_columns(*each) for each in measured))
    drawn = store.place(arguments.results, "figure.png")
    save(draw(measured, repetitions), drawn)
    command = f"python -m benchmarks.claims.figure --repetitions {repetitions}"
    content = [{"data": problem.data.name, **_records(took, found)} for problem, took, found in measured]
    print(f"\nDrawn in {store.shown(drawn)}")
    print(store.save(arguments.results, "figure", command, described, {"problems": content}))


def classification(arguments: argparse.Namespace) -> Problem:
    """PEGASOS on Covertype."""
    return Problem(covertype.load(arguments.data, arguments.rows), Pegasos(alpha=ALPHA), "accuracy")


def regression(arguments: argparse.Namespace) -> Problem:
    """LSQSGD on YearPredictionMSD or what stands in for it; its step is one over the root of all rows."""
    data = stand_in(arguments) if arguments.msd is None else msd(arguments.msd, arguments.rows)
    return Problem(data, LSQSGD(step_size=len(data) ** -0.5), "neg_mean_squared_error")


def msd(path: Path, rows: int | None) -> Data:
    """The training part of YearPredictionMSD, from UCI's text."""
    if not path.is_file():
        raise SystemExit(f"--msd {path}: no such file. Unpack UCI's YearPredictionMSD.txt, or leave --msd out.")
    table = np.loadtxt(path, dtype=np.float32, delimiter=",", max_rows=MSD_ROWS, ndmin=2)
    if table.shape != (MSD_ROWS, MSD_FEATURES + 1):
        raise SystemExit(
            f"--msd {path}: {table.shape[0]} rows of {table.shape[1]} numbers, but the training part has {MSD_ROWS} "
            f"of {MSD_FEATURES + 1}, the year first. Use UCI's YearPredictionMSD.txt as it is."
        )
    name, X, y = covertype.part(f"YearPredictionMSD ({MSD_ROWS:,} rows)", table[:, 1:], table[:, 0], rows)
    return Data(name, covertype.standardised(X), _to_unit(y))


def stand_in(arguments: argparse.Namespace) -> Data:
    """Covertype again: Elevation, its first feature, from the others."""
    name, X, _ = covertype.read(arguments.data)
    name, X, elevation = covertype.part(name, X[:, 1:], X[:, 0], arguments.rows)
    length = np.float32(X.shape[1] ** -0.5)
    return Data(f"Elevation in {name}, a stand-in", covertype.standardised(X) * length, _to_unit(elevation))


def _to_unit(y: NDArray[Any]) -> NDArray[np.float64]:
    y = y.astype(np.float64)
    return (y - y.min()) / (y.max() - y.min())


def times(problem: Problem) -> Times:
    """Leave-one-out of the first n rows in random order, by the tree: the walk alone."""
    mixed = problem.data.permuted(0)
    sizes = [2**power for power in range(10, 21) if 2**power < len(mixed)] + [len(mixed)]
    cases = {(order, n): (replace(problem, data=mixed.head(n)), order) for n in sizes for order in _ORDERS}
    return interleaved({key: partial(_leave_one_out, *case) for key, case in cases.items()}, ROUNDS)


_ORDERS = ("fixed", "randomized")


def _leave_one_out(problem: Problem, order: str) -> Lap:
    data = problem.data
    options = {"scoring": problem.scoring, "order": order, "seed": 0}
    result = cross_validate(problem.estimator, data.X, data.y, cv="loo", **options)
    return Lap(result.record.seconds)


def _estimates(problem: Problem, repetitions: int) -> Estimates:
    return estimates(problem, (5, 10, 100, len(problem.data)), repetitions)


def in_columns(problem: Problem, took: Times, found: Estimates) -> str:
    """What is drawn, in numbers."""
    text = [f"\n{_title(problem)}", f"{'n':>9}{'fixed s':>12}{'randomized s':>14}"]
    sizes = sorted({n for _, n in took})
    text += [f"{n:>9,}{took['fixed', n].best:>12.4f}{took['randomized', n].best:>14.4f}" for n in sizes]
    text.append(f"{'k':>9}  {'loss x 100':<20}{'mean':>12}{'sd':>12}")
    text += [
        f"{k:>9,}  {name:<20}{values.mean():>12.5f}{values.std(ddof=1):>12.5f}" for (k, name), values in found.items()
    ]
    return "\n".join(text)


def _title(problem: Problem) -> str:
    return f"{type(problem.estimator).__name__}: {problem.data.name}"


def draw(measured: list[tuple[Problem, Times, Estimates]], repetitions: int) -> Figure:
    """A row of three pictures for each learner."""
    figure = Figure(figsize=(11, 6.6), layout="constrained")  # no display is needed
    parts = figure.subfigures(len(measured), 1)
    for part, (problem, took, found) in zip(parts, measured, strict=True):
        part.suptitle(_title(problem), fontsize=10, fontweight="bold")
        against_n, against_k, spread = part.subplots(1, 3)
        _draw_times(against_n, took)
        _draw_estimates(against_k, found, repetitions)
        _draw_spread(spread, found)
    return figure


def save(figure: Figure, path: Path) -> None:
    """As a small PNG: flat colours need no more than a palette."""
    drawn = io.BytesIO()
    figure.savefig(drawn, dpi=150)
    Image.open(drawn).convert("RGB").quantize(96).save(path, optimize=True)


def _draw_times(axes: Axes, took: Times) -> None:
    for order in _ORDERS:
        sizes = sorted(n for each, n in took if each == order)
        color, marker, line = STYLES[f"tree {order}"]
        seconds = [took[order, n].best for n in sizes]
        axes.plot(sizes, seconds, marker + line, color=color, ms=4, label=f"tree {order}")
    _finish(axes, "time of leave-one-out", "rows n", "seconds", yscale="log")


def _draw_estimates(axes: Axes, found: Estimates, repetitions: int) -> None:
    for place, column in enumerate(COLUMNS):
        ks = [k for k, name in found if name == column.name]
        values = [found[k, column.name] for k in ks]
        color, marker, _ = STYLES[column.name]
        beside = np.array(ks) * 1.12 ** (place - 1.5)  # bars that overlap hide each other
        bars = [each.std(ddof=1) for each in values]
        means = [each.mean() for each in values]
        axes.errorbar(beside, means, bars, fmt=marker, color=color, ms=4, capsize=3, label=column.name)
    _finish(axes, f"estimate ± sd, {repetitions} partitionings", "folds k", "loss x 100")


def _draw_spread(axes: Axes, found: Estimates) -> None:
    for column in COLUMNS:
        ks = [k for k, name in found if name == column.name]
        color, marker, line = STYLES[column.name]
        spread = [found[k, column.name].std(ddof=1) for k in ks]
        axes.plot(ks, spread, marker + line, color=color, ms=4, label=column.name)
    _finish(axes, "sd of the estimate", "folds k", "sd of loss x 100", yscale="log")


def _finish(axes: Axes, title: str, x: str, y: str, **scales: str) -> None:
    axes.set(xscale="log", xlabel=x, ylabel=y, **scales)
    axes.set_title(title, fontsize=9)
    axes.grid(visible=True, which="major", alpha=0.3)
    axes.legend(fontsize=7)


def _records(took: Times, found: Estimates) -> dict[str, Any]:
    seconds = [{"n": n, "order": order, "seconds": timing.best} for (order, n), timing in took.items()]
    return {"times": seconds, "estimates": records(found)}


if __name__ == "__main__":
    main()
