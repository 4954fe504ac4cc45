"""Several workers: the parts of a plan through joblib, whatever its current backend is.

A plan cuts itself into rounds of parts that do not depend on each other (`parts`); what a part gives does not depend
on where it runs, nor on how many others there are.
"""

from collections.abc import Callable, Generator
from typing import Any, Protocol, TypeAlias

from joblib import Parallel, delayed

from treecv.learner import Learner
from treecv.probes import Sink
from treecv.records import Counts

Part: TypeAlias = tuple[Callable[..., Any], tuple[Any, ...]]
"""A function and its arguments: they may travel to another process."""

Parts: TypeAlias = Generator[list[Part], list[Any], Counts]
"""Rounds of parts, each of which is answered by what they gave."""


class Plan(Protocol):
    """What a strategy wants done, in parts."""

    def parts(self, learner: Learner, sink: Sink, workers: int) -> Parts:
        """Rounds of parts that do not depend on each other."""


def run(plan: Plan, learner: Learner, sink: Sink, pool: Parallel, workers: int) -> Counts:
    """Carry out a plan by the workers of a pool."""
    rounds = plan.parts(learner, sink, workers)
    with pool:
        try:
            todo = next(rounds)
            while True:
                todo = rounds.send(pool(delayed(function)(*arguments) for function, arguments in todo))
        except StopIteration as end:
            counts: Counts = end.value
            return counts
