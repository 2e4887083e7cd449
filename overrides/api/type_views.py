"""Doors to resource types: the built-in ones, and those that operators define."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane.access.roles import Action
from controlplane.api.endpoints import Endpoint, ReasonedQuery, actor_of, caller_of, mutation
from controlplane.api.etags import parse_precondition, respond, version_etag
from controlplane.errors import FieldError, InvalidRequest
from controlplane.scopes import LEVEL_NAMES
from overrides.api import examples
from overrides.api import serializers as shapes
from overrides.api.serializers import STRATEGIES, AttributesField
from overrides.api.time_travel import AsOfQuery, as_of
from overrides.editions import current_catalogue
from overrides.resource_types import ResourceType
from overrides.resource_types.shape import RULES, check_shape
from overrides.type_editing import create_type, delete_type, put_type

MERGE_RULES = [(one, one) for one in RULES]


class PathRule(serializers.Serializer[Any]):
    path = serializers.CharField(help_text="JSON Pointer; `*` stands for any item or member.")
    rule = serializers.ChoiceField(choices=MERGE_RULES)
    key = serializers.CharField(required=False, help_text="For merge_by_key: the member that names an item.")


class ResourceTypeWrite(serializers.Serializer[Any]):
    """A kind of document that can be overridden."""

    name = serializers.CharField(max_length=63, help_text="In snake_case.")
    title = serializers.CharField(required=False)
    meaning = serializers.CharField(required=False)
    document_key = serializers.CharField(required=False, help_text="Absent: the name in lowerCamelCase.")
    schema = AttributesField(help_text="JSON Schema 2020-12 of what applies, an object. Parts are legal.")
    strategy = serializers.ChoiceField(choices=STRATEGIES)
    merge = PathRule(many=True, required=False, help_text="Rules of single paths.")
    levels = serializers.ListField(
        child=serializers.ChoiceField(choices=LEVEL_NAMES),
        required=False,
        help_text="Where it may be set. Absent: everywhere.",
    )
    levels_reason = serializers.CharField(required=False, help_text="Why not elsewhere.")
    defaults = AttributesField(required=False, help_text="What applies where nothing is set.")
    example = AttributesField(required=False)
    hints = AttributesField(required=False, help_text="For forms.")


class ResourceTypeCollection(Endpoint):
    actions = {"GET": Action.SELF_READ, "POST": Action.TYPE_WRITE}

    @extend_schema(
        operation_id="resource_types_list",
        summary="List the resource types",
        tags=["resource types"],
        parameters=[AsOfQuery],
        responses=shapes.ResourceTypeList,
        examples=[examples.RESOURCE_TYPES],
    )
    def get(self, request: Request) -> Response:
        types = current_catalogue(as_of(AsOfQuery.parse(request))).types.values()
        return Response({"items": [shapes.show_resource_type(one) for one in types], "next_cursor": None})

    @extend_schema(
        operation_id="resource_types_create",
        summary="Define a resource type",
        description="No code and no restart: it can be set, merged, explained and exported at once.",
        tags=["resource types"],
        parameters=[ReasonedQuery],
        request=ResourceTypeWrite,
        responses={201: shapes.ResourceTypeRead},
        examples=[examples.TYPE_WRITE, examples.OWN_TYPE],
    )
    @mutation
    def post(self, request: Request) -> Response:
        query = ReasonedQuery.parse(request)
        definition = check_shape(request.data)
        actor = actor_of(request, query["change_message"])
        one = create_type(definition, actor=actor)
        response = _answer(one, status=201)
        response["Location"] = f"{request.path}/{one.name}"
        return response


class ResourceTypeItem(Endpoint):
    actions = {"GET": Action.SELF_READ, "PUT": Action.TYPE_WRITE, "DELETE": Action.TYPE_WRITE}
    has_versions = True

    @extend_schema(
        operation_id="resource_types_get",
        summary="Read one resource type, with the schema of its attributes",
        tags=["resource types"],
        parameters=[AsOfQuery],
        responses=shapes.ResourceTypeRead,
        examples=[examples.RESOURCE_TYPE],
    )
    def get(self, request: Request, resource_type: str) -> Response:
        one = current_catalogue(as_of(AsOfQuery.parse(request))).get(resource_type)
        return respond(request, shapes.show_resource_type(one), etag=_etag(one))

    @extend_schema(
        operation_id="resource_types_put",
        summary="Define a resource type, or change its definition",
        description="A change that stored documents would not fit is refused with those documents.",
        tags=["resource types"],
        parameters=[ReasonedQuery],
        request=ResourceTypeWrite,
        responses={200: shapes.ResourceTypeRead, 201: shapes.ResourceTypeRead},
        examples=[examples.TYPE_WRITE, *examples.CHANGED_TYPES],
    )
    @mutation
    def put(self, request: Request, resource_type: str) -> Response:
        query = ReasonedQuery.parse(request)
        definition = check_shape(request.data)
        if definition["name"] != resource_type:
            message = f"The path says {resource_type[:80]!r}, the body {definition['name']!r}."
            raise InvalidRequest(message, errors=[FieldError("/name", "other_name", message)])
        one, created = put_type(
            definition,
            actor=actor_of(request, query["change_message"]),
            precondition=parse_precondition(request),
        )
        return _answer(one, status=201 if created else 200)

    @extend_schema(
        operation_id="resource_types_delete",
        summary="Remove a resource type that nothing is set for",
        tags=["resource types"],
        parameters=[ReasonedQuery],
        responses={204: None},
    )
    @mutation
    def delete(self, request: Request, resource_type: str) -> Response:
        query = ReasonedQuery.parse(request)
        caller_of(request).require(Action.TYPE_WRITE)
        actor = actor_of(request, query["change_message"])
        delete_type(resource_type, actor=actor, precondition=parse_precondition(request))
        return Response(status=204)


def _answer(one: ResourceType, *, status: int) -> Response:
    return Response(shapes.show_resource_type(one), status=status, headers={"ETag": _etag(one)})


def _etag(one: ResourceType) -> str:
    """A built-in type changes with the software alone: its version 0 is told, and never asked for."""
    return version_etag(one.version)
