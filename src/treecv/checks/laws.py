"""One function a law; a law is run where the learner has what the law is about."""

import pickle
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treecv.data import Chunks, Feed, Rows
from treecv.errors import TreecvError
from treecv.learner import LEARNER, Schema, State, branch, missing, outputs_of
from treecv.order import ORDERS
from treecv.probes import Leaves, Predictions, Sink
from treecv.tree import Node, halves, walk


@dataclass(frozen=True, slots=True)
class Case:
    """A learner and rows it can learn."""

    learner: Any
    schema: Schema
    rows: Rows

    def trained(self, *stretches: tuple[int, int]) -> State:
        """A state that has learnt these stretches, an update each."""
        return self.taught(*(self.rows.stretch(begin, end) for begin, end in stretches))

    def taught(self, *lessons: Rows) -> State:
        """A state that has learnt these rows, an update each; none for no rows."""
        state = self.learner.init(self.schema)
        for lesson in lessons:
            if len(lesson):
                self.learner.update(state, lesson)
        return state

    def predictions(self, state: State) -> NDArray[Any]:
        """What a state predicts for all rows."""
        return np.asarray(self.learner.predict(state, self.rows))

    @property
    def half(self) -> int:
        """Where the rows are cut in two."""
        return len(self.rows) // 2


Law = Callable[[Case], None]


def check_learner(learner: Any, rows: Rows | None = None, schema: Schema | None = None) -> None:
    """Run every law that applies to a learner.

    Parameters
    ----------
    learner : learner
        With at least `init`, `update`, `predict`, and `copy` or `save` and `revert`.
    rows, schema : Rows, Schema, optional
        What to learn. By default 40 rows of 5 features, with targets 0 and 1 as int32 codes of two classes.

    Examples
    --------
    >>> from treecv.learners import Pegasos
    >>> check_learner(Pegasos(alpha=0.01))
    """
    case = _case(learner, rows, schema)
    for law in iter_laws(learner):
        law(case)


def iter_laws(learner: Any) -> Iterator[Law]:
    """The laws that a learner's capabilities call for."""
    yield check_capabilities
    yield from (check_repeatable, check_predict_is_pure, check_states_are_apart, check_rows_are_apart)
    yield from (check_index, check_pickles, check_settings_stay, check_branch_restores, check_tree_order)
    if hasattr(learner, "copy"):
        yield check_copy_is_independent
    if hasattr(learner, "revert"):
        yield check_revert_undoes
    if hasattr(learner, "merge"):
        yield check_merge_is_joint_training
    if hasattr(learner, "unlearn"):
        yield from (check_unlearn_undoes, check_unlearn_keeps_digits)
    if hasattr(learner, "unlearnable"):
        yield check_harmless_rows_are_unlearnable
    if hasattr(learner, "held_out"):
        yield check_held_out_is_training_from_scratch
    if hasattr(learner, "walk"):
        yield check_walk_is_the_tree
    if hasattr(learner, "repeat"):
        yield check_repeat_is_training_from_scratch


def _case(learner: Any, rows: Rows | None, schema: Schema | None) -> Case:
    if rows is None:
        random = np.random.default_rng(11)
        X = random.normal(size=(40, 5))
        rows = Rows(X, (X[:, 0] + random.normal(size=40) > 0).astype(np.int32))
    if schema is None:
        schema = Schema(len(rows), rows.X.shape[1], rows.X.dtype.name, np.array([0, 1]))
    if len(rows) < 8:
        raise TreecvError(f"check_learner: {len(rows)} rows are too few to check anything; give at least 8.")
    return Case(learner, schema, rows)


def _same(law: str, one: Any, other: Any) -> None:
    one, other = np.asarray(one), np.asarray(other)
    if one.shape != other.shape:
        raise AssertionError(f"{law}: predictions of the shapes {one.shape} and {other.shape}.")
    if not np.array_equal(one, other, equal_nan=one.dtype.kind == "f"):
        differing = np.flatnonzero(np.ravel(one != other))
        raise AssertionError(
            f"{law}: {len(differing)} of {one.size} predictions differ, first {np.ravel(one)[differing[0]]!r} and "
            f"{np.ravel(other)[differing[0]]!r}."
        )


def _close(law: str, one: NDArray[Any], other: NDArray[Any], tolerance: float = 1e-7) -> None:
    """Equal to rounding, for numbers of the size that the largest one has."""
    size = np.abs(other[np.isfinite(other)]).max(initial=1e-2)
    np.testing.assert_allclose(one, other, rtol=0, atol=tolerance * size, err_msg=law)


