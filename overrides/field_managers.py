"""Field managers: several managers can share an override without undoing each other's changes. Pure.

A manager is a name that a client chooses, such as "git" or "terraform:ml". Each leaf of a stored document
can have managers; anybody may change a leaf without managers. Modelled on Kubernetes' server-side apply.
HAND is the manager of an apply without a name: it removes what it set and no longer states, as others do, but
reserves nothing. So a value that a person applied can be edited in the console, and an export that is applied
again changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass
from typing import Any

from overrides.resolution.leaves import (
    ABSENT,
    ElementStep,
    NamedStep,
    Path,
    leaf_names,
    leaves,
    name_of,
    schema_path,
)
from overrides.resolution.merging import REMOVE, Attributes, Combine, MergeRule, SchemaPath, canonical, key_of

HAND = "api"
# Leaf (as `name_of` writes it) -> the managers, sorted.
Owners = Mapping[str, list[str]]


@dataclass(frozen=True, slots=True)
class FieldConflict:
    """A leaf that a write would change although another manager manages it."""

    leaf: str
    managers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class WriteOutcome:
    """The result of a write. attributes: None if nothing is left. conflicts: leaves of other managers."""

    attributes: Attributes | None
    owners: Owners
    conflicts: tuple[FieldConflict, ...]


def replace_attributes(
    current: Attributes | None, owners: Owners, stated: Attributes | None, rule: MergeRule, manager: str
) -> WriteOutcome:
    """Write the whole document: PUT, PATCH, DELETE (stated is None)."""
    before, after = _leaves(current, rule), _leaves(stated, rule)
    changed = {path for path in {*before, *after} if not _same(before, after, path)}
    conflicts = [_conflict(path, owners, manager) for path in changed if path in before]
    unchanged = {name_of(path): owners.get(name_of(path), []) for path in after if path not in changed}
    owned = {name_of(path): [manager] for path in after if path in changed and manager}
    return WriteOutcome(stated, _without_unmanaged({**unchanged, **owned}), _sorted(conflicts))


def apply_attributes(
    current: Attributes | None, owners: Owners, stated: Attributes | None, rule: MergeRule, manager: str
) -> WriteOutcome:
    """Write only what the manager states: values of other managers stay.

    Values that the manager stated before and no longer states are removed, unless they are shared.
    """
    # Most of ten thousand documents are new or unchanged.
    if stated is not None and current is None:
        return WriteOutcome(stated, {name: [manager] for name in leaf_names(stated, rule)}, ())
    if _is_repeated(current, owners, stated, rule, manager):
        return WriteOutcome(current, owners, ())
    return overlay_attributes(current, owners, stated, rule, manager)


def manages_alone(current: Attributes | None, owners: Owners, rule: MergeRule, manager: str) -> bool:
    """Return whether a new statement of the manager replaces the whole document.

    It does if the manager alone manages every leaf, and no leaf is an item of a list: items that are stated
    again keep their order. Not for documents with `$remove`.
    """
    if rule.keyed_lists or rule.combine or any(managers != [manager] for managers in owners.values()):
        return False
    return owners.keys() == set(leaf_names(current, rule))


def overlay_attributes(
    current: Attributes | None, owners: Owners, stated: Attributes | None, rule: MergeRule, manager: str
) -> WriteOutcome:
    """Compute `apply_attributes` leaf by leaf."""
    before, after = _leaves(current, rule), _leaves(stated, rule)
    given_up = {path for path in before if path not in after and manager in owners.get(name_of(path), ())}
    shared = {path for path in given_up if owners[name_of(path)] != [manager]}
    overruled = {
        path
        for path, value in before.items()
        if path not in after and value != {} and _in_the_way(path, after)
    }
    changed = _changed(before, after)
    conflicts = [_conflict(path, owners, manager) for path in overruled | changed]
    attributes: Any = (
        ABSENT if current is None else _without(current, (given_up - shared) | overruled, (), rule)
    )
    if stated is not None:
        attributes = _overlay({} if attributes is ABSENT else attributes, stated, (), rule)
    remaining = None if attributes is ABSENT else attributes
    managers_by_leaf = {}
    for path in _leaves(remaining, rule):
        other_managers = [name for name in owners.get(name_of(path), []) if name != manager]
        claimed = path in after and _claims(manager, path, before, changed, owners)
        own_manager = [manager] if claimed else []
        managers_by_leaf[name_of(path)] = own_manager if path in changed else [*other_managers, *own_manager]
    return WriteOutcome(remaining, _without_unmanaged(managers_by_leaf), _sorted(conflicts))


def leaves_by_manager(owners: Owners) -> dict[str, tuple[str, ...]]:
    """Return the leaves that each manager reserves, sorted. HAND reserves none."""
    managers = sorted({manager for names in owners.values() for manager in names} - {HAND})
    return {
        manager: tuple(sorted(leaf for leaf, names in owners.items() if manager in names))
        for manager in managers
    }


def unchanged_leaves(before: Attributes | None, after: Attributes, rule: MergeRule) -> set[Path]:
    """Return the leaves of `after` that have the same value in `before`."""
    earlier, later = _leaves(before, rule), _leaves(after, rule)
    return {path for path in later if _same(earlier, later, path)}


def managed_part(attributes: Attributes, owners: Owners, rule: MergeRule, manager: str) -> Attributes | None:
    """Return the values that the manager manages, or None. Applying them as the manager changes nothing."""
    unmanaged = {path for path in _leaves(attributes, rule) if manager not in owners.get(name_of(path), ())}
    part: Any = _without(attributes, unmanaged, (), rule)
    return None if part is ABSENT else part


def _is_repeated(
    current: Attributes | None, owners: Owners, stated: Attributes | None, rule: MergeRule, manager: str
) -> bool:
    """Return whether the statement equals the current document, and changes no manager."""
    is_owner = all(manager in managers for managers in owners.values())
    if not is_owner and manager != HAND:
        return False
    if current is not stated and canonical(current) != canonical(stated):
        return False
    return manager == HAND or owners.keys() == set(leaf_names(stated, rule))


def _claims(manager: str, path: Path, before: Mapping[Path, Any], changed: Set[Path], owners: Owners) -> bool:
    """Return whether the manager manages a stated leaf from now on. HAND leaves equal values as they are."""
    return manager != HAND or path not in before or path in changed or HAND in owners.get(name_of(path), ())


def _changed(before: Mapping[Path, Any], after: Mapping[Path, Any]) -> set[Path]:
    return {path for path in after if path in before and not _same(before, after, path)}


def _in_the_way(path: Path, after: Mapping[Path, Any]) -> bool:
    """Return whether a stated leaf above or below the path rules the path out. Empty objects do not."""
    if any(after.get(path[:length], {}) != {} for length in range(len(path))):
        return True
    return any(len(other) > len(path) and other[: len(path)] == path for other in after)


def _conflict(path: Path, owners: Owners, manager: str) -> FieldConflict:
    managers = owners.get(name_of(path), ())
    return FieldConflict(name_of(path), tuple(name for name in managers if name not in (manager, HAND)))


def _sorted(conflicts: list[FieldConflict]) -> tuple[FieldConflict, ...]:
    return tuple(
        sorted((conflict for conflict in conflicts if conflict.managers), key=lambda conflict: conflict.leaf)
    )


def _without_unmanaged(owners: Mapping[str, list[str]]) -> Owners:
    return {leaf: sorted(set(managers)) for leaf, managers in owners.items() if managers}


def _leaves(document: Attributes | None, rule: MergeRule) -> dict[Path, Any]:
    return {} if document is None else dict(leaves(document, rule))


def _same(before: Mapping[Path, Any], after: Mapping[Path, Any], path: Path) -> bool:
    return path in before and path in after and canonical(before[path]) == canonical(after[path])


def _without(document: Any, removed: Set[Path], path: Path, rule: MergeRule) -> Any:
    """Return the document without these leaves and emptied objects and lists; ABSENT if nothing is left.

    Unlike `leaves.without`, keep an item that has only its key: another manager may have stated it.
    """
    if path in removed:
        return ABSENT
    if isinstance(document, Mapping) and document:
        below = {name: _without(value, removed, (*path, name), rule) for name, value in document.items()}
        return {name: value for name, value in below.items() if value is not ABSENT} or ABSENT
    if isinstance(document, list) and document:
        below_list = [_without_in_item(item, removed, path, rule) for item in document]
        return [item for item in below_list if item is not ABSENT] or ABSENT
    return document


def _without_in_item(item: Any, removed: Set[Path], path: Path, rule: MergeRule) -> Any:
    location = schema_path(path)
    if key := rule.keyed_lists.get(location):
        path = (*path, NamedStep(key, str(key_of(item, key))))
        remaining = _without(item, removed, path, rule)
        # The item's other members still need its name.
        return remaining if remaining is ABSENT or key in remaining else {key: item[key], **remaining}
    if rule.combine_at(location) is Combine.APPEND_UNIQUE:
        return _without(item, removed, (*path, ElementStep(canonical(item))), rule)
    return item


def _overlay(document: Any, stated: Any, path: SchemaPath, rule: MergeRule) -> Any:
    """Merge like `merge`, within one stored document: nulls and `$remove` are kept as statements."""
    if isinstance(stated, Mapping) and isinstance(document, Mapping):
        merged = dict(document)
        for name, value in stated.items():
            merged[name] = _overlay(merged.get(name, ABSENT), value, (*path, name), rule)
        return merged
    if isinstance(stated, list) and isinstance(document, list):
        return _overlay_list(document, stated, path, rule)
    return stated


def _overlay_list(document: list[Any], stated: list[Any], path: SchemaPath, rule: MergeRule) -> list[Any]:
    if rule.combine_at(path) is Combine.APPEND_UNIQUE:
        return list({canonical(item): item for item in (*document, *stated)}.values())
    if (key := rule.keyed_lists.get(path)) is None:
        return stated
    merged = {key_of(item, key): item for item in document}
    for item in stated:
        name = key_of(item, key)
        below = merged.get(name, ABSENT)
        replaces_item = REMOVE in item or (isinstance(below, Mapping) and REMOVE in below)
        merged[name] = item if replaces_item else _overlay(below, item, (*path, "*"), rule)
    return list(merged.values())
