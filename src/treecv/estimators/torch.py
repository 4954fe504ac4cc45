"""Nets of torch in scikit-learn's shape: `fit` is one pass over the rows, in their order."""

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from treecv.adapters.torch import TorchLearner
from treecv.data import Rows, encode
from treecv.errors import InputError
from treecv.learner import Learner, Schema, State


class TorchEstimator(BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """A module and an optimiser, trained in batches; a short batch takes as much shorter a step."""

    def __init__(
        self,
        module: Any,
        optimizer: Callable[..., Any],
        *,
        loss: Callable[..., Any] | None = None,
        batch_size: int = 32,
        device: str = "cpu",
    ) -> None:
        self.module = module
        self.optimizer = optimizer
        self.loss = loss
        self.batch_size = batch_size
        self.device = device

    def __treecv_learner__(self, schema: Schema) -> Learner:
        """The learner with these settings."""
        name = type(self).__name__
        return TorchLearner(self.module, self.optimizer, self.loss, self.batch_size, self.device, name)

    def __treecv_fitted__(self, state: State, schema: Schema) -> Self:
        """A clone of this estimator that has learnt `state`."""
        fitted: Self = clone(self)
        fitted._start(schema, state)
        fitted.n_features_in_ = schema.n_features
        return fitted

    def predict(self, X: Any) -> NDArray[Any]:
        """What the module predicts for each row."""
        return self._respond(X, "predict")

    @property
    def module_(self) -> Any:
        """The trained module."""
        check_is_fitted(self, "state_")
        return self.state_.module

    def _start(self, schema: Schema, state: State | None = None) -> None:
        self.schema_ = schema
        self.learner_: Any = self.__treecv_learner__(schema)
        self.state_ = self.learner_.init(schema) if state is None else state

    def _checked(self, X: Any, y: Any, reset: bool, **checks: Any) -> tuple[Any, Any]:
        X, y = validate_data(
            self, X, y, reset=reset, accept_sparse="csr", dtype=np.float32, allow_nd=True, multi_output=True, **checks
        )
        return X, y

    def _learn(self, X: Any, y: Any) -> Self:
        self.learner_.update(self.state_, Rows(X, y))
        return self

    def _respond(self, X: Any, method: str) -> NDArray[Any]:
        check_is_fitted(self, "state_")
        X = validate_data(self, X, reset=False, accept_sparse="csr", dtype=np.float32, allow_nd=True)
        response: NDArray[Any] = self.learner_.respond(self.state_, Rows(X), method)
        return response


class TorchClassifier(ClassifierMixin, TorchEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """A net that tells classes apart, learnt in one pass.

    Parameters
    ----------
    module : torch.nn.Module
        Gives one logit a class. Training starts from its weights; it is copied and never changed.
    optimizer : callable
        From parameters to an optimiser, as functools.partial(torch.optim.SGD, lr=0.1).
    loss : callable, optional
        From logits and codes of the classes to a mean over the rows. None: the cross entropy.
    batch_size : int, default=32
        The rows of a step. A shorter batch, such as the last one, takes as much shorter a step.
    device : str, default="cpu"
        Where the net is trained.

    Attributes
    ----------
    classes_ : ndarray
        The labels, sorted; the module's outputs are in this order.
    module_ : torch.nn.Module
        The trained module.

    Examples
    --------
    >>> from functools import partial
    >>> import torch
    >>> from sklearn.datasets import load_iris
    >>> from treecv import TorchClassifier, cross_val_predict
    >>> X, y = load_iris(return_X_y=True)
    >>> net = TorchClassifier(torch.nn.Linear(4, 3), partial(torch.optim.SGD, lr=0.1))
    >>> cross_val_predict(net, X, y, cv="loo", method="predict_proba").shape
    (150, 3)
    """

    def fit(self, X: Any, y: Any) -> Self:
        """Learn the rows once, forgetting what was learnt before."""
        X, y = self._checked(X, y, reset=True)
        labels = column_or_1d(y, warn=True)
        self._start(Schema(X.shape[0], X.shape[1], "float32", encode(labels)[0]))
        return self._learn(X, labels)

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Self:
        """Learn further rows; the first call must be told all classes."""
        first = not hasattr(self, "state_")
        X, y = self._checked(X, y, reset=first)
        if first:
            if classes is None:
                raise InputError(
                    "TorchClassifier.partial_fit: classes=None; the first call needs the list of all labels."
                )
            self._start(Schema(X.shape[0], X.shape[1], "float32", np.unique(classes)))
        elif classes is not None and not np.array_equal(np.unique(classes), self.classes_):
            raise InputError(
                f"TorchClassifier.partial_fit: classes={list(classes)} differ from those of the first call, "
                f"{self.classes_.tolist()}. Leave them out, or fit a new estimator."
            )
        return self._learn(X, column_or_1d(y, warn=True))

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """The probability of each class: the softmax of the module's outputs."""
        return self._respond(X, "predict_proba")

    @property
    def classes_(self) -> NDArray[Any]:
        """The labels, sorted."""
        check_is_fitted(self, "state_")
        return np.asarray(self.schema_.classes)


class TorchRegressor(RegressorMixin, TorchEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """A net that predicts numbers, learnt in one pass.

    Parameters
    ----------
    module : torch.nn.Module
        Gives one output a target. Training starts from its weights; it is copied and never changed.
    optimizer : callable
        From parameters to an optimiser, as functools.partial(torch.optim.SGD, lr=0.1).
    loss : callable, optional
        From outputs and targets to a mean over the rows. None: the mean squared error.
    batch_size : int, default=32
        The rows of a step. A shorter batch, such as the last one, takes as much shorter a step.
    device : str, default="cpu"
        Where the net is trained.

    Attributes
    ----------
    module_ : torch.nn.Module
        The trained module.

    Examples
    --------
    >>> from functools import partial
    >>> import torch
    >>> from sklearn.datasets import load_diabetes
    >>> from treecv import TorchRegressor, cross_val_score
    >>> X, y = load_diabetes(return_X_y=True)
    >>> net = TorchRegressor(torch.nn.Linear(10, 1), partial(torch.optim.SGD, lr=0.01))
    >>> cross_val_score(net, X, y, cv=20).shape
    (20,)
    """

    def fit(self, X: Any, y: Any) -> Self:
        """Learn the rows once, forgetting what was learnt before."""
        X, y = self._checked(X, y, reset=True, y_numeric=True)
        self._start(_schema(X, y))
        return self._learn(X, y)

    def partial_fit(self, X: Any, y: Any) -> Self:
        """Learn further rows."""
        first = not hasattr(self, "state_")
        X, y = self._checked(X, y, reset=first, y_numeric=True)
        if first:
            self._start(_schema(X, y))
        return self._learn(X, y)


def _schema(X: Any, y: NDArray[Any]) -> Schema:
    return Schema(X.shape[0], X.shape[1], "float32", n_outputs=1 if y.ndim == 1 else y.shape[1])
