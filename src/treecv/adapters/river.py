"""Models and pipelines of river, which learn one row at a time.

A state is a fresh clone of the model. A row becomes a dictionary, under the names of the columns where there are
some, and labels become Python's own scalars. river is never imported here: a model of it brings it along.
"""

import pickle
import random
import sys
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, pairwise
from types import FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, ClusterMixin, RegressorMixin
from sklearn.utils import indexable
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from treecv.adapters.copying import duplicate
from treecv.data import Rows, encode
from treecv.data.tables import take
from treecv.errors import CapabilityError, InputError
from treecv.learner import Learner, Schema, State
from treecv.order import Stream

_KINDS = {
    "classifier": "Classifier",
    "regressor": "Regressor",
    "clusterer": "Clusterer",
    "anomaly detector": "AnomalyDetector",
    "transformer": "Transformer",
}
_BLOCK = 1024
"""Rows made dictionaries of at once: many enough to be quick, few enough to need no memory."""


def is_river(model: Any) -> bool:
    """Whether a model learns one row at a time, as river's do."""
    return hasattr(model, "learn_one") and not isinstance(model, type)


def kind(model: Any) -> str:
    """What a model is: "classifier", "regressor", "clusterer", "anomaly detector", "transformer" or "other"."""
    base = sys.modules.get("river.base")
    while hasattr(model, "steps"):  # a pipeline is what its last step is
        model = list(model.steps.values())[-1]
    for name, cls in _KINDS.items():
        if base is not None and isinstance(model, getattr(base, cls)):
            return name
    return "other"


class Model(NamedTuple):
    """A state: a model of river, its random generators, and how labels are said to it and by it."""

    model: Any
    generators: list[Any]
    classes: Any = None
    told: dict[Any, Any] | None = None
    codes: dict[Any, int] | None = None


