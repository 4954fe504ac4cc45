"""Times that can be compared although the machine is busy with other things.

Cases are run in turn, round after round, so that a slow minute is slow for all of them. The best time of a
case says what it costs undisturbed; the ratio of two cases is taken from their best times, and the median of
the ratios within each round is the check on it.
"""

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from threadpoolctl import threadpool_limits


@dataclass(frozen=True)
class Lap:
    """One run: its time, and the error it found in per cent."""

    seconds: float
    error: float | None = None


@dataclass(frozen=True)
class Timing:
    """All runs of one case, round by round."""

    laps: list[Lap]

    @property
    def best(self) -> float:
        """Seconds of the fastest run."""
        return min(lap.seconds for lap in self.laps)

    @property
    def median(self) -> float:
        """Seconds of a typical run."""
        return statistics.median(lap.seconds for lap in self.laps)

    @property
    def error(self) -> float | None:
        """In per cent; every run finds the same."""
        return self.laps[0].error

    def over(self, other: "Timing") -> float:
        """How many times the other's best time this one's is."""
        return self.best / other.best

    def over_by_round(self, other: "Timing") -> float:
        """The median of that ratio within each round."""
        pairs = zip(self.laps, other.laps, strict=True)
        return statistics.median(mine.seconds / theirs.seconds for mine, theirs in pairs)


def interleaved(cases: Mapping[str, Callable[[], Lap]], rounds: int) -> dict[str, Timing]:
    """Run every case once a round, in one thread; a first round warms up and is not counted."""
    laps: dict[str, list[Lap]] = {name: [] for name in cases}
    with threadpool_limits(limits=1):
        for number in range(rounds + 1):
            for name, case in cases.items():
                lap = case()
                if number:
                    laps[name].append(lap)
    return {name: Timing(of) for name, of in laps.items()}


def timed(call: Callable[[], object], repetitions: int = 1) -> Lap:
    """The fastest of some runs right after each other."""
    seconds = []
    for _ in range(repetitions):
        begin = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - begin)
    return Lap(min(seconds))
