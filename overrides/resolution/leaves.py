"""Leaves: the single values of a document, each with its path. Pure.

A path names items of keyed lists by their key, and items of append-unique lists by their value, never by
their index, so that the same value has the same path in every layer. `pointer` turns a path into the
JSON Pointer (RFC 6901) in one document.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from overrides.resolution.merging import ANY_ITEM, REMOVE, Combine, MergeRule, SchemaPath, canonical, key_of


@dataclass(frozen=True, slots=True)
class NamedStep:
    """One step of a path: the item whose `key` member is `name`."""

    key: str
    name: str


@dataclass(frozen=True, slots=True)
class ElementStep:
    """One step of a path: the item of an append-unique list that equals this, as canonical JSON."""

    value: str


Path = tuple[str | NamedStep | ElementStep, ...]
ABSENT: Any = object()


def leaves(document: Any, rule: MergeRule, path: Path = ()) -> list[tuple[Path, Any]]:
    """Return every leaf. Empty objects and lists are leaves: they are explicit values.

    An item with `$remove` is a leaf with the value None, like a removed member.
    """
    found: list[tuple[Path, Any]] = []
    _add_leaves(found, document, rule, path)
    return found


def _add_leaves(found: list[tuple[Path, Any]], document: Any, rule: MergeRule, path: Path) -> None:
    # One list for all is half the work of nested generators.
    if isinstance(document, dict) and document:
        if document.get(REMOVE) is True:
            found.append((path, None))
            return
        for name, value in document.items():
            _add_leaves(found, value, rule, (*path, name))
    elif isinstance(document, list) and document:
        _add_leaves_of_list(found, document, rule, path)
    else:
        found.append((path, document))


def has_removal(document: Any) -> bool:
    """Return whether there may be a leaf with the value None: quicker than a look at each leaf."""
    if isinstance(document, dict):
        return document.get(REMOVE) is True or any(map(has_removal, document.values()))
    return document is None or (isinstance(document, list) and any(map(has_removal, document)))


def schema_path(path: Path) -> SchemaPath:
    """Return the path as merge rules write it, with `*` for any item."""
    return tuple(step if isinstance(step, str) else ANY_ITEM for step in path)


def value_at(document: Any, path: Path) -> Any:
    """Return the value at the path, which may be a subtree, or ABSENT."""
    for step in path:
        if not isinstance(step, str):
            document = _item(document, step)
        elif isinstance(document, dict):
            document = document.get(step, ABSENT)
        else:
            return ABSENT
        if document is ABSENT:
            return ABSENT
        if isinstance(document, dict) and document.get(REMOVE) is True:
            document = None
    return document


def pointer(document: Any, path: Path) -> str:
    """Return the JSON Pointer of the path in this document; steps that do not exist appear by name."""
    steps = []
    for step in path:
        if isinstance(step, str):
            steps.append(escape(step))
            document = document.get(step, ABSENT) if isinstance(document, dict) else ABSENT
        else:
            steps.append(_index(document, step))
            document = _item(document, step)
    return "".join(f"/{step}" for step in steps)


def name_of(path: Path) -> str:
    """Return a pointer that names items by key instead of index: the same in every version of a document."""
    return pointer(ABSENT, path)


def leaf_names(document: Any, rule: MergeRule) -> list[str]:
    """Return `name_of` each leaf, in the order of `leaves`, at a tenth of the cost for most types."""
    if rule.keyed_lists or rule.combine:
        return [name_of(path) for path, _ in leaves(document, rule)]
    return _names_below(document, "")


def _names_below(document: Any, name: str) -> list[str]:
    """Return the names of leaves where lists are leaves as a whole."""
    if not isinstance(document, dict) or not document or document.get(REMOVE) is True:
        return [name]
    names = []
    for member, value in document.items():
        below = f"{name}/{escape(member)}"
        names += _names_below(value, below) if isinstance(value, dict) else [below]
    return names


def without(document: Any, path: Path) -> Any:
    """Return the document without the value at the path and without objects and lists that become empty.

    ABSENT if nothing is left. A keyed item with nothing but its key is removed as well.
    """
    if not path:
        return ABSENT
    step, rest = path[0], path[1:]
    if isinstance(document, dict) and isinstance(step, str):
        if step not in document:
            return document
        below = without(document[step], rest)
        remaining = {name: value for name, value in document.items() if name != step}
        result = remaining if below is ABSENT else {**document, step: below}
        return result or ABSENT
    if isinstance(document, list) and not isinstance(step, str):
        return _without_item(document, step, rest)
    return document


def escape(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")


def _add_leaves_of_list(
    found: list[tuple[Path, Any]], document: list[Any], rule: MergeRule, path: Path
) -> None:
    schema_location = schema_path(path)
    if key := rule.keyed_lists.get(schema_location):
        for item in document:
            _add_leaves(found, item, rule, (*path, NamedStep(key, str(key_of(item, key)))))
    elif rule.combine_at(schema_location) is Combine.APPEND_UNIQUE:
        elements = {canonical(item): item for item in document}
        found += [((*path, ElementStep(text)), item) for text, item in elements.items()]
    else:
        found.append((path, document))


def _without_item(document: list[Any], step: NamedStep | ElementStep, rest: Path) -> Any:
    items = []
    for item in document:
        # Removing the key of an item removes the item: without a name it cannot be merged.
        is_name = isinstance(step, NamedStep) and rest == (step.key,)
        remaining = without(item, () if is_name else rest) if _matches_step(item, step) else item
        if remaining is item or not (remaining is ABSENT or _only_named(remaining, step)):
            items.append(remaining)
    return items or ABSENT


def _only_named(item: Any, step: NamedStep | ElementStep) -> bool:
    return isinstance(step, NamedStep) and set(item) == {step.key}


def _matches_step(item: Any, step: NamedStep | ElementStep) -> bool:
    if isinstance(step, NamedStep):
        return key_of(item, step.key) == step.name
    return canonical(item) == step.value


def _item(document: Any, step: NamedStep | ElementStep) -> Any:
    if not isinstance(document, list):
        return ABSENT
    return next((item for item in document if _matches_step(item, step)), ABSENT)


def _index(document: Any, step: NamedStep | ElementStep) -> str:
    for index, item in enumerate(document if isinstance(document, list) else ()):
        if _matches_step(item, step):
            return str(index)
    if isinstance(step, NamedStep):
        return f"[{step.key}={escape(step.name)}]"
    return f"[{escape(step.value)}]"
