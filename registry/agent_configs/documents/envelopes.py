"""Read the ConfigMap around a published document. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from controlplane.formats.counts import counted
from registry.agent_configs.documents.diagnostics import (
    Code,
    Findings,
    Node,
    Place,
    quote_value,
    suggest_name,
)
from registry.agent_configs.documents.payloads import ROOTS

PREFIX = "flyteplugins-agentservice-"
_NAME = re.compile(rf"{PREFIX}[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_MEMBERS = ("apiVersion", "kind", "metadata", "data", "immutable")
# Kubernetes' limit for object names.
_MAX_NAME_LENGTH = 253


def is_config_map(value: object) -> bool:
    """True if the value looks like a Kubernetes object, even a misspelled one."""
    return isinstance(value, Mapping) and not {"data", "metadata", "apiVersion", "kind", "king"}.isdisjoint(
        value
    )


def read_name(value: Mapping[str, object]) -> str:
    """Return the object's name, or an empty string. A misplaced name counts, so that reports can show it."""
    metadata = value.get("metadata")
    name = metadata.get("name") if isinstance(metadata, Mapping) else value.get("name")
    return name if isinstance(name, str) else ""


def check_envelope(node: Node, findings: Findings) -> None:
    """Report the errors of the object around the data."""
    for name in node.value:
        if name not in _MEMBERS:
            _report_unknown_member(name, node.place.below(name), findings)
    for name, expected in (("apiVersion", "v1"), ("kind", "ConfigMap")):
        if name not in node.value:
            hint = f"{name}: {expected}"
            findings.error(node.place, Code.INVALID_ENVELOPE, f"{name} is missing.", hint)
        elif node.value[name] != expected:
            message = f"{name} must be {expected}, not {quote_value(node.value[name])}."
            findings.error(node.place.below(name), Code.INVALID_ENVELOPE, message)
    _check_name(node, findings)


def read_files(node: Node, findings: Findings, most: int) -> Iterator[tuple[str, Node]]:
    """Yield the files in the data by name; the RFC's nested form has an empty name and is not converted."""
    data = node.value.get("data")
    place = node.place.below("data")
    if not isinstance(data, Mapping) or not data:
        findings.error(
            place if data is not None else node.place, Code.INVALID_ENVELOPE, "data is missing or empty."
        )
        return
    if len(data) > most:
        findings.error(
            place, Code.TOO_LARGE, f"The ConfigMap has {counted(len(data), 'file')}; the maximum is {most}."
        )
        return
    nested = {name: value for name, value in data.items() if not isinstance(value, str)}
    for name, text in data.items():
        if isinstance(text, str) and _is_file(name, place, findings):
            yield name, Node(text, place.below(name))
    if nested:
        message = "Kubernetes accepts only strings in data; nested data works only with this API."
        findings.warn(place, Code.NESTED_DATA, message, "Write agents.yaml: | and indent what follows.")
        yield "", Node(nested, place)


def _is_file(name: str, place: Place, findings: Findings) -> bool:
    if name.endswith((".yaml", ".yml")):
        return True
    hint = "Write its value as an object." if name in ROOTS else "Name it *.yaml."
    findings.error(place.below(name), Code.INVALID_ENVELOPE, f"{quote_value(name)} is not a YAML file.", hint)
    return False


def _report_unknown_member(name: str, place: Place, findings: Findings) -> None:
    if name == "name":
        findings.error(place, Code.INVALID_ENVELOPE, "name must be in metadata.", "metadata: {name: ...}")
    else:
        hint = "Did you mean kind?" if name == "king" else suggest_name(name, _MEMBERS)
        findings.error(place, Code.INVALID_ENVELOPE, f"Unknown ConfigMap field {quote_value(name)}.", hint)


def _check_name(node: Node, findings: Findings) -> None:
    metadata = node.value.get("metadata")
    name = metadata.get("name") if isinstance(metadata, Mapping) else None
    place = node.place.below("metadata") if metadata is not None else node.place
    if name is None:
        message = "metadata.name is missing."
        findings.error(place, Code.INVALID_ENVELOPE, message, f"metadata: {{name: {PREFIX}...}}")
    elif not isinstance(name, str) or len(name) > _MAX_NAME_LENGTH or not _NAME.fullmatch(name):
        message = f"{quote_value(name)} is not a valid name for agent configurations."
        findings.error(
            place.below("name"), Code.INVALID_ENVELOPE, message, f"{PREFIX}<lowercase letters, digits, ->"
        )
