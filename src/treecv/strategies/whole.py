"""Predictions of all folds at once, by a learner that knows how to hold rows out of what it learnt from all of them."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from treecv.data import Feed, Rows
from treecv.errors import CapabilityError
from treecv.learner import Schema
from treecv.probes import Sink
from treecv.records import Counts


def suits(sink: Sink) -> bool:
    """Whether predictions at the held-out rows are all that is wanted."""
    return sink.states is None and sink.extra is None and not sink.further


def fill(learner: Any, schema: Schema, feed: Feed, sink: Sink) -> Counts:
    """Put the predictions of all folds where they belong; a fold without a model has failed."""
    values = _values(learner, schema, feed)
    columns = values[:, np.newaxis] if values.ndim == 1 else values
    if sink.predictions is not None:
        sink.predictions.put(feed.where(0, feed.k - 1), columns if columns.shape[1] > 1 else columns[:, 0])
    lost = np.isnan(columns).any(axis=1)
    if lost.any():
        begins = None if feed.chunks.offsets is None else feed.chunks.offsets[:-1] - feed.chunks.before
        sink.failed[:] |= lost if begins is None else np.logical_or.reduceat(lost, begins)
    rows = round(learner.held_out_trainings(schema.n_rows, schema.n_features, feed.k) * feed.n_rows)
    return Counts(feed.k, rows)


def _values(learner: Any, schema: Schema, feed: Feed) -> NDArray[np.float64]:
    """What is predicted at the positions of all folds; what depends on the rows alone is made once for a learner."""
    rows, shared = feed.rows, getattr(learner, "shared", None)
    whole = rows.index is None or len(rows.index) == rows.n_stored
    values: NDArray[np.float64]
    if shared is None or not whole or not hasattr(learner, "prepare"):
        values = learner.held_out(schema, feed)
    else:
        if "prepared" not in shared:
            shared["prepared"] = learner.prepare(schema, Rows(rows.X, rows.y, rows.weights))
        if hasattr(learner, "unsteady") and (reason := learner.unsteady(shared["prepared"])):
            raise CapabilityError(f"{reason}. Use strategy='auto', which leaves that to scikit-learn.")
        values = learner.held_out(schema, feed, shared["prepared"])
    return values
