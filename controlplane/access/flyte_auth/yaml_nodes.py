"""YAML with the line of every value, so that mistakes in a configuration file can be located. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from controlplane.formats import strict_yaml


@dataclass(frozen=True, slots=True)
class Node:
    """A value and its line. value: a scalar, a dict of nodes by name, or a list of nodes."""

    value: Any
    line: int

    def member(self, *path: str) -> Node | None:
        """Return the node at a path of names; None if there is none. Case is ignored, as in Viper."""
        node: Node | None = self
        for name in path:
            members = node.value if node is not None and isinstance(node.value, dict) else {}
            node = next((each for key, each in members.items() if key.lower() == name.lower()), None)
        return node


def parse(text: str) -> list[Node]:
    """Return the non-empty documents. Raises MalformedBody with line and column."""
    documents = strict_yaml.load_all(text)
    return [
        _node(document, "", places)
        for document, places in zip(documents, strict_yaml.positions(text), strict=True)
    ]


def merge(base: Node | None, over: Node | None) -> Node | None:
    """Return both mappings as one. The second wins, unless it is null; lists are replaced as a whole."""
    if base is None or over is None or over.value is None:
        return base or over
    if not isinstance(base.value, dict) or not isinstance(over.value, dict):
        return over
    members = dict(base.value)
    spelling = {name.lower(): name for name in members}
    for name, node in over.value.items():
        spelled = spelling.get(name.lower(), name)
        members[spelled] = merge(members.get(spelled), node)
    return Node(members, over.line)


def moved(node: Node, source: tuple[str, ...], target: tuple[str, ...]) -> Node:
    """Return the mapping with a member at another path. What is there already wins."""
    member = node.member(*source)
    if member is None:
        return node
    for name in reversed(target):
        member = Node({name: member}, member.line)
    return merge(member, _without(node, source)) or node


def _without(node: Node, path: tuple[str, ...]) -> Node:
    first, *rest = path
    members = {}
    for name, member in node.value.items():
        if name.lower() != first.lower():
            members[name] = member
        elif rest:
            members[name] = _without(member, tuple(rest))
    return Node(members, node.line)


def _node(value: Any, pointer: str, places: Mapping[str, strict_yaml.Position]) -> Node:
    line = places[pointer][0]
    if isinstance(value, dict):
        return Node(
            {name: _node(each, f"{pointer}/{_escaped(name)}", places) for name, each in value.items()}, line
        )
    if isinstance(value, list):
        return Node([_node(each, f"{pointer}/{index}", places) for index, each in enumerate(value)], line)
    return Node(value, line)


def _escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")
