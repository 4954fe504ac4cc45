"""What the front door costs: the tree over an unmodified estimator, our own code at each node, and the way past it.

Everything is measured in one process on one thread. Leave-one-out of GaussianNB by scikit-learn takes more than a
minute and is run once; the other cases are run in turn, and the best time of each counts.
"""

import argparse
import time
from dataclasses import asdict
from typing import Any

import numpy as np
import sklearn.model_selection as scikit_learn
from sklearn.linear_model import Lasso, SGDClassifier
from sklearn.naive_bayes import GaussianNB

from benchmarks import covertype, machine, store
from benchmarks.clock import Lap, interleaved, timed
from benchmarks.guards import Limit, verdicts
from treecv import cross_val_score
from treecv.data import Chunks, Feed, Rows
from treecv.probes import Leaves, Predictions, Sink
from treecv.tree import Node, walk

NODES = 20_000


class Nothing:
    """A learner that does nothing: what is left is our own code."""

    answer = np.zeros(1)

    def copy(self, state: None) -> None:
        """Nothing."""

    def update(self, state: None, rows: Rows) -> None:
        """Nothing."""

    def predict(self, state: None, rows: Rows) -> Any:
        """Zero."""
        return self.answer


def main() -> None:
    """Measure, print, store."""
    parser = argparse.ArgumentParser(description=__doc__)
    covertype.add_arguments(parser)
    store.add_argument(parser)
    parser.add_argument("--rounds", type=int, default=7, help="how often each short case is run; default: 7")
    parser.add_argument("--leave-one-out", type=int, default=10_000, help="rows of the long case; default: 10000")
    arguments = parser.parse_args()
    described = machine.describe()
    name, X, y = covertype.read(arguments.data)
    kept = np.sort(np.random.default_rng(0).permutation(len(X))[: arguments.leave_one_out])
    limits, times = [], {}
    nodes = interleaved({"own code": own_code}, arguments.rounds)["own code"]
    each = nodes.best / (NODES - 1) * 1e6
    limits.append(Limit("our own code for each internal node", 5, each, "microseconds"))
    for case, estimator in {"Lasso": Lasso(), "SGDClassifier": SGDClassifier(random_state=0)}.items():
        ratio, found = past_the_door(estimator, X[kept].astype(float), y[kept], arguments.rounds)
        limits.append(Limit(f"10 folds of {case}, strategy='auto'", 1.05, ratio, "of scikit-learn's time"))
        times |= {f"{case}: {way}": seconds for way, seconds in found.items()}
    tree, theirs = leave_one_out(X[kept].astype(float), y[kept])
    times |= {"GaussianNB, leave-one-out: tree": tree, "GaussianNB, leave-one-out: scikit-learn": theirs}
    limits.append(
        Limit(f"GaussianNB, leave-one-out of {len(kept):,} rows", 8, theirs / tree, "times faster", at_least=True)
    )
    print(f"{name}; one thread.\n{machine.sentence(described)}\n")
    print("\n".join(f"{case:<48}{seconds:>10.4f} s" for case, seconds in times.items()) + "\n")
    print(verdicts(limits) + "\n")
    content = {"data": name, "rounds": arguments.rounds, "seconds": times}
    results = [asdict(limit) | {"met": limit.met} for limit in limits]
    command = "python -m benchmarks.front_door"
    print(store.save(arguments.results, "front_door", command, described, content | {"limits": results}))


def own_code() -> Lap:
    """Leave-one-out of a learner that does nothing."""
    rows = Rows(np.zeros((NODES, 54)), np.zeros(NODES))
    feed, sink = Feed(rows, Chunks(NODES)), Sink(NODES, Predictions(NODES))
    learner: Any = Nothing()
    return timed(lambda: walk(learner, None, Node(0, NODES - 1), feed, Leaves(learner, feed, sink)))


def past_the_door(estimator: Any, X: Any, y: Any, rounds: int) -> tuple[float, dict[str, float]]:
    """Ten folds of an estimator whose `fit` is not one pass, through our function and through scikit-learn's."""
    cases = {
        "scikit-learn": lambda: timed(lambda: scikit_learn.cross_val_score(estimator, X, y, cv=10)),
        "treecv": lambda: timed(lambda: cross_val_score(estimator, X, y, cv=10)),
    }
    measured = interleaved(cases, rounds)
    seconds = {way: timing.best for way, timing in measured.items()}
    return measured["treecv"].over(measured["scikit-learn"]), seconds


def leave_one_out(X: Any, y: Any) -> tuple[float, float]:
    """GaussianNB as it is, by the tree and by scikit-learn; both must agree."""
    begin = time.perf_counter()
    ours = cross_val_score(GaussianNB(), X, y, cv="loo", strategy="tree", native=False)
    middle = time.perf_counter()
    theirs = scikit_learn.cross_val_score(GaussianNB(), X, y, cv=scikit_learn.LeaveOneOut())
    end = time.perf_counter()
    if not np.array_equal(ours, theirs):
        raise SystemExit(f"{np.count_nonzero(ours != theirs)} of {len(ours)} predictions differ.")
    return middle - begin, end - middle


if __name__ == "__main__":
    main()
