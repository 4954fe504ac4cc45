"""Targets as codes, rows in place or gathered, chunks, feeds in every order, and the bundled sample."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from treecv.data import Chunks, Feed, Rows, encode, load_covtype, numbers
from treecv.data.rows import readable
from treecv.errors import InputError
from treecv.order import ORDERS
from treecv.records import Counts
from treecv.tree import Node, Step, halves

INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]


def assert_encodes(y):
    classes, codes = encode(y)
    expected, places = np.unique(y, return_inverse=True)
    assert np.can_cast(classes.dtype, y.dtype, "equiv")
    assert codes.dtype == np.int32
    np.testing.assert_array_equal(classes, expected)
    np.testing.assert_array_equal(codes, places)


class TestEncode:
    @pytest.mark.parametrize("dtype", [*INTEGERS, "bool", ">i4", ">u8"])
    @given(data=st.data())
    def test_integers_of_every_kind(self, dtype, data):
        assert_encodes(data.draw(arrays.arrays(dtype, st.integers(1, 30))))

    @pytest.mark.parametrize("dtype", INTEGERS)
    def test_the_ends_of_every_kind(self, dtype):
        ends = np.iinfo(dtype)
        for values in ([ends.min, ends.max], [ends.max, ends.max - 1], [ends.min + 5, ends.min], [ends.max]):
            assert_encodes(np.array(values, dtype))

    def test_the_full_range_of_eight_bits(self):
        assert_encodes(np.arange(-128, 128).astype(np.int8))
        assert_encodes(np.arange(256).astype(np.uint8)[::-1])

    def test_unsigned_labels_beyond_signed_ones(self):
        assert_encodes(np.array([2**63 + 5, 2**63, 2**63 + 5], np.uint64))
        assert_encodes(np.array([2**64 - 1, 2**63 - 1, 0], np.uint64))

    @pytest.mark.parametrize("distance", [2**16 - 2, 2**16 - 1, 2**16, 2**16 + 1])
    def test_about_the_distance_where_sorting_takes_over(self, distance):
        assert_encodes(np.array([7 + distance, 7, 8]))

    @given(y=arrays.arrays("<U3", st.integers(1, 20)))
    def test_strings(self, y):
        assert_encodes(y)

    @pytest.mark.parametrize(
        "y", [["b", "a", "b"], [b"b", b"a"], [3.0, -1.0, 3.0], [True, True], [False], [True, False]], ids=str
    )
    def test_other_labels(self, y):
        assert_encodes(np.array(y))

    def test_objects_with_an_order(self):
        assert_encodes(np.array(["b", "a", "b"], object))
        assert_encodes(np.array([7, 3, 7], object))

    def test_dates(self):
        assert_encodes(np.array(["2020-02-01", "2020-01-01"], "M8[D]"))

    @pytest.mark.parametrize("y", [[], [1], [5, 5, 5]], ids=str)
    def test_few_labels(self, y):
        assert_encodes(np.array(y, int))

    def test_strided_labels_are_not_copied_wrongly(self):
        assert_encodes(np.arange(20)[::-3])

    @pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
    def test_continuous_numbers_are_no_labels(self, dtype):
        with pytest.raises(InputError, match=r"Unknown label type: continuous. labels holds 0.5: a classifier needs"):
            encode(np.array([0.5, 1, 2], dtype), "labels")

    @pytest.mark.parametrize("value", [np.nan, np.inf])
    def test_numbers_that_are_none(self, value):
        with pytest.raises(InputError, match="y contains NaN or infinity: drop these rows"):
            encode(np.array([1.0, value]))

    def test_labels_without_an_order(self):
        with pytest.raises(InputError, match="y mixes labels of the types NoneType, int, which have no order"):
            encode(np.array([1, None], object))


class TestNumbers:
    @pytest.mark.parametrize(
        "dtype", [*INTEGERS, "bool", "float16", "float32", "float64", "longdouble", "object", ">f8"]
    )
    def test_every_kind_becomes_double(self, dtype):
        values = numbers(np.array([1, 0, 1]).astype(dtype)[::-1])
        assert values.dtype == np.float64
        assert values.flags.c_contiguous
        assert values.tolist() == [1, 0, 1]

    def test_the_first_bad_row_is_named(self):
        with pytest.raises(InputError, match="target contains -inf at row 1: targets must be finite numbers"):
            numbers(np.array([0.0, -np.inf, np.nan]), "target")

    def test_a_number_too_large_for_double_is_not_finite(self):
        with np.errstate(over="ignore"), pytest.raises(InputError, match="y contains inf at row 0"):
            numbers(np.array([np.finfo(np.longdouble).max]))


def table(n=10, d=3, dtype="float64"):
    return np.arange(n * d, dtype=dtype).reshape(n, d)


class TestRows:
    def test_a_stretch_is_a_view(self):
        X, y, weights = table(), np.arange(10), np.ones(10)
        part = Rows(X, y, weights).stretch(2, 5)
        assert np.shares_memory(part.X, X)
        assert np.shares_memory(part.y, y)
        assert np.shares_memory(part.weights, weights)
        assert (len(part), list(part.order())) == (3, [0, 1, 2])
        np.testing.assert_array_equal(part.X, X[2:5])

    def test_a_stretch_through_an_index_keeps_the_table(self):
        rows = Rows(table(), np.arange(10), index=np.array([9, 0, 5, 5])).stretch(1, 3)
        assert (len(rows), list(rows.order())) == (2, [0, 5])
        assert len(rows.X) == len(rows.y) == 10

    def test_picks_compose(self):
        rows = Rows(table()).pick(np.array([4, 7, 1])).pick(np.array([2, 0]))
        assert list(rows.order()) == [1, 4]
        assert len(rows) == 2

    @pytest.mark.parametrize("dtype", ["float32", "float64", "int16"])
    @given(index=st.lists(st.integers(0, 9), min_size=1, max_size=30))
    def test_gathering_copies_the_rows_named(self, dtype, index):
        X, y = table(dtype=dtype), np.arange(10)
        rows = Rows(X, y, y * 0.5, np.array(index, np.int64)).gathered()
        assert rows.index is None
        assert rows.X.dtype == dtype
        np.testing.assert_array_equal(rows.X, X[index])
        np.testing.assert_array_equal(rows.y, y[index])
        np.testing.assert_array_equal(rows.weights, y[index] * 0.5)

    def test_gathering_reads_rows_that_lie_apart(self):
        X = table(20, 8)[::2, 2:5]
        np.testing.assert_array_equal(Rows(X, index=np.array([9, 0, 3])).gathered().X, X[[9, 0, 3]])

    def test_gathering_without_an_index_is_nothing(self):
        rows = Rows(table())
        assert rows.gathered() is rows

    @pytest.mark.parametrize(
        ("index", "scattered"),
        [
            (None, False),
            (np.arange(1000), False),
            (np.arange(1000)[::-1], False),
            (np.concatenate([np.arange(i, 1000, 10) for i in range(10)]), False),
            (np.random.default_rng(0).permutation(1000), True),
            (np.arange(10) * 100, True),
            (np.array([7]), False),
            (np.array([], int), False),
            (np.repeat([0, 500, 0, 500], 4), False),
            (np.repeat([0, 500, 0, 500, 0], 2), True),
        ],
        ids=["none", "sorted", "reversed", "stratified", "random", "far", "one", "empty", "a quarter", "more"],
    )
    def test_an_index_that_jumps_about_is_scattered(self, index, scattered):
        assert Rows(np.zeros((1000, 1)), index=index).scattered() is scattered

    @pytest.mark.parametrize("view", [lambda X: X, lambda X: X[:], np.asarray, lambda X: np.asarray(X)[1:]])
    def test_a_memory_map_is_never_to_be_copied(self, tmp_path, view):
        table(100).tofile(tmp_path / "X")
        X = view(np.memmap(tmp_path / "X", float, mode="r", shape=(100, 3)))
        index = np.arange(len(X))[::-1] * 64 % len(X)
        assert not Rows(X, index=index).scattered()

    def test_lengths(self):
        assert len(Rows(table(4))) == 4
        assert len(Rows(table(4), index=np.array([1]))) == 1


class TestReadable:
    @pytest.mark.parametrize(
        "make",
        [
            lambda X: X,
            lambda X: X[::2],
            lambda X: X[3:7],
            lambda X: X[:, :2],
            lambda X: X[:1],
            lambda X: X[:, :1],
            lambda X: X[:1, ::2][:, :1],
            lambda X: X.astype("float32")[::3],
            lambda X: np.lib.stride_tricks.as_strided(X, (3, 2), (24, 8)),
        ],
        ids=["whole", "apart", "slice", "columns", "one row", "one column", "one value", "single", "strided"],
    )
    def test_what_the_core_can_read_stays(self, make):
        X = make(table())
        X.flags.writeable = False
        assert readable(X) is X

    @pytest.mark.parametrize(
        "make",
        [
            np.asfortranarray,
            lambda X: X[::-1],
            lambda X: X[:, ::-1],
            lambda X: X[:, ::2],
            lambda X: np.broadcast_to(X[:1], (4, 3)),
            lambda X: np.lib.stride_tricks.sliding_window_view(X[:, 0].copy(), 3),
            lambda X: X.astype(">f8"),
            lambda X: np.frombuffer(b"\0" + X.tobytes(), np.uint8)[1:].view(float).reshape(10, 3),
            lambda X: np.lib.stride_tricks.as_strided(X.astype("f4"), (2, 2), (10, 4)),
        ],
        ids=["Fortran", "backwards", "mirrored", "skipping", "broadcast", "overlapping", "swapped", "unaligned", "odd"],
    )
    def test_anything_else_is_copied_into_rows_side_by_side(self, make):
        X = make(table())
        copy = readable(X)
        assert copy is not X
        assert copy.flags.c_contiguous
        assert copy.flags.aligned
        assert copy.dtype.isnative
        np.testing.assert_array_equal(copy, X)

    def test_a_memory_map_stays(self, tmp_path):
        table().tofile(tmp_path / "X")
        X = np.memmap(tmp_path / "X", float, mode="r", shape=(10, 3))
        assert readable(X) is X


class TestChunks:
    @given(sizes=st.lists(st.integers(0, 5), min_size=1, max_size=20))
    def test_spans_are_between_offsets(self, sizes):
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        chunks = Chunks(sum(sizes), offsets)
        assert chunks.k == len(sizes)
        assert chunks.sizes.tolist() == sizes
        for first in range(len(sizes)):
            for last in range(first, len(sizes)):
                begin, end = chunks.span(first, last)
                assert (begin, end) == (sum(sizes[:first]), sum(sizes[: last + 1]))
                assert type(begin) is type(end) is int

    @given(n=st.integers(1, 50))
    def test_leave_one_out_needs_no_offsets(self, n):
        one, other = Chunks(n), Chunks(n, np.arange(n + 1))
        assert one.k == other.k == n
        assert one.sizes.tolist() == other.sizes.tolist()
        for i in range(n):
            assert one.span(i, n - 1) == other.span(i, n - 1)


def feeds(order="fixed", seed=0, repetition=0, index=None):
    offsets = np.array([0, 3, 4, 9, 11, 20])
    return Feed(Rows(table(20), np.arange(20), index=index), Chunks(20, offsets), order, seed, repetition)


def stored(rows):
    """The stored rows of a lesson, whether it is a view or has an index."""
    return (rows.X[:, 0] // 3).astype(int).tolist() if rows.index is None else list(rows.order())


STEPS = [step for node in (Node(0, 4), Node(0, 2), Node(3, 4), Node(0, 1)) for step in halves(node)]


class TestFeed:
    @pytest.mark.parametrize("order", ORDERS)
    @pytest.mark.parametrize("index", [None, np.random.default_rng(0).permutation(20)], ids=["stored", "indexed"])
    @pytest.mark.parametrize("step", STEPS, ids=lambda step: f"{step.parent}-{step.side}")
    def test_a_lesson_is_the_rows_of_its_chunks(self, order, index, step):
        feed = feeds(order, index=index)
        begin, end = feed.chunks.span(step.learn.first, step.learn.last)
        expected = list(range(begin, end)) if index is None else index[begin:end].tolist()
        given = stored(feed.lesson(step))
        assert sorted(given) == sorted(expected)
        if order == "fixed":
            assert given == expected

    @pytest.mark.parametrize("order", ORDERS)
    @pytest.mark.parametrize("fold", range(5))
    def test_all_but_a_fold(self, order, fold):
        feed = feeds(order)
        begin, end = feed.chunks.span(fold, fold)
        expected = [*range(begin), *range(end, 20)]
        given = stored(feed.all_but(fold))
        assert sorted(given) == expected
        if order == "fixed":
            assert given == expected

    def test_randomized_mixes_the_chunks_and_blocks_keeps_them(self):
        step = halves(Node(0, 4))[0]  # learns chunks 3 and 4: rows 9, 10 and 11 .. 19
        randomized = [stored(feeds("randomized", seed).lesson(step)) for seed in range(30)]
        blocks = [stored(feeds("blocks", seed).lesson(step)) for seed in range(30)]
        assert any(set(rows[:2]) != {9, 10} for rows in randomized)
        assert all(set(rows[:2]) == {9, 10} for rows in blocks)
        assert {tuple(rows[:2]) for rows in blocks} == {(9, 10), (10, 9)}
        assert any(rows[2:] != sorted(rows[2:]) for rows in blocks)

    @pytest.mark.parametrize("order", ["randomized", "blocks"])
    def test_the_order_is_named_by_the_place_and_by_nothing_else(self, order):
        first, second = halves(Node(0, 4))
        feed = feeds(order, seed=1)
        once = stored(feed.lesson(first))
        feed.lesson(second)
        assert stored(feed.lesson(first)) == once == stored(feeds(order, seed=1).lesson(first))
        assert stored(feeds(order, seed=2).lesson(first)) != once
        assert stored(feeds(order, seed=1, repetition=1).lesson(first)) != once
        elsewhere = Step(Node(1, 4), first.learn, Node(1, 2), first.side)
        assert stored(feed.lesson(elsewhere)) != once
        assert stored(feed.lesson(first._replace(side=1))) != once

    def test_a_stored_order_is_read_in_place(self):
        feed = feeds()
        assert np.shares_memory(feed.lesson(halves(Node(0, 4))[0]).X, feed.rows.X)
        assert feed.lesson(halves(Node(0, 4))[0]).index is None

    def test_a_fold_holds_out_its_rows_in_order(self):
        for order in ORDERS:
            assert stored(feeds(order).fold(2)) == [4, 5, 6, 7, 8]
            assert feeds(order).counts == Counts()

    def test_what_is_handed_out_is_counted(self):
        feed = feeds()
        feed.lesson(halves(Node(0, 4))[0])
        assert feed.counts == Counts(chunk_updates=2, row_updates=11)
        feed.all_but(2)
        assert feed.counts == Counts(chunk_updates=6, row_updates=26)


class TestSample:
    def test_is_what_its_docstring_says(self):
        X, y = load_covtype()
        assert X.shape == (20_000, 54)
        assert X.dtype == np.int16
        assert X.flags.c_contiguous
        assert y.shape == (20_000,)

    def test_classes(self):
        y = load_covtype().y
        assert np.unique(y).tolist() == [1, 2, 3, 4, 5, 6, 7]
        counts = np.bincount(y)[1:]
        assert counts.tolist() == [7386, 9648, 1243, 91, 297, 581, 754]

    def test_area_and_soil_are_one_hot(self):
        X = load_covtype().X
        for columns in (slice(10, 14), slice(14, 54)):
            assert set(np.unique(X[:, columns])) == {0, 1}
            np.testing.assert_array_equal(X[:, columns].sum(axis=1), 1)
        assert (X[:, :10].max(axis=0) > 50).all()

    def test_each_call_gives_its_own_arrays(self):
        one = load_covtype()
        one.X[:] = 0
        assert load_covtype().X.any()
