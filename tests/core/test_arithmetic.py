"""The core's learners compute what their Python references compute, to the last bit."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reference
from cases import DTYPES, LEARNERS, assert_same_bits, reference_of, schema_of, table, trained
from treecv import learners
from treecv.data import Rows, load_covtype
from treecv.data.rows import readable

WIDTHS = range(1, 71)  # all residues modulo 16 and 8, from no whole block to more than four


def beside(X, before, after, filling):
    """The same rows inside a wider table: what lies around them is `filling`."""
    wide = np.full((len(X), before + X.shape[1] + after), filling, X.dtype)
    wide[:, before : before + X.shape[1]] = X
    return wide[:, before : before + X.shape[1]]


def every_other(X, filling):
    tall = np.full((2 * len(X), X.shape[1]), filling, X.dtype)
    tall[::2] = X
    return tall[::2]


def frozen(X):
    X.flags.writeable = False
    return X


IN_PLACE = {
    "plain": lambda X: X,
    "read-only": lambda X: frozen(X.copy()),
    "every other row": lambda X: every_other(X, np.nan),
    "NaN behind": lambda X: beside(X, 0, 5, np.nan),
    "infinity behind": lambda X: beside(X, 0, 17, np.inf),
    "at the end of the buffer": lambda X: beside(X, 3, 0, np.nan),
}
COPIED = {
    "Fortran order": np.asfortranarray,
    "every other column": lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    "backwards": lambda X: X[::-1].copy()[::-1],
    "columns backwards": lambda X: X[:, ::-1].copy()[:, ::-1],
    "one row repeated": lambda X: np.broadcast_to(X[0], X.shape),
    "other byte order": lambda X: X.astype(X.dtype.newbyteorder()),
    "unaligned": lambda X: np.frombuffer(b"\0" + X.tobytes(), np.uint8)[1:].view(X.dtype).reshape(X.shape),
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("learner", LEARNERS, ids=repr)
def test_every_width_gives_the_bits_of_the_reference(learner, dtype):
    plain = reference_of(learner)
    for d in WIDTHS:
        X, y = table(9, d, dtype, seed=d)
        state, expected = trained(learner, X, y), trained(plain, X, y)
        assert_same_bits(state, expected)
        assert_same_bits(learner.predict(state, Rows(X)), plain.predict(expected, Rows(X)))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("learner", LEARNERS, ids=repr)
@pytest.mark.parametrize("layout", IN_PLACE)
def test_rows_are_read_in_place_and_nothing_around_them(layout, learner, dtype):
    for d in (1, 3, 7, 8, 9, 15, 16, 17, 31, 33, 54):
        X, y = table(6, d, dtype, seed=d)
        view = IN_PLACE[layout](X)
        assert readable(view) is view
        state = trained(learner, view, y)
        assert_same_bits(state, trained(learner, X.copy(), y))
        assert_same_bits(learner.predict(state, Rows(view)), learner.predict(state, Rows(X.copy())))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layout", COPIED)
def test_what_the_core_cannot_read_in_place_is_copied(layout, dtype):
    X, y = table(6, 9, dtype)
    view = COPIED[layout](X)
    copied = readable(view)
    assert copied is not view
    assert copied.dtype == np.dtype(dtype)
    for learner in LEARNERS:
        assert_same_bits(trained(learner, copied, y), trained(reference_of(learner), np.array(view, dtype), y))


@pytest.mark.parametrize("learner", LEARNERS, ids=repr)
@pytest.mark.parametrize("d", [1, 8, 13, 16])
def test_a_single_row_of_any_stride_is_read_in_place(learner, d):
    X, y = table(1, d, "float32")
    strided = np.lib.stride_tricks.as_strided(X, X.shape, (4, 4))
    assert_same_bits(trained(learner, readable(strided), y), trained(reference_of(learner), X, y))


def test_the_last_row_read_alone_is_the_last_row_read_with_the_others():
    for learner in LEARNERS:
        for d in WIDTHS:
            X, y = table(3, d, "float32", seed=d)
            state = trained(learner, X, y)
            together, alone = learner.predict(state, Rows(X)), learner.predict(state, Rows(X[2:].copy()))
            assert_same_bits(together[2:], alone)


@settings(max_examples=60, deadline=None)
@given(data=st.data(), learner=st.sampled_from(LEARNERS), dtype=st.sampled_from(DTYPES), d=st.integers(1, 40))
def test_updates_in_parts_through_any_index_give_the_bits_of_the_reference(data, learner, dtype, d):
    X, y = table(12, d, dtype, seed=data.draw(st.integers(0, 99)))
    X[:, data.draw(st.integers(0, d - 1))] = data.draw(st.sampled_from([0, -0.0, 1, -3]))
    plain = reference_of(learner)
    state, expected = learner.init(schema_of(X)), plain.init(schema_of(X))
    for index in data.draw(st.lists(st.lists(st.integers(0, 11), max_size=9), min_size=1, max_size=4)):
        rows = Rows(X, y, index=np.array(index, np.int64))
        learner.update(state, rows)
        plain.update(expected, rows)
        assert_same_bits(state, expected)
        assert_same_bits(learner.predict(state, rows), plain.predict(expected, rows))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("learner", LEARNERS, ids=repr)
@pytest.mark.parametrize("value", [1e30, -1e38, np.inf, np.nan])
def test_overflow_and_strange_numbers_take_the_same_course(learner, dtype, value):
    X, y = table(10, 5, dtype)
    X[4, 1:3] = value
    plain = reference_of(learner)
    state, expected = trained(learner, X, y), trained(plain, X, y)
    assert_same_bits(state, expected)
    assert_same_bits(learner.predict(state, Rows(X)), plain.predict(expected, Rows(X)))


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_margin_of_exactly_one_is_enough(dtype):
    X, y = np.array([[1.0], [0.5], [0.75]], dtype), np.ones(3, np.int32)
    learner = learners.Pegasos(alpha=0.5, fit_intercept=False)
    for either in (learner, reference_of(learner)):
        assert trained(either, X[:2], y[:2])["v"][0][0] == 1
        assert trained(either, X, y)["v"][0][0] == 1.75


def test_an_empty_state_predicts_zero_or_nothing():
    X, _ = table(4, 3)
    for learner in LEARNERS:
        nothing = 0.0 if getattr(learner, "supervised", True) else np.nan  # there is no density of no rows
        for either in (learner, reference_of(learner)):
            predicted = either.predict(either.init(schema_of(X)), Rows(X)).reshape(4, -1)[:, -1]
            np.testing.assert_array_equal(predicted, nothing)


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_the_reference_is_what_the_papers_say(fit_intercept):
    X, y = table(300, 7)
    pegasos = learners.Pegasos(0.01, fit_intercept)
    expected = reference.linear(reference.pegasos(X, y, 0.01, fit_intercept), X)
    np.testing.assert_allclose(pegasos.predict(trained(pegasos, X, y), Rows(X)), expected, rtol=1e-9, atol=1e-9)
    lsqsgd = learners.LSQSGD(0.2, 0.8, fit_intercept)
    target = X[:, 0] - 0.3 + y
    expected = reference.linear(reference.lsqsgd(X, target, 0.2, 0.8, fit_intercept), X)
    np.testing.assert_allclose(lsqsgd.predict(trained(lsqsgd, X, target), Rows(X)), expected, rtol=1e-9, atol=1e-9)


def test_single_precision_is_near_double_precision():
    X, y = load_covtype()
    X, y = X[:3000].astype(float), (y[:3000] == 1).astype(np.int32)
    X = (X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-9)
    predicted = {}
    for dtype in DTYPES:
        rows = Rows(X.astype(dtype), y)
        for learner in (learners.Pegasos(1e-2), learners.LSQSGD(0.01)):
            predicted[dtype, type(learner)] = learner.predict(trained(learner, rows.X, y), rows)
    near, exact = (predicted[dtype, learners.Pegasos] for dtype in DTYPES)
    assert np.mean((near > 0) == (exact > 0)) > 0.999
    near, exact = (predicted[dtype, learners.LSQSGD] for dtype in DTYPES)
    np.testing.assert_allclose(near, exact, atol=2e-5)
    assert (near != exact).any()
