"""The core's own threads, for learners that walk there. They live for one call."""

from typing import Protocol

from treecv.learner import Learner
from treecv.probes import Sink
from treecv.records import Counts


class Plan(Protocol):
    """What a strategy wants done."""

    def run(self, learner: Learner, sink: Sink, threads: int = 1) -> Counts:
        """Do all of it, by several threads of the core."""


def run(plan: Plan, learner: Learner, sink: Sink, threads: int) -> Counts:
    """Carry out a plan by several threads; what comes out does not depend on how many."""
    return plan.run(learner, sink, threads)
