"""Read flytectl's attribute files (`--attrFile`): six kinds, identified by their keys. Pure.

Keys are strict and in snake_case; `project`, `domain` and `workflow` are top-level members, like the fields
of the kind's message (flyte-attributes.md section 7).
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any

from controlplane.errors import ControlplaneError, FieldError, InvalidRequest
from controlplane.formats import strict_yaml
from controlplane.scopes import Scope
from overrides.importing.report import ImportFindings, ImportIssue
from overrides.resolution.addresses import Address, Statement
from overrides.resource_types import BUILT_IN, ResourceType

# Resource types by flytectl's name of each kind.
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


def read_files(files: Mapping[str, str], *, kind: str = "") -> ImportFindings:
    """Read every file; errors are problems of the file, with line and column."""
    findings = ImportFindings()
    for name, text in sorted(files.items()):
        try:
            findings.statements.append(read_file(text, name=name, kind=kind))
        except ControlplaneError as error:
            places = _places(text)
            for field_error in error.errors or (FieldError("", error.code, error.detail),):
                line, column = (
                    (field_error.line, field_error.column)
                    if field_error.line
                    else strict_yaml.nearest(field_error.pointer, places)
                )
                findings.problems.append(ImportIssue(name, field_error.message, line, column))
    findings.name_scopes()
    return findings


def read_file(text: str, *, name: str, kind: str = "") -> Statement:
    """Return the statement of one file. Raises InvalidRequest, InvalidScope, InvalidAttributes."""
    document = strict_yaml.load(text)
    if not isinstance(document, Mapping):
        raise _invalid(
            "", "wrong_type", "An attribute file must be an object with project, domain and fields."
        )
    for segment in _SEGMENTS:
        if not isinstance(document.get(segment, ""), str | None):
            raise _invalid(f"/{segment}", "wrong_type", f"{segment} must be a text.")
    fields = {key: value for key, value in document.items() if key not in _SEGMENTS}
    resource_type = _type(fields, kind)
    attributes = _stored(resource_type.name, fields)
    if errors := resource_type.errors(attributes, ""):
        raise InvalidRequest(errors[0].message, errors=errors)
    return Statement(Address(resource_type.name, _scope(document)), attributes, f"{name}:1", "")


def _scope(document: Mapping[str, Any]) -> Scope:
    """Return the scope. As in flytectl, a project is required, and a workflow needs project and domain."""
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
        raise _invalid("", "ambiguous", "The file has no fields, so its kind is unclear. Set the kind.")
    counts = {name: len(set(fields) & set(BUILT_IN[name].schema["properties"])) for name in KINDS.values()}
    nearest = max(counts, key=lambda name: counts[name])
    if not counts[nearest]:
        unknown = next(iter(fields))
        types = {key: name for name in KINDS.values() for key in BUILT_IN[name].schema["properties"]}
        matches = difflib.get_close_matches(unknown, types, n=1, cutoff=0.6)
        advice = f"Did you mean {matches[0]!r} of {types[matches[0]]}?" if matches else "Set the kind."
        raise _invalid(f"/{unknown}", "unknown_field", f"No kind has the field {unknown[:80]!r}. {advice}")
    unknown = next(key for key in fields if key not in BUILT_IN[nearest].schema["properties"])
    raise _invalid(f"/{unknown}", "unknown_field", f"Unknown field {unknown[:80]!r} in {nearest}.")


def _stored(name: str, fields: dict[str, Any]) -> dict[str, Any]:
    """Convert flytectl's spellings: numbers of an enum, `interruptible: {value: true}`."""
    attributes = dict(fields)
    if name == "workflow_execution_config" and isinstance(attributes.get("interruptible"), Mapping):
        attributes["interruptible"] = attributes["interruptible"].get("value")
    if name == "plugin_override" and isinstance(attributes.get("overrides"), list):
        attributes["overrides"] = [_with_behavior(override) for override in attributes["overrides"]]
    return {key: value for key, value in attributes.items() if value is not None}


def _with_behavior(override: Any) -> Any:
    behavior = override.get("missing_plugin_behavior") if isinstance(override, Mapping) else None
    if not isinstance(behavior, int) or isinstance(behavior, bool):
        return override
    return {**override, "missing_plugin_behavior": _BEHAVIORS.get(behavior, behavior)}


def _places(text: str) -> dict[str, strict_yaml.Position]:
    try:
        return next(iter(strict_yaml.positions(text)), {})
    except ControlplaneError:
        return {}


def _invalid(pointer: str, code: str, message: str) -> InvalidRequest:
    return InvalidRequest(message, errors=[FieldError(pointer, code, message)])
