"""Kernel densities: each pair of rows is looked at once, for all folds.

scikit-learn finds a sum of kernels from bounds that it subtracts, which leaves a rounding error in proportion to the
largest of them. Where the density is high, that is no more than rounding. Far from all other rows it may be wrong
by orders of magnitude; there its own answer is asked for, as the same is to be estimated, right or wrong.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.neighbors import KernelDensity
from sklearn.utils._param_validation import InvalidParameterError

from treecv.adapters.exact.recognised import Exact
from treecv.adapters.exact.table import Table
from treecv.data import Feed
from treecv.data.rows import nonfinite
from treecv.learner import Schema
from treecv.learners import parzen

_METRICS = {
    **dict.fromkeys(("euclidean", "l2", "minkowski"), "euclidean"),
    **dict.fromkeys(("manhattan", "l1", "cityblock"), "cityblock"),
    **dict.fromkeys(("chebyshev", "infinity"), "chebyshev"),
}
"""The metrics that are known, and what SciPy calls them."""
LEAST = 1e-4
"""The least mean of kernels that scikit-learn knows to 9 digits."""


def recognised(estimator: Any, steps: list[tuple[str, Any]], schema: Schema) -> Exact | str | None:
    """The shortcut for a kernel density, or why there is none."""
    model = steps[-1][1]
    if not isinstance(model, KernelDensity):
        return None
    return _obstacle(model, steps, schema) or KernelDensities(estimator, LeavesOut(model), schema)


def _obstacle(model: Any, steps: list[tuple[str, Any]], schema: Schema) -> str:
    """What the shortcut does not know about an estimator."""
    obstacles = {
        "it is a subclass, whose own methods would not be asked": type(model) is not KernelDensity,
        "a transformer before it learns another scale in each fold": len(steps) > 1,
        f"metric={model.metric!r} is not one of {', '.join(_METRICS)}": model.metric not in _METRICS,
        "metric_params may change the metric": bool(model.metric_params),
        "atol and rtol above 0 let scikit-learn stop early": model.atol != 0 or model.rtol != 0,
        "it does not read sparse rows": schema.sparse,
        "its settings are refused by `fit`": not _is_valid(model),
    }
    return next((obstacle for obstacle, stands in obstacles.items() if stands), "")


def _is_valid(model: Any) -> bool:
    try:
        model._validate_params()
        return model._choose_algorithm(model.algorithm, model.metric) is not None
    except (InvalidParameterError, ValueError):
        return False


class KernelDensities(Exact):
    """A kernel density and its shortcut: log densities. The score of a fold is their sum."""

    def answered(self, method: str, values: NDArray[np.float64]) -> NDArray[Any]:
        """What a method of the estimator says of rows for which the learner gives these values."""
        if method != "score_samples":
            raise AttributeError(f"{type(self.estimator).__name__!r} object has no attribute {method!r}")
        return values


@dataclass(frozen=True)
class LeavesOut:
    """The log density at each row by the rows outside of its fold.

    Parameters
    ----------
    model : KernelDensity
        Its settings.
    """

    model: Any

    order_free: ClassVar[bool] = True
    call_free: ClassVar[bool] = True
    supervised: ClassVar[bool] = False
    weighs: ClassVar[bool] = True
    closed: ClassVar[bool] = True

    def held_out(self, schema: Schema, feed: Feed) -> NDArray[np.float64]:
        """The log densities of all held-out rows, in the order of positions, each by the rows outside of its fold."""
        table = Table.of(feed)
        table.X = np.ascontiguousarray(table.X, np.float64)
        values = np.full(len(table), np.nan)
        if nonfinite(table.X) is None:
            unsure = self._summed(table, values)
            for fold in np.unique(table.folds[unsure]).tolist():
                self._ask(table, fold, table.fold(fold)[unsure[table.fold(fold)]], values)
        return values[table.held_out]

    def held_out_trainings(self, n_rows: int, n_features: int, k: int) -> float:
        """What the shortcut costs, in trainings with their densities, as plain cross-validation does k of them.

        k folds ask for n densities in all, however many they are, and each builds a tree besides. Here a density is
        found faster, but from all rows, where scikit-learn sees few if the kernel ends. Rows far from all others cost a
        fold each, and are not foreseen here.
        """
        tree, faster = (n_rows / 36, min(5, 500 / n_rows)) if self.model.kernel in parzen.COMPACT else (10, 5)
        return k / faster / ((k - 1) / k + k * tree / n_rows)

    def _summed(self, table: Table, values: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Fill in the densities; for which rows scikit-learn must be asked."""
        model, d, n = self.model, table.X.shape[1], len(table)
        weights, bandwidths, totals = table.weights, np.ones(n), np.full(n, float(n))
        outside = n - table.sizes
        within = table.sizes.astype(float)
        if weights is not None:
            totals[:] = weights.sum()
            within = np.bincount(table.folds[table.held_out], weights[table.held_out], len(table.sizes))
        asked, fold_of = table.held_out, table.folds[table.held_out]
        totals[asked] -= within[fold_of]
        bandwidths[asked] = self._bandwidths(outside, d)[fold_of]
        unsure = np.zeros(n, bool)
        metric, scale = _METRICS[model.metric], _log_scale(model.kernel, d)
        for part, total, edge in parzen.sums(table.X, weights, table.folds, model.kernel, metric, bandwidths):
            with np.errstate(divide="ignore", invalid="ignore"):
                mean = total / totals[part]
                values[part] = np.log(mean) - d * np.log(bandwidths[part]) + scale
            unsure[part] = edge | ~(mean >= LEAST)
        if weights is not None and not (weights > 0).all():  # of which scikit-learn takes the logarithm
            unsure[:] = True
        unsure[table.folds < 0] = False
        return unsure

    def _bandwidths(self, rows: NDArray[np.int64], d: int) -> NDArray[np.float64]:
        """The bandwidth for so many rows learnt, as scikit-learn chooses it."""
        n = np.maximum(rows, 1).astype(float)
        if self.model.bandwidth == "scott":
            return n ** (-1 / (d + 4))
        if self.model.bandwidth == "silverman":
            return (n * (d + 2) / 4) ** (-1 / (d + 4))
        return np.full(len(n), float(self.model.bandwidth))

    def _ask(self, table: Table, fold: int, rows: NDArray[np.int64], values: NDArray[np.float64]) -> None:
        """scikit-learn's own answers: a fold is trained, and asked about these rows."""
        learnt = np.flatnonzero(table.folds != fold)
        values[rows] = np.nan
        if len(learnt) == 0:
            return
        weights = None if table.weights is None else table.weights[learnt]
        values[rows] = clone(self.model).fit(table.X[learnt], sample_weight=weights).score_samples(table.X[rows])


def _log_scale(kernel: str, d: int) -> float:
    """The logarithm of what scikit-learn multiplies a kernel of bandwidth 1 by, to make it a density."""
    point = np.zeros((1, d))
    return float(KernelDensity(kernel=kernel).fit(point).score_samples(point)[0])
