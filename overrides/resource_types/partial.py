"""Derive the schema of partial documents from the schema of effective attributes. Pure.

Absent members are inherited, so nothing is required, and any member can be null, which removes the inherited
value. Rules about an object as a whole (`required`, `minProperties`, `anyOf`, ...) apply to effective
attributes only; rules about single values apply everywhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from overrides.resolution.merging import ANY_ITEM, REMOVE, MergeRule, SchemaPath, Strategy

Schema = dict[str, Any]
# Keywords about an object as a whole.
_OF_WHOLE = {
    "required",
    "minProperties",
    "dependentRequired",
    "dependentSchemas",
    "if",
    "then",
    "else",
    "allOf",
    "anyOf",
    "oneOf",
    "not",
    "const",
    "enum",
    "unevaluatedProperties",
}


def partial_schema(schema: Mapping[str, Any], rule: MergeRule) -> Schema:
    """Return the schema of a partial document. A type that replaces is always set as a whole."""
    if rule.strategy is Strategy.REPLACE:
        return dict(schema)
    partial = _partial(schema, (), rule)
    if "$defs" in schema:
        partial["$defs"] = {name: _defined(definition, rule) for name, definition in schema["$defs"].items()}
    return partial


def _partial(schema: Any, path: SchemaPath, rule: MergeRule) -> Schema:
    if not isinstance(schema, Mapping):
        return {} if schema is True else {"not": {}}
    if path in rule.keyed_lists:
        return {**schema, "items": _named_item(schema.get("items", {}), path, rule)}
    if rule.unit_of((*path, ANY_ITEM)) <= len(path) or not _is_object(schema):
        return dict(schema)
    partial = {name: value for name, value in schema.items() if name not in _OF_WHOLE}
    for name in ("properties", "patternProperties"):
        if name in schema:
            partial[name] = {
                member: _or_null(_partial(below, (*path, member), rule))
                for member, below in schema[name].items()
            }
    if isinstance(schema.get("additionalProperties"), Mapping):
        partial["additionalProperties"] = _or_null(
            _partial(schema["additionalProperties"], (*path, ANY_ITEM), rule)
        )
    return partial


def _named_item(schema: Any, path: SchemaPath, rule: MergeRule) -> Schema:
    key = rule.keyed_lists[path]
    item = _partial(schema, (*path, ANY_ITEM), rule)
    declared = schema.get("properties", {}).get(key) if isinstance(schema, Mapping) else None
    item["properties"] = {
        **item.get("properties", {}),
        key: {"type": "string", "minLength": 1, **(declared if isinstance(declared, Mapping) else {})},
        REMOVE: {"type": "boolean", "const": True},
    }
    item["required"] = [key]
    return item


def _defined(schema: Any, rule: MergeRule) -> Schema:
    """Return a definition's partial schema; it can be used anywhere, so no path of the rule applies."""
    return _partial(schema, ("$defs",), MergeRule(Strategy.MERGE))


def _is_object(schema: Mapping[str, Any]) -> bool:
    return schema.get("type") == "object" or "properties" in schema


def _or_null(schema: Schema) -> Schema:
    return {"anyOf": [schema, {"type": "null"}]} if schema else {}
