"""What the core's own training costs, beside scikit-learn's: each limit, what was measured, and whether it is met.

One thread unless said. g is one product `X @ w` in float32, as in `benchmarks.guards`. What the core costs on each
instruction-set level is measured in a process of its own, as a process has one core, and with the rows in stored order
as well: neighbours look alike there, which makes the work easier. Everywhere else rows are permuted.
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import sklearn.model_selection as scikit_learn
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.linear_model import SGDClassifier
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks import covertype, guards, machine, store
from benchmarks.clock import Lap, Timing, interleaved, timed
from benchmarks.covertype import Data
from benchmarks.guards import MEGABYTE, Limit, Line, Table
from treecv import OnePass, OnlineKMeans, Pegasos, cross_val_score, cross_validate, kernels
from treecv.adapters import as_learner
from treecv.adapters.schemas import describe
from treecv.data import Rows, encode

CORES = os.cpu_count() or 1
PERMUTED, STORED = "rows permuted", "rows in stored order"
G_LIMITS = {"v4": 20, "v3": 30}
"""What leave-one-out may cost on a level, in g; on others nothing is asked."""
THREADS = {2: 1.4, 16: 5}
"""How many times faster so many threads must be, where there are as many cores."""
HASHED = 4096
LOG_LOSS = SGDClassifier(loss="log_loss", shuffle=False)
TEXT = SGDClassifier(shuffle=False)


@dataclass(frozen=True)
class Bench:
    """The rows of Covertype, and how often each case is run."""

    name: str
    raw: NDArray[np.int16]
    cover: NDArray[np.uint8]
    folder: Path
    rounds: int

    @cached_property
    def data(self) -> Data:
        """Features of mean 0 and variance 1; cover type 1 against the rest."""
        return Data(self.name, covertype.standardised(self.raw), self.cover == 1)

    @cached_property
    def double(self) -> NDArray[np.float64]:
        """The same features in double precision."""
        return self.data.X.astype(np.float64)

    def run(self, cases: dict[str, Callable[[], Lap]]) -> dict[str, Timing]:
        """Each case in turn, round after round."""
        return interleaved(cases, self.rounds)


def main() -> None:
    """Measure, print, store."""
    parser = argparse.ArgumentParser(description=__doc__)
    covertype.add_arguments(parser)
    store.add_argument(parser)
    parser.add_argument("--rounds", type=int, default=5, help="how often each case is run; default: 5")
    parser.add_argument("--level", action="store_true", help="only the core that this process has, as JSON")
    arguments = parser.parse_args()
    if arguments.rounds < 1:
        parser.error(f"--rounds {arguments.rounds}: at least 1 is needed.")
    if kernels.core is None:
        parser.error("TREECV_IMPLEMENTATION=python has no core to measure: leave it out.")
    if arguments.level:
        print(json.dumps(asdict(this_level(arguments))))
        return
    bench = prepared(arguments, PERMUTED)
    described, load = machine.describe(), [os.getloadavg()[0]]
    table = levels(arguments)
    skipped = [reason for section in SECTIONS if (reason := section(table, bench))]
    load.append(os.getloadavg()[0])
    print(f"{bench.name} x {bench.raw.shape[1]} features.\n{machine.sentence(described)}\n{loaded(load)}\n")
    print("\n".join([guards.in_columns(table.lines), *(f"\nNot measured: {reason}" for reason in skipped)]))
    print("\nMust be reached\n" + guards.verdicts(table.limits) + "\n")
    limits = [asdict(limit) | {"met": limit.met} for limit in table.limits]
    content = {"data": bench.name, "rounds": bench.rounds, "lines": list(map(asdict, table.lines)), "limits": limits}
    content |= {"not_measured": skipped, "load": load}
    print(store.save(arguments.results, "native", "make native", described, content))


def loaded(load: list[float]) -> str:
    """How busy the machine was; what waits beside us makes threads slow above all."""
    return f"load {load[0]:.1f} before and {load[1]:.1f} after, of which 1 is ours"


def prepared(arguments: argparse.Namespace, order: str) -> Bench:
    """The data; the limits are about all of Covertype, of which a sample says nothing."""
    if arguments.rows is None and covertype.find(arguments.data) is None:
        raise SystemExit(
            "The full Covertype was not found, and the limits are about all of it. Name its folder with --data or "
            "TREECV_DATA, or try the commands on a part of the bundled sample: --rows 20000 --results trial"
        )
    path = covertype.find(arguments.data)
    name, X, cover = covertype.part(*covertype.read(arguments.data), arguments.rows)
    folder = machine.CHECKOUT.parent / "shared" / "data" if path is None else path.parent
    if order == PERMUTED:
        permutation = np.random.default_rng(guards.SEED).permutation(len(X))
        X, cover = X[permutation], cover[permutation]
    return Bench(name, X, cover, folder, arguments.rounds)


def levels(arguments: argparse.Namespace) -> Table:
    """PEGASOS on every level that this machine runs."""
    table = Table()
    words = [f"--rounds={arguments.rounds}"] + [
        f"--{name}={value}" for name in ("data", "rows") if (value := getattr(arguments, name)) is not None
    ]
    for level in kernels.levels():
        done = subprocess.run(  # noqa: S603 - ourselves
            [sys.executable, "-m", "benchmarks.native", "--level", *words],
            env=os.environ | {"TREECV_IMPLEMENTATION": level},
            cwd=machine.CHECKOUT,
            stdout=subprocess.PIPE,
            check=True,
        )
        found = json.loads(done.stdout)
        table.lines += [Line(**line | {"section": f"level {level}, {line['section']}"}) for line in found["lines"]]
        limits = [Limit(**limit | {"name": f"{limit['name']}, {level}"}) for limit in found["limits"]]
        table.limits += [limit for limit in limits if limit.limit]
    return table


def this_level(arguments: argparse.Namespace) -> Table:
    """PEGASOS by the core of this process, in both orders of the rows."""
    table = Table()
    for order in (PERMUTED, STORED):
        pegasos(table, order, prepared(arguments, order))
    return table


def pegasos(table: Table, order: str, bench: Bench) -> None:
    """Leave-one-out in float32 beside the yardsticks."""
    data = bench.data
    passes = guards.passes(data)
    yardsticks = (guards.C_ORDERED, guards.F_ORDERED, guards.SGD_UNSHUFFLED, "one pass, the core alone")
    loo = {name: case for name, case in guards.leave_one_out(data).items() if name in (guards.CORE, guards.FRONT)}
    measured = bench.run({name: passes[name] for name in yardsticks} | loo)
    g = min((measured[guards.C_ORDERED], measured[guards.F_ORDERED]), key=lambda timing: timing.best)
    for name, timing in measured.items():
        table.add(order, name, timing, g.best)
    core, unshuffled = measured[guards.CORE], measured[guards.SGD_UNSHUFFLED]
    table.limits += [
        _at_most(f"Pegasos, leave-one-out, {order}", G_LIMITS.get(kernels.core.__name__[-2:], 0), "g", core, g),
        _at_most(f"Pegasos, leave-one-out, {order}", 1, "unshuffled SGD passes", core, unshuffled),
    ]


def threads(table: Table, bench: Bench) -> str:
    """PEGASOS by several threads beside our own serial time."""
    data = bench.data
    numbers = [1, *(n for n in THREADS if n <= CORES)]
    measured = bench.run({f"{n} threads": _walked(Pegasos(guards.ALPHA), data.X, data.y, n) for n in numbers})
    serial = measured["1 threads"]
    for name, timing in measured.items():
        _add(table, "Pegasos, leave-one-out by several threads", name.replace("1 threads", "1 thread"), timing)
    for n in numbers[1:]:
        table.limits.append(
            _at_least(f"Pegasos, leave-one-out, {n} threads", THREADS[n], measured[f"{n} threads"], serial)
        )
    missing = [str(n) for n in THREADS if n > CORES]
    return f"{' and '.join(missing)} threads: this machine has {CORES} cores." if missing else ""


def log_loss(table: Table, bench: Bench) -> str:
    """Logistic regression in double precision: leave-one-out and ten folds, beside scikit-learn."""
    X, y, estimator = bench.double, bench.data.y, OnePass(LOG_LOSS)
    section, once = "SGDClassifier(loss='log_loss', shuffle=False), float64", "one pass by scikit-learn"
    cases = {
        once: _pass_of_theirs(LOG_LOSS, X, y),
        guards.CORE: _walked(estimator, X, y),
        guards.FRONT: _front(estimator, X, y),
    }
    folds: dict[str, Any] = {"10 stratified folds": 10, "10 contiguous folds": KFold(10)}
    for name, cv in folds.items():
        cases |= {name: _front(estimator, X, y, cv), f"{name}, scikit-learn": _theirs(estimator, X, y, cv)}
    measured = bench.run(cases)
    for name, timing in measured.items():
        _add(table, section, name, timing)
    limit = "log_loss, leave-one-out"
    table.limits.append(_at_most(limit, 2, "scikit-learn passes", measured[guards.FRONT], measured[once]))
    for (name, _), least in zip(folds.items(), (15, 25), strict=True):
        table.limits.append(_at_least(f"log_loss, {name}", least, measured[name], measured[f"{name}, scikit-learn"]))
    return ""


def seven_classes(table: Table, bench: Bench) -> str:
    """Each class against the rest."""
    X, estimator, once = bench.double, OnePass(LOG_LOSS), "one native pass"
    classes, codes = encode(bench.cover)
    learner = as_learner(estimator, describe(estimator, X, bench.cover))
    schema, rows = describe(estimator, X, bench.cover), Rows(X, codes)
    measured = bench.run(
        {
            once: lambda: timed(lambda: learner.update(learner.init(schema), rows)),
            guards.CORE: _walked(estimator, X, bench.cover),
            guards.FRONT: _front(estimator, X, bench.cover),
        }
    )
    for name, timing in measured.items():
        _add(table, f"{len(classes)} classes, log_loss, float64", name, timing)
    limit = f"{len(classes)} classes, leave-one-out"
    table.limits.append(_at_most(limit, 14, "native passes", measured[guards.FRONT], measured[once]))
    return ""


def pipeline(table: Table, bench: Bench) -> str:
    """What most people write, on the features as they are stored."""
    estimator = OnePass(make_pipeline(StandardScaler(), SGDClassifier(random_state=guards.SEED)))
    X = bench.raw.astype(np.float64)
    measured = bench.run({guards.FRONT: _front(estimator, X, bench.data.y)})[guards.FRONT]
    name = "make_pipeline(StandardScaler(), SGDClassifier())"
    _add(table, f"{name}, float64", guards.FRONT, measured)
    table.limits.append(Limit(f"{name}, leave-one-out", 3, measured.best, "s", other=measured.median))
    return ""


def text(table: Table, bench: Bench) -> str:
    """Sparse rows as wide as a language has words, and the same hashed."""
    path = bench.folder / "news20_tfidf.npz"
    if not path.is_file():
        return f"leave-one-out of sparse rows: {path.name} is not beside Covertype."
    wide, y = news20(path)
    narrow = hashed(wide, HASHED)
    estimator, named = OnePass(TEXT), {f"{X.shape[1]:,} features": X for X in (wide, narrow)}
    measured = bench.run({name: _walked(estimator, X, y) for name, X in named.items()})
    for name, timing in measured.items():
        note = f"{named[name].nnz:,} values"
        _add(
            table,
            f"SGDClassifier(shuffle=False), {wide.shape[0]:,} texts, sparse float32, {guards.CORE}",
            name,
            timing,
            note,
        )
    at_width, at_hashed = measured.values()
    table.limits.append(_at_most("texts, leave-one-out", 1.5, f"x hashed to {HASHED:,}", at_width, at_hashed))
    return ""


def centres(table: Table, bench: Bench) -> str:
    """K-means over digits."""
    path = bench.folder / "mnist.npz"
    if not path.is_file():
        return f"leave-one-out of k-means: {path.name} is not beside Covertype."
    X = np.load(path, allow_pickle=False)["X"]
    X = X.reshape(len(X), -1).astype(np.float32) / 255
    estimator, once = OnlineKMeans(10), "one native pass"
    learner, schema = as_learner(estimator, describe(estimator, X, None)), describe(estimator, X, None)

    def walked() -> Lap:
        result = cross_validate(estimator, X, cv="loo")
        return Lap(result.record.seconds, -float(result["test_score"].mean()))

    measured = bench.run(
        {once: lambda: timed(lambda: learner.update(learner.init(schema), Rows(X))), guards.CORE: walked}
    )
    for name, timing in measured.items():
        _add(table, f"k-means, 10 centres, {len(X):,} digits, float32", name, timing)
    limit = float(np.log2(2 * len(X)))
    table.limits.append(
        _at_most("k-means, leave-one-out", limit, "native passes", measured[guards.CORE], measured[once])
    )
    return ""


def modules(table: Table, bench: Bench) -> str:
    """The extension modules, as they were built."""
    sizes = {}
    for level in kernels.LEVELS:
        spec = find_spec(f"treecv._core_{level}")
        if spec is not None and spec.origin is not None:
            sizes[level] = Path(spec.origin).stat().st_size / MEGABYTE
    for level, size in sizes.items():
        table.lines.append(Line("extension modules", level, note=f"{size:.2f} MB"))
    table.limits.append(Limit("extension modules", 12, sum(sizes.values()), "MB"))
    return ""


SECTIONS: tuple[Callable[[Table, Bench], str], ...] = (
    threads,
    log_loss,
    seven_classes,
    pipeline,
    text,
    centres,
    modules,
)
"""What is measured in this process, a function each; what it returns is why something was not."""


def news20(path: Path) -> tuple[csr_array, NDArray[np.int8]]:
    """The 20 newsgroups as weighted words, and which half of the groups a text is from."""
    stored = np.load(path, allow_pickle=False)
    shape = tuple(int(n) for n in stored["shape"])
    return csr_array((stored["data"], stored["indices"], stored["indptr"]), shape=shape), stored["y_binary"]


def hashed(X: csr_array, width: int) -> csr_array:
    """Columns that are equal modulo the width become one."""
    narrow = csr_array((X.data.copy(), X.indices % width, X.indptr.copy()), shape=(X.shape[0], width))
    narrow.sum_duplicates()
    return narrow


def _walked(estimator: Any, X: Any, y: Any, n_jobs: int = 1) -> Callable[[], Lap]:
    """Leave-one-out, the walk only, as the result's record has it."""

    def lap() -> Lap:
        result = cross_validate(estimator, X, y, cv="loo", n_jobs=n_jobs)
        return Lap(result.record.seconds, 100 * (1 - float(result["test_score"].mean())))

    return lap


