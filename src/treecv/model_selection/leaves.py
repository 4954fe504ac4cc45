"""What takes a fitted estimator per fold: other scorers, training scores, the estimators themselves."""

import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treecv.learner import State
from treecv.model_selection.folds import test_rows, train_rows
from treecv.model_selection.job import Job
from treecv.model_selection.scoring import Scorer


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is to be known of each fold."""

    scorers: list[Scorer]
    error_score: Any
    train_score: bool = False
    estimator: bool = False


@dataclass(slots=True)
class Visitor:
    """Called at every leaf with its state; fills columns indexed by fold."""

    job: Job
    wanted: Wanted
    columns: dict[str, Any] = field(default_factory=dict)
    errors: list[tuple[int, Exception]] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def needed(self) -> bool:
        """Whether anything here cannot be had from predictions."""
        wanted = self.wanted
        return wanted.train_score or wanted.estimator or not all(scorer.vectorised for scorer in wanted.scorers)

    def take(self, fold: int, state: State) -> None:
        """Score the model of a fold."""
        begin = time.perf_counter()
        fitted = self.job.fitted(state)
        if self.wanted.estimator:
            self.columns.setdefault("estimator", [None] * self.job.layout.chunks.k)[fold] = fitted
        try:
            self._score(fold, fitted)
        except Exception as error:  # a scorer that fails on one fold leaves the others alone
            self.errors.append((fold, error))
        self.seconds += time.perf_counter() - begin

    def _score(self, fold: int, fitted: Any) -> None:
        X, y, layout = self.job.X, self.job.y, self.job.layout
        test = test_rows(layout, fold)
        for scorer in self.wanted.scorers:
            if scorer.vectorised is None:
                self._put(fold, "test", scorer, scorer.call(fitted, X[test], y[test]))
        if self.wanted.train_score:
            train = train_rows(layout, fold)
            for scorer in self.wanted.scorers:
                self._put(fold, "train", scorer, scorer.call(fitted, X[train], y[train]))

    def _put(self, fold: int, side: str, scorer: Scorer, value: Any) -> None:
        values = value if isinstance(value, dict) else {scorer.name: value}
        for name, number in values.items():
            column = self.columns.setdefault(f"{side}_{name}", np.full(self.job.layout.chunks.k, np.nan))
            column[fold] = number


def in_order(columns: dict[str, Any], scorers: list[Scorer]) -> dict[str, Any]:
    """The columns as scikit-learn orders them: test and training score of one metric after another."""
    names = ["estimator", *(f"{side}_{scorer.name}" for scorer in scorers for side in ("test", "train"))]
    rank = {name: place for place, name in enumerate(names)}
    return dict(sorted(columns.items(), key=lambda item: rank.get(item[0], len(names))))


def unscored(strategy: Any, k: int) -> NDArray[np.int64]:
    """The folds that a partial run leaves out."""
    folds = getattr(strategy, "folds", None)
    return np.empty(0, np.int64) if folds is None else np.setdiff1d(np.arange(k), list(folds))
