"""What the user gave, checked once and cut into rows, folds and a learner; and what came of it."""

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from joblib import Parallel
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.exceptions import FitFailedWarning
from sklearn.pipeline import Pipeline
from sklearn.utils import check_array, column_or_1d, get_tags, indexable
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import _get_feature_names, _num_samples

from treecv.adapters import Exact, as_learner, exact_learner, fitted_estimator
from treecv.adapters.routing import inside
from treecv.adapters.schemas import describe, shape_of
from treecv.adapters.third_party import answered, is_twin, remark, weights_name
from treecv.data import Rows, encode, numbers
from treecv.data.rows import nonfinite, readable
from treecv.errors import CapabilityError, InputError, UpdateError
from treecv.learner import Learner, Schema, State
from treecv.model_selection.layouts import Layout
from treecv.model_selection.lines import outside
from treecv.model_selection.routing import Routed
from treecv.order import ORDERS
from treecv.probes import Sink
from treecv.records import Record
from treecv.strategies import Chain, Strategy, Tree, choose, run


@dataclass(frozen=True, slots=True)
class Options:
    """How the work is to be done: what the front door's functions add to scikit-learn's."""

    strategy: Strategy
    order: str
    seed: int | None
    native: bool = True
    pool: Parallel | None = None
    max_objects: int = 10_000
    auto: bool = False
    exact: bool = False  # train by what gives the same as the estimator's `fit`

    @classmethod
    def of(cls, estimator: Any, strategy: Any, order: str | None, seed: int | None, **rest: Any) -> "Options":
        """The options, checked; an order of None is the estimator's own."""
        if order is None:  # an `order` of any other estimator may mean something else
            order = estimator.order if hasattr(estimator, "__treecv_wraps__") else "fixed"
        check_order(order)
        _check_seed(seed)
        auto = isinstance(strategy, str) and strategy == "auto"
        return cls(choose(strategy), order, seed, auto=auto, **rest)

    def settled(self, learner: Learner) -> "Options":
        """The same with the learner's own wishes, and with a seed: a new one, if none is given but needed."""
        shuffled = self.order == "fixed" and getattr(learner, "shuffles", False)
        order = "randomized" if shuffled else self.order
        seed = getattr(learner, "seed", None) if self.seed is None else self.seed
        if seed is None:
            drawn = order != "fixed" or getattr(learner, "draws", False)
            seed = int(np.random.SeedSequence().generate_state(1, np.uint64)[0]) if drawn else 0
        return replace(self, order=order, seed=seed)


class Aside(Exception):  # noqa: N818 - nothing is wrong
    """A shortcut cannot give what was asked for after all, and whoever chose it by itself leaves it."""


