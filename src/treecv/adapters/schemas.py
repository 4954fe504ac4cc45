"""What an estimator must know of the data before the first row."""

from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import is_classifier
from sklearn.multioutput import MultiOutputClassifier
from sklearn.utils.multiclass import unique_labels
from sklearn.utils.validation import _num_samples

from treecv.adapters.routing import inside
from treecv.adapters.steps import steps_of
from treecv.learner import Schema


def describe(estimator: Any, X: Any, y: Any, classes: Any = None) -> Schema:
    """The schema of data as given; `classes` if they are known already."""
    shape: tuple[int, ...] = getattr(X, "shape", ())
    y_shape = shape_of(y)
    return Schema(
        n_rows=_num_samples(X),
        n_features=int(shape[1]) if len(shape) > 1 else 0,
        dtype="float32" if str(getattr(X, "dtype", "")) == "float32" else "float64",
        classes=classes_of(estimator, y) if classes is None else classes,
        n_outputs=int(y_shape[1]) if len(y_shape) > 1 else 1,
        sparse=_is_sparse(X),
    )


def _is_sparse(X: Any) -> bool:
    """Whether scikit-learn reads this as a sparse matrix, as it does data frames all of whose columns are sparse."""
    columns = [] if hasattr(X, "dtype") else [type(dtype).__name__ for dtype in getattr(X, "dtypes", [])]
    return issparse(X) or (len(columns) > 0 and set(columns) == {"SparseDtype"})


def shape_of(y: Any) -> tuple[int, ...]:
    """The shape of targets; of lists, that of the first row."""
    known = getattr(y, "shape", None) or np.shape(y[:1] if isinstance(y, list | tuple) else ())
    return tuple(known)


def classes_of(estimator: Any, y: Any) -> Any:
    """All labels of a classifier's targets, as its `partial_fit` wants to be told them; None for other estimators."""
    if y is None or not is_classifier(estimator):
        return None
    *_, (_, last) = steps_of(inside(estimator))
    y = np.asarray(y)
    if isinstance(last, MultiOutputClassifier) and y.ndim == 2:
        return [np.unique(column) for column in y.T]
    if y.ndim == 1 or y.shape[1] == 1:
        return np.unique(y)
    return unique_labels(y)
