"""`permutation_test_score`: whether a score is better than on targets that mean nothing."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection._validation import _shuffle
from sklearn.utils import check_random_state, indexable

from treecv.adapters import is_one_pass, shaped
from treecv.model_selection.elsewhere import Elsewhere, known
from treecv.model_selection.job import Options
from treecv.model_selection.validation import cross_val_score
from treecv.strategies import Strategy


def permutation_test_score(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    groups: Any = None,
    cv: Any = None,
    n_permutations: int = 100,
    n_jobs: Any = None,
    random_state: Any = 0,
    verbose: int = 0,
    scoring: Any = None,
    params: Any = None,
    strategy: "str | Strategy" = "auto",
    order: str | None = None,
    seed: int | None = None,
    native: bool = True,
    max_objects: int = 10_000,
) -> tuple[float, NDArray[np.float64], float]:
    """The score, the scores on permuted targets, and how likely such a score is by chance.

    As scikit-learn's function of that name, with the same permutations; every score is a cross-validation, which
    costs a few trainings where `fit` is one pass, or strategy="tree" says so.

    Parameters
    ----------
    estimator, X, y, groups, cv, n_jobs, verbose, scoring, params
        As in `cross_val_score`.
    n_permutations : int
        How often the targets are permuted, within groups if there are any.
    random_state : int, RandomState or None
        Names the permutations.
    strategy, order, seed, native, max_objects
        As in `cross_validate`.

    Returns
    -------
    score : float
    permutation_scores : ndarray of shape (n_permutations,)
    pvalue : float
        (C + 1) / (n_permutations + 1), where C permutations score at least as well.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from treecv import OnePass, permutation_test_score
    >>> X, y = load_iris(return_X_y=True)
    >>> score, by_chance, pvalue = permutation_test_score(OnePass(GaussianNB()), X, y, cv=10, n_permutations=19)
    >>> pvalue
    0.05
    """
    estimator = shaped(estimator)
    options = Options.of(estimator, strategy, order, seed)
    if isinstance(strategy, str) and strategy == "auto" and not is_one_pass(estimator):
        theirs: tuple[float, NDArray[np.float64], float] = Elsewhere(estimator, known(cv)).call(
            "permutation_test_score",
            X,
            y,
            groups=groups,
            n_permutations=n_permutations,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=verbose,
            scoring=scoring,
            params=params,
        )
        return theirs
    X, y, groups = indexable(X, y, groups)
    cv = cv if cv is None or isinstance(cv, str | int) or hasattr(cv, "split") else list(cv)
    random = check_random_state(random_state)
    if seed is None and options.order != "fixed":
        seed = int(np.random.SeedSequence().generate_state(1, np.uint64)[0])  # the same orders for every permutation
    shared = {"groups": groups, "cv": cv, "n_jobs": n_jobs, "scoring": scoring, "params": params, "native": native}
    shared["error_score"] = "raise"  # as scikit-learn's: a score of NaN is beaten by none, and would look significant
    shared |= {"strategy": strategy, "order": order, "seed": seed, "max_objects": max_objects, "verbose": verbose}
    score = float(cross_val_score(estimator, X, y, **shared).mean())
    scores = np.array(
        [cross_val_score(estimator, X, _shuffle(y, groups, random), **shared).mean() for _ in range(n_permutations)]
    )
    return score, scores, float((np.count_nonzero(scores >= score) + 1.0) / (n_permutations + 1))
