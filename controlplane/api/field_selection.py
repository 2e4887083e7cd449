"""Which fields of its items a list returns: `only` and `omit`, with dotted paths. Pure."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from controlplane.errors import FieldError, InvalidRequest

# More would cost more than they save.
_MOST_PATHS, _MOST_CHARACTERS = 50, 2000
Path = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FieldSelection:
    """only: paths to keep, all if empty. omit: paths to leave out, also of those that are kept."""

    only: tuple[Path, ...] = ()
    omit: tuple[Path, ...] = ()

    def of(self, item: Mapping[str, Any]) -> dict[str, Any]:
        """Return the selected part of an item. Raises InvalidRequest for a field that no item has."""
        _check("only", self.only, item)
        _check("omit", self.omit, item)
        kept = _kept(item, self.only) if self.only else item
        return dict(_without(kept, self.omit))


def read_selection(only: str, omit: str) -> FieldSelection:
    """Parse paths that are separated by commas, such as `name,scope.project`. Raises InvalidRequest."""
    return FieldSelection(_paths("only", only), _paths("omit", omit))


def _paths(name: str, text: str) -> tuple[Path, ...]:
    words = [word.strip() for word in text.split(",") if word.strip()]
    if len(words) > _MOST_PATHS or len(text) > _MOST_CHARACTERS:
        raise _invalid(name, f"{name} takes at most {_MOST_PATHS} fields in {_MOST_CHARACTERS} characters.")
    return tuple(tuple(word.split(".")) for word in words)


def _check(name: str, paths: Iterable[Path], item: Mapping[str, Any]) -> None:
    for path in paths:
        if path[0] not in item:
            nearest = difflib.get_close_matches(path[0], item, n=1, cutoff=0.5)
            hint = f"Did you mean {nearest[0]!r}?" if nearest else ""
            raise _invalid(name, f"There is no field {path[0][:80]!r}. {hint}".strip(), hint, tuple(item))


def _kept(item: Any, paths: Iterable[Path]) -> Any:
    """Return the parts of an item at the paths. A path leads into each item of a list."""
    if isinstance(item, list):
        return [_kept(each, paths) for each in item]
    if not isinstance(item, Mapping):
        return item
    below: dict[str, list[Path]] = {}
    for first, *rest in paths:
        below.setdefault(first, []).append(tuple(rest))
    return {
        name: value if () in below[name] else _kept(value, below[name])
        for name, value in item.items()
        if name in below
    }


def _without(item: Any, paths: Iterable[Path]) -> Any:
    if isinstance(item, list):
        return [_without(each, paths) for each in item]
    if not isinstance(item, Mapping) or not paths:
        return item
    below: dict[str, list[Path]] = {}
    for first, *rest in paths:
        below.setdefault(first, []).append(tuple(rest))
    return {
        name: _without(value, below[name]) if name in below else value
        for name, value in item.items()
        if () not in below.get(name, ())
    }


def _invalid(name: str, message: str, hint: str = "", allowed: tuple[str, ...] = ()) -> InvalidRequest:
    error = FieldError(f"?{name}", "unknown_field", message, hint=hint, allowed=allowed)
    return InvalidRequest(message, errors=[error])
