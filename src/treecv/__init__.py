"""Fast cross-validation for incremental learners. The names are resolved when they are first used."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from treecv.estimators import LSQSGD, OnePass, Pegasos, TorchClassifier, TorchRegressor
    from treecv.model_selection import (
        cross_val_predict,
        cross_val_score,
        cross_validate,
        explain,
        learning_curve,
        permutation_test_score,
        ridge_path,
        validation_curve,
    )

__version__ = "0.1.0"

_HOMES = dict.fromkeys(
    (
        "LSQSGD",
        "GaussianDensity",
        "HistogramDensity",
        "OnePass",
        "OnlineGaussianMixture",
        "OnlineKMeans",
        "Pegasos",
        "TorchClassifier",
        "TorchRegressor",
    ),
    "treecv.estimators",
) | dict.fromkeys(
    (
        "cross_val_predict",
        "cross_val_score",
        "cross_validate",
        "explain",
        "learning_curve",
        "permutation_test_score",
        "ridge_path",
        "validation_curve",
    ),
    "treecv.model_selection",
)

__all__ = [
    "LSQSGD",
    "GaussianDensity",
    "HistogramDensity",
    "OnePass",
    "OnlineGaussianMixture",
    "OnlineKMeans",
    "Pegasos",
    "TorchClassifier",
    "TorchRegressor",
    "cross_val_predict",
    "cross_val_score",
    "cross_validate",
    "explain",
    "learning_curve",
    "permutation_test_score",
    "ridge_path",
    "validation_curve",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'treecv' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