@dataclass(frozen=True, slots=True)
class Job:
    """One estimator, its data and its folds.

    `X` and `y` are the user's own, for those who want a fitted estimator; `rows` are what the learner reads.
    """

    estimator: Any
    learner: Learner
    schema: Schema
    X: Any
    y: Any
    rows: Rows
    layouts: list[Layout]
    options: Options
    score_params: Mapping[str, Any] = field(default_factory=dict)
    remark: str = ""

    def run(self, part: int, sink: Sink, strategy: Strategy | None = None) -> Record:
        """Carry out the cross-validation over one of the layouts.

        Looking for NaN and infinity costs as much as a pass over the rows. Every row is predicted once, and
        most learners give no finite prediction for such a row: then it is enough to look where one failed.
        """
        layout, options = self.layouts[part], self.options
        strategy = _fitting(strategy or options.strategy, layout)
        rows = Rows(self.rows.X, self.rows.y, self.rows.weights, metadata=self.rows.metadata)
        draws = bool(getattr(self.learner, "draws", False))
        feed = layout.feed(rows, order=options.order, seed=self.seed, repetition=part, draws=draws)
        everywhere = getattr(strategy, "folds", None) is None and layout.is_partition
        shown = everywhere and getattr(self.learner, "shows_nonfinite", False)
        if not shown and not self.options.exact:  # which was looked at when it was chosen
            self.check_finite()
        record = run(strategy, self.learner, self.schema, feed, sink, options.pool)
        if shown and sink.failed.any():
            self.check_finite()
        if self.options.exact and self.options.auto and sink.failed.any():
            raise Aside(f"fold {int(sink.failed.argmax())} has no model")
        return replace(record, remark=self.remark) if self.remark else record

    @property
    def seed(self) -> int:
        """The seed of the orders and of the learner's random numbers."""
        return int(self.options.seed or 0)

    @property
    def alone(self) -> "Job":
        """The same without its workers, which cannot travel to one of themselves."""
        return replace(self, options=replace(self.options, pool=None))

    @property
    def calls_scorers(self) -> bool:
        """Whether no score is to be computed from predictions.

        Scorers are handed weights, or each row has several labels of many classes, which only some metrics can score.
        """
        several = self.as_given and self.schema.n_outputs > 1 and is_classifier(self.estimator)
        several = several and type_of_target(self.rows.y) == "multiclass-multioutput"
        return bool(self.score_params) or several

    @property
    def as_given(self) -> bool:
        """Whether the learner takes rows as the user passed them."""
        return bool(getattr(self.learner, "as_given", False))

    def check_finite(self) -> None:
        """Raise if X holds NaN or infinity; rows as given are looked at by the estimator itself."""
        X = self.rows.X
        if self.as_given:
            return
        place = nonfinite(X)
        if place is not None:
            row, column = place
            what = "NaN" if np.isnan(X[row, column]) else f"infinity or a value too large for {X.dtype}"
            raise InputError(
                f"Input X contains {what} at row {row}, column {column}; {type(self.estimator).__name__} needs finite "
                "numbers. Drop such rows, or fill them in, for example with sklearn.impute.SimpleImputer."
            )

    def fitted(self, state: State) -> Any:
        """A scikit-learn-shaped estimator around a state."""
        names = None if self.as_given else _get_feature_names(self.X)
        return fitted_estimator(self.estimator, self.learner, state, self.schema, names)

    def decided(self, values: NDArray[Any]) -> NDArray[Any]:
        """What the predictions of the learner mean: classes by their codes, numbers, or the user's own labels."""
        if hasattr(inside(self.estimator), "__treecv_answers__"):
            return inside(self.estimator).__treecv_answers__("score_samples", values)  # type: ignore[no-any-return]
        if not getattr(self.learner, "margins", False):
            return values
        return (values > 0).astype(np.int8) if values.ndim == 1 else values.argmax(axis=1)

    def answer(self, values: NDArray[Any], method: str = "predict") -> NDArray[Any]:
        """What a method of the estimator says of rows for which the learner predicts these values.

        Where there is no prediction, it says nothing: NaN, or the first of the classes.
        """
        if self.as_given:
            return values
        if isinstance(self.learner, Exact):
            lost = np.isnan(values) if values.ndim == 1 else np.isnan(values).any(axis=1)
            said: NDArray[Any] = self.learner.answered(method, np.where(np.isnan(values), 0.0, values))
            if said.dtype.kind == "f":
                said[lost] = np.nan
            return said
        if is_twin(self.estimator, self.learner):
            good = np.isfinite(values) if values.ndim == 1 else np.isfinite(values).all(axis=1)
            answer: NDArray[Any] = answered(self.estimator, self.schema, method, np.nan_to_num(values))
            if answer.dtype.kind == "f" and not good.all():
                answer[~good] = np.nan
            return answer
        if hasattr(inside(self.estimator), "__treecv_answers__"):
            return inside(self.estimator).__treecv_answers__(method, values)  # type: ignore[no-any-return]
        if method != "predict" or self.schema.classes is None:
            return values
        return np.asarray(self.schema.classes)[self.decided(values).astype(np.int64)]


LayOut = Callable[[Any, Any, Any, int], list[Layout]]
"""Makes the folds from X, y, the codes of the classes (None: no classes) and the number of rows."""


