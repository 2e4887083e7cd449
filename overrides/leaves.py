"""Leaves: the single values of a document, each at its path. Pure.

A path names items of keyed lists by their key and not by their index, so that the same value has the
same path in every layer. `pointer` turns a path into the JSON Pointer (RFC 6901) in one document.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from overrides.merging import ANY_ITEM, REMOVE, MergeRule, key_of


@dataclass(frozen=True, slots=True)
class Named:
    """One step of a path: the item whose `key` member is `name`."""

    key: str
    name: str


Path = tuple[str | Named, ...]
ABSENT: Any = object()


def leaves(document: Any, rule: MergeRule, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Yield every leaf. Empty objects and lists are leaves: they are values that somebody set.

    An item with `$remove` is a leaf with the value None, as a removed member is.
    """
    if isinstance(document, Mapping) and document:
        if document.get(REMOVE) is True:
            yield path, None
            return
        for name, value in document.items():
            yield from leaves(value, rule, (*path, name))
    elif key := _key(document, rule, path):
        for item in document:
            yield from leaves(item, rule, (*path, Named(key, str(key_of(item, key)))))
    else:
        yield path, document


def value_at(document: Any, path: Path) -> Any:
    """Return what the document states at the path (a whole subtree, perhaps), or ABSENT."""
    for step in path:
        if isinstance(step, Named):
            document = _item(document, step)
        elif isinstance(document, Mapping):
            document = document.get(step, ABSENT)
        else:
            return ABSENT
        if document is ABSENT:
            return ABSENT
    if isinstance(document, Mapping) and document.get(REMOVE) is True:
        return None
    return document


def pointer(document: Any, path: Path) -> str:
    """JSON Pointer of the path in this document; a step that is not there is shown by its name."""
    steps = []
    for step in path:
        if isinstance(step, Named):
            steps.append(_index(document, step))
            document = _item(document, step)
        else:
            steps.append(_escape(step))
            document = document.get(step, ABSENT) if isinstance(document, Mapping) else ABSENT
    return "".join(f"/{step}" for step in steps)


def _key(document: Any, rule: MergeRule, path: Path) -> str | None:
    if not isinstance(document, list) or not document:
        return None
    schema_path = tuple(ANY_ITEM if isinstance(step, Named) else step for step in path)
    return rule.keyed_lists.get(schema_path)


def _item(document: Any, step: Named) -> Any:
    if not isinstance(document, list):
        return ABSENT
    return next((item for item in document if key_of(item, step.key) == step.name), ABSENT)


def _index(document: Any, step: Named) -> str:
    for index, item in enumerate(document if isinstance(document, list) else ()):
        if key_of(item, step.key) == step.name:
            return str(index)
    return f"[{step.key}={_escape(step.name)}]"


def _escape(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")
