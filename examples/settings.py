"""The four settings that the paper names, each with its loss: one table for all of them.

Classification (0/1 loss), regression (squared error), clustering (squared distance to the nearest centre) and density
estimation (-log density), for k = 5, 10, 100 and n: by the tree, in stored and in random order, and by training each
fold from scratch. Over partitionings drawn at random, as in Joulani, Gyorgy and Szepesvari, IJCAI 2015, table 2.

The data are the bundled sample of Covertype (UCI Machine Learning Repository, CC BY 4.0). The classifier tells
class 1 from the rest; the regression predicts the elevation from the other features.
"""

import argparse

import numpy as np
from sklearn.linear_model import SGDClassifier

from treecv import (
    LSQSGD,
    GaussianDensity,
    OnePass,
    OnlineGaussianMixture,
    OnlineKMeans,
    Pegasos,
    cross_val_score,
)
from treecv.data import load_covtype

COLUMNS = (("tree", "fixed"), ("tree", "randomized"), ("standard", "fixed"), ("standard", "randomized"))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=4_000, help="rows of the sample; default: 4000")
    parser.add_argument("--repetitions", type=int, default=5, help="partitionings; default: 5")
    arguments = parser.parse_args()
    X, y = load_covtype()
    chosen = np.random.default_rng(0).permutation(len(X))[: arguments.rows]
    X, y = X[chosen].astype(np.float32), y[chosen]
    deviation = X.std(axis=0)
    X = np.ascontiguousarray((X - X.mean(axis=0)) / np.where(deviation > 0, deviation, 1))
    print(f"{len(X):,} rows of Covertype, mean loss over {arguments.repetitions} partitionings, ± their deviation\n")
    for title, estimator, rows, target, scoring in settings(X, y):
        print(title)
        print(f"{'k':>8}" + "".join(f"{f'{strategy}, {order}':>24}" for strategy, order in COLUMNS))
        for k in (5, 10, 100, len(rows)):
            cells = [cell(estimator, rows, target, scoring, k, column, arguments.repetitions) for column in COLUMNS]
            print(f"{k:>8,}" + "".join(f"{text:>24}" for text in cells))
        print()


def settings(X: np.ndarray, y: np.ndarray) -> list[tuple]:
    """Name, estimator, rows, targets and score of each setting."""
    quantitative = np.ascontiguousarray(X[:, :10])
    return [
        ("Classification: Pegasos, 0/1 loss", Pegasos(alpha=1e-4), X, y == 1, "accuracy"),
        (
            "Classification: logistic regression by SGD, 0/1 loss",
            OnePass(SGDClassifier(loss="log_loss", alpha=1e-3, shuffle=False)),
            X,
            y == 1,
            "accuracy",
        ),
        (
            "Regression: LSQSGD, squared error",
            LSQSGD(radius=2.0),
            np.ascontiguousarray(X[:, 1:]),
            X[:, 0].astype(float),
            "neg_mean_squared_error",
        ),
        ("Clustering: k-means with 10 centres, squared distance", OnlineKMeans(10), quantitative, None, None),
        ("Density: mixture of 5 Gaussians, -log density", OnlineGaussianMixture(5), quantitative, None, None),
        ("Density: one Gaussian, -log density", GaussianDensity(), quantitative, None, None),
    ]


def cell(estimator, rows, target, scoring, k, column, repetitions) -> str:
    """Mean and deviation of the loss over partitionings; nothing where training from scratch would take too long."""
    strategy, order = column
    if strategy == "standard" and k > 100:
        return "-"
    losses = []
    for repetition in range(repetitions):
        partition = np.random.default_rng(repetition).permutation(len(rows))
        y = None if target is None else target[partition]
        asked = {"cv": "loo" if k == len(rows) else k, "strategy": strategy, "order": order, "seed": repetition}
        score = cross_val_score(estimator, rows[partition], y, scoring=scoring, **asked).mean()
        losses.append(1 - score if scoring == "accuracy" else -score)
    return f"{np.mean(losses):.4f} ± {np.std(losses):.4f}"


if __name__ == "__main__":
    main()
