"""An order-sensitive learner: the mean score can be trusted, a single prediction cannot.

SGDClassifier, one pass, leave-one-out: the tree feeds its rows in another order than training from scratch. The
mean accuracies agree; the predictions of single rows often do not, and neither do those of two trainings from
scratch that differ in nothing but the order of the rows.
"""

import argparse

import numpy as np
from sklearn.linear_model import SGDClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.preprocessing import scale

from treecv import OnePass, cross_validate
from treecv.data import load_covtype
from treecv.strategies import Standard


def main() -> None:
    """Compare the tree with models trained from scratch, for one learner that minds the order and one that does not."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=3_000, help="rows of the sample; default: 3000")
    parser.add_argument("--folds", type=int, default=300, help="folds trained from scratch as well; default: 300")
    arguments = parser.parse_args()
    X, y = load_covtype()
    chosen = np.random.default_rng(0).permutation(len(X))[: arguments.rows]
    X, y = X[chosen].astype(float), y[chosen]
    compare(OnePass(SGDClassifier(shuffle=False)), scale(X), y, arguments.folds)
    compare(OnePass(GaussianNB()), X, y, arguments.folds)


def compare(estimator: OnePass, X: np.ndarray, y: np.ndarray, m: int) -> None:
    """One learner: all folds by the tree, m of them from scratch, and these again in another order."""
    folds = np.random.default_rng(1).permutation(len(X))[:m].tolist()
    options = {"cv": "loo", "return_predictions": True, "seed": 0}
    tree = cross_validate(estimator, X, y, **options)
    scratch = [cross_validate(estimator, X, y, strategy=Standard(folds), order=order, **options) for order in ORDERS]
    scores = [run["test_score"][folds].mean() for run in (tree, *scratch)]
    said = [run["predictions"][folds] for run in (tree, *scratch)]
    print(f"{type(estimator.estimator).__name__}, leave-one-out over {len(X):,} rows; {m} of them from scratch as well")
    print(f"  accuracy: tree {scores[0]:.3f}, from scratch {scores[1]:.3f}, in another order {scores[2]:.3f}")
    print(f"  same prediction: tree and from scratch {np.mean(said[0] == said[1]):.1%}")
    print(f"                   from scratch in two orders {np.mean(said[1] == said[2]):.1%}")
    print(f"  {tree.what}")
    print(f"  exact: {tree.exact}\n")


ORDERS = ("fixed", "randomized")

if __name__ == "__main__":
    main()
