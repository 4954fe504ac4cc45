"""Gaussian naive Bayes from moments.

Moments of parts are joined and taken apart as in Chan, Golub and LeVeque, *Algorithms for computing the sample
variance* (1983), and every fold's model is the whole minus the fold: Izbicki, *Algebraic classifiers* (2013). A mean
is kept as a sum of two numbers, for where data lies far from zero the difference from it must not lose the digits that
the data has.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from treecv import kernels
from treecv.data import Feed, Rows
from treecv.data.rows import readable
from treecv.learner import Schema
from treecv.learners import without

Numbers = NDArray[np.float64]

LOST = 1e-4
"""Where a difference leaves less than this share of a sum, its digits are not to be trusted."""
NO_WEIGHT = 1e-8
"""scikit-learn takes a class of so little weight for one without moments."""
_BLOCK = 1 << 18


@dataclass(slots=True)
class Moments:
    """Of each class; last, of all rows, which there weigh 1 each. The mean is `mean + rest`."""

    count: Numbers
    weight: Numbers
    mean: Numbers
    rest: Numbers
    squares: Numbers

    @classmethod
    def none(cls, groups: int, n_features: int) -> "Moments":
        """Those of no rows."""
        table = np.zeros((3, groups, n_features))
        return cls(np.zeros(groups), np.zeros(groups), *table)

    @classmethod
    def of(cls, rows: Rows, groups: int) -> "Moments":
        """Those of some rows."""
        X, codes, weights = _read(rows)
        moments = cls.none(groups, X.shape[1])
        for code in np.unique(codes):
            own = codes == code
            moments._put(code, X[own], np.ones(int(own.sum())) if weights is None else weights[own])
        if len(X):
            moments._put(groups - 1, X, np.ones(len(X)))
        return moments

    def _put(self, group: int, X: Numbers, weights: Numbers) -> None:
        self.count[group] = len(X)
        self.weight[group] = weight = weights.sum()
        if not weight > 0:
            return
        start = X[0]
        away = weights @ (X - start) / weight
        mean = start + away
        rest = (start - mean) + away
        distance = (X - mean) - rest
        left = weights @ distance / weight
        self.mean[group], self.rest[group] = mean, rest + left
        self.squares[group] = weights @ distance**2 - weight * left**2

    def copy(self) -> "Moments":
        """An independent copy."""
        return Moments(*(getattr(self, name).copy() for name in self.__slots__))

    def join(self, other: "Moments") -> None:
        """Add the rows of another part."""
        share = _divided(other.weight, self.weight + other.weight)[:, np.newaxis]
        first = self.weight == 0
        self.mean[first], self.rest[first] = other.mean[first], other.rest[first]
        apart = (other.mean - self.mean) + (other.rest - self.rest)
        self.squares += other.squares + self.weight[:, np.newaxis] * share * apart**2
        self._move(share * apart)
        self.weight += other.weight
        self.count += other.count

    def leave(self, part: "Moments") -> None:
        """Take the rows of a part away."""
        left = np.where(self.count > part.count, self.weight - part.weight, 0.0)
        share = _divided(part.weight, left)[:, np.newaxis]
        apart = (part.mean - self.mean) + (part.rest - self.rest)
        self.squares -= part.squares + self.weight[:, np.newaxis] * share * apart**2
        np.maximum(self.squares, 0.0, out=self.squares)
        self._move(-share * apart)
        self.weight, self.count = left, self.count - part.count
        for table in (self.mean, self.rest, self.squares):
            table[self.count == 0] = 0.0

    def _move(self, by: Numbers) -> None:
        """Move the means, and keep what does not fit one number."""
        moved = self.mean + by
        back = moved - self.mean
        self.rest += (self.mean - (moved - back)) + (by - back)
        self.mean = moved + self.rest
        self.rest -= self.mean - moved

    @property
    def variance(self) -> Numbers:
        """The mean squared distance from the mean."""
        return self.squares * _divided(1.0, self.weight)[:, np.newaxis]


def _divided(above: float | Numbers, below: Numbers) -> Numbers:
    """The ratio; 0 where there is nothing to divide by."""
    return np.divide(above, below, out=np.zeros_like(below), where=below > 0)


def _read(rows: Rows) -> tuple[Numbers, Any, Any]:
    """Features, codes and weights in the order of positions."""
    part = slice(None) if rows.index is None else rows.index
    codes, weights = (None if values is None else np.asarray(values)[part] for values in (rows.y, rows.weights))
    return np.asarray(rows.X[part], np.float64), codes, weights


@dataclass(frozen=True, slots=True)
class Model:
    """What predictions need of the classes: log prior, mean (in two parts) and variance; and of the features."""

    log_prior: Numbers
    mean: Numbers
    rest: Numbers
    variance: Numbers
    added: Numbers
    scale: Numbers
    present: NDArray[np.bool_]


@dataclass(frozen=True)
class GaussianBayes:
    """Classes whose features are independent Gaussians; predicts the logarithm of the joint density of each class.

    Parameters
    ----------
    classes : int
        How many there are.
    smoothing : float
        The share of the largest variance of all features that is added to each variance.
    priors : tuple of float, optional
        Probabilities of the classes. None: their shares of the weight that was learnt. Where they are given and
        a class was not learnt, there is no model.
    centred, scaled : bool
        Whether the mean is taken from features first, and whether they are divided by their standard deviations. Those
        that rounding alone may have made vary are not divided.

    Examples
    --------
    >>> import numpy as np
    >>> from treecv.data import Rows
    >>> from treecv.learner import Schema
    >>> learner = GaussianBayes(classes=2)
    >>> state = learner.init(Schema(n_rows=4, n_features=1, dtype="float64"))
    >>> learner.update(state, Rows(np.array([[-2.0], [-1.0], [1.0], [2.0]]), np.array([0, 0, 1, 1])))
    >>> learner.predict(state, Rows(np.array([[-1.5]]))).round(3)
    array([[ -0.919, -18.919]])
    """

    classes: int
    smoothing: float = 1e-9
    priors: tuple[float, ...] | None = None
    centred: bool = False
    scaled: bool = False

    order_free: ClassVar[bool] = True
    call_free: ClassVar[bool] = True
    margins: ClassVar[bool] = True
    weighs: ClassVar[bool] = True

    @property
    def outputs(self) -> int:
        """A number for each class."""
        return self.classes

    def init(self, schema: Schema) -> Moments:
        """A state that has learnt nothing."""
        return Moments.none(self.classes + 1, schema.n_features)

    def copy(self, state: Moments) -> Moments:
        """An independent state."""
        return state.copy()

    def update(self, state: Moments, rows: Rows) -> None:
        """Let `state` learn `rows`."""
        state.join(Moments.of(rows, self.classes + 1))

    def merge(self, state: Moments, other: Moments) -> None:
        """Let `state` learn what `other` has."""
        state.join(other)

    def unlearn(self, state: Moments, rows: Rows) -> None:
        """Let `state` be as if it had never learnt `rows`."""
        state.leave(Moments.of(rows, self.classes + 1))

    def unlearnable(self, state: Moments, rows: Rows) -> bool:
        """Whether unlearning these rows leaves enough of the digits."""
        left = state.copy()
        self.unlearn(left, rows)
        alive = left.count > 0
        if (left.weight[alive] < LOST * state.weight[alive]).any():
            return False
        least = LOST * state.squares * _divided(1.0, left.weight)[:, np.newaxis]
        found = left.variance
        if (found[-1] < least[-1]).any():
            return False
        added = self.smoothed(left)[0] if left.count[-1] else 0.0
        return not (found + added < least)[:-1][alive[:-1]].any()

    def predict(self, state: Moments, rows: Rows) -> Numbers:
        """The log joint density of each class; NaN without a model, -inf for classes not learnt."""
        out = np.full((len(rows), self.classes), np.nan)
        model = self.model(state)
        if model is None:
            return out
        step = max(1, _BLOCK // rows.X.shape[1])
        for begin in range(0, len(rows), step):
            part = rows.stretch(begin, min(begin + step, len(rows)))
            out[begin : begin + step] = _densities(model, _read(part)[0])
        return out

    def model(self, state: Moments) -> Model | None:
        """What follows from the moments; None where `fit` on these rows would fail."""
        present, total = state.count[:-1] > 0, state.weight[:-1].sum()
        if not (total > 0 and np.isfinite(state.squares[-1]).all()) or (self.priors is not None and not present.all()):
            return None
        added, scale = self.smoothed(state)
        light = state.weight[:-1, np.newaxis] <= NO_WEIGHT
        mean, rest = (np.where(light, self.centred * table[-1], table[:-1]) for table in (state.mean, state.rest))
        variance = np.where(light, 0.0, state.variance[:-1])
        with np.errstate(divide="ignore"):
            log_prior = np.log(state.weight[:-1] / total if self.priors is None else np.array(self.priors))
        return Model(log_prior, mean, rest, variance, added, scale, present)

    def smoothed(self, state: Moments) -> tuple[Numbers, Numbers]:
        """What is added to the variances of the features, and what these are divided by."""
        variance = state.variance[-1]
        if not self.scaled:
            return np.full(len(variance), self.smoothing * variance.max()), np.ones(len(variance))
        count, epsilon = state.count[-1], np.finfo(float).eps
        bound = count * epsilon * variance + (count * (state.mean[-1] + state.rest[-1]) * epsilon) ** 2
        constant = variance <= bound  # the test of scikit-learn's StandardScaler
        square = np.where(constant, 1.0, variance)
        return self.smoothing * np.where(constant, variance, 1.0).max() * square, np.sqrt(square)

    def held_out(self, schema: Schema, feed: Feed) -> Numbers:
        """The predictions at all positions in folds, each by the model that has learnt all rows but its fold's."""
        if kernels.core is None:
            return without.held_out(self, schema, feed)
        rows = feed.rows
        out = np.empty((feed.n_rows - feed.chunks.before, self.classes))
        kernels.core.gaussian_bayes_held_out(
            readable(np.asarray(rows.X, np.float64)),
            _as(rows.y, np.int32),
            weights=_as(rows.weights, np.float64),
            index=_as(rows.index, np.int64),
            offsets=_as(feed.chunks.offsets, np.int64),
            smoothing=self.smoothing,
            centred=self.centred,
            scaled=self.scaled,
            priors=_as(self.priors, np.float64),
            classes=self.classes,
            out=out.reshape(-1),
        )
        return out

    def held_out_trainings(self, n_rows: int, n_features: int, k: int) -> float:
        """What `held_out` costs, in trainings."""
        return 0.4 + 0.05 * self.classes + 0.08 * self.classes * k / n_rows


def _as(values: Any, dtype: Any) -> NDArray[Any] | None:
    return None if values is None else np.ascontiguousarray(values, dtype)


def _densities(model: Model, X: Numbers) -> Numbers:
    """The log joint density of each class; -inf for those that were not learnt."""
    out = np.full((len(X), len(model.log_prior)), -np.inf)
    variance = model.variance + model.added
    with np.errstate(all="ignore"):
        logs = np.log(2 * np.pi * variance).sum(axis=1) - 2 * np.log(model.scale).sum()
        for code in np.flatnonzero(model.present):
            away = (X - model.mean[code]) - model.rest[code]
            squares = (away**2 / variance[code]).sum(axis=1)
            out[:, code] = model.log_prior[code] - 0.5 * (logs[code] + squares)
    out[np.isnan(out).any(axis=1)] = np.nan  # a variance of 0 leaves no number, and nothing that could be compared
    return out
