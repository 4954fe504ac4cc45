"""How scikit-learn's estimators are trained in parts: one call each, and what some of them need besides."""

import copy
import inspect
from collections.abc import Iterator
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.cluster import MiniBatchKMeans
from sklearn.decomposition import IncrementalPCA
from sklearn.kernel_approximation import PolynomialCountSketch, RBFSampler, SkewedChi2Sampler
from sklearn.naive_bayes import BernoulliNB, CategoricalNB, ComplementNB, GaussianNB, MultinomialNB
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, PolynomialFeatures, StandardScaler
from sklearn.random_projection import GaussianRandomProjection, SparseRandomProjection
from sklearn.utils import get_tags

from treecv.order import Stream


class Step:
    """One call of `partial_fit` an update."""

    order_free = False

    def start(self, step: Any) -> None:
        """Make a clone ready to learn."""

    def first(self, step: Any, width: int) -> int:
        """The rows that the first call needs at the least."""
        return 1

    def learn(self, step: Any, X: Any, y: Any, arguments: dict[str, Any]) -> None:
        """Learn these rows."""
        if y is None:
            step.partial_fit(X, **arguments)
        else:
            step.partial_fit(X, y, **arguments)

    def finish(self, step: Any, settings: Any) -> Any:
        """The estimator as users know it; `settings` is the one that was cloned."""
        return step


class OrderFree(Step):
    """Sums, counts or extremes: what is learnt does not depend on order or batches, but for rounding."""

    order_free = True


class Clusters(Step):
    """The first rows become the centres: there must be enough of them."""

    def first(self, step: Any, width: int) -> int:
        """A row for each centre."""
        return int(step.n_clusters)


class Components(Step):
    """The first rows span the components: fewer rows are refused, or would make fewer components."""

    def first(self, step: Any, width: int) -> int:
        """A row for each component."""
        return int(step.n_components or width)


class Smoothed(OrderFree):
    """GaussianNB adds a share of the largest variance of all features, but takes it from the last call alone.

    So the smoothing is kept out while it learns. The moments of the features, from all rows, are kept beside
    (Chan, Golub and LeVeque 1979), and `finish` adds what `fit` on the same rows would have added.
    """

    def start(self, step: Any) -> None:
        """Nothing is added, and no row was seen."""
        step.var_smoothing = 0.0
        step._treecv_moments = 0, 0.0, 0.0

    def learn(self, step: Any, X: Any, y: Any, arguments: dict[str, Any]) -> None:
        """Learn these rows, and their moments."""
        if arguments or not _is_plain(step, X, y):
            super().learn(step, X, y, arguments)
        else:
            _learn_checked(step, X, y)
        n, mean, squares = step._treecv_moments
        X = np.asarray(X, np.float64)
        m, own = len(X), X.mean(axis=0)
        total, shift = n + m, own - mean
        squares = squares + shift**2 * (n * m / total)
        if m > 1:
            squares += ((X - own) ** 2).sum(axis=0)
        step._treecv_moments = total, mean + shift * (m / total), squares

    def finish(self, step: Any, settings: Any) -> Any:
        """What `fit` on the same rows gives."""
        finished = copy.copy(step)
        n, _, squares = finished.__dict__.pop("_treecv_moments")
        finished.var_smoothing = settings.var_smoothing
        finished.epsilon_ = settings.var_smoothing * (squares / n).max()
        finished.var_ = step.var_ + finished.epsilon_
        return finished


def _is_plain(step: Any, X: Any, y: Any) -> bool:
    """Whether rows can do without scikit-learn's checks, which take a GaussianNB ten times as long as what it learns.

    It has learnt some already, nobody changed its `partial_fit`, and these are finite numbers of the same width.
    """
    plain = type(step) is GaussianNB and hasattr(step, "theta_") and type(X) is type(y) is np.ndarray
    if not plain or X.dtype != np.float64 or X.ndim != 2 or y.ndim != 1 or not len(X) == len(y) > 0:
        return False
    return X.shape[1] == step.theta_.shape[1] and y.dtype == step.classes_.dtype and bool(np.isfinite(X).all())


