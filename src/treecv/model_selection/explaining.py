"""What each strategy would cost for a call, whether it is exact, and what keeps it from running."""

from dataclasses import dataclass, replace
from functools import partial
from math import isinf
from typing import Any

from treecv.adapters import is_one_pass, obstacle, shaped
from treecv.errors import CapabilityError, InputError
from treecv.model_selection.elsewhere import Elsewhere, enter
from treecv.model_selection.folds import Overlap, lay_out
from treecv.model_selection.job import Job, Options, laid_out
from treecv.model_selection.scoring import needs_of
from treecv.model_selection.shortcuts import Prepare, found_for
from treecv.model_selection.validation import job_of
from treecv.records import ELSEWHERE
from treecv.strategies import SHORTCUTS, Standard, Tree


@dataclass(frozen=True, slots=True)
class Line:
    """What is to be said of one strategy."""

    name: str
    trainings: float
    exact: bool
    note: str = ""

    def __str__(self) -> str:
        cost = "-" if isinf(self.trainings) else f"{self.trainings:,.1f}"
        exact = "-" if isinf(self.trainings) else "yes" if self.exact else "no"
        return f"{self.name:<14}{cost:>12}  {exact:<7}{self.note}".rstrip()


def explain(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    groups: Any = None,
    scoring: Any = None,
    cv: Any = None,
    params: Any = None,
    return_train_score: bool = False,
    return_estimator: bool = False,
    order: str | None = None,
    native: bool = True,
) -> None:
    """Print which strategies there are for a call, and which one "auto" takes.

    The parameters are those of `cross_validate`. Nothing is trained. For each strategy its cost is printed, in
    trainings of all rows; whether it gives what training each fold from scratch by `fit` gives; and, where it cannot
    run, what is missing.

    Examples
    --------
    >>> import treecv
    >>> from treecv import Pegasos, explain
    >>> from treecv.data import load_covtype
    >>> X, y = load_covtype()
    >>> explain(Pegasos(), X, y == 1, cv=10)
    Pegasos, 10 folds of 20,000 rows
    strategy         trainings  exact
    tree                   3.4  no     <- strategy="auto"
    standard               9.0  yes
    merge                    -  -      what it learns cannot be merged
    closed_form              -  -      it has no closed form that is known here
    """
    estimator = shaped(estimator)
    cv = list(cv) if hasattr(cv, "__next__") else cv
    options = Options.of(estimator, "auto", order, 0, native=native)
    prepare = job_of("cross_validate", X, y, groups, cv, params, scoring)
    asked = needs_of(estimator, scoring, models=return_train_score or return_estimator)
    try:
        layouts, n = laid_out(estimator, X, y, partial(lay_out, cv, groups=groups))
        way = enter(estimator, "auto", cv, options, prepare, (X, y, groups), lambda: asked)
    except Overlap:
        print(f"{type(estimator).__name__}: these folds share no training; scikit-learn's function does all of them.")
        return
    taken = ELSEWHERE if isinstance(way, Elsewhere) else way.options.strategy.name
    k = sum(layout.k for layout in layouts)
    print(f"{type(estimator).__name__}, {k:,} folds of {n:,} rows")
    print(f"{'strategy':<14}{'trainings':>12}  exact")
    for line in _lines(estimator, options, prepare, asked, layouts[0].k):
        chosen = f'<- strategy="auto"{", " + line.note if line.note else ""}' if line.name == taken else line.note
        print(replace(line, note=chosen))


def _lines(estimator: Any, options: Options, prepare: Prepare, asked: frozenset[str], k: int) -> list[Line]:
    """The lines, those that run first, the cheapest of them above."""
    one_pass, hindrance = is_one_pass(estimator), obstacle(estimator)
    plain = [] if one_pass else [Line(ELSEWHERE, k - 1.0, True)]
    if hindrance:
        lines = [Line(kind.name, float("inf"), False, hindrance) for kind in (Tree, Standard)]
    else:
        lines = _of_job(prepare(estimator, options), asked, (Tree, Standard), one_pass)
    try:
        job = prepare(estimator, replace(options, exact=not one_pass))
        job.check_finite()
        if job.layouts[0].grows:
            raise InputError("the training sets of these folds grow")
        lines += _of_job(job, asked, SHORTCUTS, True)
    except (CapabilityError, InputError) as error:
        lines += [Line(kind.name, float("inf"), True, _reason(error)) for kind in SHORTCUTS]
    return sorted(lines + plain, key=lambda line: line.trainings)


def _of_job(job: Job, asked: frozenset[str], kinds: Any, of_fit: bool) -> list[Line]:
    """The lines of a learner; `of_fit`: it learns what the estimator's `fit` would."""
    another = "" if of_fit else "one pass of partial_fit, which is another model than fit's"
    found = found_for(job, asked, kinds)
    return [Line(one.name, one.trainings, one.exact and of_fit, one.lacks or another) for one in found]


def _reason(error: Exception) -> str:
    """What keeps an estimator from a shortcut, without what to do about it."""
    return str(error).rpartition(".fit would: ")[2].partition(". Use ")[0].partition("; ")[0]
