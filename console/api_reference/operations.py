"""Operations of the OpenAPI document as a reader needs them: flat fields instead of references. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Document = Mapping[str, Any]
_METHODS = ("get", "post", "put", "patch", "delete")
# Deeper objects are named by their type alone.
_MAX_DEPTH = 4
_SUCCESS = "2"


@dataclass(frozen=True, slots=True)
class Field:
    """A parameter, or a field of a body. name: with dots, and [] after a list. type: in words."""

    name: str
    type: str
    is_required: bool
    description: str


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer by status. Errors have no fields: all are problem documents."""

    status: str
    description: str
    fields: tuple[Field, ...]
    example: str


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation. permission: empty if none is needed. example: of the body, as JSON."""

    id: str
    method: str
    path: str
    tag: str
    summary: str
    description: str
    permission: str
    is_deprecated: bool
    parameters: tuple[Field, ...]
    body: tuple[Field, ...]
    example: str
    answers: tuple[Answer, ...]

    def has_words(self, words: Sequence[str]) -> bool:
        """Return whether each word is in what the index shows, or in the id. words: in lower case."""
        text = f"{self.method} {self.path} {self.summary} {self.id}".lower()
        return all(word in text for word in words)


def operations(document: Document) -> Iterator[Operation]:
    """Yield all operations, in the document's order."""
    for path, item in document["paths"].items():
        for method in _METHODS:
            if method in item:
                yield _operation(document, path, method, item[method])


def _operation(document: Document, path: str, method: str, definition: Mapping[str, Any]) -> Operation:
    content = definition.get("requestBody", {}).get("content", {})
    return Operation(
        definition["operationId"],
        method.upper(),
        path,
        definition.get("tags", [""])[0],
        definition.get("summary", ""),
        definition.get("description", ""),
        definition.get("x-required-permission", ""),
        bool(definition.get("deprecated")),
        tuple(_parameter(each) for each in definition.get("parameters", ())),
        tuple(_fields_of(document, content)),
        _example(content),
        tuple(
            _answer(document, status, answer) for status, answer in definition.get("responses", {}).items()
        ),
    )


def _parameter(definition: Mapping[str, Any]) -> Field:
    words = f"{_words(definition.get('schema', {}))}, {definition['in']}"
    return Field(
        definition["name"], words, bool(definition.get("required")), definition.get("description", "")
    )


def _answer(document: Document, status: str, definition: Mapping[str, Any]) -> Answer:
    definition = _resolved(document, definition)
    content = definition.get("content", {}) if status.startswith(_SUCCESS) else {}
    fields = tuple(_fields_of(document, content))
    return Answer(status, definition.get("description", ""), fields, _example(content))


def _fields_of(document: Document, content: Mapping[str, Any]) -> Iterator[Field]:
    """Yield the fields of the first media type; the others have the same ones."""
    for media in list(content.values())[:1]:
        yield from _fields(document, media.get("schema", {}), "", ())


def _fields(
    document: Document, schema: Mapping[str, Any], above: str, references: tuple[str, ...]
) -> Iterator[Field]:
    schema, references = _followed(document, schema, references)
    if "items" in schema:
        yield from _fields(document, schema["items"], f"{above}[]" if above else "", references)
        return
    required = schema.get("required", ())
    for name, member in schema.get("properties", {}).items():
        path = f"{above}.{name}" if above else name
        resolved, below = _followed(document, member, references)
        description = member.get("description", resolved.get("description", ""))
        yield Field(path, _words(resolved), name in required, description)
        if path.count(".") < _MAX_DEPTH - 1 and len(below) == len(set(below)):
            yield from _fields(document, member, path, references)


def _followed(
    document: Document, schema: Mapping[str, Any], references: tuple[str, ...]
) -> tuple[Mapping[str, Any], tuple[str, ...]]:
    """Return what a schema refers to, and the references that led there."""
    for part in (schema, *schema.get("allOf", ())[:1], *schema.get("oneOf", ())[:1]):
        if "$ref" in part:
            return _resolved(document, part), (*references, part["$ref"])
    return schema, references


def _resolved(document: Document, definition: Mapping[str, Any]) -> Mapping[str, Any]:
    if "$ref" not in definition:
        return definition
    target: Any = document
    for step in definition["$ref"].removeprefix("#/").split("/"):
        target = target[step]
    resolved: Mapping[str, Any] = target
    return resolved


def _words(schema: Mapping[str, Any]) -> str:
    """Return the type in words, such as `text, at most 63 characters` or `one of asc, desc`."""
    if choices := schema.get("enum", schema.get("x-extensible-enum")):
        return f"one of {', '.join(str(choice) for choice in choices)}"
    if "items" in schema:
        return f"list of {_words(schema['items'])}"
    words = {"string": schema.get("format", "text"), "integer": "whole number", "": "any"}
    kind = str(schema.get("type", "object" if "$ref" in schema else ""))
    limit = f", at most {schema['maxLength']} characters" if "maxLength" in schema else ""
    return f"{words.get(kind, kind)}{limit}"


def _example(content: Mapping[str, Any]) -> str:
    for media in content.values():
        for example in media.get("examples", {}).values():
            value = example.get("value")
            return value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False)
    return ""
