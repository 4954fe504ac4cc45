"""What cross-validation costs here, in one table: times, errors, memory, growth, and the limits they must keep.

Everything is measured in one process on one thread, except for memory. The yardstick is g, one product
`X @ w` in float32: it does not depend on this library, but on BLAS, whose routine differs between row-wise and
column-wise X; the smaller of the two is g. All times are taken twice, as the stored order of the rows matters:
neighbours look alike there, so a processor presumably foresees what the learner will do.
"""

import argparse
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from sklearn.linear_model import SGDClassifier
from sklearn.model_selection import KFold

from benchmarks import covertype, machine, memory, store
from benchmarks.clock import Lap, Timing, interleaved, timed
from benchmarks.covertype import Data
from treecv import Pegasos, cross_val_score, cross_validate
from treecv.data import Rows
from treecv.learner import Schema
from treecv.tree import chunk_updates

ALPHA, SEED, MEGABYTE = 1e-6, 0, 1e6
KS = (5, 10, 100)
C_ORDERED, F_ORDERED = "X @ w, X row by row", "X @ w, X column by column"
SGD, SGD_UNSHUFFLED = "SGDClassifier.partial_fit", "SGDClassifier.partial_fit, shuffle=False"
CORE, FRONT = "leave-one-out, the core alone", "leave-one-out"
RANDOMIZED = "leave-one-out, randomized"
STRATIFIED = "int cv (stratified)"
SPLITTERS: dict[str, Callable[[int], Any]] = {
    "KFold": KFold,
    STRATIFIED: int,
    "KFold, shuffle": lambda k: KFold(k, shuffle=True, random_state=SEED),
}


@dataclass(frozen=True)
class Line:
    """One line of the table."""

    section: str
    name: str
    seconds: float | None = None
    median: float | None = None
    g: float | None = None
    error: float | None = None
    note: str = ""


@dataclass(frozen=True)
class Limit:
    """What must be reached; `other` is the same ratio by the median within each round."""

    name: str
    limit: float
    measured: float
    unit: str
    at_least: bool = False
    other: float | None = None

    @property
    def met(self) -> bool:
        """Judged by the ratio of the best times."""
        return self.measured >= self.limit if self.at_least else self.measured <= self.limit


@dataclass
class Table:
    """What was measured so far."""

    lines: list[Line] = field(default_factory=list)
    limits: list[Limit] = field(default_factory=list)

    def add(self, section: str, name: str, timing: Timing, g: float, note: str = "") -> None:
        """A line about a case that was timed."""
        self.lines.append(Line(section, name, timing.best, timing.median, timing.best / g, timing.error, note))


def main() -> None:
    """Measure, print, store."""
    parser = argparse.ArgumentParser(description=__doc__)
    covertype.add_arguments(parser)
    store.add_argument(parser)
    parser.add_argument("--rounds", type=int, default=7, help="how often each case is run; default: 7")
    arguments = parser.parse_args()
    if arguments.rounds < 1:
        parser.error(f"--rounds {arguments.rounds}: at least 1 is needed.")
    described = machine.describe()
    stored = covertype.load(arguments.data, arguments.rows)
    mixed = stored.permuted(SEED)
    table = Table()
    for section, data in (("rows in stored order", stored), ("rows permuted", mixed)):
        times(table, section, data, arguments.rounds)
    growth_with_n(table, mixed, arguments.rounds)
    growth_with_k(table, mixed, arguments.rounds)
    peaks(table, *stored.X.shape)
    print(f"{stored.name} x {stored.X.shape[1]} features, float32; Pegasos(alpha={ALPHA:g}); one thread.")
    print(machine.sentence(described) + "\n")
    print(in_columns(table.lines) + "\n\nMust be reached\n" + verdicts(table.limits) + "\n")
    results = [asdict(limit) | {"met": limit.met} for limit in table.limits]
    content = {"data": stored.name, "rounds": arguments.rounds, "lines": list(map(asdict, table.lines))}
    print(store.save(arguments.results, "guards", "make bench", described, content | {"limits": results}))