class RiverLearner:
    """The learner of a model, or a pipeline, of river.

    A classifier for two classes is told False and True for them, as river wants it, and predicts their labels. A
    model whose seed was left out gets the random numbers of the place of each update; a seed that was given stays.

    Parameters
    ----------
    model : river.base.Classifier, Regressor or Clusterer
        Its settings; it is cloned and never changed.
    batch_size : int, optional
        The most rows that a call of `learn_many` gets: of most models another algorithm than the default, `learn_one`
        for each row.
    """

    as_given = True

    def __init__(self, model: Any, batch_size: int | None = None) -> None:
        self.kind = _check_model(model)
        if batch_size is not None:
            _check_learns_many(model, batch_size)
        self.model = model.clone()
        self.batch_size = batch_size
        fresh = (pickle.dumps(_generators(model.clone())) for _ in range(2))
        self.draws = next(fresh) != next(fresh)
        self.call_free = batch_size is None and not self.draws

    def init(self, schema: Schema) -> State:
        """A model that has learnt nothing."""
        model = self.model.clone()
        generators = _generators(model) if self.draws else []
        if self.kind != "classifier":
            return Model(model, generators)
        classes = np.asarray(schema.classes)
        labels = classes.tolist()
        if getattr(model, "_multiclass", True):
            return Model(model, generators, classes, None, {None: 0} | {label: i for i, label in enumerate(labels)})
        if len(labels) > 2:
            raise CapabilityError(
                f"{_name(model)} is for two classes, but y holds {len(labels)}: {labels[:5]}. Use "
                f"river.multiclass.OneVsRestClassifier({_name(model)}())."
            )
        told = dict(zip(labels, (False, True), strict=False))
        return Model(model, generators, classes, told, {None: 0, False: 0, True: len(labels) - 1})

    def copy(self, state: State) -> State:
        """An independent state. `clone(include_attributes=True)` would lose what an optimiser has learnt."""
        model, generators = duplicate(self, state[:2])
        return Model(model, generators, *state[2:])

    def update(self, state: State, rows: Rows) -> None:
        """Let the model learn `rows`, in their order."""
        if rows.weights is not None or rows.metadata:
            self.check_metadata(["sample_weight"] if rows.weights is not None else list(rows.metadata or {}))
        if self.draws and rows.stream is not None:
            _draw_from(state.generators, rows.stream)
        rows = rows.gathered()
        if self.batch_size is not None:
            self._learn_batches(state, rows, self.batch_size)
        elif self.kind == "clusterer":
            learn = state.model.learn_one
            for x in dictionaries(rows.X):
                learn(x)
        else:
            learn = state.model.learn_one
            for x, label in zip(dictionaries(rows.X), _labels(rows.y, state.told), strict=True):
                learn(x, label)

    def predict(self, state: State, rows: Rows) -> NDArray[Any]:
        """The label, number or cluster of each row; of a model that knows nothing the first label, or 0."""
        return predictions(state, rows.gathered().X)

    def respond(self, state: State, rows: Rows, method: str) -> NDArray[Any]:
        """What this method says of each row."""
        if method == "predict":
            return self.predict(state, rows)
        if method != "predict_proba" or self.kind != "classifier":
            known = "predict and predict_proba" if self.kind == "classifier" else "predict"
            raise CapabilityError(f"{_name(self.model)}, of river, has no {method}: ask for {known}.")
        return probabilities(state, rows.gathered().X)

    def fitted(self, state: State) -> "RiverEstimator":
        """An estimator in scikit-learn's shape around the model of `state`."""
        estimator = _SHAPES[self.kind](self.model, self.batch_size)
        estimator._take(self, state)
        return estimator

    def check_metadata(self, names: list[str]) -> None:
        """Raise if there is anything besides X and y to be learnt."""
        if names:
            raise InputError(
                f"params={names[0]!r}: models of river are told x and y alone. Leave it out, or repeat rows in "
                "proportion to their weights."
            )

    def _learn_batches(self, state: State, rows: Rows, size: int) -> None:
        for begin in range(0, len(rows), size):
            part = rows.stretch(begin, min(begin + size, len(rows)))
            X = _frame(part.X)
            if self.kind == "clusterer":
                state.model.learn_many(X)
            else:
                series = sys.modules["pandas"].Series
                state.model.learn_many(X, series(list(_labels(part.y, state.told)), index=X.index, name="y"))