def _alike(case: Case, law: str, one: Any, other: Any) -> None:
    """The same bits; or equal to rounding, where a learner promises no more."""
    if getattr(case.learner, "same_bits", True):
        _same(law, one, other)
        return
    one, other = np.asarray(one), np.asarray(other)
    if one.shape != other.shape:
        raise AssertionError(f"{law}: predictions of the shapes {one.shape} and {other.shape}.")
    _close(law, one, other)


def check_capabilities(case: Case) -> None:
    """The methods that the tree needs are there."""
    lacking = missing(case.learner, LEARNER)
    if lacking:
        raise AssertionError(f"{type(case.learner).__name__} has no {', '.join(lacking)}.")


def check_repeatable(case: Case) -> None:
    """The same rows in the same order give the same model."""
    one, other = case.trained((0, case.half)), case.trained((0, case.half))
    _same("training twice", case.predictions(one), case.predictions(other))


def check_states_are_apart(case: Case) -> None:
    """Training one state leaves another alone."""
    one = case.trained((0, case.half))
    before = case.predictions(one)
    case.trained((0, len(case.rows)))
    _same("another state was trained", before, case.predictions(one))


def check_predict_is_pure(case: Case) -> None:
    """Predicting changes nothing, neither predictions nor what is learnt later."""
    asked, silent = case.trained((0, case.half)), case.trained((0, case.half))
    _same("predicting twice", case.predictions(asked), case.predictions(asked))
    for state in (asked, silent):
        case.learner.update(state, case.rows.stretch(case.half, len(case.rows)))
    _same("learning after predicting", case.predictions(asked), case.predictions(silent))


def check_rows_are_apart(case: Case) -> None:
    """There is one prediction a row, and it does not depend on the other rows asked for."""
    state = case.trained((0, case.half))
    together = case.predictions(state)
    if len(together) != len(case.rows):
        raise AssertionError(f"predict: {len(together)} predictions for {len(case.rows)} rows.")
    single = [case.learner.predict(state, case.rows.stretch(i, i + 1)) for i in range(len(case.rows))]
    _alike(case, "predicting row by row", together, np.concatenate(single))


def check_index(case: Case) -> None:
    """Rows through an index are the rows it names, in its order."""
    index = np.random.default_rng(3).permutation(len(case.rows))[: case.half]
    picked = case.rows.pick(index)
    one, other = case.learner.init(case.schema), case.learner.init(case.schema)
    case.learner.update(one, picked)
    case.learner.update(other, picked.gathered())
    _same("learning through an index", case.predictions(one), case.predictions(other))
    _alike(case, "predicting through an index", case.learner.predict(one, picked), case.predictions(one)[index])


def check_pickles(case: Case) -> None:
    """Learner and state survive a pickle."""
    state = case.trained((0, case.half))
    try:
        learner, restored = pickle.loads(pickle.dumps((case.learner, state)))  # noqa: S301 - made just here
    except Exception as error:
        raise AssertionError(f"pickling: {type(error).__name__}: {error}") from error
    _same("pickled and restored", case.predictions(state), np.asarray(learner.predict(restored, case.rows)))


def check_settings_stay(case: Case) -> None:
    """A learner holds nothing learnt: training does not change it."""
    before = pickle.dumps(case.learner)
    case.trained((0, len(case.rows)))
    if pickle.dumps(case.learner) != before:
        raise AssertionError(f"training changed {type(case.learner).__name__} itself: what is learnt belongs in state.")


def check_branch_restores(case: Case) -> None:
    """What a branch learns does not show once it has been left."""
    state = case.trained((0, case.half))
    before = case.predictions(state)
    with branch(case.learner, state) as model:
        case.learner.update(model, case.rows.stretch(case.half, len(case.rows)))
    _same("after a branch", before, case.predictions(state))


def check_copy_is_independent(case: Case) -> None:
    """A copy learns by itself, and as the original would have."""
    state = case.trained((0, case.half))
    before, copied = case.predictions(state), case.learner.copy(state)
    case.learner.update(copied, case.rows.stretch(case.half, len(case.rows)))
    _same("a copy was trained", before, case.predictions(state))
    both = case.trained((0, case.half), (case.half, len(case.rows)))
    _same("training a copy", case.predictions(both), case.predictions(copied))


