"""What a published document comes in: a ConfigMap, or nothing at all. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

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
# Kubernetes' limit for names of objects.
_MAX_NAME_LENGTH = 253


def is_config_map(value: object) -> bool:
    """True if it looks like a Kubernetes object, spelled well or not."""
    return isinstance(value, Mapping) and not {"data", "metadata", "apiVersion", "kind", "king"}.isdisjoint(
        value
    )


def read_name(value: Mapping[str, object]) -> str:
    """The object's name, where it has one; a misplaced one counts, so that people find their document."""
    metadata = value.get("metadata")
    name = metadata.get("name") if isinstance(metadata, Mapping) else value.get("name")
    return name if isinstance(name, str) else ""


def check_envelope(node: Node, findings: Findings) -> None:
    """Say what is wrong with the object around the data."""
    for name in node.value:
        if name not in _MEMBERS:
            _report_unknown_member(name, node.place.below(name), findings)
    for name, expected in (("apiVersion", "v1"), ("kind", "ConfigMap")):
        if name not in node.value:
            hint = f"{name}: {expected}"
            findings.error(node.place, Code.INVALID_ENVELOPE, f"A ConfigMap has {name}.", hint)
        elif node.value[name] != expected:
            message = f"{name} must be {expected}, not {quote_value(node.value[name])}."
            findings.error(node.place.below(name), Code.INVALID_ENVELOPE, message)
    _check_name(node, findings)


def read_files(node: Node, findings: Findings, most: int) -> Iterator[tuple[str, Node]]:
    """The files in the data by name; the RFC's nested form comes under the empty name, as it stands."""
    data = node.value.get("data")
    place = node.place.below("data")
    if not isinstance(data, Mapping) or not data:
        findings.error(
            place if data is not None else node.place, Code.INVALID_ENVELOPE, "A ConfigMap has data."
        )
        return
    if len(data) > most:
        findings.error(place, Code.TOO_LARGE, f"These are {len(data)} files, more than {most}.")
        return
    nested = {name: value for name, value in data.items() if not isinstance(value, str)}
    for name, text in data.items():
        if isinstance(text, str) and _is_file(name, place, findings):
            yield name, Node(text, place.below(name))
    if nested:
        message = "Kubernetes takes only texts in data: what is nested here can be published to us alone."
        findings.warn(place, Code.NESTED_DATA, message, "Write agents.yaml: | and indent the rest below it.")
        yield "", Node(nested, place)


def _is_file(name: str, place: Place, findings: Findings) -> bool:
    if name.endswith((".yaml", ".yml")):
        return True
    hint = "It must stand as an object here." if name in ROOTS else "Name it *.yaml."
    findings.error(place.below(name), Code.INVALID_ENVELOPE, f"{quote_value(name)} is no YAML file.", hint)
    return False


def _report_unknown_member(name: str, place: Place, findings: Findings) -> None:
    if name == "name":
        findings.error(
            place, Code.INVALID_ENVELOPE, "The name belongs into metadata.", "metadata: {name: ...}"
        )
    else:
        hint = "Did you mean kind?" if name == "king" else suggest_name(name, _MEMBERS)
        findings.error(place, Code.INVALID_ENVELOPE, f"A ConfigMap has no {quote_value(name)}.", hint)


def _check_name(node: Node, findings: Findings) -> None:
    metadata = node.value.get("metadata")
    name = metadata.get("name") if isinstance(metadata, Mapping) else None
    place = node.place.below("metadata") if metadata is not None else node.place
    if name is None:
        message = "A ConfigMap has metadata with a name."
        findings.error(place, Code.INVALID_ENVELOPE, message, f"metadata: {{name: {PREFIX}...}}")
    elif not isinstance(name, str) or len(name) > _MAX_NAME_LENGTH or not _NAME.fullmatch(name):
        message = f"{quote_value(name)} is no name for agent configurations."
        findings.error(
            place.below("name"), Code.INVALID_ENVELOPE, message, f"{PREFIX}<small letters, digits, ->"
        )
