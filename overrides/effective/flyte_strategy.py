"""The effective values of an execution by FlyteAdmin's rules instead of our merge rules. Pure.

FlyteAdmin v1.16.8 applies the most specific row as a whole. It supports rows for a project, a project and
domain, and a workflow; rows at other levels and guard rails exist only here and are ignored. Three types
differ: cluster resources overlay the platform's values key by key; for cluster resources and cluster
assignments, rows of workflows are ignored; and an execution config is filled field by field from the most
specific row, the project's row and the platform. Source: getExecutionConfig and MergeIntoExecConfig.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from controlplane.scopes import Level
from overrides.effective.results import EffectiveAttributes, EffectiveType
from overrides.resolution.merging import REMOVE, Attributes, MergeRule, Strategy
from overrides.resolution.resolve import Layer, Resolution, resolve
from overrides.resource_types import BUILT_IN, ResourceType

_LEVELS = (Level.PROJECT, Level.PROJECT_DOMAIN, Level.WORKFLOW)
# Executions look these up by project and domain only.
_NOT_BY_WORKFLOW = {"cluster_resource", "cluster_assignment"}
_WHOLE = MergeRule(Strategy.REPLACE)
_BY_MEMBER = MergeRule(Strategy.MERGE)


def as_flyte(
    effective: EffectiveAttributes, code: Mapping[str, Layer], resource_type: str = ""
) -> EffectiveAttributes:
    """Resolve the same scope again by Flyte's rules; leave out types that Flyte does not have.

    code: the layer of CODE_DEFAULTS of each type. resource_type: the only type to resolve; empty for all.
    """
    effective_types = {entry.resource_type.name: entry for entry in effective.types}
    flyte_types = [
        flyte_type
        for flyte_type in BUILT_IN.values()
        if flyte_type.number is not None and resource_type in ("", flyte_type.name)
    ]
    answers = [_answer(effective, each, effective_types.get(each.name), code) for each in flyte_types]
    return replace(
        effective,
        types=tuple(answer for answer in answers if answer.resolved.leaves),
        fingerprint=f"{effective.fingerprint}-execution",
    )


def project_config(layers: Sequence[Layer], code: Layer) -> Attributes:
    """Return FlyteAdmin's answer to GET of a project's execution config: its row, filled from the platform.

    An execution gets less of the row, see as_flyte. Environment variables of the platform are not included.
    """
    project_layer = next(
        (layer for layer in layers if layer.scope.level is Level.PROJECT and not layer.is_default), None
    )
    config: dict[str, Any] = dict(project_layer.attributes) if project_layer else {}
    flyte_values = _without_removals(config)
    for name, (_, value) in _platform_fields(
        [code, *(layer for layer in layers if layer.is_default)]
    ).items():
        if name != "envs" and _overlays(name, flyte_values.get(name), value):
            config[name] = value
    return config


def _answer(
    effective: EffectiveAttributes,
    resource_type: ResourceType,
    stated: EffectiveType | None,
    code: Mapping[str, Layer],
) -> EffectiveType:
    rows, defaults = _split(resource_type.name, stated.layers if stated else ())
    if resource_type.name in code:
        defaults.insert(0, code[resource_type.name])
    return EffectiveType(
        resource_type, _resolved(effective, resource_type, rows, defaults), (), (*defaults, *rows)
    )


def _resolved(
    effective: EffectiveAttributes,
    resource_type: ResourceType,
    rows: Sequence[Layer],
    defaults: Sequence[Layer],
) -> Resolution:
    if resource_type.name == "workflow_execution_config":
        return resolve(effective.scope, _filled_layers(rows, defaults), _BY_MEMBER)
    if resource_type.name == "cluster_resource" or not rows:
        return resolve(effective.scope, [*defaults, *rows[-1:]], _BY_MEMBER)
    return resolve(effective.scope, [*defaults, *rows], _WHOLE)


def _split(name: str, layers: Iterable[Layer]) -> tuple[list[Layer], list[Layer]]:
    """Return the rows that FlyteAdmin reads, most specific last, and the platform's defaults."""
    levels = _LEVELS[:-1] if name in _NOT_BY_WORKFLOW else _LEVELS
    read = [replace(layer, attributes=_without_removals(layer.attributes)) for layer in layers]
    rows = [layer for layer in read if not layer.is_default and layer.scope.level in levels]
    rows.sort(key=lambda layer: layer.scope.level)
    return rows, [layer for layer in read if layer.is_default]


def _filled_layers(rows: Sequence[Layer], defaults: Sequence[Layer]) -> list[Layer]:
    """Keep in each layer only the fields that it decides, so that merging the layers gives Flyte's result.

    Only the most specific row and the project's row count: a workflow's row hides that of its project and
    domain.
    """
    of_project = [layer for layer in rows[:-1] if layer.scope.level is Level.PROJECT]
    decided: dict[str, tuple[Layer, Any]] = {}
    row_fields = [
        (layer, name, value) for layer in [*rows[-1:], *of_project] for name, value in _fields(layer)
    ]
    platform_fields = [(layer, name, value) for name, (layer, value) in _platform_fields(defaults).items()]
    for layer, name, value in [*row_fields, *platform_fields]:
        if _overlays(name, decided[name][1] if name in decided else None, value):
            decided[name] = (layer, value)
    return [
        replace(layer, attributes={name: value for name, (of, value) in decided.items() if of is layer})
        for layer in [*defaults, *rows]
        if any(of is layer for of, _ in decided.values())
    ]


def _fields(layer: Layer) -> list[tuple[str, Any]]:
    return list(layer.attributes.items())


def _platform_fields(defaults: Sequence[Layer]) -> dict[str, tuple[Layer, Any]]:
    """Return the platform's fields, the most specific of each; `interruptible: false` is ignored there."""
    fields = {name: (layer, value) for layer in defaults for name, value in _fields(layer)}
    if "interruptible" in fields and not fields["interruptible"][1]:
        del fields["interruptible"]
    return fields


def _without_removals(value: Any) -> Any:
    """Remove what only native resolution understands: null and `$remove`."""
    if isinstance(value, Mapping):
        return {name: _without_removals(member) for name, member in value.items() if member is not None}
    if isinstance(value, list):
        return [
            _without_removals(item) for item in value if not (isinstance(item, Mapping) and item.get(REMOVE))
        ]
    return value


def _overlays(name: str, higher: Any, lower: Any) -> bool:
    """Return whether the lower value applies, given the higher value, as MergeIntoExecConfig decides."""
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


# execution_env_assignments have no rule: they never apply.
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