def check_revert_undoes(case: Case) -> None:
    """Reverting undoes all updates since the mark, nested ones too."""
    state = case.trained((0, case.half))
    before, mark = case.predictions(state), case.learner.save(state)
    case.learner.update(state, case.rows.stretch(case.half, len(case.rows)))
    inner, middle = case.learner.save(state), case.predictions(state)
    case.learner.update(state, case.rows.stretch(0, case.half))
    case.learner.revert(state, inner)
    _same("reverting an inner mark", middle, case.predictions(state))
    case.learner.revert(state, mark)
    _same("reverting", before, case.predictions(state))


def check_merge_is_joint_training(case: Case) -> None:
    """Merging gives what one state would have learnt from both parts, and leaves the other state alone."""
    for each in _weighted(case):
        for kept, others in _splits(each):
            state, other = each.taught(kept), each.taught(others)
            before = each.predictions(other)
            each.learner.merge(state, other)
            _close("merging", each.predictions(state), each.predictions(each.taught(kept, others)))
            _same("what was merged", before, each.predictions(other))
            each.learner.update(other, each.rows)
            _close("after a merge", each.predictions(state), each.predictions(each.taught(kept, others)))


def check_unlearn_undoes(case: Case) -> None:
    """Unlearning rows gives what was there without them."""
    for each in _weighted(case):
        for kept, others in _splits(each):
            state = each.taught(kept, others)
            if len(kept) and len(others) and _unlearnable(each, state, others):
                each.learner.unlearn(state, others)
                _close("unlearning", each.predictions(state), each.predictions(each.taught(kept)))


def check_unlearn_keeps_digits(case: Case) -> None:
    """Where a subtraction would lose digits, `unlearnable` says so; elsewhere few are lost.

    Tried on features that are shifted by 1e8, on others from 1e-6 to 1e6 in size, and without rows that are 1e12 times
    as large as the others.
    """
    if not _is_plain(case):
        return
    for hard in (_shifted(case), _stretched(case), _with_giants(case)):
        kept, others = hard.rows.stretch(0, hard.half), hard.rows.stretch(hard.half, len(hard.rows))
        state = hard.taught(kept, others)
        if _unlearnable(hard, state, others):
            hard.learner.unlearn(state, others)
            found = np.asarray(hard.learner.predict(state, kept))
            wanted = np.asarray(hard.learner.predict(hard.taught(kept), kept))
            _close("digits are lost by unlearning", found, wanted, tolerance=1e-6)


def check_harmless_rows_are_unlearnable(case: Case) -> None:
    """A row that was learnt four times can always be unlearnt once."""
    state = case.taught(*[case.rows] * 4)
    for row in range(len(case.rows)):
        if not case.learner.unlearnable(state, case.rows.stretch(row, row + 1)):
            raise AssertionError(f"unlearnable: row {row} has three twins and cannot be taken away.")


