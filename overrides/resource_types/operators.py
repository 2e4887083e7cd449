"""Resource types that operators define at run time: read a definition into a ResourceType. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from controlplane.errors import FieldError, InvalidAttributes, InvalidTypeDefinition
from controlplane.scopes import Level
from overrides.resolution.leaves import escape
from overrides.resolution.merging import ANY_ITEM, Combine, MergeRule, SchemaPath, Strategy
from overrides.resource_types.casing import camel
from overrides.resource_types.definition import Reference, ResourceType
from overrides.resource_types.partial import partial_schema
from overrides.resource_types.schema_admission import compilation_error, schema_errors
from overrides.resource_types.shape import MERGE_BY_KEY

# Paths below /api/v1/overrides/ that are not types.
RESERVED_NAMES = frozenset(
    {"blame", "diff", "document", "documents", "effective", "export", "revisions", "source", "types"}
)
_NAME = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")
_DOCUMENT_KEY = re.compile(r"[a-z][A-Za-z0-9]*")


def define(document: Mapping[str, Any], *, version: int) -> ResourceType:
    """Return the type that the document defines. Raises InvalidTypeDefinition with every error.

    The document has passed `shape.check_shape`; this function validates its meaning.
    """
    if errors := [*_name_errors(document), *schema_errors(document["schema"])]:
        raise _invalid(errors)
    resource_type = _read(document, version)
    if errors := [
        *_rule_errors(document),
        *_reference_errors(document),
        *compilation_error(resource_type.schema, "/schema"),
        *_sample_errors(resource_type),
    ]:
        raise _invalid(errors)
    return _with_samples(resource_type)


def restore(document: Mapping[str, Any], *, version: int) -> ResourceType:
    """Return the type that a stored document defines, without validating it again.

    Rules for definitions become stricter. A definition that was valid stays readable; if its schema no longer
    compiles, validation by it reports that, and other types are not affected.
    """
    return _with_samples(_read(document, version))


def _read(document: Mapping[str, Any], version: int) -> ResourceType:
    rule = _rule(document)
    return ResourceType(
        name=document["name"],
        number=None,
        title=document.get("title") or document["name"].replace("_", " ").capitalize(),
        meaning=document.get("meaning", ""),
        document_key=document.get("document_key") or camel(document["name"]),
        rule=rule,
        schema=partial_schema(document["schema"], rule),
        resolved_schema=document["schema"],
        example=document.get("example", {}),
        not_at=_not_at(document),
        defaults=document.get("defaults", {}),
        hints=document.get("hints", {}),
        references=tuple(_references(document)),
        version=version,
    )


def _with_samples(resource_type: ResourceType) -> ResourceType:
    return replace(
        resource_type,
        defaults=resource_type.read(resource_type.defaults),
        example=resource_type.read(resource_type.example),
    )


def _name_errors(document: Mapping[str, Any]) -> Iterator[FieldError]:
    name, key = document["name"], document.get("document_key") or camel(document["name"])
    if len(name) > 63 or not _NAME.fullmatch(name):
        yield FieldError(
            "/name", "malformed", "A type's name must be in snake_case and have at most 63 characters."
        )
    elif name in RESERVED_NAMES:
        yield FieldError(
            "/name", "reserved", f"{name!r} is reserved for a path of the API. Choose another name."
        )
    if len(key) > 63 or not _DOCUMENT_KEY.fullmatch(key):
        yield FieldError(
            "/document_key",
            "malformed",
            "A document key must be in lowerCamelCase and have at most 63 characters.",
        )


def _rule(document: Mapping[str, Any]) -> MergeRule:
    rules = document.get("merge", [])
    return MergeRule(
        Strategy(document["strategy"]),
        {
            path_of(rule["path"]): rule["key"]
            for rule in rules
            if rule["rule"] == MERGE_BY_KEY and "key" in rule
        },
        {path_of(rule["path"]): Combine(rule["rule"]) for rule in rules if rule["rule"] != MERGE_BY_KEY},
    )


def _references(document: Mapping[str, Any]) -> Iterator[Reference]:
    for each in document.get("references", []):
        yield Reference(each["resource_type"], path_of(each["path"]), path_of(each["to"]))


def _reference_errors(document: Mapping[str, Any]) -> Iterator[FieldError]:
    for index, each in enumerate(document.get("references", [])):
        members = {"to": each["to"]} | (
            {"path": each["path"]} if each["resource_type"] == document["name"] else {}
        )
        for member, pointer in members.items():
            if schema_at(document["schema"], path_of(pointer)) is None:
                message = f"The schema does not declare {pointer}."
                yield FieldError(f"/references/{index}/{member}", "unknown_field", message)


def path_of(pointer: str) -> SchemaPath:
    """Return a JSON Pointer as a schema path; the step `*` matches any item or member."""
    return tuple(step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:])


def pointer_of(path: SchemaPath) -> str:
    return "".join(f"/{escape(step)}" for step in path)


def _not_at(document: Mapping[str, Any]) -> dict[Level, str]:
    levels = document.get("levels") or [level.name.lower() for level in Level]
    reason = document.get("levels_reason") or "its definition does not list this level."
    return {level: reason for level in Level if level.name.lower() not in levels}


def _rule_errors(document: Mapping[str, Any]) -> Iterator[FieldError]:
    paths: set[SchemaPath] = set()
    for index, rule in enumerate(document.get("merge", [])):
        location, path = f"/merge/{index}", path_of(rule["path"])
        if document["strategy"] == Strategy.REPLACE:
            yield FieldError(
                location, "no_effect", "A type with the strategy replace cannot have rules for single paths."
            )
        if not path or path in paths:
            yield FieldError(
                f"{location}/path", "repeated_name", "Each path must have one rule and must not be empty."
            )
        paths.add(path)
        if schema_at(document["schema"], path) is None:
            yield FieldError(
                f"{location}/path", "unknown_field", f"The schema does not declare {rule['path']}."
            )
        if rule["rule"] == MERGE_BY_KEY and ("key" not in rule or ANY_ITEM in path):
            message = "merge_by_key needs `key`, the member that names an item, and a path without `*`."
            yield FieldError(f"{location}/key", "required", message)


def schema_at(schema: Mapping[str, Any], path: SchemaPath) -> Mapping[str, Any] | bool | None:
    """Return the schema declared at the path; None if there is none. True below a reference."""
    subschema: Any = schema
    for step in path:
        if not isinstance(subschema, Mapping) or "$ref" in subschema:
            return True
        members = subschema.get("properties", {})
        any_member = subschema.get("additionalProperties", subschema.get("items"))
        subschema = members.get(step, any_member if any_member is not False else None)
        if subschema is None:
            return None
    return subschema if isinstance(subschema, Mapping) else True


def _sample_errors(resource_type: ResourceType) -> Iterator[FieldError]:
    try:
        for pointer, sample in (("/defaults", resource_type.defaults), ("/example", resource_type.example)):
            if sample:
                yield from resource_type.errors(resource_type.read(sample, pointer), pointer)
        yield from (
            resource_type.resolved_errors(resource_type.defaults, "/defaults")
            if resource_type.defaults
            else ()
        )
    except InvalidAttributes as error:
        yield from error.errors


def _invalid(errors: list[FieldError]) -> InvalidTypeDefinition:
    more = f" And {len(errors) - 1} more." if len(errors) > 1 else ""
    return InvalidTypeDefinition(
        f"{errors[0].pointer}: {errors[0].message}{more}".removeprefix(": "), errors=errors
    )
