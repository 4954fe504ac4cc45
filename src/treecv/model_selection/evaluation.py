"""Scores of all folds of a job: from arrays of predictions, from fitted estimators, or from all predictions at once."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np
from joblib import delayed
from numpy.typing import NDArray
from sklearn.model_selection import cross_validate

from treecv.adapters.routing import inside
from treecv.adapters.third_party import is_twin
from treecv.errors import InputError
from treecv.learner import outputs_of
from treecv.model_selection.job import Aside, Job, settle
from treecv.model_selection.layouts import Layout
from treecv.model_selection.leaves import Visitor, Wanted, in_order, unscored
from treecv.model_selection.pooled import answers_of, pooled_scores, responses_needed
from treecv.model_selection.scoring import Folds, Scorer, check_sizes
from treecv.order import Stream
from treecv.probes import Predictions, Sink
from treecv.records import Check, Counts, Record
from treecv.strategies import Standard, Strategy

_RESPONSES = ("predict", "predict_proba", "predict_log_proba", "decision_function", "transform", "score_samples")
"""Methods that say something of each row."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The columns of one run over a layout, with what they were computed from."""

    record: Record
    columns: dict[str, Any]
    seconds: float
    sink: Sink


def evaluate(job: Job, wanted: Wanted) -> tuple[Record, dict[str, Any], float]:
    """The record, a column for each score, and the seconds that scoring took: over all layouts, one after another."""
    check_limits(job, wanted)
    runs = _runs(job, wanted)
    columns: dict[str, Any] = {}
    for name in runs[0].columns:
        parts = [run.columns[name] for run in runs]
        columns[name] = list(chain.from_iterable(parts)) if name == "estimator" else np.concatenate(parts)
    if wanted.predictions:
        kept = [_labels(job, run.sink) for run in runs]
        columns["predictions"] = kept[0] if len(kept) == 1 else np.stack(kept)
    return _joined([run.record for run in runs]), columns, sum(run.seconds for run in runs)


def _runs(job: Job, wanted: Wanted) -> list[Evaluation]:
    """Layout after layout; chains, which have no parts, side by side."""
    parts, pool = range(len(job.layouts)), job.options.pool
    if pool is None or len(parts) < 2 or hasattr(job.learner, "walk") or not job.layouts[0].grows:
        return [_evaluated(job, part, wanted) for part in parts]
    found: list[Evaluation] = pool(delayed(_evaluated)(job.alone, part, wanted) for part in parts)
    return found


def collected(job: Job, method: str) -> tuple[Record, NDArray[Any]]:
    """What this method says of each row, by models that have not seen it."""
    if method not in _RESPONSES and callable(getattr(job.estimator, str(method), None)):
        raise InputError(
            f"method={method!r} is not known: use 'predict' or 'decision_function', or one of {_RESPONSES}."
        )
    if job.as_given:
        probe = _probe(job, job.schema.n_rows, method)
    else:
        _check_answers(job, method)
        probe = _probe(job, job.schema.n_rows, "predict")
    if method != "predict":
        _check_classes(job, job.layouts[0])
    sink = Sink(job.layouts[0].k, probe)
    record = job.run(0, sink)
    settle(sink, "raise")
    return record, job.answer(sink.predicted, method)


def _check_classes(job: Job, layout: Layout) -> None:
    """Leave it to scikit-learn to say what is missing where a fold holds out all rows of a class."""
    if not (job.options.exact and job.options.auto) or job.schema.classes is None:
        return
    index, chunks = layout.held_out()
    codes = np.asarray(job.rows.y)
    held = codes if index is None else codes[index]
    folds, n = np.repeat(np.arange(chunks.k), chunks.sizes), len(job.schema.classes)
    first, last = np.full(n, chunks.k), np.full(n, -1)
    np.minimum.at(first, held, folds)
    np.maximum.at(last, held, folds)
    elsewhere = np.bincount(codes, minlength=n) > np.bincount(held, minlength=n)
    if ((first >= last) & ~elsewhere).any():
        raise Aside("a class is in no training row of some fold, and its model knows less than the others")


def _check_answers(job: Job, method: str) -> None:
    """Raise unless a learner of the core can answer for a method of the estimator."""
    own = inside(job.estimator)
    if hasattr(own, "__treecv_answers__"):
        own.__treecv_answers__(method, np.empty((0, outputs_of(job.learner))))  # says itself why not
    elif is_twin(job.estimator, job.learner) or job.options.exact:
        getattr(own, method)  # likewise
    elif method != "predict" and not (method == "decision_function" and getattr(job.learner, "margins", False)):
        raise AttributeError(f"This {type(job.estimator).__name__!r} has no method {method!r}: use 'predict'.")