def check_held_out_is_training_from_scratch(case: Case) -> None:
    """All held-out rows at once get what models give that were trained on all folds but theirs."""
    n = len(case.rows)
    shuffled = case.rows.pick(np.random.default_rng(4).permutation(n))
    for each in _weighted(replace(case, rows=shuffled)):
        for offsets in (None, [0, n // 3, n], [n // 4, *range(n // 4 + 1, n + 1)], [*range(0, n, 5), n]):
            chunks = Chunks(n, None if offsets is None else np.array(offsets, np.int64))
            feed = Feed(each.rows, chunks)
            found = np.asarray(each.learner.held_out(case.schema, feed))
            states = [each.taught(feed.all_but(fold)) for fold in range(chunks.k)]
            wanted = [each.learner.predict(state, feed.fold(fold)) for fold, state in enumerate(states)]
            _close(f"held out, k={chunks.k}", found, np.concatenate(wanted))
            cost = each.learner.held_out_trainings(n, case.schema.n_features, chunks.k)
            if not 0 < cost < float("inf"):
                raise AssertionError(f"held_out_trainings: {cost!r} is no cost; say how many trainings it is worth.")


def _unlearnable(case: Case, state: State, rows: Rows) -> bool:
    """What a learner says; one that does not say must always be right."""
    return bool(case.learner.unlearnable(state, rows)) if hasattr(case.learner, "unlearnable") else True


def _weighted(case: Case) -> Iterator[Case]:
    """The case, and where a learner weighs rows the same with weights, one of them 0."""
    yield case
    if getattr(case.learner, "weighs", False):
        weights = np.random.default_rng(6).choice([0.5, 1.0, 3.0], case.rows.n_stored)
        weights[1] = 0
        yield replace(case, rows=replace(case.rows, weights=weights))


def _splits(case: Case) -> Iterator[tuple[Rows, Rows]]:
    """All rows in two parts: at each end, in the middle, and at random."""
    n = len(case.rows)
    for cut in (0, 1, n // 2, n - 1, n):
        yield case.rows.stretch(0, cut), case.rows.stretch(cut, n)
    order = np.random.default_rng(8).permutation(n)
    yield case.rows.pick(order[: 2 * n // 3]), case.rows.pick(order[2 * n // 3 :])


def _is_plain(case: Case) -> bool:
    X = case.rows.X
    return isinstance(X, np.ndarray) and X.dtype == np.float64 and not getattr(case.learner, "as_given", False)


def _shifted(case: Case) -> Case:
    return replace(case, rows=replace(case.rows, X=case.rows.X + 1e8))


def _stretched(case: Case) -> Case:
    sizes = 10.0 ** np.linspace(-6, 6, case.rows.X.shape[1])
    return replace(case, rows=replace(case.rows, X=case.rows.X * sizes))


def _with_giants(case: Case) -> Case:
    """The rows of the second half are as large as those of the first are small."""
    rows = case.rows.gathered()
    times = np.where(np.arange(len(rows)) < case.half, 1, 1e12)
    numbers = rows.y is not None and rows.y.dtype.kind == "f"
    y = rows.y * times.reshape(-1, *[1] * (rows.y.ndim - 1)) if numbers else rows.y
    return replace(case, rows=replace(rows, X=rows.X * times[:, np.newaxis], y=y))


def check_tree_order(case: Case) -> None:
    """Each leaf of the tree is the model trained from scratch on the tree's order of chunks."""
    for k in (2, 3, 5, 7):
        feed = _feed(case, k, "fixed")
        sink = _walked(case, feed)
        for fold in range(k):
            state, node = case.learner.init(case.schema), Node(0, k - 1)
            while node.size > 1:
                step = next(step for step in halves(node) if step.child.first <= fold <= step.child.last)
                case.learner.update(state, feed.lesson(step))
                node = step.child
            held_out = slice(*feed.chunks.span(fold, fold))
            _alike(case, f"fold {fold} of {k}", sink.predicted[held_out], case.predictions(state)[held_out])


def check_walk_is_the_tree(case: Case) -> None:
    """The learner's own walk gives what Algorithm 1 gives node by node, in every order."""
    for k in (2, 3, 7, len(case.rows)):
        for order in ORDERS:
            feed = _feed(case, k, order)
            sink = Sink(k, Predictions.over(len(case.rows), outputs_of(case.learner)))
            counts = case.learner.walk(case.learner.init(case.schema), feed, sink, 0, k - 1)
            plain = _feed(case, k, order)
            _same(f"walk, k={k}, {order}", _walked(case, plain).predicted, sink.predicted)
            if counts != plain.counts:
                raise AssertionError(f"walk, k={k}: counted {counts}, the tree {plain.counts}.")


def check_repeat_is_training_from_scratch(case: Case) -> None:
    """The learner's own repetitions give what an update of all other rows gives."""
    k = 5
    for order in ORDERS:
        feed, sink = _feed(case, k, order), Sink(k, Predictions.over(len(case.rows), outputs_of(case.learner)))
        case.learner.repeat(case.learner.init(case.schema), feed, sink, range(k))
        for fold in range(k):
            state = case.learner.init(case.schema)
            case.learner.update(state, _feed(case, k, order).all_but(fold))
            held_out = slice(*feed.chunks.span(fold, fold))
            _same(f"repeat, fold {fold}, {order}", sink.predicted[held_out], case.predictions(state)[held_out])


def _label_type(case: Case) -> Any:
    """The type of the labels, where they are strings of any length."""
    dtype = getattr(case.schema.classes, "dtype", None) if getattr(case.learner, "as_given", False) else None
    return dtype if dtype is not None and dtype.kind in "US" else None


def _feed(case: Case, k: int, order: str) -> Feed:
    """Chunks of uneven size."""
    n = len(case.rows)
    cuts = np.sort(np.random.default_rng(k).permutation(np.arange(1, n))[: k - 1])
    return Feed(case.rows, Chunks(n, np.concatenate([[0], cuts, [n]])), order, seed=5)


def _walked(case: Case, feed: Feed) -> Sink:
    """The sink after Algorithm 1, node by node."""
    sink = Sink(feed.chunks.k, Predictions(len(case.rows), dtype=_label_type(case)))
    root = Node(0, feed.chunks.k - 1)
    walk(case.learner, case.learner.init(case.schema), root, feed, Leaves(case.learner, feed, sink))
    if sink.error is not None:
        raise AssertionError(f"the walk failed: {sink.error}") from sink.error
    return sink