def _learn_checked(step: GaussianNB, X: NDArray[np.float64], y: NDArray[Any]) -> None:
    """What `partial_fit` does behind its checks, with its own arithmetic; smoothing is out, all labels are known."""
    for label in np.unique(y) if len(y) > 1 else y:
        own, i = X[y == label], step.classes_.searchsorted(label)
        count = step.class_count_[i]
        mean, variance = step._update_mean_variance(count, step.theta_[i], step.var_[i], own)
        step.theta_[i], step.var_[i], step.class_count_[i] = mean, variance, count + len(own)
    if step.priors is None:
        step.class_prior_ = step.class_count_ / step.class_count_.sum()


class Stateless(Step):
    """Transforms without having learnt, or learns from the shape of the first rows alone."""

    order_free = True

    def learn(self, step: Any, X: Any, y: Any, arguments: dict[str, Any]) -> None:
        """Look at the shape, once."""
        if not hasattr(step, "n_features_in_"):
            step.fit(X)


_KNOWN: dict[type, Step] = {
    **dict.fromkeys((BernoulliNB, CategoricalNB, ComplementNB, MultinomialNB), OrderFree()),
    **dict.fromkeys((MaxAbsScaler, MinMaxScaler, StandardScaler), OrderFree()),
    GaussianNB: Smoothed(),
    MiniBatchKMeans: Clusters(),
    IncrementalPCA: Components(),
    **dict.fromkeys((PolynomialFeatures, PolynomialCountSketch, RBFSampler, SkewedChi2Sampler), Stateless()),
    **dict.fromkeys((GaussianRandomProjection, SparseRandomProjection), Stateless()),
}
_ANY, _STATELESS = Step(), Stateless()


def way_of(step: Any) -> Step | None:
    """How an estimator is trained in parts; None if it cannot be."""
    for cls in type(step).__mro__:
        if cls in _KNOWN:
            return _KNOWN[cls]
    if hasattr(step, "partial_fit"):
        return _ANY
    if hasattr(step, "transform") and isinstance(step, BaseEstimator) and not get_tags(step).requires_fit:
        return _STATELESS
    return None


def steps_of(estimator: Any) -> Iterator[tuple[str, Any]]:
    """The steps of a pipeline that do something, or the estimator itself under no name."""
    if not isinstance(estimator, Pipeline):
        yield "", estimator
        return
    for name, step in estimator.steps:
        if step is not None and not (isinstance(step, str) and step == "passthrough"):
            yield name, step


def accepts(estimator: Any, argument: str) -> bool:
    """Whether `partial_fit` takes an argument, itself or for the estimator inside."""
    if not hasattr(estimator, "partial_fit"):
        return False
    parameters = inspect.signature(estimator.partial_fit).parameters
    if argument in parameters:
        return True
    anything = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values())
    return anything and accepts(getattr(estimator, "estimator", None), argument)


def is_random(estimator: Any) -> bool:
    """Whether an estimator, or one inside it, draws random numbers."""
    return any(name.rpartition("__")[2] == "random_state" for name in estimator.get_params())


def draw_from(estimator: Any, stream: Stream) -> None:
    """Give an estimator, and all inside it, the random numbers of a place.

    An integer that the user gave stays. The generator of a model that has drawn from it is replaced, for it is
    copied with the model, and siblings would replay its numbers.
    """
    for i, part in enumerate(_inside(estimator)):
        number, own = stream(i) % 2**32, vars(part)
        if "random_state" in own and not isinstance(own["random_state"], Integral):
            part.random_state = number
        for name in ("_random_state", "random_state_"):
            if isinstance(own.get(name), np.random.RandomState):
                setattr(part, name, np.random.RandomState(number))


def _inside(estimator: Any) -> Iterator[BaseEstimator]:
    """An estimator and all that it holds."""
    if isinstance(estimator, BaseEstimator):
        yield estimator
        estimator = list(vars(estimator).values())
    for value in estimator:
        if isinstance(value, BaseEstimator | list | tuple):
            yield from _inside(value)
