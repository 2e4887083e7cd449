"""Kinds of objects for `get`, and their columns."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from cpctl.output import Column, Item
from cpctl.scopes import scope_text

_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def field(title: str, name: str = "", *, wide: bool = False) -> Column:
    key = name or title.lower()
    return Column(title, lambda item: item.get(key), wide)


def timestamp(title: str, name: str, *, wide: bool = False) -> Column:
    """Return a column with a time, rounded to seconds."""
    return Column(title, lambda item: _seconds(item.get(name)), wide)


def words(title: str, name: str, *, wide: bool = False) -> Column:
    return Column(title, lambda item: ",".join(item.get(name) or []), wide)


def recorded_name(item: Item) -> str:
    """Return the name in a record or event of an object whose id is a UUID; the id if there is none."""
    key = str(item.get("object_id", ""))
    if not _UUID.fullmatch(key):
        return key
    known: Item = next((item[part] for part in ("after", "before", "data") if item.get(part)), {})
    fields = ("name", "slug", str(item.get("object_type", "")))
    return next((str(known[name]) for name in fields if known.get(name)), key)


OBJECT = (Column("OBJECT", recorded_name), field("OBJECT ID", "object_id", wide=True))
SCOPE = Column("SCOPE", lambda item: scope_text(item.get("scope")))


def _seconds(at: Any) -> str:
    return str(at)[:19] + "Z" if at else ""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of objects. filters: parameters of its list. key: field to get an object by; empty if none.

    in_parts: slashes in a name separate segments of its path.
    """

    name: str
    path: str
    columns: Sequence[Column]
    aliases: tuple[str, ...] = ()
    filters: frozenset[str] = frozenset()
    key: str = "name"
    object_type: str = ""
    in_parts: bool = False
    name_of: Callable[[Item], str] | None = None

    def label(self, item: Item) -> str:
        return self.name_of(item) if self.name_of else str(item.get(self.key) or item.get("id", ""))
