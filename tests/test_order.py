"""Randomness keyed by place: the mirror equals the core, permutations are uniform, and numbers never change."""

import itertools

import numpy as np
import pytest

from cases import schema_of
from treecv import learners
from treecv.data import Chunks, Feed, Rows
from treecv.order import ORDERS, Stream
from treecv.probes import Sink, States
from treecv.strategies import Standard, Tree

MOST = 2**64 - 1

GOLDEN = {
    "key": 16869434047353028806,
    "numbers": [11360827438682955439, 14802956748567842391, 13781060496517329081],
    "permutation": [8, 3, 7, 4, 1, 5, 10, 11, 6, 2, 0, 9],
    "from the largest seed": [5, 1, 0, 10, 11, 8, 7, 2, 9, 3, 6, 4],
}


def orders_learnt(strategy, chunks, order, seed, repetition):
    """The order in which each leaf learnt its rows, read off its state.

    Row i is the i-th unit vector: the weight i is 1 once row i was learnt, so the sum of the iterates counts
    the rows that came after.
    """
    n = chunks.n_rows
    learner = learners.LSQSGD(step_size=1.0, radius=1e9, fit_intercept=False)
    learnt = {}

    def take(fold, state):
        after = state["sum"][0][:n].astype(int)
        learnt[fold] = [int(row) for row in np.argsort(-after, kind="stable") if after[row]]

    feed = Feed(Rows(np.eye(n), np.ones(n)), chunks, order, seed, repetition)
    strategy.plan(feed, schema_of(feed.rows.X)).run(learner, Sink(chunks.k, states=States(take)))
    return learnt


@pytest.mark.parametrize("seed", [0, 1, 12345678901234567890, MOST])
@pytest.mark.parametrize("repetition", [0, 3])
def test_an_update_of_the_tree_is_permuted_by_the_stream_of_its_place(seed, repetition):
    stream = Stream(seed).at(repetition)
    learnt = orders_learnt(Tree(), Chunks(23, np.array([0, 9, 23])), "randomized", seed, repetition)
    assert learnt[0] == (9 + stream.at(0, 1, 0).permutation(14)).tolist()
    assert learnt[1] == stream.at(0, 1, 1).permutation(9).tolist()
    learnt = orders_learnt(Tree(), Chunks(23, np.array([0, 4, 9, 16, 23])), "randomized", seed, repetition)
    first, second = stream.at(0, 3, 0).permutation(14), stream.at(0, 1, 0).permutation(5)
    assert learnt[0] == [*(9 + first).tolist(), *(4 + second).tolist()]


@pytest.mark.parametrize("seed", [0, MOST])
def test_blocks_are_permuted_each_by_itself(seed):
    stream = Stream(seed).at(2)
    learnt = orders_learnt(Tree(), Chunks(23, np.array([0, 4, 9, 16, 23])), "blocks", seed, 2)
    place = stream.at(0, 3, 0)
    blocks = [9 + place.at(2).permutation(7), 16 + place.at(3).permutation(7)]
    assert learnt[0][:14] == np.concatenate(blocks).tolist()
    learnt = orders_learnt(Standard(), Chunks(23, np.array([0, 4, 9, 23])), "blocks", seed, 2)
    place = stream.at(1, 1, 0)
    assert learnt[1] == [*place.at(0).permutation(4).tolist(), *(9 + place.at(2).permutation(14)).tolist()]


def test_a_training_from_scratch_is_permuted_by_the_stream_of_its_fold():
    learnt = orders_learnt(Standard(), Chunks(20, np.array([0, 5, 12, 20])), "randomized", 7, 1)
    others = np.r_[0:5, 12:20]
    assert learnt[1] == others[Stream(7).at(1).at(1, 1, 0).permutation(13)].tolist()


def test_a_fixed_order_is_the_stored_one():
    learnt = orders_learnt(Standard(), Chunks(6, np.array([0, 2, 4, 6])), "fixed", 7, 1)
    assert learnt == {0: [2, 3, 4, 5], 1: [0, 1, 4, 5], 2: [0, 1, 2, 3]}
    assert ORDERS == ("fixed", "randomized", "blocks")


# The 0.999999 quantiles of chi-square with size! - 1 degrees of freedom.
@pytest.mark.parametrize(("size", "limit"), [(2, 23.93), (3, 35.89), (4, 70.55), (5, 207.20)])
def test_all_permutations_are_equally_likely(size, limit):
    expected = 100
    rank = {order: i for i, order in enumerate(itertools.permutations(range(size)))}
    counts = np.zeros(len(rank))
    for place in range(expected * len(rank)):
        counts[rank[tuple(Stream(5).at(place).permutation(size).tolist())]] += 1
    assert np.sum((counts - expected) ** 2) / expected < limit


def test_every_place_has_its_own_permutation():
    ranges = {"seed": (0, 1, 2, MOST), "repetition": (0, 1, 2), "first": (0, 1), "last": (0, 1, 2), "side": (0, 1)}
    places = list(itertools.product(*ranges.values()))
    drawn = {tuple(Stream(seed).at(*place).permutation(30).tolist()) for seed, *place in places}
    assert len(drawn) == len(places)


def test_a_place_may_be_described_at_once_or_bit_by_bit():
    assert Stream(3).at(1, 2, 3).key == Stream(3).at(1).at(2).at(3).key
    assert Stream(3).at().key == Stream(3).key


@pytest.mark.parametrize("size", [0, 1, 2, 3, 17, 1000])
def test_a_permutation_holds_every_number_once(size):
    drawn = Stream(9).permutation(size)
    assert drawn.dtype == np.int64
    assert sorted(drawn.tolist()) == list(range(size))


def test_the_generator_is_splitmix64():
    """The first numbers of the published generator, seeded with 1234567."""
    published = [6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431]
    stream = Stream(0)
    stream.key = 1234567
    assert stream.numbers(4).tolist() == published


def test_numbers_and_permutations_never_change():
    stream = Stream(42).at(0, 7, 3, 1)
    assert stream.key == GOLDEN["key"]
    assert stream.numbers(3).tolist() == GOLDEN["numbers"]
    assert stream.permutation(12).tolist() == GOLDEN["permutation"]
    assert Stream(MOST).permutation(12).tolist() == GOLDEN["from the largest seed"]
