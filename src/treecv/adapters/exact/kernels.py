"""Kernel methods of scikit-learn, whose folds are solved from one inverse of the kernel matrix."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process import kernels as processes
from sklearn.kernel_ridge import KernelRidge as ScikitKernelRidge

from treecv.adapters.exact.recognised import Exact
from treecv.learner import Schema
from treecv.learners.kernel_ridge import KernelRidge


def recognised(estimator: Any, steps: list[tuple[str, Any]], schema: Schema) -> Exact | str | None:
    """The shortcut of an estimator, why it has none, or None for estimators of other families."""
    *before, (_, model) = steps
    if not isinstance(model, ScikitKernelRidge | GaussianProcessRegressor):
        return None
    reason = _obstacle(before, model, schema)
    if reason:
        return reason
    model._validate_params()
    learner = _kernel_ridge(model) if isinstance(model, ScikitKernelRidge) else _gaussian_process(model)
    return Kernel(estimator, learner, schema)


_STEADY = 1e7
"""The condition of a matrix up to which nine digits are left."""


class Kernel(Exact):
    """A kernel regression."""

    @property
    def outputs(self) -> int:
        """A number for each target."""
        return self.schema.n_outputs

    def unsteady(self, prepared: Any) -> str:
        """Why scikit-learn's own answer hangs on rounding, where it does."""
        worst = max(float(dual.condition) for dual in prepared)
        if worst < _STEADY:
            return ""
        return (
            f"the kernel matrix has the condition {worst:.1g}, so answers hang on rounding; a larger alpha would help"
        )

    def answered(self, method: str, values: NDArray[np.float64]) -> NDArray[Any]:
        """Predictions are the values."""
        if method != "predict":
            raise AttributeError(f"{type(self.estimator).__name__!r} object has no attribute {method!r}")
        return values


@dataclass(frozen=True, slots=True)
class Pairwise:
    """The kernel matrix as an estimator makes it, in double precision."""

    matrix: Callable[[Any], Any]

    def __call__(self, X: Any) -> NDArray[np.float64]:
        """The matrix of these rows."""
        return np.asarray(self.matrix(X.astype(np.float64, copy=False)), np.float64)


def _obstacle(before: list[Any], model: Any, schema: Schema) -> str:
    """What the shortcut does not know about an estimator."""
    obstacles = {
        "it is a subclass, whose own methods the shortcut would not ask": (
            type(model) not in (ScikitKernelRidge, GaussianProcessRegressor)
        ),
        "in single precision scikit-learn's own rounding shows": schema.dtype == "float32",
        "its kernel would be of features that a step before it fits to each training part": bool(before),
    }
    if isinstance(model, ScikitKernelRidge):
        obstacles |= {
            "its kernel is a function, which need not be symmetric": callable(model.kernel),
            "its kernel reads no sparse rows": schema.sparse and model.kernel not in _OF_SPARSE,
            "there must be one alpha, or one for each target": np.size(model.alpha) not in (1, schema.n_outputs),
        }
    else:
        obstacles |= {
            "its kernel is fitted to each training part: optimizer=None leaves it as it is": (
                model.optimizer is not None
            ),
            "it has an alpha for each row": np.size(model.alpha) != 1,
            "it reads no sparse rows": schema.sparse,
            "it is told another number of targets": model.n_targets not in (None, schema.n_outputs),
            "its kernel has parts that scikit-learn does not know": not _is_known(model.kernel),
        }
    return next((obstacle for obstacle, stands in obstacles.items() if stands), "")


_OF_SPARSE = ("cosine", "linear", "poly", "polynomial", "rbf", "sigmoid")


def _is_known(kernel: Any) -> bool:
    parts = [] if kernel is None else [kernel, *kernel.get_params().values()]
    known = all(type(part).__module__ == processes.__name__ for part in parts if callable(part))
    return known and (kernel is None or bool(kernel.requires_vector_input))


def _kernel_ridge(model: ScikitKernelRidge) -> KernelRidge:
    alpha = tuple(np.ravel(np.asarray(model.alpha, float)).tolist())
    matrix = np.asarray if model.kernel == "precomputed" else clone(model)._get_kernel
    return KernelRidge(Pairwise(matrix), alpha)


def _gaussian_process(model: GaussianProcessRegressor) -> KernelRidge:
    kernel = processes.ConstantKernel() * processes.RBF() if model.kernel is None else clone(model.kernel)
    alpha = (float(np.ravel(model.alpha)[0]),)
    return KernelRidge(Pairwise(kernel), alpha, centres=bool(model.normalize_y), strict=True, weighs=False)
