"""OnePass: an estimator whose `fit` is one pass of another one's `partial_fit`."""

from numbers import Integral
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.utils import get_tags, indexable
from sklearn.utils.metadata_routing import MetadataRouter, _routing_enabled, process_routing
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from treecv.adapters import as_learner, fitted_estimator, shaped
from treecv.adapters.routing import add_routes, collected
from treecv.adapters.schemas import describe
from treecv.data import Rows
from treecv.data.tables import take
from treecv.errors import InputError
from treecv.order import ORDERS, Stream


def _fitted_has(method: str) -> Any:
    """Whether the estimator inside has a method."""

    def check(wrapper: "OnePass") -> bool:
        getattr(getattr(wrapper, "estimator_", shaped(wrapper.estimator)), method)
        return True

    return available_if(check)


class OnePass(MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """An estimator whose `fit` is one pass of `partial_fit` over the rows.

    `fit` of many estimators makes several passes, or shuffles, or holds rows out; cross-validation by the tree
    trains by `partial_fit`. Wrapped in this class, both are the same: what is scored is what `fit` gives.

    Parameters
    ----------
    estimator : estimator
        With `partial_fit`, or a pipeline whose steps all have it, or a model of river or torch.
    batch_size : int, optional
        The most rows that a call of `partial_fit` gets. None: all at once. For a model of river: rows that are
        learnt by `learn_many`, and None is `learn_one`.
    order : {"fixed", "randomized", "blocks"}
        The order in which `fit` learns the rows, and each update of the tree: as stored, or permuted.
        "blocks" permutes inside folds, and is "randomized" in `fit`.
    seed : int, optional
        Names the permutation of `fit`.

    Attributes
    ----------
    estimator_ : estimator
        The estimator that was trained.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from treecv import OnePass, cross_val_score
    >>> X, y = load_iris(return_X_y=True)
    >>> cross_val_score(OnePass(GaussianNB()), X, y, cv="loo").mean().round(3)
    np.float64(0.953)
    """

    def __init__(
        self, estimator: Any, batch_size: int | None = None, order: str = "fixed", *, seed: int | None = None
    ) -> None:
        self.estimator = estimator
        self.batch_size = batch_size
        self.order = order
        self.seed = seed

    def fit(self, X: Any, y: Any = None, **params: Any) -> Self:
        """Learn the rows once, forgetting what was learnt before."""
        X, y = indexable(X, y)
        permutation = None
        if self.order != "fixed":
            seed = np.random.SeedSequence().generate_state(1, np.uint64)[0] if self.seed is None else self.seed
            permutation = Stream(int(seed)).permutation(len(X) if hasattr(X, "__len__") else X.shape[0])
        if hasattr(self.estimator, "__treecv_learner__"):  # its own `fit` is the pass
            parts = [part if permutation is None else take(part, permutation) for part in (X, y)]
            self.estimator_ = clone(self.estimator).fit(*parts, **params)
            return self
        metadata = collected(process_routing(self, "fit", **params), self) if _routing_enabled() else dict(params)
        schema = describe(self, X, y)
        learner: Any = as_learner(self, schema, native=False)
        if metadata and hasattr(learner, "check_metadata"):
            learner.check_metadata(list(metadata))
        state = learner.init(schema)
        weights = metadata.pop("sample_weight", None)
        learner.update(state, Rows(X, y, weights, permutation, metadata or None))
        self.estimator_ = fitted_estimator(self.estimator, learner, state, schema)
        return self

    @_fitted_has("predict")  # type: ignore[untyped-decorator]  # scikit-learn has no types
    def predict(self, X: Any) -> Any:
        """What the estimator predicts."""
        return self._trained().predict(X)

    @_fitted_has("predict_proba")  # type: ignore[untyped-decorator]  # scikit-learn has no types
    def predict_proba(self, X: Any) -> Any:
        """The estimator's probabilities of the classes."""
        return self._trained().predict_proba(X)

    @_fitted_has("predict_log_proba")  # type: ignore[untyped-decorator]  # scikit-learn has no types
    def predict_log_proba(self, X: Any) -> Any:
        """Their logarithms."""
        return self._trained().predict_log_proba(X)

    @_fitted_has("decision_function")  # type: ignore[untyped-decorator]  # scikit-learn has no types
    def decision_function(self, X: Any) -> Any:
        """The estimator's decision values."""
        return self._trained().decision_function(X)

    @_fitted_has("transform")  # type: ignore[untyped-decorator]  # scikit-learn has no types
    def transform(self, X: Any) -> Any:
        """The rows transformed."""
        return self._trained().transform(X)

    @_fitted_has("inverse_transform")  # type: ignore[untyped-decorator]  # scikit-learn has no types
    def inverse_transform(self, X: Any) -> Any:
        """Transformed rows turned back."""
        return self._trained().inverse_transform(X)

    @_fitted_has("get_feature_names_out")  # type: ignore[untyped-decorator]  # scikit-learn has no types
    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """The names of the columns that `transform` gives."""
        return self._trained().get_feature_names_out(input_features)

    @_fitted_has("score")  # type: ignore[untyped-decorator]  # scikit-learn has no types
    def score(self, X: Any, y: Any = None, **params: Any) -> Any:
        """The estimator's own score."""
        return self._trained().score(X, y, **params)

    @_fitted_has("score_samples")  # type: ignore[untyped-decorator]  # scikit-learn has no types
    def score_samples(self, X: Any) -> Any:
        """The estimator's score of each row."""
        return self._trained().score_samples(X)

    @property
    def classes_(self) -> Any:
        """The labels."""
        return self._trained().classes_

    @property
    def n_features_in_(self) -> int:
        """The features of the rows learnt."""
        return int(self._learnt("n_features_in_"))

    @property
    def feature_names_in_(self) -> Any:
        """Their names."""
        return self._learnt("feature_names_in_")

    def get_metadata_routing(self) -> MetadataRouter:
        """What is passed to `fit` goes to `partial_fit` of the estimator, or of the steps of a pipeline.

        What is passed to `score` goes to its `score`, which is that of the last step.
        """
        return add_routes(MetadataRouter(owner=type(self).__name__), self, scored=True)

    def __treecv_wraps__(self) -> tuple[Any, int | None]:
        """What is trained, and in batches of how many rows."""
        self._check()
        return self.estimator, self.batch_size

    def __treecv_around__(self, fitted: Any) -> Self:
        """A clone of this wrapper around a trained estimator."""
        wrapper: Self = clone(self)
        wrapper.estimator_ = fitted
        return wrapper

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        own = shaped(self.estimator)
        if hasattr(own, "__sklearn_tags__"):
            own = get_tags(own)
            for name in ("estimator_type", "classifier_tags", "regressor_tags", "transformer_tags", "target_tags"):
                setattr(tags, name, getattr(own, name))
            tags.input_tags = own.input_tags
        return tags

    def _trained(self) -> Any:
        check_is_fitted(self, "estimator_")
        return self.estimator_

    def _learnt(self, name: str) -> Any:
        if "estimator_" not in vars(self):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(self.estimator_, name)

    def _check(self) -> None:
        size = self.batch_size
        if size is not None and (not isinstance(size, Integral) or isinstance(size, bool) or size < 1):
            raise InputError(f"OnePass: batch_size={size!r} must be a whole number of rows from 1 on, or None for all.")
        if self.order not in ORDERS:
            raise InputError(f"OnePass: order={self.order!r} is not known: use one of {list(ORDERS)}.")
