"""Peak memory of one cross-validation, beyond the data and the scores it returns.

Measured in a process of its own, as a process's peak never falls. The rows are drawn at random: what is
allocated does not depend on their values, and making them leaves no peak behind.
"""

import argparse
import json
import resource
import subprocess
import sys
from pathlib import Path

import numpy as np
from sklearn.model_selection import KFold

from benchmarks.machine import CHECKOUT
from treecv import Pegasos, cross_val_score

FOLDS = {
    "loo": lambda n: "loo",
    "100 contiguous": lambda n: KFold(100),
    "shuffled loo": lambda n: KFold(n, shuffle=True, random_state=0),
}


def beyond(rows: int, features: int, folds: str, order: str) -> int:
    """Bytes, measured in a fresh process."""
    words = ["--rows", str(rows), "--features", str(features), "--folds", folds, "--order", order]
    command = [sys.executable, "-m", "benchmarks.memory", *words]
    done = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, check=False)  # noqa: S603 - our own words
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(words)}: the measuring process failed:\n{done.stderr}")
    measured: int = json.loads(done.stdout)["bytes"]
    return measured


def main() -> None:
    """Measure one cross-validation in this process."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, required=True)
    parser.add_argument("--features", type=int, default=54)
    parser.add_argument("--folds", choices=FOLDS, default="loo")
    parser.add_argument("--order", choices=("fixed", "randomized", "blocks"), default="fixed")
    arguments = parser.parse_args()
    X = np.random.default_rng(0).standard_normal((arguments.rows, arguments.features), dtype=np.float32)
    y = X[:, 0] > 0
    cross_val_score(Pegasos(), X[:1000], y[:1000], cv=10)  # what is imported late is no cost of the rows
    cv = FOLDS[arguments.folds](arguments.rows)
    before = now()
    scores = cross_val_score(Pegasos(), X, y, cv=cv, order=arguments.order, seed=0)
    print(json.dumps({"bytes": peak() - before - scores.nbytes}))


def now() -> int:
    """Bytes this process holds; its peak so far where the system does not say."""
    return _status("VmRSS")


def peak() -> int:
    """The most bytes this process ever held."""
    return _status("VmHWM")


def _status(name: str) -> int:
    # Linux hands ru_maxrss of the parent down to the child, so it is the second choice.
    try:
        lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    except OSError:
        unit = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(name))


if __name__ == "__main__":
    main()
