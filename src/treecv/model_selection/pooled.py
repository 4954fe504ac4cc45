"""One score over all out-of-fold predictions.

A scorer asks an estimator; here it asks one that answers with the predictions that were collected. So any scorer
of scikit-learn works as it is, on rows that no single model has predicted.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, is_classifier
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils import _safe_indexing, get_tags
from sklearn.utils.validation import _check_method_params

from treecv.errors import InputError
from treecv.model_selection.scoring import Scorer


class Answers(BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """An estimator that answers with what is known of the rows whose numbers it is given."""

    def __init__(self, like: Any = None, responses: Any = None, classes: Any = None) -> None:
        self.like = like
        self.responses = responses
        self.classes = classes

    def __getattr__(self, name: str) -> Any:
        if name in (vars(self).get("responses") or {}):

            def answer(rows: Any) -> Any:
                return self.responses[name][np.asarray(rows)]

            answer.__name__ = name  # scorers ask for it
            return answer
        if name == "classes_" and vars(self).get("classes") is not None:
            return self.classes
        raise AttributeError(f"no {name!r} was collected")

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_tags__(self) -> Any:
        return get_tags(self.like)


def answers_of(estimator: Any, classes: Any, responses: Mapping[str, NDArray[Any]]) -> Answers:
    """An estimator that answers like this one, with these responses."""
    return Answers(estimator, dict(responses), classes)


def responses_needed(estimator: Any, scorers: list[Scorer]) -> list[str]:
    """The methods of an estimator whose answers the scorers are made of."""
    return list(dict.fromkeys(_response(estimator, scorer) for scorer in scorers))


def _response(estimator: Any, scorer: Scorer) -> str:
    if scorer.vectorised is not None:
        return "predict"
    if getattr(scorer.call, "_score_func", None) is None:
        raise InputError(
            f"aggregate='pooled' needs scorers that are made of predictions, but {scorer.name!r} is "
            f"{scorer.call!r}: use a name of sklearn.metrics, or make_scorer, or aggregate='folds'."
        )
    methods: Any = getattr(scorer.call, "_response_method", "predict")
    for method in [methods] if isinstance(methods, str) else methods:
        if hasattr(estimator, method):
            return str(method)
    raise InputError(f"scorer {scorer.name!r} needs {methods!r}, which {type(estimator).__name__} does not have.")


def pooled_scores(
    scorers: list[Scorer], answers: Answers, X: Any, y: Any, index: Any, params: Mapping[str, Any], asked: Any = None
) -> dict[str, NDArray[np.float64]]:
    """One score a scorer, over the rows of `index` (None: all); `asked` says where their answers are, if elsewhere."""
    rows = np.arange(len(next(iter(answers.responses.values())))) if index is None else index
    asked = rows if asked is None else asked
    target = _safe_indexing(y, rows)
    params = _check_method_params(X, params, rows)
    scores = {}
    for scorer in scorers:
        if hasattr(scorer.call, "_score_func"):
            value = scorer.call(answers, asked, target, **scorer.own(params))
        else:  # the estimator's own score, which is one of these two
            metric = accuracy_score if is_classifier(answers) else r2_score
            value = metric(target, answers.predict(asked), **scorer.own(params))
        scores[f"test_{scorer.name}"] = np.array([float(value)])
    return scores
