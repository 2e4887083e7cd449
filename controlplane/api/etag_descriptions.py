"""What openapi.yaml says about ETags: which answers have one, and which reads can be conditional. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

IF_NONE_MATCH = "ETag of your copy. The response is 304 if the copy is current."
_OF_VERSION = 'Version of the object, such as `"v7"`; send it as `If-Match` to change this version.'
_OF_CONTENT = (
    "Digest of the object; send it as `If-None-Match` to read only what is new, or as `If-Match` to change "
    "only this."
)
_JSON, _PLAN = "application/json", "#/components/schemas/PlanRead"


def describe_etags(document: dict[str, Any]) -> None:
    """Add the header ETag to each answer that has one, and If-None-Match to the reads of single objects."""
    schemas, paths = document["components"]["schemas"], document["paths"]
    versioned = {path.rpartition("/")[0] for path in paths if _has_version("get", paths[path].get("get"))}
    for path, methods in paths.items():
        for method, operation in methods.items():
            if _has_version(method, operation) or (method == "post" and path in versioned):
                _add_tag(operation, _OF_VERSION)
            elif method == "get" and "{" in path:
                _describe_content_tag(operation, schemas)


def _describe_content_tag(operation: dict[str, Any], schemas: Mapping[str, Any]) -> None:
    content = operation["responses"].get("200", {}).get("content", {})
    if list(content) != [_JSON] or "items" in _properties(content[_JSON]["schema"], schemas):
        return
    _add_tag(operation, _OF_CONTENT)
    header = {"in": "header", "name": "If-None-Match", "schema": {"type": "string"}}
    operation["parameters"] = [*operation.get("parameters", []), {**header, "description": IF_NONE_MATCH}]


def _properties(schema: Mapping[str, Any], schemas: Mapping[str, Any]) -> Mapping[str, Any]:
    named = schemas.get(schema.get("$ref", "").rpartition("/")[2], schema)
    properties: Mapping[str, Any] = named.get("properties", {})
    return properties


def _has_version(method: str, operation: Mapping[str, Any] | None) -> bool:
    """Return whether the answer has the version of one object: not a plan, which has none."""
    header = "If-None-Match" if method == "get" else "If-Match"
    return operation is not None and _takes(operation, header) and _PLAN not in _answers(operation)


def _answers(operation: Mapping[str, Any]) -> Iterator[str]:
    for status in ("200", "201"):
        for content in operation["responses"].get(status, {}).get("content", {}).values():
            yield content.get("schema", {}).get("$ref", "")


def _add_tag(operation: dict[str, Any], description: str) -> None:
    for status in ("200", "201"):
        if "content" in (response := operation["responses"].get(status, {})):
            response["headers"] = {"ETag": {"description": description, "schema": {"type": "string"}}}


def _takes(operation: Mapping[str, Any], header: str) -> bool:
    return any(each["name"] == header for each in operation.get("parameters", ()) if each["in"] == "header")
