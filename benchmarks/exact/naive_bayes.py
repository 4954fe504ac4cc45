"""Leave-one-out of naive Bayes beside one `fit` and one `predict` of scikit-learn over all rows.

One thread. GaussianNB on Covertype, the others on the 20 newsgroups; `--data` names the folder that holds covtype.npz
and news20_tfidf.npz. Nothing is stored.
"""

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from sklearn.naive_bayes import BernoulliNB, ComplementNB, GaussianNB, MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks import guards, machine
from benchmarks.clock import Lap, interleaved, timed
from benchmarks.guards import Limit
from treecv.adapters.exact import Exact, exact_learner
from treecv.data import Chunks, Feed, Rows
from treecv.learner import Schema

LIMITS = [(GaussianNB(), 1.5), (make_pipeline(StandardScaler(), GaussianNB()), 1.5)]
LIMITS_OF_TEXTS = [(MultinomialNB(), 3.0), (BernoulliNB(), 15.0), (ComplementNB(), 30.0)]
"""What leave-one-out may cost, in trainings with a prediction of all rows."""
CHECKED = 200
"""Rows whose fold is trained from scratch as well."""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=machine.CHECKOUT.parent / "shared" / "data")
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    cover = np.load(arguments.data / "covtype.npz", allow_pickle=False)
    X = np.ascontiguousarray(cover["X"], np.float64)
    limits = [measured(estimator, X, cover["y"], limit, arguments.rounds) for estimator, limit in LIMITS]
    texts = np.load(arguments.data / "news20_tfidf.npz", allow_pickle=False)
    X = csr_array((texts["data"], texts["indices"], texts["indptr"]), shape=tuple(texts["shape"]))
    limits += [measured(estimator, X, texts["y"], limit, arguments.rounds) for estimator, limit in LIMITS_OF_TEXTS]
    print(guards.verdicts(limits))


def measured(estimator: Any, X: Any, y: Any, limit: float, rounds: int) -> Limit:
    """All rows held out, one at a time, beside one training and one prediction."""
    held_out = shortcut(estimator, X, y)
    cases: dict[str, Callable[[], Lap]] = {
        "fit and predict": lambda: timed(lambda: estimator.fit(X, y).predict(X)),
        "leave-one-out": lambda: timed(held_out),
    }
    timings = interleaved(cases, rounds)
    name = type(estimator[-1] if hasattr(estimator, "steps") else estimator).__name__
    name = f"StandardScaler, {name}" if hasattr(estimator, "steps") else name
    print(
        f"{name}: furthest from a training from scratch, of {CHECKED} rows: {furthest(estimator, X, y, held_out()):.1e}"
    )
    once, found = timings["fit and predict"], timings["leave-one-out"]
    return Limit(
        f"{name}, leave-one-out, {X.shape[0]:,} rows",
        limit,
        found.over(once),
        "fit + predict",
        other=found.over_by_round(once),
    )


def shortcut(estimator: Any, X: Any, y: Any) -> Callable[[], Any]:
    """Leave-one-out as the front door has it done."""
    classes, codes = np.unique(y, return_inverse=True)
    schema = Schema(X.shape[0], X.shape[1], X.dtype.name, classes, sparse=not isinstance(X, np.ndarray))
    found = exact_learner(estimator, schema)
    assert isinstance(found, Exact)  # noqa: S101 - these are known
    feed = Feed(Rows(X, codes), Chunks(X.shape[0]))
    return lambda: found.held_out(schema, feed)


def furthest(estimator: Any, X: Any, y: Any, found: Any) -> float:
    """How far from scikit-learn's joint log probabilities, relative to the largest of each row, at the most."""
    worst = 0.0
    for row in np.random.default_rng(guards.SEED).choice(X.shape[0], CHECKED, replace=False).tolist():
        others = np.delete(np.arange(X.shape[0]), row)
        fitted, held = estimator.fit(X[others], y[others]), X[[row]]
        if hasattr(fitted, "steps"):
            fitted, held = fitted[-1], fitted[:-1].transform(held)
        wanted = fitted.predict_joint_log_proba(held)[0]
        worst = max(worst, float(np.abs(found[row] - wanted).max() / np.abs(wanted).max()))
    return worst


if __name__ == "__main__":
    main()
