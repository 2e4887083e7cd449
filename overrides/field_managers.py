"""Who manages which value of an override: several managers can share one without undoing each other. Pure.

A manager is a name that a client gives itself, such as "git" or "terraform:ml". Each leaf of a stored
document may have managers; a leaf without any is anybody's. The idea is Kubernetes' server-side apply.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass
from typing import Any

from overrides.resolution.leaves import ABSENT, Element, Named, Path, leaves, name_of, schema_path
from overrides.resolution.merging import REMOVE, Attributes, Combine, MergeRule, SchemaPath, canonical, key_of

# Leaf (as `name_of` writes it) -> the managers, sorted.
Owners = Mapping[str, list[str]]


@dataclass(frozen=True, slots=True)
class Claimed:
    """A leaf that a write would change although somebody else manages it."""

    leaf: str
    managers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What would stand after a write. attributes: None where nothing is left. claimed: who objects."""

    attributes: Attributes | None
    owners: Owners
    claimed: tuple[Claimed, ...]


def replaced(
    current: Attributes | None, owners: Owners, wanted: Attributes | None, rule: MergeRule, manager: str
) -> Outcome:
    """A write that says the whole document: PUT, PATCH, DELETE (wanted is None)."""
    before, after = _leaves(current, rule), _leaves(wanted, rule)
    changed = {path for path in {*before, *after} if not _same(before, after, path)}
    claimed = [_claim(path, owners, manager) for path in changed if path in before]
    kept = {name_of(path): owners.get(name_of(path), []) for path in after if path not in changed}
    taken = {name_of(path): [manager] for path in after if path in changed and manager}
    return Outcome(wanted, _tidy({**kept, **taken}), _sorted(claimed))


def applied(
    current: Attributes | None, owners: Owners, wanted: Attributes | None, rule: MergeRule, manager: str
) -> Outcome:
    """A write that says only what its manager wants: what others manage stays.

    What the manager wanted before and wants no more is taken out, unless it is shared.
    """
    # Of ten thousand documents most are new, or say what stands.
    if wanted is not None and current is None:
        return Outcome(wanted, {name_of(path): [manager] for path, _ in leaves(wanted, rule)}, ())
    if _says_again(current, owners, wanted, rule, manager):
        return Outcome(current, owners, ())
    return laid_over(current, owners, wanted, rule, manager)


def laid_over(
    current: Attributes | None, owners: Owners, wanted: Attributes | None, rule: MergeRule, manager: str
) -> Outcome:
    """The outcome of `applied`, leaf by leaf."""
    before, after = _leaves(current, rule), _leaves(wanted, rule)
    given_up = {path for path in before if path not in after and manager in owners.get(name_of(path), ())}
    shared = {path for path in given_up if owners[name_of(path)] != [manager]}
    overruled = {
        path
        for path, value in before.items()
        if path not in after and value != {} and _in_the_way(path, after)
    }
    changed = _changed(before, after)
    claimed = [_claim(path, owners, manager) for path in overruled | changed]
    attributes: Any = (
        ABSENT if current is None else _without(current, (given_up - shared) | overruled, (), rule)
    )
    if wanted is not None:
        attributes = _overlay({} if attributes is ABSENT else attributes, wanted, (), rule)
    left = None if attributes is ABSENT else attributes
    found = {}
    for path in _leaves(left, rule):
        others = [one for one in owners.get(name_of(path), []) if one != manager]
        mine = [manager] if path in after else []
        found[name_of(path)] = mine if path in changed else [*others, *mine]
    return Outcome(left, _tidy(found), _sorted(claimed))


def unchanged_leaves(before: Attributes | None, after: Attributes, rule: MergeRule) -> set[Path]:
    """The leaves of `after` that stand in `before` with the same value."""
    earlier, later = _leaves(before, rule), _leaves(after, rule)
    return {path for path in later if _same(earlier, later, path)}


def managed_part(attributes: Attributes, owners: Owners, rule: MergeRule, manager: str) -> Attributes | None:
    """What of a document the manager manages; None if nothing. Applied by the manager, it changes nothing."""
    others = {path for path in _leaves(attributes, rule) if manager not in owners.get(name_of(path), ())}
    part: Any = _without(attributes, others, (), rule)
    return None if part is ABSENT else part