def _front(estimator: Any, X: Any, y: Any, cv: Any = "loo") -> Callable[[], Lap]:
    return lambda: _scored(cross_val_score, estimator, X, y, cv)


def _theirs(estimator: Any, X: Any, y: Any, cv: Any) -> Callable[[], Lap]:
    return lambda: _scored(scikit_learn.cross_val_score, estimator, X, y, cv)


def _scored(function: Callable[..., Any], estimator: Any, X: Any, y: Any, cv: Any) -> Lap:
    """Everything that a user waits for."""
    scores: list[Any] = []
    lap = timed(lambda: scores.append(function(estimator, X, y, cv=cv)))
    return Lap(lap.seconds, 100 * (1 - float(scores[0].mean())))


def _pass_of_theirs(estimator: Any, X: Any, y: Any) -> Callable[[], Lap]:
    return lambda: timed(lambda: clone(estimator).partial_fit(X, y, classes=[False, True]))


def _add(table: Table, section: str, name: str, timing: Timing, note: str = "") -> None:
    table.lines.append(Line(section, name, timing.best, timing.median, None, timing.error, note))


def _at_most(name: str, limit: float, unit: str, timing: Timing, yardstick: Timing) -> Limit:
    return Limit(name, limit, timing.over(yardstick), unit, other=timing.over_by_round(yardstick))


def _at_least(name: str, limit: float, fast: Timing, slow: Timing) -> Limit:
    return Limit(name, limit, slow.over(fast), "times faster", at_least=True, other=slow.over_by_round(fast))


if __name__ == "__main__":
    main()
