"""Leave-one-out of scikit-learn's linear models over texts, by the compiled core.

18,846 messages of the 20 newsgroups, as the weights of 173,762 words, in sparse rows: from which half of the groups is
a message? Where that file is not at hand, the bundled sample of Covertype stands in, and what is printed says so.
"""

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from sklearn.linear_model import Perceptron, SGDClassifier
from sklearn.preprocessing import scale

from treecv import OnePass, cross_validate
from treecv.data import load_covtype

DATA = Path(__file__).parents[2] / "shared" / "data"
MODELS = {
    "logistic regression": SGDClassifier(loss="log_loss", shuffle=False),
    "support vector machine, l2": SGDClassifier(shuffle=False),
    "support vector machine, l1": SGDClassifier(penalty="l1", alpha=1e-5, shuffle=False),
    "averaged perceptron": SGDClassifier("perceptron", learning_rate="constant", eta0=1.0, average=True, shuffle=False),
    "perceptron": Perceptron(shuffle=False),
}


def main() -> None:
    """A line for each model."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA, metavar="DIR", help="where news20_tfidf.npz is")
    parser.add_argument("--threads", type=int, default=1, help="threads of the core; default: 1")
    arguments = parser.parse_args()
    name, X, y = load(arguments.data / "news20_tfidf.npz")
    print(f"{name}; leave-one-out, {X.shape[0]:,} models each\n")
    print(f"{'':<30}{'error %':>9}{'seconds':>9}{'trainings':>11}")
    for title, model in MODELS.items():
        begin = time.perf_counter()
        result = cross_validate(OnePass(model), X, y, cv="loo", n_jobs=arguments.threads)
        seconds = time.perf_counter() - begin
        error = 100 * (1 - result["test_score"].mean())
        print(f"{title:<30}{error:>9.2f}{seconds:>9.2f}{result.record.trainings:>11.1f}{result.record.remark:>2}")


def load(path: Path) -> tuple[str, Any, Any]:
    """What to call it, features and labels."""
    if not path.is_file():
        X, y = load_covtype()
        order = np.random.default_rng(0).permutation(len(X))  # they are stored in an order that means something
        name = f"a sample of Covertype ({len(X):,} rows x {X.shape[1]} features; {path.name} was not found)"
        return name, scale(X)[order], y[order] == 1
    stored = np.load(path, allow_pickle=False)
    X = csr_array((stored["data"], stored["indices"], stored["indptr"]), shape=tuple(map(int, stored["shape"])))
    return f"20 newsgroups ({X.shape[0]:,} texts x {X.shape[1]:,} words, {X.nnz:,} values)", X, stored["y_binary"]


if __name__ == "__main__":
    main()
