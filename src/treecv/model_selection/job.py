"""What the user gave, checked once and cut into rows, chunks and a learner; and what came of it."""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.exceptions import FitFailedWarning
from sklearn.utils import assert_all_finite, check_array, check_consistent_length, column_or_1d
from sklearn.utils.validation import _get_feature_names

from treecv.adapters import as_learner
from treecv.data import Feed, Rows, encode, numbers
from treecv.data.rows import readable
from treecv.errors import InputError, UpdateError
from treecv.learner import Learner, Schema, State
from treecv.model_selection.folds import Layout, lay_out
from treecv.order import ORDERS
from treecv.probes import Sink
from treecv.records import Record
from treecv.strategies import Strategy, run


@dataclass(frozen=True, slots=True)
class Job:
    """One estimator, its data and its folds.

    `X` and `y` are the user's own, for those who want a fitted estimator; `rows` are what the learner reads.
    """

    estimator: Any
    learner: Learner
    schema: Schema
    X: Any
    y: NDArray[Any]
    rows: Rows
    layout: Layout

    def run(self, strategy: Strategy, order: str, seed: int | None, sink: Sink) -> Record:
        """Carry out the cross-validation.

        Looking for NaN and infinity costs as much as a pass over the rows. Every row is predicted once, and
        most learners give no finite prediction for such a row: then it is enough to look where one failed.
        """
        feed = Feed(self.rows, self.layout.chunks, order, _checked_seed(order, seed))
        shown = getattr(self.learner, "shows_nonfinite", False) and getattr(strategy, "folds", None) is None
        if not shown:
            self.check_finite()
        record = run(strategy, self.learner, self.schema, feed, sink)
        if shown and sink.failed.any():
            self.check_finite()
        return record

    def check_finite(self) -> None:
        """Raise if X holds NaN or infinity."""
        assert_all_finite(self.rows.X, estimator_name=type(self.estimator).__name__, input_name="X")

    def fitted(self, state: State) -> Any:
        """A scikit-learn-shaped estimator around a state."""
        fitted = self.estimator.__treecv_fitted__(state, self.schema)
        names = _get_feature_names(self.X)
        if names is not None:
            fitted.feature_names_in_ = names
        return fitted

    def by_position(self, values: NDArray[Any]) -> NDArray[Any]:
        """Values of the stored rows in the order of the positions."""
        return values if self.layout.index is None else values[self.layout.index]


def prepare(estimator: Any, X: Any, y: Any, groups: Any, cv: Any, params: Any) -> Job:
    """Check everything the user gave, once."""
    _check_estimator(estimator, params)
    features, y = _checked_data(estimator, X, y)
    X = X if _get_feature_names(X) is not None else features  # a table with named columns stays one
    classes, target = _checked_target(estimator, y)
    schema = Schema(len(features), features.shape[1], features.dtype.name, classes)
    learner = as_learner(estimator, schema)
    learner.init(schema)  # complains about data that this learner cannot learn
    layout = lay_out(cv, X, y, groups, None if classes is None else target)
    return Job(estimator, learner, schema, X, y, Rows(features, target, index=layout.index), layout)


def settle(sink: Sink, error_score: Any) -> NDArray[np.bool_]:
    """Which folds failed: said once, or raised if `error_score` asks for it or none is left."""
    failed = sink.failed.astype(bool)
    count = int(failed.sum())
    if count == 0:
        return failed
    error = sink.error or UpdateError(
        f"fold {int(failed.argmax())} has predictions that are not finite: an update overflowed. Scale the "
        "features, or use a smaller step."
    )
    if isinstance(error_score, str):
        raise error
    if count == len(failed):
        raise UpdateError(f"All {count} folds failed. The first error: {error}") from error
    warnings.warn(
        f"{count} of {len(failed)} folds failed and get the score {error_score}. The first error: {error} "
        "Use error_score='raise' to stop there.",
        FitFailedWarning,
        stacklevel=4,
    )
    return failed


def check_order(order: str) -> None:
    """Raise unless this is one of the orders."""
    if order not in ORDERS:
        raise InputError(f"order={order!r} is not known: use one of {list(ORDERS)}.")


def _check_estimator(estimator: Any, params: Any) -> None:
    as_learner(estimator, Schema(n_rows=1, n_features=1, dtype="float64"))
    if params:
        raise InputError(
            f"params={sorted(params)}: {type(estimator).__name__} takes no further parameters in fit. Leave them out."
        )


def _checked_data(estimator: Any, X: Any, y: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    if y is None:
        raise InputError(f"y=None, but {type(estimator).__name__} learns from targets: pass one for each row of X.")
    for dtype in [X.dtype] if hasattr(X, "dtype") else getattr(X, "dtypes", []):
        if getattr(dtype, "kind", "") in ("M", "m"):
            raise InputError(f"X has dtype {dtype}: give times as numbers, such as days since the first one.")
    try:
        X = check_array(X, dtype=[np.float64, np.float32], ensure_all_finite=False, estimator=estimator, input_name="X")
    except (ValueError, TypeError) as error:
        raise type(error)(f"{error} {_cure(error)}".strip()) from error
    y = column_or_1d(np.asarray(y), warn=True)
    check_consistent_length(X, y)
    return readable(X), y


def _checked_target(estimator: Any, y: NDArray[Any]) -> tuple[NDArray[Any] | None, NDArray[Any]]:
    """The classes, if it is a classifier, and the targets as the learner reads them."""
    if not is_classifier(estimator):
        return None, numbers(y)
    classes, codes = encode(y)
    if len(classes) < 2:
        raise InputError(f"y holds the one label {classes.tolist()[0]!r}: a classifier needs at least two classes.")
    return classes, codes


def _cure(error: Exception) -> str:
    """What helps where scikit-learn only says what is wrong."""
    if "to float" in str(error) or "float()" in str(error):
        return "Encode the columns of X that are not numbers, for example with OrdinalEncoder."
    return ""


def _checked_seed(order: str, seed: int | None) -> int:
    if seed is None:
        return 0 if order == "fixed" else int(np.random.SeedSequence().generate_state(1, np.uint64)[0])
    if not isinstance(seed, int | np.integer) or not 0 <= seed < 2**64:
        raise InputError(f"seed={seed!r} must be an integer from 0 to 2**64 - 1, or None for a new one.")
    return int(seed)