def prepare(estimator: Any, X: Any, y: Any, lay_out: LayOut, routed: Routed, options: Options) -> Job:
    """Check everything the user gave, once."""
    given_X, given_y = X, y
    X, y = _consistent(X, y)
    if options.exact and (hindrance := _hindrance(estimator, given_X, given_y)):
        raise _no_shortcut(estimator, options, hindrance)
    y = _one_column(estimator, y)
    classes, codes = _classes(estimator, y)
    schema = describe(estimator, X, y, classes)
    native = options.native
    learner: Any = _learner(estimator, schema, native, options)
    if is_twin(estimator, learner) and set(routed.fit) - {
        weights_name(estimator)
    }:  # the core knows weights of rows alone
        native = False
        learner = as_learner(estimator, schema, native=False)
    if getattr(learner, "as_given", False):
        metadata = _aligned(learner, dict(routed.fit), schema.n_rows)
        rows = Rows(X, y, metadata.pop("sample_weight", None), metadata=metadata or None)
    else:
        weights = _weights(estimator, learner, dict(routed.fit), schema.n_rows)
        features, y = checked_data(estimator, given_X, given_y, learner)
        X = X if _get_feature_names(X) is not None else features  # a table with named columns stays one
        target = codes if codes is not None or not _supervised(learner) else numbers(y)
        rows = Rows(features, target, weights)
        schema = replace(schema, n_features=features.shape[1], dtype=features.dtype.name)
        learner = _learner(estimator, schema, native, options)
        if hasattr(learner, "init"):
            learner.init(schema)  # complains about data that this learner cannot learn
    layouts = lay_out(X, y, codes, schema.n_rows)
    said = "" if options.exact else remark(estimator, learner, schema, options.native)
    return Job(estimator, learner, schema, X, y, rows, layouts, options.settled(learner), routed.score, said)


def laid_out(estimator: Any, X: Any, y: Any, lay_out: LayOut) -> tuple[list[Layout], int]:
    """The folds alone, and the number of rows."""
    X, y = _consistent(X, y)
    y = _one_column(estimator, y)
    return lay_out(X, y, _classes(estimator, y)[1], _num_samples(X)), _num_samples(X)


def _learner(estimator: Any, schema: Schema, native: bool, options: Options) -> Any:
    """What trains this estimator: in one pass, or exactly as its `fit` does."""
    if not options.exact:
        return as_learner(estimator, schema, native=native)
    found = exact_learner(estimator, schema)
    if isinstance(found, str):
        raise _no_shortcut(estimator, options, found)
    return found


def _hindrance(estimator: Any, X: Any, y: Any) -> str:
    """What about the data a shortcut does not know."""
    shape, kind = shape_of(y), getattr(getattr(y, "dtype", None), "kind", "f")
    if len(shape) > 1 and (is_classifier(estimator) or shape[1] == 1):
        return "its targets are not flat"
    if not is_classifier(estimator) and str(getattr(y, "dtype", "float64")) in ("float16", "float32"):
        return "its targets have few digits, which scikit-learn keeps"
    if y is not None and not is_classifier(estimator) and kind not in "biuf":
        return "its targets are no plain numbers"
    columns = [X.dtype] if hasattr(X, "dtype") else list(getattr(X, "dtypes", [])) or [np.asarray(X).dtype]
    if any(getattr(dtype, "kind", "O") not in "biuf" or str(dtype) == "float16" for dtype in columns):
        return "its features are no numbers of single or double precision"
    return ""


def _no_shortcut(estimator: Any, options: Options, why: str) -> CapabilityError:
    return CapabilityError(
        f"strategy={options.strategy.name!r} cannot give what {type(estimator).__name__}.fit would: {why}. Use "
        "strategy='auto', which takes it where it can, or 'tree' for an estimator with partial_fit."
    )


def settle(sink: Sink, error_score: Any) -> NDArray[np.bool_]:
    """Which folds failed: said once, or raised if `error_score` asks for it or none is left."""
    failed = sink.failed.astype(bool)
    count = int(failed.sum())
    if count == 0:
        return failed
    error = sink.error or UpdateError(_overflowed(sink))
    if isinstance(error_score, str):
        if sink.cause is None:
            raise error
        sink.cause.add_note(str(error).partition(":")[0] + ".")
        raise sink.cause
    if count == len(failed):
        raise UpdateError(f"All the {count} fits failed. The first error: {error}") from error
    warnings.warn(
        f"{count} of {len(failed)} folds failed and get the score {error_score}. The first error: {error}. "
        "Use error_score='raise' to stop there.",
        FitFailedWarning,
        stacklevel=outside(),
    )
    return failed


def _overflowed(sink: Sink) -> str:
    """What happened where predictions are not finite."""
    cure = "Scale the features and the targets, or use gentler settings (a smaller step, a stronger penalty)."
    if sink.overflow is None:
        why = "an update overflowed, or its model has learnt too few rows to predict"
        return f"fold {int(sink.failed.argmax())} has predictions that are not finite: {why}. {cure}"
    fold, rows = sink.overflow
    return (
        f"fold {fold} has no model: training diverged, and its numbers were no longer finite at row {rows:,} of those "
        f"it learnt. {cure}"
    )


def check_order(order: str) -> None:
    """Raise unless this is one of the orders."""
    if order not in ORDERS:
        raise InputError(f"order={order!r} is not known: use one of {list(ORDERS)}.")


def _fitting(strategy: Strategy, layout: Layout) -> Strategy:
    """A tree over training sets that only grow is a chain."""
    return Chain(getattr(layout, "in_order", True)) if layout.grows and isinstance(strategy, Tree) else strategy


def _consistent(X: Any, y: Any) -> tuple[Any, Any]:
    if isinstance(X, type) or not (hasattr(X, "__len__") or hasattr(X, "shape")):
        raise InputError(f"X={X!r} must be a table of rows: an array, a data frame, a sparse matrix, a list.")
    try:
        X, y = indexable(X, y)
    except ValueError as error:
        raise InputError(f"X and y differ in length: {error}. Give one target a row.") from error
    except TypeError as error:
        raise InputError(f"y={y!r} must be one target a row, in an array, a series or a list: {error}") from error
    if _num_samples(X) == 0:
        raise InputError(
            "Found array with 0 sample(s): X has no rows, and cross-validation needs at least 2. Look at how they were "
            "selected."
        )
    return X, y


def _one_column(estimator: Any, y: Any) -> Any:
    """The targets, flat if they are a single column, unless the estimator is for columns alone."""
    if len(shape_of(y)) != 2 or shape_of(y)[1] != 1 or not get_tags(estimator).target_tags.single_output:
        return y
    return column_or_1d(np.asarray(y), warn=True)


def _classes(estimator: Any, y: Any) -> tuple[Any, Any]:
    """The classes of one column of labels, and the code of each row; None for other targets."""
    if y is None or not is_classifier(estimator):
        return None, None
    labels = y if isinstance(y, np.ndarray) else np.asarray(y)
    one = labels.ndim == 1
    if not one and labels.shape[1] > 1:
        return None, None
    classes, codes = encode(labels.reshape(-1))
    if len(classes) < 2:
        raise InputError(
            f"y holds the one label {classes.tolist()[0]!r}: a classifier needs at least two classes. Add rows of "
            "another class, or look at how y was made."
        )
    return classes if one else None, codes  # a column of labels is told as a column, and its folds are stratified


def _supervised(learner: Any) -> bool:
    return bool(getattr(learner, "supervised", True))


def _weights(estimator: Any, learner: Any, params: dict[str, Any], n: int) -> NDArray[np.float64] | None:
    """The weights of rows, for a learner of the core."""
    name = weights_name(estimator) if is_twin(estimator, learner) else ""
    if isinstance(learner, Exact) and getattr(learner, "weighs", False) and not isinstance(estimator, Pipeline):
        name = "sample_weight"
    weights = params.pop(name, None)
    if params:
        raise InputError(
            f"params={sorted(params)}: {type(estimator).__name__} takes no further parameters in fit. Leave them out."
        )
    if weights is None:
        return None
    _check_entries(name, weights, n)
    if np.ndim(weights) != 1:
        raise InputError(f"params={name!r} has the shape {np.shape(weights)}: give one weight a row, as a flat array.")
    return np.ascontiguousarray(weights, np.float64)


def _aligned(learner: Any, params: dict[str, Any], n: int) -> dict[str, Any]:
    """Further parameters, each with an entry a row."""
    params = {name: value for name, value in params.items() if value is not None}
    if not params:
        return params
    if not hasattr(learner, "check_metadata"):
        raise InputError(f"params={sorted(params)}: {type(learner).__name__} takes no further parameters.")
    learner.check_metadata(list(params))
    for name, value in params.items():
        _check_entries(name, value, n)
    return {name: np.asarray(value) if isinstance(value, list) else value for name, value in params.items()}


def _check_entries(name: str, value: Any, n: int) -> None:
    """Raise unless a parameter has an entry a row, and is fit to be weights if it is called so."""
    _check_weights(name, value)
    if np.ndim(value) == 0 or _num_samples(value) != n:
        raise InputError(
            f"params={name!r}: training in parts hands out one entry a row, {n} in all, but this has "
            f"{np.shape(value) or 'a single value'}. Give one a row, or use strategy='auto'."
        )


def _check_weights(name: str, value: Any) -> None:
    """Raise if weights are no weights: a fold that trains on such a row would be scored all the same, or not at all."""
    if name.rpartition("__")[2] != "sample_weight" or np.ndim(value) != 1:
        return
    try:
        weights = np.asarray(value, np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"params={name!r} must hold numbers, one weight a row: {error}.") from error
    bad = np.flatnonzero(~((weights >= 0) & np.isfinite(weights)))
    if len(bad):
        raise InputError(
            f"params={name!r} holds {weights[bad[0]]} at row {bad[0]}: weights must be finite and not negative. Give "
            "the row the weight 0, or leave it out."
        )
    if len(weights) and not weights.any():
        raise InputError(f"params={name!r} holds zeros alone: nothing would be learnt. Give some row a weight above 0.")


def checked_data(estimator: Any, X: Any, y: Any, learner: Any = None) -> tuple[Any, Any]:
    """The features as numbers that the core can read, and one target a row."""
    if y is None and _supervised(learner):
        raise InputError(f"y=None, but {type(estimator).__name__} learns from targets: pass one for each row of X.")
    for dtype in [X.dtype] if hasattr(X, "dtype") else getattr(X, "dtypes", []):
        if getattr(dtype, "kind", "") in _NO_NUMBERS:
            raise InputError(f"X has dtype {dtype}: {_NO_NUMBERS[dtype.kind]}")
    try:
        X = check_array(
            X,
            accept_sparse="csr" if getattr(learner, "sparse", False) else False,
            dtype=[np.float64, np.float32],
            ensure_all_finite=False,
            estimator=estimator,
            input_name="X",
        )
    except (ValueError, TypeError) as error:
        raise type(error)(f"{error} {_cure(error)}".strip()) from error
    several = getattr(learner, "several_targets", False) and len(shape_of(y)) == 2 and shape_of(y)[1] > 1
    if y is None or several:
        return readable(X), None if y is None else np.asarray(y)
    return readable(X), column_or_1d(np.asarray(y), warn=True)


_TIMES = "give times as numbers, such as days since the first one."
_NO_NUMBERS = {
    "M": _TIMES,
    "m": _TIMES,
    "c": "complex data are not supported; give real numbers, such as X.real and X.imag side by side.",
}
"""What to do about columns of these kinds."""

_CURES = {
    "NAType": "X has missing values: drop such rows, or fill them in, for example with sklearn.impute.SimpleImputer.",
    "to float": "Encode the columns of X that are not numbers, for example with OrdinalEncoder.",
    "float()": "Encode the columns of X that are not numbers, for example with OrdinalEncoder.",
    "0 feature(s)": "Give X at least one column.",
}


def _cure(error: Exception) -> str:
    """What helps where scikit-learn only says what is wrong."""
    return next((cure for words, cure in _CURES.items() if words in str(error)), "")


def is_stratified(y: Any) -> bool:
    """Whether folds by class make sense for these targets."""
    return type_of_target(y) in ("binary", "multiclass")


def _check_seed(seed: int | None) -> None:
    if seed is not None and (not isinstance(seed, int | np.integer) or not 0 <= seed < 2**64):
        raise InputError(f"seed={seed!r} must be an integer from 0 to 2**64 - 1, or None for a new one.")
