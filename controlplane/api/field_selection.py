"""Which fields of its items a list returns: `view`, and `only` and `omit` with dotted paths. Pure."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from controlplane.errors import FieldError, InvalidRequest

# More would cost more than they save.
_MOST_PATHS, _MOST_CHARACTERS = 50, 2000
BASIC, FULL = "basic", "full"
VIEWS = (BASIC, FULL)
Path = tuple[str, ...]


class Kind(Enum):
    """What a field holds. ANY: not known from the schema."""

    VALUE = "value"
    OBJECT = "object"
    LIST = "list"
    MAP = "map"
    ANY = "any"


@dataclass(frozen=True, slots=True)
class Shape:
    """What the schema says of a field. parts: by name, of an object or of each object in a list."""

    kind: Kind = Kind.VALUE
    parts: Mapping[str, Shape] = field(default_factory=dict)

    @property
    def has_known_parts(self) -> bool:
        return self.kind is Kind.VALUE or bool(self.parts)

    def basic_paths(self, above: Path = ()) -> Iterator[Path]:
        """Yield the paths of all values outside lists and maps: what `view=basic` returns."""
        for name, part in self.parts.items():
            path = (*above, name)
            if part.kind is Kind.OBJECT and part.parts:
                yield from part.basic_paths(path)
            elif part.kind in (Kind.VALUE, Kind.ANY):
                yield path


@dataclass(frozen=True, slots=True)
class FieldSelection:
    """only: paths to keep, all if empty. omit: paths to leave out, also of those that are kept."""

    only: tuple[Path, ...] = ()
    omit: tuple[Path, ...] = ()

    def check(self, item: Shape) -> None:
        """Raise InvalidRequest with each path that items of this shape cannot have."""
        errors = [
            error
            for name, paths in (("only", self.only), ("omit", self.omit))
            for path in paths
            if (error := _unknown_part(name, path, item))
        ]
        if errors:
            raise InvalidRequest(errors[0].message, errors=errors)

    def of(self, item: Mapping[str, Any]) -> dict[str, Any]:
        """Return the selected part of an item."""
        kept = _kept(item, self.only) if self.only else item
        return dict(_without(kept, self.omit))


def read_selection(only: str, omit: str, view: str, item: Shape) -> FieldSelection:
    """Parse paths that are separated by commas, such as `name,scope.project`. Raises InvalidRequest.

    view: one of VIEWS; `only` takes its place.
    """
    selection = FieldSelection(_paths("only", only), _paths("omit", omit))
    selection.check(item)
    if view == BASIC and not selection.only:
        return FieldSelection(tuple(item.basic_paths()), selection.omit)
    return selection


def _paths(name: str, text: str) -> tuple[Path, ...]:
    words = [word.strip() for word in text.split(",") if word.strip()]
    if len(words) > _MOST_PATHS or len(text) > _MOST_CHARACTERS:
        raise _invalid(name, f"{name} takes at most {_MOST_PATHS} fields in {_MOST_CHARACTERS} characters.")
    return tuple(tuple(word.split(".")) for word in words)


def _unknown_part(name: str, path: Path, item: Shape) -> FieldError | None:
    """Return the error of the first part of a path that the schema does not have."""
    for depth, part in enumerate(path):
        if not item.has_known_parts:
            return None
        if part not in item.parts:
            return _unknown_field(name, path[: depth + 1], item)
        item = item.parts[part]
    return None


def _unknown_field(name: str, path: Path, holder: Shape) -> FieldError:
    above = ".".join(path[:-1])
    allowed = tuple(f"{above}.{part}" if above else part for part in holder.parts)
    nearest = difflib.get_close_matches(path[-1], holder.parts, n=1, cutoff=0.6)
    hint = f"Did you mean {'.'.join((*path[:-1], nearest[0]))!r}?" if nearest else ""
    message = f"There is no field {'.'.join(path)[:80]!r}. {hint}".strip()
    return FieldError(f"?{name}", "unknown_field", message, hint=hint, allowed=allowed)


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


def _invalid(name: str, message: str) -> InvalidRequest:
    return InvalidRequest(message, errors=[FieldError(f"?{name}", "too_many_fields", message)])
