"""The PEGASOS classifier in scikit-learn's shape."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from treecv import learners
from treecv.data import encode
from treecv.errors import InputError
from treecv.estimators.linear import OnePassLinear
from treecv.learner import Learner, Schema


class Pegasos(ClassifierMixin, OnePassLinear):  # type: ignore[misc]  # scikit-learn has no types
    """Linear support vector machine for two classes, learnt in one pass by PEGASOS.

    Shalev-Shwartz, Singer, Srebro and Cotter (2011): gradient steps of length 1 / (alpha t) on the
    regularised hinge loss, without the optional projection; the last iterate is the model.

    Parameters
    ----------
    alpha : float, default=1e-4
        Strength of the squared penalty, > 0.
    fit_intercept : bool, default=True
        Whether a constant feature 1 is appended; its weight is penalised with the rest.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The two labels, of any kind; the second is the positive one.
    coef_ : ndarray of shape (1, n_features)
    intercept_ : ndarray of shape (1,)
    t_ : int
        The rows learnt.

    Examples
    --------
    >>> from treecv import Pegasos, cross_val_score
    >>> from treecv.data import load_covtype
    >>> from sklearn.preprocessing import scale
    >>> X, y = load_covtype()
    >>> scores = cross_val_score(Pegasos(alpha=1e-3), scale(X), y == 1, cv="loo")
    >>> len(scores), f"{scores.mean():.2f}"
    (20000, '0.86')
    """

    def __init__(self, alpha: float = 1e-4, *, fit_intercept: bool = True) -> None:
        self.alpha = alpha
        self.fit_intercept = fit_intercept

    def __treecv_learner__(self, schema: Schema) -> Learner:
        """The learner with these settings."""
        return learners.Pegasos(self.alpha, self.fit_intercept)

    def fit(self, X: Any, y: Any) -> Self:
        """Learn the rows once, in their order, forgetting what was learnt before."""
        X, y = validate_data(self, X, y, dtype=[np.float64, np.float32])
        classes, codes = encode(column_or_1d(y, warn=True))
        self._begin(X, classes)
        self._learn(X, codes)
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Self:
        """Learn further rows; the first call must be told both classes."""
        first = not hasattr(self, "state_")
        X, y = validate_data(self, X, y, reset=first, dtype=self._dtypes(first))
        labels, codes = encode(column_or_1d(y, warn=True))
        if first:
            if classes is None:
                raise InputError("Pegasos.partial_fit: classes=None; the first call needs the list of both labels.")
            self._begin(X, np.unique(classes))
        elif classes is not None and not np.array_equal(np.unique(classes), self.classes_):
            raise InputError(
                f"Pegasos.partial_fit: classes={list(classes)} differ from those of the first call, "
                f"{self.classes_.tolist()}. Leave them out, or fit a new estimator."
            )
        strange = np.setdiff1d(labels, self.classes_)
        if len(strange):
            raise InputError(
                f"Pegasos.partial_fit: y holds {strange.tolist()[:5]}, which is not among "
                f"classes={self.classes_.tolist()}."
            )
        self._learn(X, np.searchsorted(self.classes_, labels).astype(np.int32)[codes])
        return self

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """<w, x> + intercept of each row: positive for the second class."""
        return self._respond(X)

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of each row."""
        labels: NDArray[Any] = self.classes_[(self.decision_function(X) > 0).astype(int)]
        return labels

    @property
    def coef_(self) -> NDArray[np.float64]:
        """The weights of the features."""
        return self._split[0][np.newaxis]

    @property
    def intercept_(self) -> NDArray[np.float64]:
        """The weight of the constant feature, 0 without one."""
        return np.array([self._split[1]])

    @property
    def classes_(self) -> NDArray[Any]:
        """The two labels."""
        check_is_fitted(self, "state_")
        return np.asarray(self.schema_.classes)

    def _begin(self, X: NDArray[Any], classes: NDArray[Any]) -> None:
        if len(classes) == 1:
            raise InputError(
                f"Pegasos needs two classes, but y holds the one class {classes.tolist()[0]!r}. Add rows of another "
                "class; partial_fit takes one class at a time if it is told both."
            )
        if len(classes) > 2:
            raise InputError(
                f"Only binary classification is supported. y holds {len(classes)} classes: {classes.tolist()[:5]}. "
                "Make it one class against the rest (y == label)."
            )
        self._start(Schema(len(X), X.shape[1], X.dtype.name, classes))

    def _dtypes(self, first: bool) -> Any:
        return [np.float64, np.float32] if first else np.dtype(self.schema_.dtype)

    def _vector(self) -> NDArray[np.float64]:
        vector: NDArray[np.float64] = self.state_["v"][0].astype(float) / (self.learner_.alpha * max(self.t_, 1))
        return vector

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags
