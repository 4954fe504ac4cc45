"""Fast cross-validation for incremental learners. The names are resolved when they are first used."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from treecv.estimators import LSQSGD, Pegasos
    from treecv.model_selection import cross_val_predict, cross_val_score, cross_validate

__version__ = "0.1.0"

_HOMES = {
    "LSQSGD": "treecv.estimators",
    "Pegasos": "treecv.estimators",
    "cross_val_predict": "treecv.model_selection",
    "cross_val_score": "treecv.model_selection",
    "cross_validate": "treecv.model_selection",
}

__all__ = ["LSQSGD", "Pegasos", "cross_val_predict", "cross_val_score", "cross_validate"]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'treecv' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
