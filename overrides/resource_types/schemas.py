"""Builders for the JSON Schemas (2020-12) of attributes. Pure.

Attributes are partial: nothing is required, because absent members are inherited; and every member can be
null, because null removes the inherited value.
"""

from __future__ import annotations

from typing import Any

from controlplane.formats.quantities import QUANTITY
from overrides.resolution.merging import REMOVE

Schema = dict[str, Any]

_NAME_HINT = "Use 1 to 63 letters, digits, -, _ or ., after an optional DNS name of at most 253 and a slash."
# Kubernetes' qualified name (apimachinery util/validation): an optional DNS prefix, and 63 characters.
QUALIFIED_NAME = (
    r"^(?=.{1,253}/|[^/]*$)([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?"
    r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$"
)
# The same name as a JSON Schema, whose patterns have no lookahead.
LABEL_NAME: Schema = {
    "type": "string",
    "pattern": QUALIFIED_NAME.replace("(?=.{1,253}/|[^/]*$)", ""),
    "allOf": [{"pattern": "^([-.a-z0-9]{1,253}/)?[^/]*$", "x-hint": _NAME_HINT}],
    "x-hint": _NAME_HINT,
}
LABEL_VALUE = r"^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$"
# Kubernetes' IsEnvVarName.
ENV_VAR_NAME = r"^[-._a-zA-Z][-._a-zA-Z0-9]*$"
# Seconds in protobuf's JSON form of a Duration, at most 315,576,000,000 (10,000 years).
DURATION = (
    r"^([0-9]{1,11}|[0-2][0-9]{11}|30[0-9]{10}|31[0-4][0-9]{9}|315[0-4][0-9]{8}|3155[0-6][0-9]{7}"
    r"|31557[0-5][0-9]{6}|315576000000)(\.[0-9]{1,9})?s$"
)


def text(description: str = "", **more: Any) -> Schema:
    return _described({"type": "string", **more}, description)


def quantity(description: str) -> Schema:
    return text(description, pattern=QUANTITY, maxLength=64, examples=["500m", "2Gi"])


def flag(description: str) -> Schema:
    return _described({"type": "boolean"}, description)


def choice(description: str, *words: str) -> Schema:
    return _described({"type": "string", "enum": list(words)}, description)


def whole(description: str, **more: Any) -> Schema:
    return _described({"type": "integer", **more}, description)


def list_of(items: Schema, description: str = "") -> Schema:
    return _described({"type": "array", "items": items}, description)


def map_of_text(description: str, *, names: Schema | None = None, values: Schema | None = None) -> Schema:
    """Return the schema of an object of texts; `names` and `values` are the schemas of its members."""
    schema: Schema = {"type": "object", "additionalProperties": or_null(values or text())}
    return _described({**schema, "propertyNames": names} if names else schema, description)


def free_object(description: str) -> Schema:
    return _described({"type": "object"}, description)


def object_of(description: str = "", /, **members: Schema) -> Schema:
    properties = {name: or_null(member) for name, member in members.items()}
    return _described(
        {"type": "object", "properties": properties, "additionalProperties": False}, description
    )


def named_item(key: str, /, **members: Schema) -> Schema:
    """Return the schema of a keyed list's item: its key is required, `$remove` removes the inherited item."""
    item = object_of(**members)
    item["properties"][key] = {**members[key], "minLength": 1}
    item["properties"][REMOVE] = {"type": "boolean", "const": True}
    item["required"] = [key]
    return item


def or_null(schema: Schema) -> Schema:
    widened = {**schema, "type": [schema["type"], "null"]}
    if "enum" in schema:
        widened["enum"] = [*schema["enum"], None]
    return widened


def _described(schema: Schema, description: str) -> Schema:
    return {**schema, "description": description} if description else schema
