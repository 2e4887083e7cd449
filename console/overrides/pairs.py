"""Labels, environment variables and the like as rows of a name and a value. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from controlplane.errors import MalformedBody
from overrides.resolution.merging import REMOVE, Attributes

# In the place of a value: remove the inherited pair.
NONE = "~"
_KEYS = ("key", "name")

Row = tuple[str, str]


def rows_of(schema: Mapping[str, Any], value: Any) -> tuple[Row, ...] | None:
    """Return the pairs as rows; None if the schema or the value has another shape."""
    if key := _item_key(schema):
        return _rows_of_items(value, key) if isinstance(value, list) else None
    if not _is_map_of_text(schema) or not isinstance(value, Mapping):
        return None
    if not all(isinstance(text, str | None) and text != NONE for text in value.values()):
        return None
    return tuple((name, NONE if text is None else text) for name, text in value.items())


def are_pairs(schema: Mapping[str, Any]) -> bool:
    """Return whether values of the schema are pairs of a name and a text."""
    return _is_map_of_text(schema) or _item_key(schema) is not None


def value_of(schema: Mapping[str, Any], rows: Sequence[Row]) -> Any:
    """Return the value that the rows mean. Raises MalformedBody."""
    pairs: dict[str, str] = {}
    for name, text in rows:
        if not name and text:
            raise MalformedBody(f"The value {text[:40]} has no name. Type a name in its row.")
        if name in pairs:
            raise MalformedBody(f"{name[:80]} is set twice. Remove one of the two rows.")
        if name:
            pairs[name] = text
    key = _item_key(schema)
    if key is None:
        return {name: None if text == NONE else text for name, text in pairs.items()}
    return [_item(key, name, text) for name, text in pairs.items()]


def inherited_lines(schema: Mapping[str, Any], inherited: Any, rows: Sequence[Row]) -> tuple[str, ...]:
    """Return inherited pairs that no row replaces, as `name=value`."""
    own = {name for name, _ in rows}
    return tuple(f"{name}={text}" for name, text in rows_of(schema, inherited) or () if name not in own)


def _item(key: str, name: str, text: str) -> Attributes:
    return {key: name, REMOVE: True} if text == NONE else {key: name, "value": text}


def _rows_of_items(items: list[Any], key: str) -> tuple[Row, ...] | None:
    rows = [_row(item, key) for item in items]
    known = [row for row in rows if row is not None]
    distinct = {name for name, _ in known}
    return tuple(known) if len(known) == len(rows) == len(distinct) else None


def _row(item: Any, key: str) -> Row | None:
    name = item.get(key) if isinstance(item, Mapping) else None
    if not isinstance(name, str) or not name:
        return None
    if set(item) == {key, REMOVE}:
        return name, NONE
    text = item.get("value")
    is_plain = set(item) == {key, "value"} and isinstance(text, str) and text != NONE
    return (name, text) if is_plain else None


def _is_map_of_text(schema: Mapping[str, Any]) -> bool:
    members = schema.get("additionalProperties")
    return not schema.get("properties") and "object" in _types(schema) and _is_text(members)


def _item_key(schema: Mapping[str, Any]) -> str | None:
    """Return the name of the items' key if each item is a key and a text."""
    items = schema.get("items")
    members = items.get("properties") if isinstance(items, Mapping) else None
    if not isinstance(members, Mapping) or not _is_text(members.get("value")):
        return None
    names = set(members) - {REMOVE, "value"}
    return next((key for key in _KEYS if names == {key} and REMOVE in members), None)


def _is_text(schema: Any) -> bool:
    return isinstance(schema, Mapping) and "string" in _types(schema) and "enum" not in schema


def _types(schema: Mapping[str, Any]) -> set[str]:
    types = schema.get("type", [])
    return {types} if isinstance(types, str) else set(types)
