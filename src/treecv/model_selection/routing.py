"""Where `params` go: to the splitter, to training, to the scorers."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.model_selection._validation import _check_groups_routing_disabled
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, _routing_enabled, process_routing

from treecv.adapters.routing import add_routes, collected


@dataclass(frozen=True, slots=True)
class Routed:
    """The arguments of `split`, of `partial_fit`, and of the scorers."""

    split: Mapping[str, Any] = field(default_factory=dict)
    fit: Mapping[str, Any] = field(default_factory=dict)
    score: Mapping[str, Any] = field(default_factory=dict)


def route(
    caller: str, estimator: Any, cv: Any, params: Mapping[str, Any] | None, groups: Any, scorers: Any = None
) -> Routed:
    """Share out what the user passed.

    Without scikit-learn's metadata routing, everything but `groups` goes to training. With it, the splitter, the
    estimator and the scorers say what they want.
    """
    _check_groups_routing_disabled(groups)
    params = {} if params is None else dict(params)
    if not _routing_enabled():
        return Routed({"groups": groups}, params)
    if not params:  # nothing to share out, and the answer of `process_routing` could not be asked what is in it
        return Routed()
    router = add_routes(MetadataRouter(owner=caller), estimator)
    if hasattr(cv, "get_metadata_routing"):
        router.add(splitter=cv, method_mapping=MethodMapping().add(caller="fit", callee="split"))
    if scorers is not None:
        router.add(scorer=scorers, method_mapping=MethodMapping().add(caller="fit", callee="score"))
    try:
        routed = process_routing(router, "fit", **params)
    except UnsetMetadataPassedError as error:
        raise UnsetMetadataPassedError(
            message=str(error).replace(f"{caller}.fit", caller),
            unrequested_params=error.unrequested_params,
            routed_params=error.routed_params,
        ) from error
    return Routed(
        routed["splitter"].split if "splitter" in routed else {},
        collected(routed, estimator),
        routed["scorer"].score if "scorer" in routed else {},
    )
