"""Terms such as `max_parallelism=10`: what somebody looks for among the values of overrides. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

from overrides.resolution.leaves import escape
from overrides.resource_types.operators import path_of

# A name may occur at many places of many types; more candidates than these cost more than they find.
MAX_DOCUMENTS = 60
_MAX_DEPTH = 10
# A step into every item of a list.
_ITEM = None

Steps = tuple[str | None, ...]


@dataclass(frozen=True, slots=True)
class ValueTerm:
    """A path and a value. path: steps from any place of a document. value: as typed."""

    path: tuple[str, ...]
    value: str

    @property
    def readings(self) -> tuple[Any, ...]:
        """Return the values that the text can mean: the text, and a number or truth value."""
        try:
            meant = json.loads(self.value)
        except (ValueError, RecursionError):
            return (self.value,)
        is_scalar = isinstance(meant, bool | int | float | str)
        return (self.value, meant) if is_scalar else (self.value,)


def parse_term(text: str) -> ValueTerm | None:
    """Return the term in `path=value`, or None if the text has another form.

    A path has dots, as in `limits.cpu`, or is a JSON Pointer (RFC 6901) for names with dots.
    """
    path, equals, value = (part.strip() for part in text.partition("="))
    steps = path_of(path) if path.startswith("/") else tuple(path.split("."))
    if not equals or not value or not all(steps) or len(steps) > _MAX_DEPTH:
        return None
    return ValueTerm(steps, value)


def documents_with(term: ValueTerm, schema: Mapping[str, Any]) -> list[Any]:
    """Return the smallest documents of a type that have the value, at each place that the path can mean."""
    places = dict.fromkeys([term.path, *_places(term.path, schema, ())])
    documents = (_document(place, value) for place in places for value in term.readings)
    return [document for _, document in zip(range(MAX_DOCUMENTS), documents, strict=False)]


def _places(path: tuple[str, ...], schema: Any, here: Steps) -> Iterator[Steps]:
    """Yield the places below a schema at which the path can begin."""
    if not isinstance(schema, Mapping) or len(here) > _MAX_DEPTH:
        return
    properties = schema.get("properties")
    members = properties if isinstance(properties, Mapping) else {}
    if path[0] in members or isinstance(schema.get("additionalProperties"), Mapping):
        yield (*here, *path)
    for name, member in members.items():
        yield from _places(path, member, (*here, name))
    yield from _places(path, schema.get("items"), (*here, _ITEM))


def _document(place: Steps, value: Any) -> Any:
    document = value
    for step in reversed(place):
        document = [document] if step is _ITEM else {step: document}
    return document


def setting_of(term: ValueTerm, attributes: Any) -> str:
    """Return the JSON Pointer of the first setting that has the value, or "".

    A setting ends at a list: what is in the list belongs to it.
    """
    return next((_pointer(path) for path in _holders(term, attributes, (), ())), "")


def _pointer(path: Steps) -> str:
    """Return the JSON Pointer of a path, up to the first step into a list."""
    return "".join(f"/{escape(step)}" for step in takewhile(lambda step: step is not _ITEM, path) if step)


def _holders(term: ValueTerm, value: Any, names: tuple[str, ...], path: Steps) -> Iterator[Steps]:
    """Yield the paths of the values that the term means. names: the path without steps into lists."""
    if names[-len(term.path) :] == term.path and _is_meant(term, value):
        yield path
    if isinstance(value, Mapping):
        for name, member in value.items():
            yield from _holders(term, member, (*names, name), (*path, name))
    elif isinstance(value, list):
        for item in value:
            yield from _holders(term, item, names, (*path, _ITEM))


def _is_meant(term: ValueTerm, value: Any) -> bool:
    """Return whether the value is one of the readings; true is not 1."""
    return any(type(value) is type(reading) and value == reading for reading in term.readings)
