"""The shape of the items of a list, from the page that its operation declares."""

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
    schema = view.get.kwargs["schema"]()
    schema.view, schema.method = view, "GET"
    responses = schema.get_response_serializers()
    if isinstance(responses, dict):  # by status, or by status and media type
        responses = next(each for key, each in responses.items() if key in (200, (200, "application/json")))
    page: type[serializers.Serializer[Any]] = responses
    return page


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
