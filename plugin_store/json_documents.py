"""JSON documents of the store: read strictly, written canonically. Pure."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from typing import Any, Self

from plugin_store.errors import InvalidDocument, InvalidName


def write_document(content: Mapping[str, Any]) -> bytes:
    """The one way to write a document: sorted keys, two spaces, one final newline. Names may be no UTF-8."""
    return (json.dumps(content, sort_keys=True, indent=2, ensure_ascii=False) + "\n").encode(
        errors="backslashreplace"
    )


def object_of(value: Any) -> Any:
    """A dataclass, with those below it, as JSON: fields in camel case."""
    if is_dataclass(value):
        return {_camel_case(field.name): object_of(getattr(value, field.name)) for field in fields(value)}
    return [object_of(item) for item in value] if isinstance(value, tuple) else value


def _camel_case(field: str) -> str:
    first, *rest = field.split("_")
    return first + "".join(word.capitalize() for word in rest)


class Fields:
    """One object of a document. Each field is read once; `finish` refuses the rest."""

    def __init__(self, document: str, path: str, value: Any) -> None:
        self._document = document
        self._path = path
        if not isinstance(value, dict):
            raise self._invalid("", "is not an object")
        self._rest = dict(value)

    @classmethod
    def parse(cls, document: str, text: bytes) -> Self:
        """The top object of a document; raises InvalidDocument."""
        try:
            value = json.loads(text, object_pairs_hook=_without_duplicates, parse_constant=_refuse_constant)
        except (ValueError, RecursionError) as error:
            raise _invalid_document(document, f"It is no valid JSON ({error}).") from error
        return cls(document, "", value)

    def text(self, key: str, check: Callable[[str], str] | None = None) -> str:
        """A string, which `check` may refuse by InvalidName."""
        value = self._take(key, str)
        try:
            return str(value if check is None else check(value))
        except InvalidName as error:
            raise self._invalid(key, f"is invalid ({error.what} {error.why})") from error

    def optional_text(self, key: str, check: Callable[[str], str] | None = None) -> str | None:
        """A string or null."""
        if key in self._rest and self._rest[key] is None:
            del self._rest[key]
            return None
        return self.text(key, check)

    def number(self, key: str) -> int:
        """A whole number that is not negative."""
        value = self._take(key, int)
        if isinstance(value, bool) or value < 0:
            raise self._invalid(key, "is not a whole number from 0")
        return int(value)

    def objects(self, key: str) -> Iterator[Fields]:
        """The objects of a list."""
        for index, value in enumerate(self._take(key, list)):
            yield Fields(self._document, f"{self._path}/{key}/{index}", value)

    def optional_object(self, key: str) -> Fields | None:
        """An object or null."""
        value = self._take(key, dict, type(None))
        return None if value is None else Fields(self._document, f"{self._path}/{key}", value)

    def version(self, key: str, expected: int) -> None:
        """The version of the document, which must be the one that this program knows."""
        number = self.number(key)
        if number != expected:
            raise self._invalid(key, f"is {number}, and this program reads version {expected} only")

    @contextmanager
    def complete(self) -> Iterator[Self]:
        """Refuse fields that nothing has read."""
        yield self
        if self._rest:
            raise self._invalid(min(self._rest), "is unknown")

    def refuse(self, key: str, why: str) -> InvalidDocument:
        """The error for a field that contradicts another one."""
        return self._invalid(key, why)

    def _take(self, key: str, *types: type) -> Any:
        if key not in self._rest:
            raise self._invalid(key, "is missing")
        value = self._rest.pop(key)
        if not isinstance(value, types):
            raise self._invalid(key, f"is not of type {types[0].__name__}")
        return value

    def _invalid(self, key: str, why: str) -> InvalidDocument:
        place = f"{self._path}/{key}" if key else self._path or "/"
        return _invalid_document(self._document, f"Its field {place} {why}.")


def _invalid_document(document: str, why: str) -> InvalidDocument:
    return InvalidDocument(
        f"{document} cannot be used.", why=why, advice="Restore it from a backup or from version control."
    )


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) != len(pairs):
        raise ValueError("a key is there twice")
    return content


def _refuse_constant(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON")
