"""TreeCV: models that share training rows share their training."""

import copy
from dataclasses import dataclass
from typing import Any, ClassVar

from treecv.data import Feed
from treecv.engines.workers import Parts
from treecv.learner import LEARNER, Schema
from treecv.probes import Leaves, Sink
from treecv.records import Counts
from treecv.tree import Node, Step, chunk_updates, halves, walk


@dataclass(frozen=True, slots=True)
class Tree:
    """Algorithm 1 of Joulani, György and Szepesvári (2015), depth first."""

    name: ClassVar[str] = "tree"
    needs: ClassVar[tuple[str, ...]] = LEARNER
    without: ClassVar[str] = "it does not learn in parts"
    gives: ClassVar[frozenset[str]] = frozenset({"predictions", "models"})

    def trainings(self, learner: Any, schema: Schema, k: int) -> float:
        """About log2(2 k) passes."""
        return chunk_updates(k) / k

    def exact(self, learner: Any, order: str = "fixed") -> bool:
        """Only where the order of the rows does not matter; else within the learner's stability."""
        return bool(getattr(learner, "order_free", False))

    def plan(self, feed: Any, schema: Schema) -> "Descent":
        """One walk from the root."""
        return Descent(feed, schema)


@dataclass(frozen=True, slots=True)
class Descent:
    """The walk over the whole tree."""

    feed: Feed
    schema: Schema

    def run(self, learner: Any, sink: Sink, threads: int = 1) -> Counts:
        """In the core where the learner has a `walk`, else node by node.

        Rows in scattered order are copied into the order of the positions first: every level reads them.
        """
        if not self.feed.rows.scattered():
            return self._walk(learner, self.feed, sink, threads)
        index = self.feed.rows.index
        gathered = sink.over(len(self.feed.rows))
        counts = self._walk(learner, self.feed.over(self.feed.rows.gathered()), gathered, threads)
        sink.take_over(gathered, index)
        return counts

    def parts(self, learner: Any, sink: Sink, workers: int) -> Parts:
        """The same walk in parts that do not depend on each other: level by level, then subtree by subtree."""
        feed, counts = self.feed.fresh(), Counts()
        state = rooted(learner, feed, self.schema, sink)
        grown = [] if state is None else [(Node(0, feed.k - 1), state)]
        counts += feed.counts
        feed = feed.fresh()
        while len(grown) < 4 * workers and any(node.size > 1 for node, _ in grown):
            steps = [(step, state) for node, state in grown if node.size > 1 for step in halves(node)]
            children = yield [(_grow, (learner, feed, step, state)) for step, state in steps]
            grown = [(node, state) for node, state in grown if node.size == 1]
            for (step, _), (child, error, done) in zip(steps, children, strict=True):
                counts += done
                if error is None:
                    grown.append((step.child, child))
                else:
                    sink.fail(step.child, error)
        taken = yield [(_take, (learner, feed, node, state, sink.apart())) for node, state in grown]
        for (node, _), (part, done) in zip(grown, taken, strict=True):
            counts += done
            sink.absorb(part, node, feed)
        return counts

    def _walk(self, learner: Any, feed: Feed, sink: Sink, threads: int) -> Counts:
        feed, root = feed.fresh(), Node(0, feed.k - 1)  # a feed may be used again
        state = rooted(learner, feed, self.schema, sink)
        if state is None:
            return feed.counts
        return feed.counts + _subtree(learner, feed.fresh(), root, state, sink, threads)


def _subtree(learner: Any, feed: Feed, node: Node, state: Any, sink: Sink, threads: int = 1) -> Counts:
    """All leaves below a node, whose state is spoilt."""
    if hasattr(learner, "walk"):
        counts: Counts = learner.walk(state, feed, sink, node.first, node.last, threads)
        return counts
    walk(learner, state, node, feed, Leaves(learner, feed, sink))
    return feed.counts


def _grow(learner: Any, feed: Feed, step: Step, state: Any) -> tuple[Any, Exception | None, Counts]:
    """A child's state, made from its parent's, which stays as it is."""
    feed = feed.fresh()
    state = learner.copy(state) if hasattr(learner, "copy") else copy.deepcopy(state)
    try:
        learner.update(state, feed.lesson(step))
    except Exception as error:
        return None, error, feed.counts
    return state, None, feed.counts


def _take(learner: Any, feed: Feed, node: Node, state: Any, sink: Sink) -> tuple[Sink, Counts]:
    """The probes of a subtree, filled."""
    return sink, _subtree(learner, feed.fresh(), node, state, sink)


def rooted(learner: Any, feed: Feed, schema: Schema, sink: Sink) -> Any:
    """The root's state, which has learnt the rows that are in no fold; None if it failed to."""
    state, root = learner.init(schema), Node(0, feed.k - 1)
    if feed.chunks.before:
        try:
            learner.update(state, feed.before(root))
        except Exception as error:
            sink.fail(root, error)
            return None
    return state
