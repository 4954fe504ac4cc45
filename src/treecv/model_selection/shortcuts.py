"""Which strategy a call takes: of those that give what is asked for exactly, the cheapest."""

import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
from sklearn.utils.metadata_routing import _routing_enabled

from treecv.errors import CapabilityError, InputError
from treecv.model_selection.folds import Overlap
from treecv.model_selection.job import Aside, Job, Options
from treecv.model_selection.lines import outside
from treecv.strategies import SHORTCUTS, Candidate, candidates, cheapest

Answer = TypeVar("Answer")
Prepare = Callable[[Any, Options], Job]
Asked = Callable[[], frozenset[str]]
"""What is wanted of each fold's model: "predictions" at its rows, or the "models" themselves."""


def forced(estimator: Any, options: Options, prepare: Prepare, asked: Asked | None) -> Job:
    """The job by the shortcut that was asked for; or what keeps it from running."""
    name = options.strategy.name
    if asked is None:
        raise InputError(f"strategy={name!r} is for cross_validate and its kin. Use 'auto', 'tree' or 'standard' here.")
    job = prepare(estimator, options)
    if job.layouts[0].grows:
        raise InputError(
            f"strategy={name!r} needs folds that leave every row but their own to the others, and the training sets of "
            "these grow. Use strategy='auto'."
        )
    (found,) = found_for(job, asked(), kinds=[lambda: options.strategy])
    if found.lacks:
        raise CapabilityError(
            f"strategy={name!r} cannot run: {found.lacks}. Use strategy='auto', which takes the cheapest that can."
        )
    return job


def shortcut(estimator: Any, options: Options, prepare: Prepare, asked: Asked, cv: Any) -> "tuple[Job | None, Any]":
    """The job by the cheapest strategy that gives what `fit` would; None where there is none, or nothing is gained.

    What is wrong with the call is for whoever does the work in the end to say; the folds are then made by the `cv`
    that is returned as well, since a splitter may draw others when it is asked again.
    """
    if _routing_enabled() or _in_an_order_of_its_own(cv):
        return None, cv
    job = None
    try:
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            job = prepare(estimator, options)
            job.check_finite()
            _check_spread(job)
            wanted = asked()
    except Overlap as overlap:
        return None, cv if makes_the_same(cv) else overlap.cv
    except Exception:
        return None, cv if job is None else same_folds(job, cv)
    best = None if job.layouts[0].grows else cheapest(found_for(job, wanted, SHORTCUTS))
    k = job.layouts[0].k
    if best is None or best.trainings >= k - 1:
        return None, same_folds(job, cv)
    _say_again(said)
    return _by(job, best, f"one a fold would take {k - 1}"), cv


def tried(job: Job, work: Callable[[Job], Answer]) -> Answer:
    """What `work` makes of a job; a shortcut that was chosen and meets with anything steps aside without a word."""
    if not (job.options.exact and job.options.auto):
        return work(job)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            answer = work(job)
        except Aside:
            raise
        except Exception as error:  # scikit-learn's function meets with it too, or does better
            raise Aside(f"{type(error).__name__}: {error}") from error
    _say_again(said)
    return answer


def _say_again(said: list[warnings.WarningMessage]) -> None:
    for warning in said:
        warnings.warn(warning.message, warning.category, stacklevel=outside())


def same_folds(job: Job, cv: Any) -> Any:
    """What makes the folds of a job again."""
    if makes_the_same(cv):
        return cv
    return [(layout.train_rows(fold), layout.test_rows(fold)) for layout in job.layouts for fold in range(layout.k)]


def makes_the_same(cv: Any) -> bool:
    """Whether the folds are the same each time they are made: those of scikit-learn are, unless they are drawn."""
    if isinstance(cv, str) or not hasattr(cv, "split"):
        return True
    drawn = getattr(cv, "random_state", 0)
    steady = isinstance(drawn, int | np.integer) or (drawn is None and not getattr(cv, "shuffle", True))
    return type(cv).__module__.startswith("sklearn.") and steady


def _check_spread(job: Job) -> None:
    """Raise where features are constant and what scikit-learn makes of rounding hangs on how the table is stored."""
    X = job.rows.X
    if getattr(job.learner, "reads_rounding", False) and hasattr(job.X, "columns") and (X[0] == X).all(axis=0).any():
        raise InputError("X has a constant column, whose rounding scikit-learn reads in the order of the data frame.")


def _in_an_order_of_its_own(cv: Any) -> bool:
    """Whether listed folds train on rows in another order than they are stored in, which ties may show."""
    if cv is None or isinstance(cv, str | int) or hasattr(cv, "split"):
        return False
    return any(np.asarray(train).dtype != bool and (np.diff(train) <= 0).any() for train, _ in cv)


def cheaper(job: Job, asked: frozenset[str]) -> Job:
    """A job of a learner that is trained in one pass, by another strategy where that gives the same for less."""
    if job.layouts[0].grows:
        return job
    best = cheapest(found_for(job, asked))
    if best is None or best.name == job.options.strategy.name:
        return job
    tree = job.options.strategy.trainings(job.learner, job.schema, job.layouts[0].k)
    return _by(job, best, f"the tree would take {tree:.3g}")


def _by(job: Job, best: Candidate, instead: str) -> Job:
    why = f"That is exact, and costs about {best.trainings:.3g} trainings, where {instead}."
    options = replace(job.options, strategy=best.strategy)
    return replace(job, options=options, remark=f"{job.remark} {why}".strip())


def found_for(job: Job, asked: frozenset[str], kinds: Any = ()) -> list[Candidate]:
    """What each strategy would cost for a job."""
    return candidates(job.learner, job.schema, job.layouts[0].k, asked, job.options.order, kinds)
