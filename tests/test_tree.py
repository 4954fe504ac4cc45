"""The tree's shape, and Algorithm 1 over learners that write down what happens to them."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference import tree_order
from treecv.data import Chunks, Feed, Rows
from treecv.learner import Schema
from treecv.probes import Leaves, Predictions, Sink
from treecv.tree import Node, chunk_updates, depth, halves, levels, walk


class Diary:
    """A learner whose state is the list of the rows it has learnt; it counts what is alive."""

    def __init__(self, poison=None):
        self.alive = self.most = self.copies = self.chunks = 0
        self.poison = poison

    def init(self, schema):
        self.alive = self.most = 1
        return []

    def copy(self, state):
        self.copies += 1
        self.alive += 1
        self.most = max(self.most, self.alive)
        return Copy(self, state)

    def update(self, state, rows):
        learnt = list(rows.order()) if rows.index is not None else rows.X[:, 0].astype(int).tolist()
        if self.poison in learnt:
            raise FloatingPointError(f"row {self.poison} is poisoned")
        state.extend(learnt)

    def predict(self, state, rows):
        return np.full(len(rows), float(len(state)))


class Copy(list):
    """A state that says when it is gone."""

    def __init__(self, diary, state):
        super().__init__(state)
        self.diary = diary

    def __del__(self):
        self.diary.alive -= 1


class Reverting(Diary):
    """The same with one state that is rolled back."""

    copy = property()  # not there

    def save(self, state):
        return len(state)

    def revert(self, state, mark):
        del state[mark:]


class Leavings:
    def __init__(self):
        self.learnt, self.failures = {}, []

    def leaf(self, fold, state):
        self.learnt[fold] = list(state)

    def failed(self, folds, error):
        self.failures.append((folds, error))


def feed_of(sizes):
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    n = int(offsets[-1])
    return Feed(Rows(np.arange(n, dtype=float)[:, np.newaxis]), Chunks(n, offsets))


def walked(learner, feed):
    sink = Leavings()
    walk(learner, learner.init(Schema(len(feed.rows), 1, "float64")), Node(0, feed.chunks.k - 1), feed, sink)
    return sink


@pytest.mark.parametrize("make", [Diary, Reverting])
@given(sizes=st.lists(st.integers(1, 5), min_size=2, max_size=40))
def test_each_leaf_learns_all_other_chunks_in_the_order_of_the_tree(make, sizes):
    feed = feed_of(sizes)
    learnt = walked(make(), feed).learnt
    assert sorted(learnt) == list(range(len(sizes)))
    for fold, rows in learnt.items():
        chunks = tree_order(fold, len(sizes))
        assert rows == [row for chunk in chunks for row in range(*feed.chunks.span(chunk, chunk))]


@pytest.mark.parametrize("k", [*range(2, 70), 100, 127, 128, 129, 1000])
def test_work_copies_and_live_states_are_what_the_formulas_say(k):
    learner, feed = Diary(), feed_of([1] * k)
    walked(learner, feed)
    c = math.ceil(math.log2(k))
    assert feed.counts.chunk_updates == k * (c + 1) - 2**c == chunk_updates(k)
    assert feed.counts.row_updates == feed.counts.chunk_updates
    assert learner.copies == k - 1
    assert learner.most <= c + 1
    assert learner.alive == 1


@pytest.mark.parametrize(("k", "updates"), [(10, 34), (100, 672), (581_012, 11_152_676)])
def test_published_counts(k, updates):
    assert chunk_updates(k) == updates


@given(k=st.integers(2, 300))
def test_levels_are_the_steps_of_the_walk_by_depth(k):
    by_level = [list(level) for level in levels(k)]
    assert len(by_level) == depth(k)
    steps = [step for level in by_level for step in level]
    assert sum(step.learn.size for step in steps) == chunk_updates(k)
    assert sorted(step.child.first for step in steps if step.child.size == 1) == list(range(k))
    nodes = [Node(0, k - 1)]
    while nodes:
        node = nodes.pop()
        if node.size > 1:
            assert set(halves(node)) <= set(steps)
            nodes += [step.child for step in halves(node)]


@pytest.mark.parametrize("make", [Diary, Reverting])
@pytest.mark.parametrize("k", [2, 3, 8, 13])
def test_a_poisoned_row_fails_exactly_the_folds_that_train_on_it(make, k):
    feed = feed_of([3] * k)
    for poisoned in range(3 * k):
        sink = walked(make(poison=poisoned), feed)
        assert list(sink.learnt) == [poisoned // 3]
        assert poisoned not in sink.learnt[poisoned // 3]
        assert sorted(fold for node, _ in sink.failures for fold in range(node.first, node.last + 1)) == [
            fold for fold in range(k) if fold != poisoned // 3
        ]


def test_the_first_error_is_kept_with_its_folds_and_its_cause():
    feed, learner = feed_of([1] * 4), Diary(poison=3)
    sink = Sink(4, Predictions.over(4))
    walk(learner, [], Node(0, 3), feed, Leaves(learner, feed, sink))
    assert sink.failed.tolist() == [1, 1, 1, 0]
    with pytest.raises(Exception, match=r"folds 0..1 have no model: FloatingPointError: row 3 is poisoned"):
        raise sink.error
    assert isinstance(sink.error.__cause__, FloatingPointError)


def test_ctrl_c_is_no_failure_of_a_fold():
    class Interrupted(Diary):
        def update(self, state, rows):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        walked(Interrupted(), feed_of([1, 1]))
