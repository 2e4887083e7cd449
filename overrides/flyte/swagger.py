"""Swagger 2.0 of the supported calls, generated from flyteidl's descriptors.

FlyteAdmin serves such a document at the same path, with the same operation ids and proto names, so that
its users' client generators keep working.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any

from google.protobuf.descriptor import FieldDescriptor

from overrides.flyte.bindings import Binding
from overrides.flyte.calls import BINDINGS
from overrides.flyte.descriptors import EnumKind, Field, MessageKind

_SCALARS: dict[int, dict[str, str]] = {
    FieldDescriptor.CPPTYPE_BOOL: {"type": "boolean"},
    FieldDescriptor.CPPTYPE_INT32: {"type": "integer", "format": "int32"},
    FieldDescriptor.CPPTYPE_UINT32: {"type": "integer", "format": "int64"},
    FieldDescriptor.CPPTYPE_INT64: {"type": "string", "format": "int64"},
    FieldDescriptor.CPPTYPE_UINT64: {"type": "string", "format": "uint64"},
}
# Types with special JSON (protobuf's JSON mapping).
_WELL_KNOWN: dict[str, dict[str, Any]] = {
    "google.protobuf.BoolValue": {"type": "boolean"},
    "google.protobuf.Duration": {"type": "string"},
    "google.protobuf.Timestamp": {"type": "string", "format": "date-time"},
    "google.protobuf.Struct": {"type": "object"},
    "google.protobuf.Any": {"type": "object", "properties": {"@type": {"type": "string"}}},
}


@cache
def document() -> dict[str, Any]:
    definitions: dict[str, Any] = {}
    paths: dict[str, dict[str, Any]] = {}
    for binding in BINDINGS:
        paths.setdefault(binding.path, {})[binding.method.lower()] = _operation(binding, definitions)
    return {
        "swagger": "2.0",
        "info": {"title": "flyteidl/service/admin.proto", "version": "version not set"},
        "consumes": ["application/json"],
        "produces": ["application/json"],
        "tags": [{"name": "AdminService"}],
        "paths": paths,
        "definitions": definitions,
    }


def _operation(binding: Binding, definitions: dict[str, Any]) -> dict[str, Any]:
    return {
        "operationId": f"AdminService_{binding.rpc}",
        "tags": ["AdminService"],
        "parameters": list(_parameters(binding, definitions)),
        "responses": {
            "200": {
                "description": "A successful response.",
                "schema": _of(binding.response.DESCRIPTOR, definitions),
            }
        },
    }


def _parameters(binding: Binding, definitions: dict[str, Any]) -> Iterator[dict[str, Any]]:
    bound = [segment.strip("{}") for segment in binding.segments if segment.startswith("{")]
    for name in bound:
        yield {"name": name, "in": "path", "required": True, "type": "string"}
    if binding.has_body:
        schema = _of(binding.request.DESCRIPTOR, definitions)
        yield {"name": "body", "in": "body", "required": True, "schema": schema}
        return
    yield from _query(binding.request.DESCRIPTOR.fields, bound)


def _query(fields: Iterable[Field], bound: list[str], prefix: str = "") -> Iterator[dict[str, Any]]:
    for field in fields:
        name = f"{prefix}{field.name}"
        if field.message_type is not None:
            yield from _query(field.message_type.fields, bound, f"{name}.")
        elif name not in bound:
            yield {"name": name, "in": "query", "required": False, **_scalar(field)}


def _of(descriptor: MessageKind, definitions: dict[str, Any]) -> dict[str, Any]:
    if descriptor.full_name in _WELL_KNOWN:
        return _WELL_KNOWN[descriptor.full_name]
    name = descriptor.full_name.removeprefix("flyteidl.").replace(".", "")
    if name not in definitions:
        definitions[name] = {"type": "object"}
        definitions[name]["properties"] = {
            field.name: _field(field, definitions) for field in descriptor.fields
        }
    return {"$ref": f"#/definitions/{name}"}


def _field(field: Field, definitions: dict[str, Any]) -> dict[str, Any]:
    if field.message_type is not None and field.message_type.GetOptions().map_entry:
        value = field.message_type.fields_by_name["value"]
        return {"type": "object", "additionalProperties": _plain(value, definitions)}
    plain = _plain(field, definitions)
    return {"type": "array", "items": plain} if field.is_repeated else plain


def _plain(field: Field, definitions: dict[str, Any]) -> dict[str, Any]:
    return _of(field.message_type, definitions) if field.message_type is not None else _scalar(field)


def _scalar(field: Field) -> dict[str, Any]:
    if field.enum_type is not None:
        return _enum(field.enum_type)
    return dict(_SCALARS.get(field.cpp_type, {"type": "string"}))


def _enum(kind: EnumKind) -> dict[str, Any]:
    names = [value.name for value in kind.values]
    return {"type": "string", "enum": names, "default": kind.values_by_number[0].name}
