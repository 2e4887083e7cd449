"""What FlyteAdmin would apply at an execution, whatever our own merge rules say. Pure.

FlyteAdmin v1.16.8 takes the most specific row whole. It knows rows of a project, a project and domain, and
a workflow; rows at other levels and guard rails are ours alone and play no part. Two types differ: cluster
resources overlay the platform's values key by key, and workflow execution config is filled field by
field from the project's row and the platform (MergeIntoExecConfig).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from controlplane.scopes import Level
from overrides.answers import Effective, EffectiveType
from overrides.merging import MergeRule, Strategy
from overrides.resolution import Layer, resolve

_FLYTES = (Level.PROJECT, Level.PROJECT_DOMAIN, Level.WORKFLOW)
_WHOLE = MergeRule(Strategy.REPLACE)
_BY_MEMBER = MergeRule(Strategy.MERGE)


def as_flyte(effective: Effective) -> Effective:
    """The same question, answered by Flyte's rules. Types that Flyte has not are left out."""
    types = [one for one in effective.types if one.resource_type.number is not None]
    answered = (_answer(effective, one) for one in types)
    found = tuple(one for one in answered if one.resolved.leaves)
    return replace(effective, types=found, fingerprint=f"{effective.fingerprint}-flyte")


def _answer(effective: Effective, one: EffectiveType) -> EffectiveType:
    defaults = [layer for layer in one.layers if layer.is_default]
    rows = [layer for layer in one.layers if not layer.is_default and layer.scope.level in _FLYTES]
    rows.sort(key=lambda layer: layer.scope.level)
    match one.resource_type.name:
        case "cluster_resource":
            layers, rule = [*defaults, *rows[-1:]], _BY_MEMBER
        case "workflow_execution_config":
            layers, rule = _filled([*defaults, *rows]), _BY_MEMBER
        case _:
            layers, rule = [*defaults, *rows], _WHOLE
    return replace(one, resolved=resolve(effective.scope, layers, rule), rails=())


def _filled(layers: Sequence[Layer]) -> list[Layer]:
    """Leave each layer only the fields that it decides, so that merging them gives Flyte's answer.

    Of the rows only the most specific and the project's count: a workflow's row hides the one of its
    project and domain.
    """
    rows = [layer for layer in layers if not layer.is_default]
    of_project = [layer for layer in rows[:-1] if layer.scope.level is Level.PROJECT]
    defaults = [layer for layer in layers if layer.is_default]
    decided: dict[str, tuple[Layer, Any]] = {}
    for number, layer in enumerate([*rows[-1:], *of_project, *reversed(defaults)]):
        for name, value in layer.attributes.items():
            higher = decided[name][1] if name in decided else None
            if value is not None and (number == 0 or _is_taken(name, higher, value)):
                decided[name] = (layer, value)
    return [
        replace(layer, attributes={name: value for name, (of, value) in decided.items() if of is layer})
        for layer in layers
        if any(of is layer for of, _ in decided.values())
    ]


def _is_taken(name: str, higher: Any, lower: Any) -> bool:
    """MergeIntoExecConfig: is the lower value taken, given the higher one?"""
    rule = _RULES.get(name)
    return bool(rule and rule(higher, lower))


def _identity(higher: Any, lower: Any) -> bool:
    run_as = _of(lower, "run_as")
    named = any(_of(run_as, name) for name in ("k8s_service_account", "iam_role", "execution_identity"))
    return higher is None and named


def _nested(member: str) -> Callable[[Any, Any], bool]:
    return lambda higher, lower: not _of(higher, member) and bool(_of(lower, member))


def _of(value: Any, member: str) -> Any:
    return value.get(member) if isinstance(value, Mapping) else None


_RULES: dict[str, Callable[[Any, Any], bool]] = {
    "max_parallelism": lambda higher, lower: not higher and lower > 0,
    "security_context": _identity,
    "raw_output_data_config": _nested("output_location_prefix"),
    "labels": _nested("values"),
    "annotations": _nested("values"),
    "interruptible": lambda higher, lower: higher is None,
    "overwrite_cache": lambda higher, lower: not higher and bool(lower),
    "envs": _nested("values"),
}
