"""Every fold predicted from the whole minus the fold: for states that can unlearn.

Izbicki, *Algebraic classifiers: a generic approach to fast cross-validation, online training, and parallel training*
(2013). Slow and obvious, a fold at a time; learners have their own ways to do all folds at once.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from treecv.data import Feed, Rows
from treecv.learner import Schema, State


def held_out(learner: Any, schema: Schema, feed: Feed) -> NDArray[np.float64]:
    """The predictions at all positions that are in a fold, in their order."""
    whole = learner.init(schema)
    learner.update(whole, feed.rows)
    before = feed.chunks.before
    out = np.empty((feed.n_rows - before, learner.outputs))
    for fold in range(feed.k):
        begin, end = feed.chunks.span(fold, fold)
        out[begin - before : end - before] = learner.predict(
            without(learner, schema, whole, feed, fold), feed.fold(fold)
        )
    return out


def without(learner: Any, schema: Schema, whole: State, feed: Feed, fold: int) -> State:
    """A state that has learnt all but a fold: by unlearning it, where that loses no digits."""
    held = feed.fold(fold)
    if learner.unlearnable(whole, held):
        state = learner.copy(whole)
        learner.unlearn(state, held)
        return state
    state = learner.init(schema)
    learner.update(state, others(feed, fold))
    return state


def others(feed: Feed, fold: int) -> Rows:
    """The rows that a fold does not hold out."""
    begin, end = feed.chunks.span(fold, fold)
    return feed.rows.pick(np.concatenate([np.arange(begin), np.arange(end, feed.n_rows)]))


def retrain(learner: Any, schema: Schema, feed: Feed, fold: int, out: NDArray[np.float64]) -> None:
    """Put what a fold's model predicts, trained from scratch, where it belongs."""
    state = learner.init(schema)
    learner.update(state, others(feed, fold))
    begin, end = feed.chunks.span(fold, fold)
    out[begin - feed.chunks.before : end - feed.chunks.before] = learner.predict(state, feed.fold(fold))
