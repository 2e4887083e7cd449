"""The shape of what a read answers, from the serializer that its operation declares."""

from __future__ import annotations

from functools import cache
from typing import Any

from rest_framework import serializers
from rest_framework.request import Request

from controlplane.api.field_selection import Kind, Shape

_MAPS = (serializers.DictField, serializers.JSONField)


def item_shape(request: Request) -> Shape:
    """Return the shape of the items that this GET request lists."""
    return shape_of_items(declared_page(request.parser_context["view"]))


def declared_page(view: Any) -> type[serializers.Serializer[Any]]:
    """Return the page of `extend_schema(responses=...)`."""
    page: type[serializers.Serializer[Any]] = declared_answer(view)
    return page


def declared_answer(view: Any) -> Any:
    """Return what `extend_schema(responses=...)` declares for a GET that succeeds; None for nothing."""
    if (make_schema := getattr(getattr(view, "get", None), "kwargs", {}).get("schema")) is None:
        return None
    schema = make_schema()
    schema.view, schema.method = view, "GET"
    responses = schema.get_response_serializers()
    if not isinstance(responses, dict):
        return responses
    # By status, or by status and media type.
    return next((each for key, each in responses.items() if key in (200, (200, "application/json"))), None)


@cache
def shape_of(answer: type[serializers.Serializer[Any]]) -> Shape:
    return _shape(answer())


@cache
def shape_of_items(page: type[serializers.Serializer[Any]]) -> Shape:
    return Shape(Kind.OBJECT, _shape(page().fields["items"]).parts)


def _shape(field: Any) -> Shape:
    if isinstance(field, serializers.ListSerializer | serializers.ListField):
        return Shape(Kind.LIST, _shape(field.child).parts)
    if isinstance(field, serializers.Serializer):
        return Shape(Kind.OBJECT, {name: _shape(part) for name, part in field.fields.items()})
    if isinstance(field, _MAPS) or _holds_any_json(field):
        return Shape(Kind.MAP)
    return Shape(Kind.ANY if isinstance(field, serializers.SerializerMethodField) else Kind.VALUE)


def _holds_any_json(field: Any) -> bool:
    """Return whether it takes any JSON: only such fields of this project derive from DRF’s base itself."""
    kind = type(field)
    return serializers.Field in kind.__bases__ and kind.__module__ != serializers.Field.__module__