def check_limits(job: Job, wanted: Wanted) -> None:
    """Raise before any work if folds are too small for a metric, or too many for Python objects."""
    visiting = [scorer for scorer in wanted.scorers if not scorer.vectorised]
    for layout in job.layouts:
        if not wanted.pooled:
            check_sizes(wanted.scorers, layout.held_out()[1])
        objects = wanted.train_score or wanted.estimator or (visiting and not wanted.pooled and not job.options.exact)
        if objects and layout.k > job.options.max_objects:
            raise InputError(
                f"{layout.k} folds would need {layout.k} fitted estimators, for their training scores, themselves, or "
                "a scorer that is not computed from predictions. Raise "
                f"max_objects={job.options.max_objects} if that is meant, or ask for less."
            )


def _evaluated(job: Job, part: int, wanted: Wanted, strategy: Strategy | None = None) -> Evaluation:
    layout = job.layouts[part]
    visitor = Visitor(job.alone, layout, wanted)
    by_answers = job.options.exact and visitor.needs_answers_alone
    sink = _sink(job, layout, wanted, None if by_answers else visitor)
    record = job.run(part, sink, strategy)
    failed = settle(sink, wanted.error_score)
    if by_answers:
        _ask(job, visitor, sink)
    if job.options.exact and job.options.auto and visitor.lost:
        raise Aside(f"a scorer failed on fold {visitor.lost[0].fold}")
    if visitor.needed:
        visitor.settle(failed)
    begin = time.perf_counter()
    columns: dict[str, Any] = dict(visitor.columns)
    if wanted.pooled:
        columns |= _pooled(job, layout, wanted, sink, failed)
    else:
        columns |= _vectorised(job, layout, wanted.scorers, sink)
    for name, column in columns.items():
        if name != "estimator" and len(column) == layout.k and not (wanted.pooled and name.startswith("test_")):
            column[failed] = wanted.error_score if failed.any() else np.nan
            column[unscored(strategy or job.options.strategy, layout.k)] = np.nan
    seconds = visitor.seconds + time.perf_counter() - begin
    return Evaluation(record, in_order(columns, wanted.scorers), seconds, sink)


def _ask(job: Job, visitor: Visitor, sink: Sink) -> None:
    """Score fold after fold by what their models say of the rows they have not seen."""
    _check_classes(job, visitor.layout)
    methods = responses_needed(job.estimator, [scorer for scorer in visitor.wanted.scorers if not scorer.vectorised])
    answers = {method: job.answer(sink.predicted, method) for method in methods}
    visitor.ask(answers_of(job.estimator, job.schema.classes, answers))


def _sink(job: Job, layout: Layout, wanted: Wanted, visitor: Visitor | None) -> Sink:
    n = job.schema.n_rows
    needed = wanted.predictions or any(scorer.vectorised for scorer in wanted.scorers)
    responses = responses_needed(job.estimator, wanted.scorers) if wanted.pooled else []
    first = _probe(job, n, "predict") if needed or "predict" in responses or not job.as_given else None
    others = [name for name in responses if name != "predict"] if job.as_given else []
    further = tuple(_probe(job, n, name) for name in others)
    return Sink(layout.k, first, states=visitor if visitor and visitor.needed else None, further=further)


def _probe(job: Job, n: int, method: str) -> Predictions:
    if not job.as_given:
        return Predictions.over(n, outputs_of(job.learner))
    classes = job.schema.classes
    if method != "predict" or classes is None:
        return Predictions(n, method)
    labels = np.result_type(*classes) if isinstance(classes, list) else classes.dtype
    return Predictions(n, method, dtype=labels if labels.kind in "US" else None)


def _vectorised(job: Job, layout: Layout, scorers: list[Scorer], sink: Sink) -> dict[str, NDArray[np.float64]]:
    if not any(scorer.vectorised for scorer in scorers):
        return {}
    index, chunks = layout.held_out()
    predicted = job.decided(sink.predicted)
    target = predicted if job.rows.y is None else np.asarray(job.rows.y)  # scores of rows themselves need none
    if index is not None:
        target, predicted = target[index], predicted[index]
    folds = Folds(target.reshape(predicted.shape), predicted, chunks)  # either may be a single column
    return {f"test_{scorer.name}": scorer.scores(folds) for scorer in scorers if scorer.vectorised}


