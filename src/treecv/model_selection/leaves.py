"""What takes a fitted estimator per fold: other scorers, training scores, the estimators themselves."""

import copy
import time
import warnings
from dataclasses import dataclass, field
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _check_method_params

from treecv.errors import InputError
from treecv.learner import State
from treecv.model_selection.job import Job
from treecv.model_selection.layouts import Layout
from treecv.model_selection.lines import outside
from treecv.model_selection.scoring import Scorer
from treecv.tree import Node


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is to be known of each fold."""

    scorers: list[Scorer]
    error_score: Any
    train_score: bool = False
    estimator: bool = False
    pooled: bool = False
    predictions: bool = False

    def __post_init__(self) -> None:
        if self.error_score != "raise" and not isinstance(self.error_score, Real):
            raise InputError(
                f"error_score={self.error_score!r} is not known: error_score must be the string 'raise' or a numeric "
                "value."
            )

    @property
    def sides(self) -> tuple[str, ...]:
        """The rows that are scored."""
        return ("test", "train") if self.train_score else ("test",)


class Lost(NamedTuple):
    """A score that its scorer failed to give."""

    fold: int
    side: str
    scorer: str
    error: Exception


@dataclass(slots=True)
class Visitor:
    """Called at every leaf of a layout with its state; fills columns indexed by fold."""

    job: Job
    layout: Layout
    wanted: Wanted
    columns: dict[str, Any] = field(default_factory=dict)
    names: dict[str, list[str]] = field(default_factory=dict)  # what each scorer calls its scores
    lost: list[Lost] = field(default_factory=list)
    seconds: float = 0.0

    def __post_init__(self) -> None:
        if self.wanted.estimator:
            self.columns["estimator"] = [None] * self.layout.k

    @property
    def needed(self) -> bool:
        """Whether anything here cannot be had from predictions."""
        wanted = self.wanted
        asked = not wanted.pooled and not all(scorer.vectorised for scorer in wanted.scorers)
        return wanted.train_score or wanted.estimator or asked

    @property
    def needs_answers_alone(self) -> bool:
        """Whether all of it can be had from what the models say of the rows they have not seen."""
        wanted = self.wanted
        made = all(scorer.made_of_predictions for scorer in wanted.scorers)
        return self.needed and made and not (wanted.train_score or wanted.estimator)

    def ask(self, answers: Any) -> None:
        """Score all folds by an estimator that answers for the rows whose numbers it is given."""
        begin = time.perf_counter()
        for fold in range(self.layout.k):
            rows = self.layout.test_rows(fold)
            self._call(fold, "test", answers, (rows, _safe_indexing(self.job.y, rows)), rows)
        self.seconds += time.perf_counter() - begin

    def take(self, fold: int, state: State) -> None:
        """Score the model of a fold."""
        begin = time.perf_counter()
        fitted = self.job.fitted(state)
        for side in self.wanted.sides:
            self._score(fold, side, fitted)
        if self.wanted.estimator:  # the state is lent: it may go on learning
            self.columns["estimator"][fold] = copy.deepcopy(fitted)
        self.seconds += time.perf_counter() - begin

    def apart(self) -> "Visitor":
        """Another one for a part of the folds."""
        return Visitor(self.job, self.layout, self.wanted)

    def absorb(self, other: "Visitor", folds: Node) -> None:
        """Take over what the other one has for these folds."""
        part = slice(folds.first, folds.last + 1)
        self.names |= other.names
        self.lost += [entry for entry in other.lost if folds.first <= entry.fold <= folds.last]
        self.seconds += other.seconds
        for name, column in other.columns.items():
            self.columns.setdefault(name, np.full(self.layout.k, np.nan))[part] = column[part]

    def settle(self, failed: NDArray[np.bool_]) -> None:
        """Give the scores lost on folds that have a model: said once, or raised if that was asked for."""
        for scorer in self.wanted.scorers:
            for side in self._sides(scorer):
                self._columns(side, scorer.name)
        lost = [entry for entry in self.lost if not failed[entry.fold]]
        for fold, side, name, error in lost:
            if self.wanted.error_score == "raise" or isinstance(error, InputError):
                error.add_note(f"This was scorer {name!r} on the {side} rows of fold {fold}.")
                raise error
            for column in self._columns(side, name):
                column[fold] = self.wanted.error_score
        if lost:
            warnings.warn(
                f"Scoring failed on {len({entry.fold for entry in lost})} of {len(failed)} folds, whose scores by "
                f"{sorted({entry.scorer for entry in lost})} become {self.wanted.error_score}. The first error, in "
                f"fold {lost[0].fold}: {type(lost[0].error).__name__}: {lost[0].error}",
                UserWarning,
                stacklevel=outside(),
            )

    def _sides(self, scorer: Scorer) -> tuple[str, ...]:
        """The rows whose score needs a fitted estimator."""
        computed = self.wanted.pooled or scorer.vectorised is not None
        return self.wanted.sides[1:] if computed else self.wanted.sides

    def _score(self, fold: int, side: str, fitted: Any) -> None:
        if not any(side in self._sides(scorer) for scorer in self.wanted.scorers):
            return
        rows = self.layout.test_rows(fold) if side == "test" else self.layout.train_rows(fold)
        X, y = _safe_indexing(self.job.X, rows), None if self.job.y is None else _safe_indexing(self.job.y, rows)
        self._call(fold, side, fitted, (X,) if y is None else (X, y), rows)

    def _call(self, fold: int, side: str, fitted: Any, data: tuple[Any, ...], rows: NDArray[np.int64]) -> None:
        params = _check_method_params(self.job.X, self.job.score_params, rows)
        for scorer in (scorer for scorer in self.wanted.scorers if side in self._sides(scorer)):
            try:
                self._put(fold, side, scorer, scorer.call(fitted, *data, **scorer.own(params)))
            except Exception as error:  # a scorer that fails on one fold leaves the others alone
                kept = error if self.wanted.error_score == "raise" else error.with_traceback(None)
                self.lost.append(Lost(fold, side, scorer.name, kept))

    def _put(self, fold: int, side: str, scorer: Scorer, value: Any) -> None:
        values = value if isinstance(value, dict) else {scorer.name: value}
        for name, number in values.items():
            if np.size(number) != 1 or np.asarray(number).dtype.kind not in "biuf":
                raise InputError(f"scoring must return a number, got {number!r} for {name!r}.")
        self.names[scorer.name] = list(values)
        for column, number in zip(self._columns(side, scorer.name), values.values(), strict=True):
            column[fold] = np.asarray(number).item()

    def _columns(self, side: str, scorer: str) -> list[NDArray[np.float64]]:
        """The columns of a scorer, made where they are missing."""
        k, names = self.layout.k, self.names.get(scorer, [scorer])
        return [self.columns.setdefault(f"{side}_{name}", np.full(k, np.nan)) for name in names]


def in_order(columns: dict[str, Any], scorers: list[Scorer]) -> dict[str, Any]:
    """The columns as scikit-learn orders them: test and training score of one metric after another."""
    metrics = dict.fromkeys([*(scorer.name for scorer in scorers), *(name.partition("_")[2] for name in columns)])
    names = ["estimator", *(f"{side}_{metric}" for metric in metrics for side in ("test", "train"))]
    return {name: columns[name] for name in names if name in columns}


def unscored(strategy: Any, k: int) -> NDArray[np.int64]:
    """The folds that a partial run leaves out."""
    folds = getattr(strategy, "folds", None)
    return np.empty(0, np.int64) if folds is None else np.setdiff1d(np.arange(k), list(folds))