class RiverEstimator(BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """A model of river in scikit-learn's shape: `fit` is one pass over the rows, in their order.

    Parameters
    ----------
    model : model of river
        Its settings; it is cloned and never changed.
    batch_size : int, optional
        The most rows of a call of `learn_many`. None: `learn_one` for each row.

    Attributes
    ----------
    model_ : model of river
        What has learnt the rows.
    """

    def __init__(self, model: Any, batch_size: int | None = None) -> None:
        self.model = model
        self.batch_size = batch_size

    def __treecv_learner__(self, schema: Schema) -> Learner:
        """The learner with these settings."""
        return RiverLearner(self.model, self.batch_size)

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the rows once, forgetting what was learnt before."""
        X, y = indexable(X, y)
        learner = RiverLearner(self.model, self.batch_size)
        classes = encode(np.asarray(y))[0] if learner.kind == "classifier" else None
        rows = Rows(X, y)
        state = learner.init(Schema(len(rows), np.shape(X)[1] if np.ndim(X) > 1 else 1, "object", classes))
        learner.update(state, rows)
        self._take(learner, state)
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """What the model predicts for each row."""
        check_is_fitted(self, "model_")
        return predictions(self.state_, X)

    def _take(self, learner: RiverLearner, state: Model) -> None:
        self.learner_, self.state_, self.model_ = learner, state, state.model


def as_estimator(model: Any, batch_size: int | None = None) -> RiverEstimator:
    """A model in scikit-learn's shape."""
    return _SHAPES[_check_model(model)](model, batch_size)


def _says_how_sure(estimator: RiverEstimator) -> bool:
    model = estimator.model
    while hasattr(model, "steps"):
        model = list(model.steps.values())[-1]
    base = getattr(sys.modules.get("river.base"), "Classifier", None)
    return getattr(type(model), "predict_proba_one", None) is not getattr(base, "predict_proba_one", None)


class RiverClassifier(ClassifierMixin, RiverEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """A classifier of river in scikit-learn's shape; `classes_` holds its labels, sorted."""

    @available_if(_says_how_sure)  # type: ignore[untyped-decorator]  # scikit-learn has no types
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """The probability of each class."""
        check_is_fitted(self, "model_")
        return probabilities(self.state_, X)

    @property
    def classes_(self) -> NDArray[Any]:
        """The labels, sorted."""
        check_is_fitted(self, "model_")
        labels: NDArray[Any] = self.state_.classes
        return labels


class RiverRegressor(RegressorMixin, RiverEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """A regressor of river in scikit-learn's shape."""


class RiverClusterer(ClusterMixin, RiverEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """A clusterer of river in scikit-learn's shape."""


_SHAPES: dict[str, Callable[..., RiverEstimator]] = {
    "classifier": RiverClassifier,
    "regressor": RiverRegressor,
    "clusterer": RiverClusterer,
}


def predictions(state: Model, X: Any) -> NDArray[Any]:
    """What a model predicts for each row."""
    said = list(map(state.model.predict_one, dictionaries(X)))
    if state.codes is None:
        return np.array([0.0 if value is None else value for value in said])
    try:
        labels: NDArray[Any] = state.classes[[state.codes[label] for label in said]]
    except (KeyError, TypeError) as error:
        raise InputError(
            f"{_name(state.model)} predicts {error}, which is not among the labels {state.classes.tolist()[:5]}."
        ) from error
    return labels


def probabilities(state: Model, X: Any) -> NDArray[np.float64]:
    """The probability of each class, for each row; of a model that knows nothing, the same for all."""
    codes = state.codes or {}
    table = []
    for x in dictionaries(X):
        line = [0.0] * len(state.classes)
        try:
            said = state.model.predict_proba_one(x)
        except NotImplementedError as error:
            raise CapabilityError(
                f"{_name(state.model)} has no predict_proba_one: score its labels, or use a classifier with it."
            ) from error
        for label, probability in said.items():
            line[codes[label]] += probability
        table.append(line)
    values = np.array(table).reshape(-1, len(state.classes))
    total = values.sum(axis=1, keepdims=True)
    even = np.full_like(values, 1 / len(state.classes))
    shares: NDArray[np.float64] = np.divide(values, total, out=even, where=total > 0)
    return shares


def dictionaries(X: Any) -> Iterator[Any]:
    """Each row as river takes it; texts, and dictionaries, as they are. Zeros of a sparse matrix are left out."""
    if scipy.sparse.issparse(X):
        yield from _sparse(X.tocsr())
        return
    names = _names(X)
    n = X.shape[0] if hasattr(X, "shape") else len(X)
    for begin in range(0, n, _BLOCK):
        rows = _lists(take(X, slice(begin, begin + _BLOCK)) if n > _BLOCK else X)
        if isinstance(rows[0], str | dict):
            yield from rows
        elif names is None:
            for row in rows:
                yield dict(enumerate(row))
        else:
            for row in rows:
                yield dict(zip(names, row, strict=True))


def _sparse(X: Any) -> Iterator[dict[int, Any]]:
    ends = X.indptr.tolist()
    for begin, end in pairwise(ends):
        yield dict(zip(X.indices[begin:end].tolist(), X.data[begin:end].tolist(), strict=True))


def _names(X: Any) -> list[Any] | None:
    """The names of a data frame's columns."""
    if not hasattr(X, "columns"):
        return None
    names = list(X.columns)
    if len(set(names)) < len(names):
        raise InputError(f"X has several columns of one name among {names[:10]}: rename them, river goes by names.")
    return names


def _lists(X: Any) -> Any:
    """Rows as lists of Python's own scalars."""
    if hasattr(X, "iloc"):
        return X.to_numpy(dtype=object).tolist()
    if hasattr(X, "rows"):
        return X.rows()
    return X.tolist() if hasattr(X, "tolist") else X


def _labels(y: Any, told: dict[Any, Any] | None) -> Iterable[Any]:
    """Targets as river is told them."""
    y = y if hasattr(y, "tolist") or hasattr(y, "to_list") else np.asarray(y)
    if getattr(y, "ndim", 1) != 1:
        raise InputError(f"y has the shape {np.shape(y)}: models of river learn one target a row, a y of shape (n,).")
    labels = y.tolist() if hasattr(y, "tolist") else y.to_list()
    return labels if told is None else map(told.__getitem__, labels)


def _frame(X: Any) -> Any:
    """Rows as a data frame of pandas."""
    try:
        import pandas  # noqa: PLC0415 - only `learn_many` needs it
    except ImportError as error:
        raise CapabilityError(
            "batch_size: learn_many of river takes data frames, and pandas is not installed: pip install pandas, or "
            "leave out batch_size."
        ) from error
    if isinstance(X, pandas.DataFrame):
        return X
    if scipy.sparse.issparse(X):
        return pandas.DataFrame.sparse.from_spmatrix(X)
    return pandas.DataFrame(_lists(X), columns=list(X.columns)) if hasattr(X, "columns") else pandas.DataFrame(X)


def _name(model: Any) -> str:
    """What to call a model in a message."""
    return " | ".join(_name(step) for step in model.steps.values()) if hasattr(model, "steps") else type(model).__name__


def _check_model(model: Any) -> str:
    """What a model is; raise unless it predicts something for a row."""
    what = kind(model)
    if what not in _SHAPES or not hasattr(model, "clone"):
        raise CapabilityError(
            f"{_name(model)} has learn_one, but is no classifier, regressor or clusterer of river (it is of the kind "
            f"{what!r}): it predicts nothing for held-out rows. Put it before one that does, "
            f"{_name(model)}() | river.linear_model.LogisticRegression()."
        )
    return what


def _check_learns_many(model: Any, batch_size: Any) -> None:
    if isinstance(batch_size, bool) or not isinstance(batch_size, int | np.integer) or batch_size < 1:
        raise InputError(f"batch_size={batch_size!r}: it is a number of rows, 1 or more, or None for row by row.")
    for part in _parts(model):
        if not hasattr(part, "learn_many"):
            raise CapabilityError(
                f"batch_size={batch_size} needs learn_many, which {_name(part)} does not have. Leave out batch_size: "
                "each row is then learnt by learn_one."
            )


def _parts(model: Any) -> Iterable[Any]:
    """The steps of a pipeline and of a union, or the model itself."""
    for several in ("steps", "transformers"):
        if isinstance(getattr(model, several, None), dict):
            return chain.from_iterable(_parts(part) for part in getattr(model, several).values())
    return [model]


def _generators(model: Any) -> list[Any]:
    """All generators of random numbers that a model holds."""
    found, seen, pending = [], set(), [model]
    while pending:
        part = pending.pop()
        if id(part) in seen or isinstance(part, str | type | ModuleType | FunctionType | MethodType):
            continue
        seen.add(id(part))
        if isinstance(part, random.Random | np.random.RandomState | np.random.Generator):
            found.append(part)
        elif isinstance(part, dict):
            pending += part.values()
        elif isinstance(part, list | tuple | set):
            pending += part
        elif hasattr(part, "__dict__"):
            pending.append(vars(part))
    return found


def _draw_from(generators: list[Any], stream: Stream) -> None:
    """Start generators anew with the random numbers of a place: siblings would replay those that were copied."""
    for generator, number in zip(generators, stream.numbers(len(generators)).tolist(), strict=True):
        if isinstance(generator, np.random.Generator):
            generator.bit_generator.state = type(generator.bit_generator)(number).state
        else:
            generator.seed(number if isinstance(generator, random.Random) else number % 2**32)
