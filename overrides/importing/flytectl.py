"""flytectl's attribute files (`--attrFile`): six kinds, told apart by their keys. Pure.

Keys are strict and in snake_case; `project`, `domain` and `workflow` stand at the top, beside the fields of
the kind's message (flyte-attributes.md section 7).
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any

from controlplane.errors import ControlplaneError, FieldError, InvalidRequest
from controlplane.formats import strict_yaml
from controlplane.scopes import Scope
from overrides.importing.report import Findings, ImportIssue
from overrides.resolution.addresses import Address, Statement
from overrides.resource_types import BUILT_IN, ResourceType

# flytectl's name of each kind, and our type.
KINDS = {
    "task-resource-attribute": "task_resource",
    "cluster-resource-attribute": "cluster_resource",
    "execution-queue-attribute": "execution_queue",
    "execution-cluster-label": "execution_cluster_label",
    "plugin-override": "plugin_override",
    "workflow-execution-config": "workflow_execution_config",
}
_SEGMENTS = ("project", "domain", "workflow")
_BEHAVIORS = {0: "FAIL", 1: "USE_DEFAULT"}


def read_files(files: Mapping[str, str], *, kind: str = "") -> Findings:
    """Read every file; what cannot be read is a problem of that file, with line and column."""
    findings = Findings()
    for name, text in sorted(files.items()):
        try:
            findings.statements.append(read_file(text, name=name, kind=kind))
        except ControlplaneError as error:
            places = _places(text)
            for one in error.errors or (FieldError("", error.code, error.detail),):
                line, column = (
                    (one.line, one.column) if one.line else strict_yaml.nearest(one.pointer, places)
                )
                findings.problems.append(ImportIssue(name, one.message, line, column))
    findings.name_scopes()
    return findings


def read_file(text: str, *, name: str, kind: str = "") -> Statement:
    """Return what one file says. Raises InvalidRequest, InvalidScope, InvalidAttributes."""
    document = strict_yaml.load(text)
    if not isinstance(document, Mapping):
        raise _invalid("", "wrong_type", "An attribute file is an object with project, domain and fields.")
    for segment in _SEGMENTS:
        if not isinstance(document.get(segment, ""), str | None):
            raise _invalid(f"/{segment}", "wrong_type", f"{segment} must be a text.")
    fields = {key: value for key, value in document.items() if key not in _SEGMENTS}
    one = _type(fields, kind)
    attributes = _stored(one.name, fields)
    if errors := one.errors(attributes, ""):
        raise InvalidRequest(errors[0].message, errors=errors)
    return Statement(Address(one.name, _scope(document)), attributes, f"{name}:1", "")


def _scope(document: Mapping[str, Any]) -> Scope:
    """flytectl: a workflow needs project and domain, and a project is always needed."""
    if not document.get("project"):
        raise _invalid("", "required", "project is required.")
    return Scope(**{segment: document.get(segment) or "" for segment in _SEGMENTS})


def _type(fields: Mapping[str, Any], kind: str) -> ResourceType:
    if kind:
        return BUILT_IN[KINDS[kind]]
    fitting = [
        BUILT_IN[name] for name in KINDS.values() if set(fields) <= set(BUILT_IN[name].schema["properties"])
    ]
    if len(fitting) == 1:
        return fitting[0]
    if not fields:
        raise _invalid("", "ambiguous", "The file sets nothing, so its kind cannot be told. Name the kind.")
    counts = {name: len(set(fields) & set(BUILT_IN[name].schema["properties"])) for name in KINDS.values()}
    nearest = max(counts, key=lambda name: counts[name])
    if not counts[nearest]:
        unknown = next(iter(fields))
        known = {key: name for name in KINDS.values() for key in BUILT_IN[name].schema["properties"]}
        near = difflib.get_close_matches(unknown, known, n=1, cutoff=0.6)
        advice = f"Did you mean {near[0]!r} of {known[near[0]]}?" if near else "Name the kind."
        raise _invalid(f"/{unknown}", "unknown_field", f"No kind has a field {unknown[:80]!r}. {advice}")
    unknown = next(key for key in fields if key not in BUILT_IN[nearest].schema["properties"])
    raise _invalid(f"/{unknown}", "unknown_field", f"There is no {unknown[:80]!r} in {nearest}.")


def _stored(name: str, fields: dict[str, Any]) -> dict[str, Any]:
    """flytectl's spellings turned into ours: numbers of an enum, `interruptible: {value: true}`."""
    stored = dict(fields)
    if name == "workflow_execution_config" and isinstance(stored.get("interruptible"), Mapping):
        stored["interruptible"] = stored["interruptible"].get("value")
    if name == "plugin_override" and isinstance(stored.get("overrides"), list):
        stored["overrides"] = [_with_behavior(one) for one in stored["overrides"]]
    return {key: value for key, value in stored.items() if value is not None}


def _with_behavior(override: Any) -> Any:
    said = override.get("missing_plugin_behavior") if isinstance(override, Mapping) else None
    if not isinstance(said, int) or isinstance(said, bool):
        return override
    return {**override, "missing_plugin_behavior": _BEHAVIORS.get(said, said)}


def _places(text: str) -> dict[str, strict_yaml.Position]:
    try:
        return next(iter(strict_yaml.positions(text)), {})
    except ControlplaneError:
        return {}


def _invalid(pointer: str, code: str, message: str) -> InvalidRequest:
    return InvalidRequest(message, errors=[FieldError(pointer, code, message)])
