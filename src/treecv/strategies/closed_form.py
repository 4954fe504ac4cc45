"""Closed forms: what the models of all folds predict follows from one training on all rows."""

from dataclasses import dataclass
from typing import Any, ClassVar

from treecv.data import Feed
from treecv.engines.workers import Parts
from treecv.errors import CapabilityError
from treecv.learner import Schema
from treecv.probes import Sink
from treecv.records import Counts
from treecv.strategies import whole


@dataclass(frozen=True, slots=True)
class ClosedForm:
    """The learner says itself what each fold's model would predict (`held_out`)."""

    name: ClassVar[str] = "closed_form"
    needs: ClassVar[tuple[str, ...]] = ("held_out", "held_out_trainings", "closed")
    without: ClassVar[str] = "it has no closed form that is known here"
    gives: ClassVar[frozenset[str]] = frozenset({"predictions"})

    def trainings(self, learner: Any, schema: Schema, k: int) -> float:
        """What the learner says it costs."""
        return float(learner.held_out_trainings(schema.n_rows, schema.n_features, k))

    def exact(self, learner: Any, order: str = "fixed") -> bool:
        """Always."""
        return True

    def plan(self, feed: Any, schema: Schema) -> "Formula":
        """All folds at once."""
        return Formula(feed, schema)


@dataclass(frozen=True, slots=True)
class Formula:
    """One call of the learner."""

    feed: Feed
    schema: Schema

    def run(self, learner: Any, sink: Sink, threads: int = 1) -> Counts:
        """In this thread."""
        if not whole.suits(sink):
            raise CapabilityError(
                "strategy='closed_form' gives predictions and makes no models, which return_estimator, "
                "return_train_score and scorers that are not made of predictions need. Use strategy='auto', or leave "
                "them out."
            )
        return whole.fill(learner, self.schema, self.feed, sink)

    def parts(self, learner: Any, sink: Sink, workers: int) -> Parts:
        """None: there is nothing to share out."""
        return self.run(learner, sink)
        yield []  # which makes this a generator
