"""TreeCV: models that share training rows share their training."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar

from treecv.data import Feed
from treecv.learner import LEARNER, Schema
from treecv.probes import Leaves, Sink
from treecv.records import Counts
from treecv.tree import Node, chunk_updates, walk


@dataclass(frozen=True, slots=True)
class Tree:
    """Algorithm 1 of Joulani, György and Szepesvári (2015), depth first."""

    name: ClassVar[str] = "tree"
    needs: ClassVar[tuple[str, ...]] = LEARNER

    def trainings(self, k: int) -> float:
        """About log2(2 k) passes."""
        return chunk_updates(k) / k

    def exact(self, learner: Any) -> bool:
        """Only where the order of the rows does not matter; else within the learner's stability."""
        return bool(getattr(learner, "order_free", False))

    def plan(self, feed: Feed, schema: Schema) -> "Descent":
        """One walk from the root."""
        return Descent(feed, schema)


@dataclass(frozen=True, slots=True)
class Descent:
    """The walk over the whole tree."""

    feed: Feed
    schema: Schema

    def run(self, learner: Any, sink: Sink) -> Counts:
        """In the core where the learner has a `walk`, else node by node.

        Rows in scattered order are copied into the order of the positions first: every level reads them.
        """
        if not self.feed.rows.scattered():
            return self._walk(learner, self.feed, sink)
        index = self.feed.rows.index
        gathered = sink.over(len(self.feed.rows))
        counts = self._walk(learner, replace(self.feed, rows=self.feed.rows.gathered()), gathered)
        sink.take_over(gathered, index)
        return counts

    def _walk(self, learner: Any, feed: Feed, sink: Sink) -> Counts:
        state, last = learner.init(self.schema), feed.chunks.k - 1
        if hasattr(learner, "walk"):
            counts: Counts = learner.walk(state, feed, sink, 0, last)
            return counts
        feed = replace(feed, counts=Counts())  # a feed may be used again
        walk(learner, state, Node(0, last), feed, Leaves(learner, feed, sink))
        return feed.counts