def _says_again(
    current: Attributes | None, owners: Owners, wanted: Attributes | None, rule: MergeRule, manager: str
) -> bool:
    """True if just what is wanted stands, and the manager manages all of it."""
    if canonical(current) != canonical(wanted) or not all(manager in one for one in owners.values()):
        return False
    return owners.keys() == {name_of(path) for path, _ in leaves(wanted, rule)}


def _changed(before: Mapping[Path, Any], after: Mapping[Path, Any]) -> set[Path]:
    return {path for path in after if path in before and not _same(before, after, path)}


def _in_the_way(path: Path, after: Mapping[Path, Any]) -> bool:
    """True if a wanted leaf lies above the path, or below it: both cannot stand. An empty object can."""
    if any(after.get(path[:length], {}) != {} for length in range(len(path))):
        return True
    return any(len(other) > len(path) and other[: len(path)] == path for other in after)


def _claim(path: Path, owners: Owners, manager: str) -> Claimed:
    return Claimed(name_of(path), tuple(one for one in owners.get(name_of(path), ()) if one != manager))


def _sorted(claimed: list[Claimed]) -> tuple[Claimed, ...]:
    return tuple(sorted((one for one in claimed if one.managers), key=lambda one: one.leaf))


def _tidy(owners: Mapping[str, list[str]]) -> Owners:
    return {leaf: sorted(set(managers)) for leaf, managers in owners.items() if managers}


def _leaves(document: Attributes | None, rule: MergeRule) -> dict[Path, Any]:
    return {} if document is None else dict(leaves(document, rule))


def _same(before: Mapping[Path, Any], after: Mapping[Path, Any], path: Path) -> bool:
    return path in before and path in after and canonical(before[path]) == canonical(after[path])


def _without(document: Any, gone: Set[Path], path: Path, rule: MergeRule) -> Any:
    """The document without these leaves, nor the objects and lists that this empties; ABSENT if all is gone.

    Unlike `leaves.without` it leaves an item that has only its key: that may be what somebody else says.
    """
    if path in gone:
        return ABSENT
    if isinstance(document, Mapping) and document:
        below = {name: _without(value, gone, (*path, name), rule) for name, value in document.items()}
        return {name: value for name, value in below.items() if value is not ABSENT} or ABSENT
    if isinstance(document, list) and document:
        below_list = [_without_in_item(item, gone, path, rule) for item in document]
        return [item for item in below_list if item is not ABSENT] or ABSENT
    return document


def _without_in_item(item: Any, gone: Set[Path], path: Path, rule: MergeRule) -> Any:
    where = schema_path(path)
    if key := rule.keyed_lists.get(where):
        path = (*path, Named(key, str(key_of(item, key))))
        left = _without(item, gone, path, rule)
        # What others say of an item goes on needing its name.
        return left if left is ABSENT or key in left else {key: item[key], **left}
    if rule.combine_at(where) is Combine.APPEND_UNIQUE:
        return _without(item, gone, (*path, Element(canonical(item))), rule)
    return item


def _overlay(document: Any, wanted: Any, path: SchemaPath, rule: MergeRule) -> Any:
    """As `merge`, within one stored document: nulls and `$remove` are kept, they are what is said here."""
    if isinstance(wanted, Mapping) and isinstance(document, Mapping):
        laid = dict(document)
        for name, value in wanted.items():
            laid[name] = _overlay(laid.get(name, ABSENT), value, (*path, name), rule)
        return laid
    if isinstance(wanted, list) and isinstance(document, list):
        return _overlay_list(document, wanted, path, rule)
    return wanted


def _overlay_list(document: list[Any], wanted: list[Any], path: SchemaPath, rule: MergeRule) -> list[Any]:
    if rule.combine_at(path) is Combine.APPEND_UNIQUE:
        return list({canonical(item): item for item in (*document, *wanted)}.values())
    if (key := rule.keyed_lists.get(path)) is None:
        return wanted
    laid = {key_of(item, key): item for item in document}
    for item in wanted:
        name = key_of(item, key)
        below = laid.get(name, ABSENT)
        fresh = REMOVE in item or (isinstance(below, Mapping) and REMOVE in below)
        laid[name] = item if fresh else _overlay(below, item, (*path, "*"), rule)
    return list(laid.values())
