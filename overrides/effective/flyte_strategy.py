"""What FlyteAdmin would apply at an execution, whatever our own merge rules say. Pure.

FlyteAdmin v1.16.8 takes the most specific row whole. It knows rows of a project, a project and domain, and
a workflow; rows at other levels and guard rails are ours alone and play no part. Three types differ: cluster
resources overlay the platform's values key by key; of them and of cluster assignments it reads no rows of
workflows; and an execution config is filled field by field from the most specific row, the project's row and
the platform. Source: getExecutionConfig and MergeIntoExecConfig.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from controlplane.scopes import Level
from overrides.effective.results import Effective, EffectiveType
from overrides.resolution.merging import REMOVE, Attributes, MergeRule, Strategy
from overrides.resolution.resolve import Layer, Resolved, resolve
from overrides.resource_types import BUILT_IN, ResourceType

_LEVELS = (Level.PROJECT, Level.PROJECT_DOMAIN, Level.WORKFLOW)
# Executions ask for these by project and domain alone.
_NOT_BY_WORKFLOW = {"cluster_resource", "cluster_assignment"}
_WHOLE = MergeRule(Strategy.REPLACE)
_BY_MEMBER = MergeRule(Strategy.MERGE)


def as_flyte(effective: Effective, code: Mapping[str, Layer], resource_type: str = "") -> Effective:
    """The same question, answered by Flyte's rules; types that Flyte has not are left out.

    code: the layer of CODE_DEFAULTS of each type. resource_type: the one asked for, or all.
    """
    known = {one.resource_type.name: one for one in effective.types}
    asked = (one for one in BUILT_IN.values() if one.number is not None and resource_type in ("", one.name))
    answered = (_answer(effective, one, known.get(one.name), code) for one in asked)
    return replace(
        effective,
        types=tuple(one for one in answered if one.resolved.leaves),
        fingerprint=f"{effective.fingerprint}-execution",
    )


def project_config(layers: Sequence[Layer], code: Layer) -> Attributes:
    """What FlyteAdmin's GET of a project's execution config says: the row as it is, filled from the platform.

    An execution gets less of the row, see as_flyte. Environment variables of the platform are not shown.
    """
    row = next((one for one in layers if one.scope.level is Level.PROJECT and not one.is_default), None)
    found: dict[str, Any] = dict(row.attributes) if row else {}
    stated = _flytes(found)
    for name, (_, value) in _of_platform([code, *(one for one in layers if one.is_default)]).items():
        if name != "envs" and _is_taken(name, stated.get(name), value):
            found[name] = value
    return found


def _answer(
    effective: Effective, one: ResourceType, stated: EffectiveType | None, code: Mapping[str, Layer]
) -> EffectiveType:
    rows, defaults = _split(one.name, stated.layers if stated else ())
    if one.name in code:
        defaults.insert(0, code[one.name])
    return EffectiveType(one, _resolved(effective, one, rows, defaults), (), (*defaults, *rows))


def _resolved(
    effective: Effective, one: ResourceType, rows: Sequence[Layer], defaults: Sequence[Layer]
) -> Resolved:
    if one.name == "workflow_execution_config":
        return resolve(effective.scope, _filled(rows, defaults), _BY_MEMBER)
    if one.name == "cluster_resource" or not rows:
        return resolve(effective.scope, [*defaults, *rows[-1:]], _BY_MEMBER)
    return resolve(effective.scope, [*defaults, *rows], _WHOLE)


def _split(name: str, layers: Iterable[Layer]) -> tuple[list[Layer], list[Layer]]:
    """Rows that FlyteAdmin reads, the most specific last, and the platform's defaults."""
    levels = _LEVELS[:-1] if name in _NOT_BY_WORKFLOW else _LEVELS
    read = [replace(layer, attributes=_flytes(layer.attributes)) for layer in layers]
    rows = [layer for layer in read if not layer.is_default and layer.scope.level in levels]
    rows.sort(key=lambda layer: layer.scope.level)
    return rows, [layer for layer in read if layer.is_default]


def _filled(rows: Sequence[Layer], defaults: Sequence[Layer]) -> list[Layer]:
    """Leave each layer only the fields that it decides, so that merging them gives Flyte's answer.

    Of the rows only the most specific and the project's count: a workflow's row hides the one of its
    project and domain.
    """
    of_project = [layer for layer in rows[:-1] if layer.scope.level is Level.PROJECT]
    decided: dict[str, tuple[Layer, Any]] = {}
    stated = [(layer, name, value) for layer in [*rows[-1:], *of_project] for name, value in _fields(layer)]
    of_platform = [(layer, name, value) for name, (layer, value) in _of_platform(defaults).items()]
    for layer, name, value in [*stated, *of_platform]:
        if _is_taken(name, decided[name][1] if name in decided else None, value):
            decided[name] = (layer, value)
    return [
        replace(layer, attributes={name: value for name, (of, value) in decided.items() if of is layer})
        for layer in [*defaults, *rows]
        if any(of is layer for of, _ in decided.values())
    ]


def _fields(layer: Layer) -> list[tuple[str, Any]]:
    return list(layer.attributes.items())


def _of_platform(defaults: Sequence[Layer]) -> dict[str, tuple[Layer, Any]]:
    """The platform's fields, the most specific of each; `interruptible: false` says nothing there."""
    found = {name: (layer, value) for layer in defaults for name, value in _fields(layer)}
    if "interruptible" in found and not found["interruptible"][1]:
        del found["interruptible"]
    return found


def _flytes(value: Any) -> Any:
    """Without what only native resolution understands: null and `$remove`."""
    if isinstance(value, Mapping):
        return {name: _flytes(member) for name, member in value.items() if member is not None}
    if isinstance(value, list):
        return [_flytes(item) for item in value if not (isinstance(item, Mapping) and item.get(REMOVE))]
    return value


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


# execution_env_assignments have no rule: they are never taken.
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
