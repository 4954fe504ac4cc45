"""Who translates an estimator: itself, a registration, or the adapter of its framework."""

from collections.abc import Callable
from typing import Any

from treecv.adapters import native as twins
from treecv.adapters import river, scikit_learn, torch
from treecv.adapters.routing import inside
from treecv.adapters.steps import steps_of
from treecv.errors import CapabilityError
from treecv.learner import Learner, Schema, State
from treecv.learners import SGD, Scaled

Translate = Callable[[Any, Schema], Learner]

_registered: dict[type, Translate] = {}


def register(cls: type, translate: Translate) -> None:
    """Let `translate(estimator, schema)` make the learner of every instance of a class.

    For classes that cannot be given a method ``__treecv_learner__``.

    Examples
    --------
    >>> class Counter:
    ...     '''Somebody else's model.'''
    >>> class Counts:
    ...     '''Its learner, with init, update, predict and copy.'''
    >>> register(Counter, lambda estimator, schema: Counts())
    >>> type(as_learner(Counter(), Schema(10, 2, "float64"))).__name__
    'Counts'
    """
    _registered[cls] = translate


def as_learner(estimator: Any, schema: Schema, *, batch_size: int | None = None, native: bool = True) -> Learner:
    """The learner of an estimator, for data of this schema.

    Parameters
    ----------
    estimator : estimator
        With ``__treecv_learner__(schema)``, registered, or of a framework that is known.
    schema : Schema
        What is known of the data.
    batch_size : int, optional
        The most rows that a mini-batch learner is given at once.
    native : bool
        False: train through the estimator's own `partial_fit`, not in the compiled core.
    """
    if isinstance(estimator, type):
        raise CapabilityError(f"{estimator.__name__} is a class: pass an instance of it, {estimator.__name__}().")
    if hasattr(estimator, "__treecv_wraps__"):
        wrapped, batch_size = estimator.__treecv_wraps__()
        return as_learner(wrapped, schema, batch_size=batch_size, native=native)
    if hasattr(estimator, "__treecv_learner__") and (native or not hasattr(estimator, "partial_fit")):
        _check_own_methods(estimator)
        learner: Learner = estimator.__treecv_learner__(schema)
        return learner
    for cls in type(estimator).__mro__:
        if cls in _registered:
            return _registered[cls](estimator, schema)
    if river.is_river(estimator):
        return river.RiverLearner(estimator, batch_size)
    if torch.is_skorch(estimator):
        return torch.SkorchLearner(estimator, batch_size)
    check_learns_in_parts(estimator)
    return _of_scikit_learn(estimator, schema, batch_size, native)


def _of_scikit_learn(estimator: Any, schema: Schema, batch_size: int | None, native: bool) -> Learner:
    twin = twins.twin_of(estimator, schema, batch_size) if native else None
    if twin is None or twin.learner is None:
        return scikit_learn.PartialFit(estimator, batch_size)
    return twin.learner


def fitted_estimator(estimator: Any, learner: Any, state: State, schema: Schema, names: Any = None) -> Any:
    """The estimator as a user would have it after learning what `state` has learnt.

    `names` are those of the features, if they have any.
    """
    if hasattr(estimator, "__treecv_wraps__"):
        return estimator.__treecv_around__(fitted_estimator(inside(estimator), learner, state, schema, names))
    if hasattr(learner, "fitted"):
        return named(learner.fitted(state), names)
    if is_twin(estimator, learner):
        return twins.restored(estimator, learner, state, schema, names)
    if not hasattr(estimator, "__treecv_fitted__"):
        raise CapabilityError(
            f"{type(estimator).__name__} has no `__treecv_fitted__(state, schema)`, which this scorer or "
            "return_estimator needs. Add it, or use a metric that is computed from predictions."
        )
    return named(estimator.__treecv_fitted__(state, schema), names)


def named(fitted: Any, names: Any) -> Any:
    """A fitted estimator that knows the names of its features, if they have any; in a pipeline the first step does."""
    if names is not None:
        _, first = next(steps_of(fitted))
        first.feature_names_in_ = names
    return fitted


def is_twin(estimator: Any, learner: Any) -> bool:
    """Whether the core trains this in place of an estimator of scikit-learn."""
    return isinstance(learner, SGD | Scaled) and twins.has_twin(inside(estimator))


def answered(estimator: Any, schema: Schema, method: str, values: Any) -> Any:
    """What a method of an estimator says of rows for which its twin predicts these values."""
    return twins.answered(inside(estimator), schema, method, values)


def weights_name(estimator: Any) -> str:
    """What the weights of a twin's rows are called among the parameters of `fit`."""
    return twins.weights_name(inside(estimator))


def remark(estimator: Any, learner: Learner, schema: Schema, native: bool) -> str:
    """What a user should know of how an estimator was trained, if anything."""
    if is_twin(estimator, learner):
        return twins.remark(learner)
    twin = twins.twin_of(inside(estimator), schema) if native and isinstance(learner, scikit_learn.PartialFit) else None
    if twin is None:
        return ""
    return twin.why_not or twins.passed_over(inside(estimator), "of `params` it knows the weights of its rows alone")


def is_one_pass(estimator: Any) -> bool:
    """Whether an estimator's `fit` is one pass over its rows, so that the tree estimates what `fit` would."""
    known = river.is_river(estimator) or any(cls in _registered for cls in type(estimator).__mro__)
    return known or any(hasattr(estimator, name) for name in ("__treecv_wraps__", "__treecv_learner__"))


def obstacle(estimator: Any) -> str:
    """What keeps an estimator from being trained part by part; nothing if it can be."""
    known = is_one_pass(estimator) or torch.is_skorch(estimator)
    return "" if known else scikit_learn.lacking(estimator)


def shaped(estimator: Any) -> Any:
    """An estimator as scikit-learn's functions know them: with tags, `fit` and `score`."""
    return river.as_estimator(estimator) if river.is_river(estimator) else estimator


def check_learns_in_parts(estimator: Any) -> None:
    """Raise unless an estimator can be trained part by part."""
    missing = obstacle(estimator)
    if missing:
        raise CapabilityError(
            f"{missing}: it cannot be trained part by part. Use strategy='auto', which trains each fold from scratch, "
            "or an estimator that has that method."
        )


def _check_own_methods(estimator: Any) -> None:
    """Refuse a subclass that changes what the learner stands for: its own methods would not be asked."""
    classes = type(estimator).__mro__
    home = next((place for place, cls in enumerate(classes) if "__treecv_learner__" in vars(cls)), 0)
    for cls in (cls for cls in classes[:home] if not cls.__module__.startswith("treecv.")):
        changed = [name for name in ("fit", "partial_fit", "predict", "decision_function") if name in vars(cls)]
        if changed:
            raise CapabilityError(
                f"{cls.__name__} overrides {', '.join(changed)}, but inherits a `__treecv_learner__` that knows "
                "nothing of it. Override that method as well, or use scikit-learn's function of the same name."
            )
