"""The front door: scikit-learn's functions, with few trainings instead of k."""

from treecv.model_selection.curves import learning_curve, validation_curve
from treecv.model_selection.explaining import explain
from treecv.model_selection.permutation import permutation_test_score
from treecv.model_selection.ridge import ridge_path
from treecv.model_selection.validation import cross_val_predict, cross_val_score, cross_validate

__all__ = [
    "cross_val_predict",
    "cross_val_score",
    "cross_validate",
    "explain",
    "learning_curve",
    "permutation_test_score",
    "ridge_path",
    "validation_curve",
]
