"""All operations by tag, read once a process from the document that the API serves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache

from console.api_reference.operations import Document, Operation, operations
from controlplane.api.openapi_file import document_text, parse


@dataclass(frozen=True, slots=True)
class Group:
    """The operations of one tag."""

    tag: str
    description: str
    operations: tuple[Operation, ...]


@dataclass(frozen=True, slots=True)
class Library:
    """groups: those with operations, in the document's order. by_id: all operations."""

    groups: tuple[Group, ...]
    by_id: Mapping[str, Operation]

    def find(self, text: str) -> list[Group]:
        """Return the groups with the operations that have all words of the text."""
        words = text.lower().split()
        groups = [
            replace(group, operations=tuple(each for each in group.operations if each.has_words(words)))
            for group in self.groups
        ]
        return [group for group in groups if group.operations]


def library_of(document: Document) -> Library:
    by_tag: dict[str, list[Operation]] = {tag["name"]: [] for tag in document["tags"]}
    for operation in operations(document):
        by_tag[operation.tag].append(operation)
    groups = (
        Group(tag["name"], tag.get("description", ""), tuple(by_tag[tag["name"]])) for tag in document["tags"]
    )
    everything = (operation for members in by_tag.values() for operation in members)
    return Library(
        tuple(group for group in groups if group.operations), {each.id: each for each in everything}
    )


@cache
def library() -> Library:
    """Read the OpenAPI document once. The operations take 2 MB of memory."""
    return library_of(parse(document_text()))
