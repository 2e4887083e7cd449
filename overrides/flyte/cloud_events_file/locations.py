"""Find upstream's sections in its own files, its ConfigMaps and its charts' values. Pure."""

from __future__ import annotations

from controlplane.access.flyte_auth import yaml_nodes
from controlplane.access.flyte_auth.sections import Findings, InvalidConfiguration
from controlplane.access.flyte_auth.yaml_nodes import Node
from controlplane.errors import MalformedBody

# The first that is there, as flyteadmin's own file, a ConfigMap and the charts have it.
_PARENTS: tuple[tuple[str, ...], ...] = (
    (),
    ("configuration", "inline"),
    ("inline",),
    ("configuration",),
    ("configmap", "adminServer"),
)
# Upstream's guide prints some blocks with the wrong indentation: what belongs into a section is beside it.
_MEMBERS = (
    *("enable", "type", "aws", "gcp", "kafka", "nats", "eventsPublisher", "cloudEventVersion"),
    *("reconnectAttempts", "reconnectDelaySeconds"),
)
# Members that stand one level too high.
_INNER = {
    "projectId": ("gcp", "projectId"),
    "brokers": ("kafka", "brokers"),
    "servers": ("nats", "servers"),
    "topicName": ("eventsPublisher", "topicName"),
    "eventTypes": ("eventsPublisher", "eventTypes"),
}


def find_section(documents: list[Node], names: tuple[str, ...], findings: Findings) -> Node | None:
    """Return a section by one of its names with all its members in place; None if no document has it."""
    for document in documents:
        for path in _PARENTS:
            parent = document.member(*path)
            section = _member(parent, names)
            if parent is not None and section is not None:
                return _with_inner(_with_members(section, parent, findings), findings)
    return None


def documents_of(text: str, file: str) -> list[Node]:
    """Return the documents, and those in the texts of ConfigMaps. Raises InvalidConfiguration."""
    try:
        documents = yaml_nodes.parse(text)
    except MalformedBody as error:
        raise InvalidConfiguration(f"{file}: {error.detail}") from error
    inner = [
        (name, member)
        for document in documents
        for name, member in _members(document).items()
        if name.endswith((".yaml", ".yml")) and isinstance(member.value, str)
    ]
    for name, member in inner:
        # A block's text begins on the line after its name.
        parsed = documents_of(member.value, f"{file}, {name}")
        documents.extend(_shifted(document, member.line) for document in parsed)
    return documents


def _member(parent: Node | None, names: tuple[str, ...]) -> Node | None:
    if parent is None:
        return None
    return next((node for name in names if (node := parent.member(name)) is not None), None)


def _members(node: Node) -> dict[str, Node]:
    return node.value if isinstance(node.value, dict) else {}


def _with_members(section: Node, parent: Node, findings: Findings) -> Node:
    """Return the section with the members that stand beside it, if it lacks them."""
    if not isinstance(section.value, dict | None):
        return section
    for name in _MEMBERS:
        beside = parent.member(name)
        if beside is not None and beside.value is not None and section.member(name) is None:
            findings.warn(beside.line, f"`{name}` is beside the section, as if it were in it.")
            section = Node({**_members(section), name: beside}, section.line)
    return section


def _with_inner(section: Node, findings: Findings) -> Node:
    for name, path in _INNER.items():
        member = section.member(name)
        if member is not None:
            findings.warn(member.line, f"`{name}` is read as `{'.'.join(path)}`.")
            section = yaml_nodes.moved(section, (name,), path)
    return section


def _shifted(node: Node, lines: int) -> Node:
    value = node.value
    if isinstance(value, dict):
        value = {name: _shifted(member, lines) for name, member in value.items()}
    elif isinstance(value, list):
        value = [_shifted(item, lines) for item in value]
    return Node(value, node.line + lines)
