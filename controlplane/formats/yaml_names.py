"""Unquoted names of YAML documents that other parsers read as numbers, booleans or dates. Pure.

`strict_yaml` reads every name as text, but a parser of YAML 1.1 reads the name `3.10` as the number 3.1. The
text must be valid for `strict_yaml`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import yaml

_TEXT = "tag:yaml.org,2002:str"
# Numbers of YAML 1.2 that are text in YAML 1.1.
_NUMBER = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|0o[0-7]+")


@dataclass(slots=True)
class _Open:
    """An open mapping or sequence. name: of the value that comes next; count: entries so far."""

    pointer: str
    is_mapping: bool
    name: str | None = None
    count: int = 0


def find_ambiguous_names(text: str) -> frozenset[str]:
    """Return JSON Pointers of all members whose names are unquoted and not text in YAML 1.1 or 1.2."""
    resolver: Any = yaml.SafeLoader("")
    return frozenset(
        pointer
        for pointer, name in _unquoted_names(yaml.parse(text, Loader=yaml.CSafeLoader))
        if _NUMBER.fullmatch(name) or resolver.resolve(yaml.ScalarNode, name, (True, False)) != _TEXT
    )


def _unquoted_names(events: Iterable[Any]) -> Iterator[tuple[str, str]]:
    stack: list[_Open] = []
    for event in events:
        if isinstance(event, yaml.MappingEndEvent | yaml.SequenceEndEvent):
            stack.pop()
        elif isinstance(event, yaml.NodeEvent):
            if stack and stack[-1].is_mapping and stack[-1].name is None:
                name: Any = event
                stack[-1].name = name.value.replace("~", "~0").replace("/", "~1")
                if name.implicit[0]:
                    yield f"{stack[-1].pointer}/{stack[-1].name}", name.value
                continue
            pointer = _enter(stack[-1]) if stack else ""
            if isinstance(event, yaml.CollectionStartEvent):
                stack.append(_Open(pointer, isinstance(event, yaml.MappingStartEvent)))


def _enter(parent: _Open) -> str:
    """Return the pointer of the parent's next value."""
    step = parent.name if parent.is_mapping else str(parent.count)
    parent.name = None
    parent.count += 1
    return f"{parent.pointer}/{step}"
