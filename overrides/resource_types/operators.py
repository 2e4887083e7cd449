"""Resource types that operators define at run time: from a document to a ResourceType. Pure."""

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
from overrides.resource_types.definition import ResourceType
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

    The document has passed `shape.check_shape`; here is asked whether it makes sense.
    """
    if found := [*_bad_names(document), *schema_errors(document["schema"])]:
        raise _invalid(found)
    one = _read(document, version)
    if found := [*_bad_rules(document), *compilation_error(one.schema, "/schema"), *_bad_samples(one)]:
        raise _invalid(found)
    return _with_samples(one)


def restore(document: Mapping[str, Any], *, version: int) -> ResourceType:
    """Return the type that a stored document defines, without asking again whether it may be defined.

    Rules for definitions become stricter. A type that was legal is readable; where its schema cannot be
    compiled any more, checking says so, and no other type is touched.
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
        version=version,
    )


def _with_samples(one: ResourceType) -> ResourceType:
    return replace(one, defaults=one.read(one.defaults), example=one.read(one.example))


def _bad_names(document: Mapping[str, Any]) -> Iterator[FieldError]:
    name, key = document["name"], document.get("document_key") or camel(document["name"])
    if len(name) > 63 or not _NAME.fullmatch(name):
        yield FieldError("/name", "malformed", "A type's name is in snake_case, 63 characters at most.")
    elif name in RESERVED_NAMES:
        yield FieldError("/name", "reserved", f"{name!r} is the name of a path of the API.")
    if len(key) > 63 or not _DOCUMENT_KEY.fullmatch(key):
        yield FieldError("/document_key", "malformed", "A document key is in lowerCamelCase.")


def _rule(document: Mapping[str, Any]) -> MergeRule:
    said = document.get("merge", [])
    return MergeRule(
        Strategy(document["strategy"]),
        {path_of(one["path"]): one["key"] for one in said if one["rule"] == MERGE_BY_KEY and "key" in one},
        {path_of(one["path"]): Combine(one["rule"]) for one in said if one["rule"] != MERGE_BY_KEY},
    )


def path_of(pointer: str) -> SchemaPath:
    """A JSON Pointer as a schema path; the step `*` stands for any item or member."""
    return tuple(step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:])


def pointer_of(path: SchemaPath) -> str:
    return "".join(f"/{escape(step)}" for step in path)


def _not_at(document: Mapping[str, Any]) -> dict[Level, str]:
    levels = document.get("levels") or [level.name.lower() for level in Level]
    reason = document.get("levels_reason") or "its definition does not list this level."
    return {level: reason for level in Level if level.name.lower() not in levels}


def _bad_rules(document: Mapping[str, Any]) -> Iterator[FieldError]:
    seen: set[SchemaPath] = set()
    for index, one in enumerate(document.get("merge", [])):
        where, path = f"/merge/{index}", path_of(one["path"])
        if document["strategy"] == Strategy.REPLACE:
            yield FieldError(where, "no_effect", "A type that replaces has no rules for single paths.")
        if not path or path in seen:
            yield FieldError(f"{where}/path", "repeated_name", "Each path has one rule, and none is empty.")
        seen.add(path)
        if schema_at(document["schema"], path) is None:
            yield FieldError(
                f"{where}/path", "unknown_field", f"The schema declares nothing at {one['path']}."
            )
        if one["rule"] == MERGE_BY_KEY and ("key" not in one or ANY_ITEM in path):
            message = "merge_by_key wants `key`, the member that names an item, and a path without `*`."
            yield FieldError(f"{where}/key", "required", message)


def schema_at(schema: Mapping[str, Any], path: SchemaPath) -> Mapping[str, Any] | bool | None:
    """What the schema declares at the path; None if nothing. References are followed nowhere: say True."""
    at: Any = schema
    for step in path:
        if not isinstance(at, Mapping) or "$ref" in at:
            return True
        members = at.get("properties", {})
        any_member = at.get("additionalProperties", at.get("items"))
        at = members.get(step, any_member if any_member is not False else None)
        if at is None:
            return None
    return at if isinstance(at, Mapping) else True


def _bad_samples(one: ResourceType) -> Iterator[FieldError]:
    try:
        for pointer, sample in (("/defaults", one.defaults), ("/example", one.example)):
            if sample:
                yield from one.errors(one.read(sample, pointer), pointer)
        yield from one.resolved_errors(one.defaults, "/defaults") if one.defaults else ()
    except InvalidAttributes as error:
        yield from error.errors


def _invalid(found: list[FieldError]) -> InvalidTypeDefinition:
    more = f" And {len(found) - 1} more." if len(found) > 1 else ""
    return InvalidTypeDefinition(
        f"{found[0].pointer}: {found[0].message}{more}".removeprefix(": "), errors=found
    )
