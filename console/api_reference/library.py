"""All operations, read once a process from the document that the API serves."""

from __future__ import annotations

import json
import zlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any

import yaml

from console.api_reference.operations import operations
from controlplane.api.openapi_file import document_text


@dataclass(frozen=True, slots=True)
class Entry:
    """A line of the index."""

    id: str
    method: str
    path: str
    summary: str
    is_deprecated: bool

    def matches(self, words: Sequence[str]) -> bool:
        """Return whether each word occurs in it. words: in lower case."""
        text = f"{self.method} {self.path} {self.summary} {self.id}".lower()
        return all(word in text for word in words)


@dataclass(frozen=True, slots=True)
class Group:
    """The operations of one tag."""

    tag: str
    description: str
    entries: tuple[Entry, ...]


@dataclass(frozen=True, slots=True)
class Library:
    """The index, and each operation packed: unpacked, all would take 20 MB in each process."""

    groups: tuple[Group, ...]
    packed: dict[str, bytes]

    def find(self, text: str) -> list[Group]:
        """Return the groups with the entries that have all words of the text."""
        words = text.lower().split()
        matching = [
            Group(
                group.tag, group.description, tuple(entry for entry in group.entries if entry.matches(words))
            )
            for group in self.groups
        ]
        return [group for group in matching if group.entries]

    def operation(self, operation_id: str) -> dict[str, Any] | None:
        """Return the fields of an Operation, or None if there is none with this id."""
        packed = self.packed.get(operation_id)
        return None if packed is None else dict(json.loads(zlib.decompress(packed)))


@cache
def library() -> Library:
    """Read openapi.yaml, which takes most of a second."""
    document = yaml.load(document_text(), Loader=yaml.CSafeLoader)
    by_tag: dict[str, list[Entry]] = {tag["name"]: [] for tag in document["tags"]}
    packed = {}
    for each in operations(document):
        entry = Entry(each.id, each.method, each.path, each.summary, each.is_deprecated)
        by_tag.setdefault(each.tag, []).append(entry)
        packed[each.id] = zlib.compress(json.dumps(asdict(each)).encode())
    descriptions = {tag["name"]: tag.get("description", "") for tag in document["tags"]}
    groups = tuple(Group(tag, descriptions.get(tag, ""), tuple(rows)) for tag, rows in by_tag.items() if rows)
    return Library(groups, packed)