def times(table: Table, section: str, data: Data, rounds: int) -> None:
    """One order of the rows: the yardsticks, leave-one-out, and the tree beside the standard method."""
    measured = interleaved(passes(data) | leave_one_out(data), rounds)
    strict = min((measured[C_ORDERED], measured[F_ORDERED]), key=lambda timing: timing.best)
    for name, timing in measured.items():
        table.add(section, name, timing, strict.best)
    against_standard(table, section, data, strict.best, max(2, rounds // 2))
    front, core = measured[FRONT], measured[CORE]
    table.limits += [
        _at_most(f"{section}: leave-one-out, the core alone", 45, "g", core, strict),
        _at_most(f"{section}: leave-one-out", 60, "g", front, strict),
        _at_most(f"{section}: leave-one-out", 1, "SGD passes", front, measured[SGD]),
        _at_most(f"{section}: leave-one-out randomized", 2, "x fixed", measured[RANDOMIZED], front),
    ]


def passes(data: Data) -> dict[str, Callable[[], Lap]]:
    """One look at every row: the yardsticks, and trainings."""
    X, y = data.X, data.y
    columns, w = np.asfortranarray(X), np.random.default_rng(SEED).standard_normal(X.shape[1], dtype=np.float32)
    schema = Schema(len(X), X.shape[1], X.dtype.name, np.array([False, True]))
    learner = Pegasos(ALPHA).__treecv_learner__(schema)
    rows = Rows(X, y.astype(np.int32))

    def sgd(**settings: Any) -> Callable[[], Lap]:
        return lambda: timed(lambda: SGDClassifier(alpha=ALPHA, **settings).partial_fit(X, y, classes=[False, True]))

    return {
        C_ORDERED: lambda: timed(lambda: X @ w, repetitions=5),
        F_ORDERED: lambda: timed(lambda: columns @ w, repetitions=5),
        "one pass, the core alone": lambda: timed(lambda: learner.update(learner.init(schema), rows)),
        "Pegasos.fit": lambda: timed(lambda: Pegasos(ALPHA).fit(X, y)),
        SGD: sgd(random_state=SEED),
        SGD_UNSHUFFLED: sgd(shuffle=False),
    }


def leave_one_out(data: Data) -> dict[str, Callable[[], Lap]]:
    """One fold a row, in every order."""
    shuffled = KFold(len(data), shuffle=True, random_state=SEED)
    return {
        CORE: lambda: core(data, "loo"),
        FRONT: lambda: front(data, "loo"),
        RANDOMIZED: lambda: front(data, "loo", order="randomized", seed=SEED),
        "leave-one-out, blocks": lambda: front(data, "loo", order="blocks", seed=SEED),
        "KFold(n, shuffle)": lambda: front(data, shuffled),
    }


def front(data: Data, cv: Any, **options: Any) -> Lap:
    """Through the front door: everything a user waits for."""
    scores: list[Any] = []
    lap = timed(lambda: scores.append(cross_val_score(Pegasos(ALPHA), data.X, data.y, cv=cv, **options)))
    return Lap(lap.seconds, 100 * (1 - float(scores[0].mean())))


def core(data: Data, cv: Any, **options: Any) -> Lap:
    """The walk only, as the result's record has it."""
    result = cross_validate(Pegasos(ALPHA), data.X, data.y, cv=cv, **options)
    return Lap(result.record.seconds, 100 * (1 - float(result["test_score"].mean())))


def against_standard(table: Table, section: str, data: Data, g: float, rounds: int) -> None:
    """The tree and k trainings, for three ways to cut folds."""

    def case(cv: Any, **options: Any) -> Callable[[], Lap]:
        return lambda: front(data, cv, **options)

    folds = {f"{name}, k={k}": cut(k) for name, cut in SPLITTERS.items() for k in KS}
    cases = {(name, way): case(cv, strategy=way) for name, cv in folds.items() for way in ("tree", "standard")}
    # Stratified folds end with rows of one class: what becomes of the error where their rows are mixed?
    blocks = {f"{STRATIFIED}, k={k}": case(k, order="blocks", seed=SEED) for k in KS}
    cases |= {(name, "blocks"): mixed for name, mixed in blocks.items()}
    measured = interleaved(cases, rounds)
    for name in folds:
        tree, standard = measured[name, "tree"], measured[name, "standard"]
        table.add(section, f"{name}, tree", tree, g, f"{standard.over(tree):.1f} times faster")
        table.add(section, f"{name}, standard", standard, g)
        if name in blocks:
            table.add(section, f"{name}, tree, blocks", measured[name, "blocks"], g)
    tree, standard = measured["KFold, k=100", "tree"], measured["KFold, k=100", "standard"]
    factor, other = standard.over(tree), standard.over_by_round(tree)
    table.limits.append(Limit(f"{section}: 100 folds, tree", 11, factor, "times faster", at_least=True, other=other))


def growth_with_n(table: Table, data: Data, rounds: int) -> None:
    """Leave-one-out costs n log2(2n) row updates: the last column should hardly change."""
    sizes = [2**power for power in range(14, 21) if 2**power < len(data)] + [len(data)]
    measured = interleaved({n: _walk(data.head(n), "loo") for n in sizes}, rounds)
    for n, timing in measured.items():
        each = timing.best / chunk_updates(n) * 1e9
        note = f"{timing.best / n / np.log2(2 * n) * 1e9:.1f} ns a row and log2(2n); {each:.1f} an update"
        table.lines.append(Line("growth with n", f"n={n:,}", timing.best, timing.median, None, timing.error, note))


def growth_with_k(table: Table, data: Data, rounds: int) -> None:
    """K folds cost log2(2k) passes."""
    ks = [k for k in (2, 5, 10, 100, 1000, 10_000, 100_000) if k < len(data)] + [len(data)]
    measured = interleaved({k: _walk(data, KFold(k)) for k in ks}, rounds)
    for k, timing in measured.items():
        passes_made = chunk_updates(k) / k
        note = f"{passes_made:.1f} passes, {timing.best / passes_made * 1e3:.2f} ms each"
        table.lines.append(Line("growth with k", f"k={k:,}", timing.best, timing.median, None, timing.error, note))


def _walk(data: Data, cv: Any) -> Callable[[], Lap]:
    return lambda: core(data, cv)


def peaks(table: Table, n: int, d: int) -> None:
    """Peak memory beyond data and scores."""
    cases = (("loo", "fixed"), ("100 contiguous", "fixed"), ("loo", "randomized"), ("shuffled loo", "fixed"))
    for folds, order in cases:
        used = memory.beyond(n, d, folds, order)
        note = f"{used / MEGABYTE:.1f} MB, {used / n:.1f} bytes a row"
        table.lines.append(Line("memory beyond data and scores", f"{folds}, {order}", note=note))
        if order == "fixed" and folds != "shuffled loo":
            allowed = (16 * n + 16 * MEGABYTE) / MEGABYTE
            table.limits.append(Limit(f"memory: {folds}", allowed, used / MEGABYTE, "MB (16 bytes a row + 16 MB)"))


def _at_most(name: str, limit: float, unit: str, timing: Timing, yardstick: Timing) -> Limit:
    return Limit(name, limit, timing.over(yardstick), unit, other=timing.over_by_round(yardstick))


def in_columns(lines: list[Line]) -> str:
    """The table; times in milliseconds."""
    width = max(len(line.name) for line in lines) + 2
    text, section = [f"{'':<{width}}{'best ms':>9}{'median':>9}{'g':>8}{'error %':>9}"], ""
    for line in lines:
        if line.section != section:
            section = line.section
            text.append(f"\n{section}")
        cells = (
            _number(line.seconds, 9, 2, 1e3) + _number(line.median, 9, 2, 1e3) + _number(line.g, 8, 1),
            _number(line.error, 9, 3),
            f"  {line.note}",
        )
        text.append(f"{line.name:<{width}}{''.join(cells)}".rstrip())
    return "\n".join(text)


def verdicts(limits: list[Limit]) -> str:
    """Each limit beside what was measured."""
    width = max(len(limit.name) for limit in limits) + 2
    text = [f"{'':<{width}}{'limit':>9}{'measured':>10}{'by round':>10}"]
    for limit in limits:
        numbers = f"{'>=' if limit.at_least else '<='}{limit.limit:>7.1f}{limit.measured:>10.2f}"
        other = _number(limit.other, 10, 2)
        verdict = "met" if limit.met else f"MISSED by a factor of {factor(limit):.2f}"
        text.append(f"{limit.name:<{width}}{numbers}{other}  {limit.unit}: {verdict}")
    return "\n".join(text)


def factor(limit: Limit) -> float:
    """By how much a limit is missed."""
    return limit.limit / limit.measured if limit.at_least else limit.measured / limit.limit


def _number(value: float | None, width: int, digits: int, scale: float = 1) -> str:
    return " " * width if value is None else f"{value * scale:>{width}.{digits}f}"


if __name__ == "__main__":
    main()
