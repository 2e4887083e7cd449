"""Fields of a single object that a read returns: `only` and `omit`, as in lists."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane.api.field_selection import FULL, FieldSelection, Shape, read_selection
from controlplane.api.item_shapes import declared_answer, shape_of

ONLY = "Return only these fields, separated by commas; `scope.project` for a part."
OMIT = "Leave out these fields, written as in `only`."
PARAMETERS = {"only": ONLY, "omit": OMIT}
_SHAPES: dict[type[Any], Shape | None] = {}


def may_select(view: Any, method: str | None) -> bool:
    """Return whether the request reads one object whose fields can be selected: its address names it."""
    return method in ("GET", "HEAD") and bool(view.kwargs) and selects_fields(view)


def selects_fields(view: Any) -> bool:
    """Return whether fields can be selected in what the view answers to GET."""
    return _shape_of(view) is not None


def selection_of(request: Request, view: Any) -> FieldSelection:
    """Return what a read of an object selects. Raises InvalidRequest for fields that it does not have."""
    only, omit = (",".join(request.query_params.getlist(name)) for name in PARAMETERS)
    if not (only or omit) or not may_select(view, request.method):
        return FieldSelection()
    shape = _shape_of(view)
    assert shape is not None  # as of `may_select`
    return read_selection(only, omit, FULL, shape)


def with_selection(response: Any, selection: FieldSelection) -> Any:
    """Return the response with the selected fields alone."""
    is_object = isinstance(response, Response) and isinstance(response.data, dict)
    if selection != FieldSelection() and is_object and response.status_code == 200:
        response.data = selection.of(response.data)
    return response


def _shape_of(view: Any) -> Shape | None:
    """Return the shape of the object; None for a page, whose items are selected, and for other answers."""
    if type(view) not in _SHAPES:
        _SHAPES[type(view)] = _declared_shape(view)
    return _SHAPES[type(view)]


def _declared_shape(view: Any) -> Shape | None:
    answer = declared_answer(view)
    if not isinstance(answer, type) or not issubclass(answer, serializers.Serializer):
        return None
    shape = shape_of(answer)
    return None if "items" in shape.parts else shape
