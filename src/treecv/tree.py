"""The tree's shape, and Algorithm 1 for any learner.

Joulani, György, Szepesvári: Fast Cross-Validation for Incremental Learning, IJCAI 2015.

A node (first, last) is the state that has learnt every chunk but first..last. It has two children:
one learns the second half of these chunks and holds out the first, the other the reverse. A leaf
(i, i) has learnt all chunks but i and is scored on that one. Chunks are numbered from 0.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol

from treecv.learner import Learner, State, branch


class Node(NamedTuple):
    """The chunks first..last, both included, that a state has not learnt."""

    first: int
    last: int

    @property
    def size(self) -> int:
        """How many chunks these are."""
        return self.last - self.first + 1


class Step(NamedTuple):
    """From a node to one of its children: what is learnt on the way, and on which side it lies."""

    parent: Node
    learn: Node
    child: Node
    side: int


class Feed(Protocol):
    """Hands out the rows a step learns."""

    def lesson(self, step: Step) -> Any:
        """The rows of the chunks `step.learn`, in the order asked for."""


class Sink(Protocol):
    """Takes what the leaves give."""

    def leaf(self, fold: int, state: State) -> None:
        """The state that has learnt every chunk but `fold`."""

    def failed(self, folds: Node, error: Exception) -> None:
        """An update failed above these leaves."""


def halves(node: Node) -> tuple[Step, Step]:
    """Learn the second half and descend into the first; then the reverse."""
    begin, end = node
    middle = (begin + end) // 2
    first, second = _new(Node, (begin, middle)), _new(Node, (middle + 1, end))
    return _new(Step, (node, second, first, 0)), _new(Step, (node, first, second, 1))


_new = tuple.__new__
"""Four tuples a node: past the constructors of their classes, which are functions in Python."""


def levels(k: int) -> Iterator[Iterator[Step]]:
    """All steps of the tree over k chunks, level by level from the root."""
    nodes = [Node(0, k - 1)]
    while nodes := [node for node in nodes if node.size > 1]:
        yield (step for node in nodes for step in halves(node))
        nodes = [step.child for node in nodes for step in halves(node)]


def depth(k: int) -> int:
    """The levels of the tree over k chunks: log2 k, rounded up."""
    return (k - 1).bit_length()


def chunk_updates(k: int) -> int:
    """How many times a chunk is learnt in the tree over k chunks, exactly."""
    return k * (depth(k) + 1) - (1 << depth(k))


def walk(learner: Learner, state: State, node: Node, feed: Feed, sink: Sink) -> None:
    """Take all leaves below `node`, depth first; `state`, which is the node's, is spoilt.

    One state per level is alive: the first child gets a branch, the second one its parent's state.
    """
    begin, end = node
    if begin == end:
        sink.leaf(begin, state)
        return
    first, second = halves(node)
    with branch(learner, state) as model:
        _descend(learner, model, first, feed, sink)
    _descend(learner, state, second, feed, sink)


def _descend(learner: Learner, state: State, step: Step, feed: Feed, sink: Sink) -> None:
    try:
        learner.update(state, feed.lesson(step))
    except Exception as error:  # the folds below have no model; the others are untouched
        sink.failed(step.child, error)
        return
    walk(learner, state, step.child, feed, sink)