def _labels(job: Job, sink: Sink) -> NDArray[Any]:
    """Out-of-fold predictions as the estimator's `predict` would give them."""
    return job.answer(sink.predicted)


def _pooled(
    job: Job, layout: Layout, wanted: Wanted, sink: Sink, failed: NDArray[np.bool_]
) -> dict[str, NDArray[np.float64]]:
    """One score of all predictions, or the error score if some are missing."""
    if failed.any():
        return {f"test_{scorer.name}": np.array([float(wanted.error_score)]) for scorer in wanted.scorers}
    responses = {probe.method: probe.array for probe in sink.asked}
    if not job.as_given:
        asked = dict.fromkeys(["predict", *responses_needed(job.estimator, wanted.scorers)])
        responses = {method: job.answer(sink.predicted, method) for method in asked}
    index, _ = layout.held_out()
    answers = answers_of(job.estimator, job.schema.classes, responses)
    return pooled_scores(wanted.scorers, answers, job.X, job.y, index, job.score_params)


def checked(job: Job, wanted: Wanted, columns: Mapping[str, Any], m: int) -> Check:
    """Train some folds of the first layout from scratch, and say how far their scores are from those found."""
    layout = job.layouts[0]
    if not 1 <= m <= layout.k:
        raise InputError(f"check_folds={m!r} must be a number of folds from 1 to {layout.k}, or 0 to check none.")
    folds = np.sort(Stream(job.seed).at(layout.k).permutation(layout.k)[:m])
    only = replace(wanted, train_score=False, estimator=False, pooled=False, predictions=True)
    if all(scorer.vectorised is None for scorer in wanted.scorers):
        only = replace(only, predictions=wanted.predictions)
    if job.options.exact:
        return Check(tuple(folds.tolist()), _differences(_by_fit(job, wanted, folds), columns, folds), None)
    scratch = _evaluated(job, 0, only, Standard(folds.tolist()))
    found = {name: column[folds] for name, column in scratch.columns.items() if len(column) == layout.k}
    differences = _differences(found, columns, folds)
    return Check(tuple(folds.tolist()), differences, _agreement(job, layout, folds, scratch.sink, columns))


def _differences(
    found: Mapping[str, NDArray[np.float64]], columns: Mapping[str, Any], folds: NDArray[np.int64]
) -> dict[str, float]:
    """For each score, how far on average what was found again for some folds is from the columns."""
    shared = [name for name in found if name.startswith("test_") and len(columns.get(name, ())) > folds.max()]
    return {name: float(np.nanmean(np.abs(found[name] - columns[name][folds]))) for name in shared}


def _by_fit(job: Job, wanted: Wanted, folds: NDArray[np.int64]) -> dict[str, NDArray[np.float64]]:
    """The scores that scikit-learn gives these folds of the first layout."""
    layout, weights = job.layouts[0], job.rows.weights
    cv = [(layout.train_rows(fold), layout.test_rows(fold)) for fold in folds.tolist()]
    scoring = {scorer.name: scorer.call for scorer in wanted.scorers}
    params = None if weights is None else {"sample_weight": weights}
    scores: dict[str, NDArray[np.float64]] = cross_validate(
        job.estimator, job.X, job.y, cv=cv, scoring=scoring, params=params, error_score=wanted.error_score
    )
    return scores


def _agreement(
    job: Job, layout: Layout, folds: NDArray[np.int64], sink: Sink, columns: Mapping[str, Any]
) -> float | None:
    found = columns.get("predictions")
    if found is None or sink.predictions is None:
        return None
    rows = np.concatenate([layout.test_rows(fold) for fold in folds.tolist()])
    one, other = _labels(job, sink)[rows], (found if len(job.layouts) == 1 else found[0])[rows]
    same = np.isclose(one, other, rtol=1e-6, atol=0) if one.dtype.kind == "f" else one == other
    return float(same.mean())


def _joined(records: Sequence[Record]) -> Record:
    """One record of several runs."""
    if len(records) == 1:
        return records[0]
    counts = sum((record.counts for record in records), Counts())
    return replace(
        records[0],
        k=sum(record.k for record in records),
        counts=counts,
        seconds=sum(record.seconds for record in records),
    )
