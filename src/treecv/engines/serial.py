"""The calling thread."""

from typing import Protocol

from treecv.learner import Learner
from treecv.probes import Sink
from treecv.records import Counts


class Plan(Protocol):
    """What a strategy wants done."""

    def run(self, learner: Learner, sink: Sink) -> Counts:
        """Do all of it in the calling thread."""


def run(plan: Plan, learner: Learner, sink: Sink) -> Counts:
    """Carry out a plan in the calling thread."""
    return plan.run(learner, sink)
