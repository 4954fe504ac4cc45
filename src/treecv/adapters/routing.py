"""What else the user passes (`params`), on its way to the arguments of `partial_fit`."""

from typing import Any

from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping

from treecv.adapters.steps import steps_of


def add_routes(router: MetadataRouter, estimator: Any, *, scored: bool = False) -> MetadataRouter:
    """Let a router hand on what is passed to `fit` to `partial_fit` of an estimator, or of each step of a pipeline.

    `scored`: and what is passed to `score` to the score of the estimator, or of the last step.
    """
    steps = list(steps_of(inside(estimator)))
    for name, step in steps:
        mapping = MethodMapping().add(caller="fit", callee="partial_fit")
        if scored and step is steps[-1][1]:
            mapping.add(caller="score", callee="score")
        router.add(**{name or "estimator": step}, method_mapping=mapping)
    return router


def collected(routed: Any, estimator: Any) -> dict[str, Any]:
    """What a router made of the parameters, under the names that `PartialFit` looks for."""
    found: dict[str, Any] = {}
    for name, _ in steps_of(inside(estimator)):
        prefix = f"{name}__" if name else ""
        found |= {prefix + key: value for key, value in routed[name or "estimator"].partial_fit.items()}
    return found


def inside(estimator: Any) -> Any:
    """The estimator that is trained: itself, or what a wrapper wraps."""
    return estimator.__treecv_wraps__()[0] if hasattr(estimator, "__treecv_wraps__") else estimator
