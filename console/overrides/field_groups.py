"""Fields of a form in groups with titles, as the hints of a resource type say. Pure.

Hints are data of the type: `groups` is a list of `{title, fields}`, whose fields are pointers or beginnings
of pointers; `labels` names fields by pointer. Hints of another shape are ignored.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from console.overrides.forms import FormField
from controlplane.errors import FieldError

_REST = "Other settings"
_PREFIX = "/attributes"


@dataclass(frozen=True, slots=True)
class FieldGroup:
    """Fields under one title; the title is empty if the form has one group only."""

    title: str
    fields: tuple[FormField, ...]


def in_groups(fields: Sequence[FormField], hints: Mapping[str, Any]) -> list[FieldGroup]:
    """Return the fields in their groups. Each field is in exactly one."""
    named = [replace(field, label=label_of(field.pointer, hints)) for field in fields]
    groups, seen = [], set[str]()
    for title, beginnings in _hinted(hints) or _by_object(named):
        members = [field for start in beginnings for field in named if _begins(field.pointer, start)]
        own = tuple(field for field in dict.fromkeys(members) if field.pointer not in seen)
        seen.update(field.pointer for field in own)
        groups.append(FieldGroup(title, own))
    rest = tuple(field for field in named if field.pointer not in seen)
    groups.append(FieldGroup(_REST if seen else "", rest))
    return [group for group in groups if group.fields]


def with_errors(fields: Iterable[FormField], errors: Sequence[FieldError]) -> list[FormField]:
    """Return the fields with the messages about them or about a part of them."""
    return [replace(field, error=_messages(field.pointer, errors)) for field in fields]


def label_of(pointer: str, hints: Mapping[str, Any]) -> str:
    """Return a field's label: as hinted, or the words of its last name."""
    labels = hints.get("labels")
    label = labels.get(pointer) if isinstance(labels, Mapping) else None
    return label if isinstance(label, str) and label else words_of(pointer.rpartition("/")[2])


def words_of(name: str) -> str:
    """Return `max_parallelism` as `Max parallelism`."""
    words = name.replace("~1", "/").replace("~0", "~").replace("_", " ").strip()
    return words[:1].upper() + words[1:]


def _messages(pointer: str, errors: Sequence[FieldError]) -> str:
    about = [error for error in errors if _begins(error.pointer.removeprefix(_PREFIX), pointer)]
    return " ".join(f"{error.message} {error.hint}".strip() for error in about)


def _begins(pointer: str, start: str) -> bool:
    return pointer == start or pointer.startswith(f"{start}/")


def _hinted(hints: Mapping[str, Any]) -> list[tuple[str, list[str]]]:
    groups = hints.get("groups")
    return [
        (group["title"], [start for start in group["fields"] if isinstance(start, str)])
        for group in (groups if isinstance(groups, list) else [])
        if isinstance(group, Mapping)
        and isinstance(group.get("title"), str)
        and isinstance(group.get("fields"), list)
    ]


def _by_object(fields: Sequence[FormField]) -> list[tuple[str, list[str]]]:
    """Without hints, the fields of an object are a group."""
    nested = dict.fromkeys(field.pointer.split("/")[1] for field in fields if field.pointer.count("/") > 1)
    return [(words_of(name), [f"/{name}"]) for name in nested]
