"""Cross-validation from scratch, as plainly as it can be written. Imports nothing of treecv.

There are two truths. `k_fold` is plain cross-validation: the chunks in stored order. `tree_order` is the
order in which the tree feeds a fold's training chunks; an order-dependent learner trained from scratch in
that order gives the tree's result bit by bit.
"""

import numpy as np


def k_fold(train, predict, X, y, folds, order=None):
    """Predictions of each row by a model trained on the other folds; `order(fold, k)` sorts the chunks."""
    predictions = np.full(len(X), np.nan)
    for fold, test in enumerate(folds):
        chunks = [i for i in range(len(folds)) if i != fold] if order is None else order(fold, len(folds))
        rows = np.concatenate([folds[i] for i in chunks])
        predictions[test] = predict(train(X[rows], y[rows]), X[test])
    return predictions


def tree_order(fold, k):
    """The chunks a leaf has learnt, in the order it learnt them."""
    chunks, first, last = [], 0, k - 1
    while first < last:
        middle = (first + last) // 2
        if fold <= middle:
            chunks += range(middle + 1, last + 1)
            last = middle
        else:
            chunks += range(first, middle + 1)
            first = middle + 1
    return chunks


def pegasos(X, y, alpha, fit_intercept=True):
    """Weights of PEGASOS in float64, with labels 0 and 1."""
    if fit_intercept:
        X = np.column_stack([X, np.ones(len(X))])
    v = np.zeros(X.shape[1])
    for t, (x, label) in enumerate(zip(X, y, strict=True), start=1):
        sign = 1 if label else -1
        if t == 1 or sign * (v @ x) < alpha * (t - 1):
            v += sign * x
    return v / (alpha * len(X))


def lsqsgd(X, y, step, radius=1.0, fit_intercept=True):
    """Averaged weights of projected stochastic gradient steps in float64."""
    if fit_intercept:
        X = np.column_stack([X, np.ones(len(X))])
    w = total = np.zeros(X.shape[1])
    for x, target in zip(X, y, strict=True):
        w = w - step * (w @ x - target) * x
        norm = np.sqrt(w @ w)
        if norm > radius:
            w = w * (radius / norm)
        total = total + w
    return total / len(X)


def linear(weights, X):
    """<w, x>, with a constant feature where the weights have room for one."""
    if len(weights) > X.shape[1]:
        X = np.column_stack([X, np.ones(len(X))])
    return X @ weights
