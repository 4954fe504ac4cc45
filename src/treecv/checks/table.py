"""The table of learners and what they can do, as the code has it: `python -m treecv.checks.table PAGE` writes it.

A learner that is exported by `treecv.learners` is in it; its file names the paper, its class says what it estimates,
and whom it stands in for is asked of the adapters.
"""

import inspect
import re
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.linear_model import SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.utils import all_estimators

from treecv import estimators, learners
from treecv.adapters import as_learner
from treecv.learner import Schema

COLUMNS = (
    "learner",
    "what it estimates",
    "weights",
    "sparse",
    "several outputs",
    "walk in core",
    "merges",
    "unlearns",
    "order_free",
    "call_free",
    "stands in for",
    "paper",
)
_TABLE = re.compile(r"^\| learner \|.*\n(?:\|.*\n)*", re.M)


def table() -> str:
    """The table, in Markdown."""
    standing = stands_in_for()
    lines = [COLUMNS, tuple("---" for _ in COLUMNS)]
    lines += [row(getattr(learners, name), standing.get(name, [])) for name in sorted(learners.__all__)]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def row(learner: type, names: list[str]) -> tuple[str, ...]:
    """The cells of one learner."""
    return (
        f"`{learner.__name__}`",
        inspect.cleandoc(learner.__doc__ or "").partition("\n\n")[0].replace("\n", " ").rstrip("."),
        _said(learner, "weighs"),
        _said(learner, "sparse"),
        "yes" if hasattr(learner, "outputs") else "",
        "yes" if hasattr(learner, "reference") else "",
        "yes" if hasattr(learner, "merge") else "",
        "yes" if hasattr(learner, "unlearn") else "",
        _said(learner, "order_free"),
        _said(learner, "call_free"),
        ", ".join(f"`{name}`" for name in names),
        paper(learner),
    )


def paper(learner: type) -> str:
    """What the learner's file cites: the sentences with a year."""
    said = (inspect.getdoc(sys.modules[learner.__module__]) or "").split("\n\n")[1:]
    cited = next((part for part in said if re.search(_YEAR, part)), "").replace("\n", " ")
    sentences = re.split(r"(?<=\)\.) (?=[A-Z])|(?<=[a-z]\.) (?=[A-Z])", cited)
    return " ".join(sentence for sentence in sentences if re.search(_YEAR, sentence))


_YEAR = r"\((?:18|19|20)\d\d\)"


def stands_in_for() -> dict[str, list[str]]:
    """Each learner's name, and the estimators that are trained by it unless their settings forbid."""
    found: dict[str, list[str]] = {}
    for name, estimator in _candidates():
        schema = Schema(8, 3, "float64", np.array([0, 1]) if is_classifier(estimator) else None)
        learner = type(as_learner(estimator, schema))
        if learner is getattr(learners, learner.__name__, None):
            found.setdefault(learner.__name__, []).append(name)
    return found


def _candidates() -> Iterator[tuple[str, Any]]:
    """Our own estimators; scikit-learn's; and of its transformers each before a linear model."""
    for name in estimators.__all__:
        yield from _made(f"treecv.{name}", getattr(estimators, name))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some are there only to say that they have moved
        theirs = [(name, cls) for name, cls in all_estimators() if hasattr(cls, "partial_fit")]
        for name, cls in theirs:
            yield from _made(name, cls)
        for name, cls in theirs:
            if hasattr(cls, "transform"):
                yield from ((f"make_pipeline({name}(), SGD…)", pipe) for _, pipe in _before(name, cls))


def _made(name: str, cls: Any) -> Iterator[tuple[str, Any]]:
    """An instance with default settings, if there are defaults for all."""
    needed = [one for one in inspect.signature(cls).parameters.values() if one.default is one.empty]
    if all(one.kind is one.VAR_KEYWORD for one in needed):
        yield name, cls()


def _before(name: str, cls: Any) -> Iterator[tuple[str, Any]]:
    for _, transformer in _made(name, cls):
        yield name, make_pipeline(transformer, SGDClassifier())


def _said(learner: type, name: str) -> str:
    """What a learner says of itself; a property has an answer only once there are settings."""
    value = inspect.getattr_static(learner, name, False)
    return "by settings" if isinstance(value, property) else "yes" if value else ""


def main() -> None:
    """Put the table into a page, in place of the one that is there."""
    for page in map(Path, sys.argv[1:]):
        page.write_text(_TABLE.sub(lambda _: table(), page.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
