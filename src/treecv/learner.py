"""What a learner is, and what may be asked of it.

A learner is a procedure: frozen settings and nothing learnt. What it learns is in a *state*, which it
makes (`init`), changes (`update`) and reads (`predict`). Whatever else it can do is found by looking:
a capability is a method that is there.

    copy(state)                an independent state
    save(state) -> mark        and revert(state, mark): undo all updates since the mark
    respond(state, rows, m)    what another method than predict says of each row
    fitted(state)              the estimator that a user would have after these updates
    walk(feed, ...)            a whole subtree at once, in the compiled core, by several threads
    repeat(feed, ...)          many trainings from scratch at once, likewise
    overflow(state)            the row at which a number first was not finite, 0 if all are
    merge(state, other)        `state` has now also learnt what `other` has, which stays as it was
    unlearn(state, rows)       `state` is as if it had never learnt `rows`
    unlearnable(state, rows)   whether that leaves enough digits; if not, the state is made by merging what has learnt
                               the other rows
    held_out(schema, feed)     what the models of all folds predict for the rows that they hold out, at once: a line for
                               each position from `feed.chunks.before` on. NaN where a fold has no model, minus infinity
                               for a class that is in no row of its training part
    held_out_trainings(n_rows, n_features, k)
                               what `held_out` costs for k folds, in trainings on all rows

and things that it may say about itself:

    as_given                   True: it takes rows as the user passed them, not as arrays of numbers and codes
    order_free                 True: what is learnt does not depend on the order of the rows
    call_free                  True: nor on how the rows are divided into updates
    margins                    True: `predict` of a classifier gives decision values, whose sign (or largest column)
                               is the class; else it gives codes of classes, or labels where rows are as given
    outputs                    the numbers that `predict` gives for a row, if more than one
    draws                      True: it draws random numbers, and wants those of the place of an update
    shuffles                   True: it wants the rows of an update in random order, even where the order is "fixed"
    seed                       names that order, where nobody named one
    supervised                 False: it reads no targets
    weighs                     True: it weighs rows
    sparse                     True: it reads compressed sparse rows, where it does not take rows as given
    same_bits                  False: what is predicted for a row may differ in the last bits with the rows asked beside
                               it, as BLAS adds up in another order
    closed                     True: `held_out` is a formula of its own, not what all rows gave less what each fold did
    shows_nonfinite            True: a row with NaN or infinity never gets a finite prediction
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from treecv.errors import CapabilityError

State: TypeAlias = Any
"""What a learner has learnt: anything it likes."""


@dataclass(frozen=True, slots=True)
class Schema:
    """What a learner must know before it sees the first row; `classes` are a classifier's labels."""

    n_rows: int
    n_features: int
    dtype: str
    classes: Any = None
    n_outputs: int = 1
    sparse: bool = False


class Learner(Protocol):
    """The methods every learner has; it also copies its states, or saves and reverts them."""

    def init(self, schema: Schema) -> State:
        """A state that has learnt nothing."""

    def update(self, state: State, rows: Any) -> None:
        """Let `state` learn `rows`, in their order."""

    def predict(self, state: State, rows: Any) -> Any:
        """One prediction a row, without changing `state`."""


LEARNER = ("init", "update", "predict", "copy | save + revert")
"""What the tree needs, in the words of `missing`."""


def outputs_of(learner: Any) -> int:
    """The numbers that a learner's `predict` gives for a row."""
    return int(getattr(learner, "outputs", 1))


def missing(candidate: object, needs: Sequence[str]) -> list[str]:
    """The needs that `candidate` does not meet; `a | b + c` is met by `a`, or by `b` and `c`."""

    def met(need: str) -> bool:
        return any(
            all(hasattr(candidate, name.strip()) for name in alternative.split("+")) for alternative in need.split("|")
        )

    return [need for need in needs if not met(need)]


def require(candidate: object, needs: Sequence[str], purpose: str) -> None:
    """Raise unless `candidate` meets all `needs` of `purpose`."""
    lacking = missing(candidate, needs)
    if lacking:
        raise CapabilityError(
            f"{purpose} needs {', '.join(repr(need) for need in lacking)}, which "
            f"{type(candidate).__name__} does not have. Add the method, or use a learner that has it."
        )


class branch:  # noqa: N801 - used like a function
    """Lend a state to one subtree; afterwards `state` is as it was."""

    __slots__ = ("learner", "mark", "reverts", "state")

    def __init__(self, learner: Any, state: State) -> None:
        self.learner = learner
        self.state = state
        self.reverts = hasattr(learner, "revert")

    def __enter__(self) -> State:
        if not self.reverts:
            return self.learner.copy(self.state)
        self.mark = self.learner.save(self.state)
        return self.state

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if self.reverts:  # a failed subtree must not spoil its sibling
            self.learner.revert(self.state, self.mark)
