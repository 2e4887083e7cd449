"""HTTP endpoints for resource types: the built-in types and those that operators define."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane import errors
from controlplane.api.endpoints import Endpoint, actor_of, caller_of, mutation
from controlplane.api.etags import parse_precondition, respond, version_etag
from controlplane.errors import FieldError, InvalidRequest
from controlplane.identity.roles import Action
from controlplane.scopes import LEVEL_NAMES
from overrides.api import examples, schemas
from overrides.api.as_of import AsOfQuery, as_of
from overrides.api.plan_schemas import PlanRead, show_plan
from overrides.api.schemas import STRATEGIES, AttributesField, ConfirmedQuery
from overrides.api.write_options import commit_options_from
from overrides.editing.resource_types import PutTypeResult, create_type, delete_type, put_type
from overrides.loading.catalogue_cache import current_catalogue
from overrides.resource_types import ResourceType
from overrides.resource_types.shape import RULES, check_shape

MERGE_RULES = [(rule, rule) for rule in RULES]


class PathRule(serializers.Serializer[Any]):
    path = serializers.CharField(help_text="JSON Pointer; `*` matches any item or member.")
    rule = serializers.ChoiceField(choices=MERGE_RULES)
    key = serializers.CharField(required=False, help_text="For merge_by_key: the member that names an item.")


class TypeReference(serializers.Serializer[Any]):
    resource_type = serializers.CharField(help_text="The type whose values refer to this one.")
    path = serializers.CharField(help_text="JSON Pointer of those values; `*` matches any item or member.")
    to = serializers.CharField(help_text="JSON Pointer of the values of this type that they should be among.")


class ResourceTypeWrite(serializers.Serializer[Any]):
    """A kind of document that can be overridden."""

    name = serializers.CharField(max_length=63, help_text="In snake_case.")
    title = serializers.CharField(required=False)
    meaning = serializers.CharField(required=False)
    document_key = serializers.CharField(required=False, help_text="By default the name in lowerCamelCase.")
    schema = AttributesField(
        help_text="JSON Schema 2020-12 of effective attributes, an object. Partial documents are valid."
    )
    strategy = serializers.ChoiceField(choices=STRATEGIES)
    merge = PathRule(many=True, required=False, help_text="Merge rules of single paths.")
    references = TypeReference(
        many=True,
        required=False,
        help_text="Values of other types that are a warning if they match nothing here.",
    )
    levels = serializers.ListField(
        child=serializers.ChoiceField(choices=LEVEL_NAMES),
        required=False,
        help_text="Levels at which it can be set; by default all.",
    )
    levels_reason = serializers.CharField(required=False, help_text="Why it cannot be set at other levels.")
    defaults = AttributesField(required=False, help_text="Attributes in effect where nothing is set.")
    example = AttributesField(required=False)
    hints = AttributesField(required=False, help_text="Hints for forms.")


class ResourceTypeWithPlan(schemas.ResourceTypeRead):
    """A resource type, and how its definition changes effective values."""

    plan = PlanRead()


class ResourceTypeCollection(Endpoint):
    actions = {"GET": Action.SELF_READ, "POST": Action.TYPE_WRITE}

    @extend_schema(
        operation_id="resource_types_list",
        summary="List resource types",
        description="Lists Flyte's built-in types and the types that operators defined.",
        tags=["resource types"],
        parameters=[AsOfQuery],
        responses=schemas.ResourceTypeList,
        examples=[examples.RESOURCE_TYPES],
    )
    def get(self, request: Request) -> Response:
        types = current_catalogue(as_of(AsOfQuery.parse(request))).types.values()
        return Response({"items": [schemas.show_resource_type(row) for row in types], "next_cursor": None})

    @extend_schema(
        operation_id="resource_types_create",
        summary="Create a resource type",
        description=(
            "The type is available immediately, without a restart. `plan` shows where its defaults apply; "
            "`dry_run=true` returns it without writing."
        ),
        tags=["resource types"],
        parameters=[ConfirmedQuery],
        request=ResourceTypeWrite,
        responses={201: ResourceTypeWithPlan},
        examples=[examples.TYPE_WRITE, examples.OWN_TYPE],
    )
    @mutation
    def post(self, request: Request) -> Response:
        query = ConfirmedQuery.parse(request)
        definition = check_shape(request.data)
        actor = actor_of(request, query["change_message"])
        put = create_type(definition, actor=actor, options=commit_options_from(query, wants_plan=True))
        response = answer(request, put, status=201)
        response["Location"] = f"{request.path}/{put.resource_type.name}"
        return response


class ResourceTypeItem(Endpoint):
    actions = {"GET": Action.SELF_READ, "PUT": Action.TYPE_WRITE, "DELETE": Action.TYPE_WRITE}
    problems = {
        "PUT": (
            errors.StillInUse,
            errors.ConfirmationRequired,
            errors.SourceIsReadOnly,
            errors.InvalidTypeDefinition,
        ),
        "DELETE": (
            errors.StillInUse,
            errors.ConfirmationRequired,
            errors.SourceIsReadOnly,
        ),
    }
    has_versions = True

    @extend_schema(
        operation_id="resource_types_get",
        summary="Get one resource type",
        description=(
            "Includes the JSON Schema of its attributes, the merge strategy and the levels at which it can "
            "be set."
        ),
        tags=["resource types"],
        parameters=[AsOfQuery],
        responses=schemas.ResourceTypeRead,
        examples=[examples.RESOURCE_TYPE],
    )
    def get(self, request: Request, resource_type: str) -> Response:
        row = current_catalogue(as_of(AsOfQuery.parse(request))).get(resource_type)
        return respond(request, schemas.show_resource_type(row), etag=_etag(row))

    @extend_schema(
        operation_id="resource_types_put",
        summary="Create or replace a resource type",
        description=(
            "A change that would make stored documents invalid is refused with those documents; so is a "
            "change by which a scope would resolve to invalid attributes. `plan` shows which effective "
            "values change; `dry_run=true` returns it without writing."
        ),
        tags=["resource types"],
        parameters=[ConfirmedQuery],
        request=ResourceTypeWrite,
        responses={200: ResourceTypeWithPlan, 201: ResourceTypeWithPlan},
        examples=[examples.TYPE_WRITE, *examples.CHANGED_TYPES],
    )
    @mutation
    def put(self, request: Request, resource_type: str) -> Response:
        query = ConfirmedQuery.parse(request)
        definition = check_shape(request.data)
        if definition["name"] != resource_type:
            message = (
                f"The name is {resource_type[:80]!r} in the path and {definition['name']!r} in the body."
            )
            raise InvalidRequest(message, errors=[FieldError("/name", "other_name", message)])
        put = put_type(
            definition,
            actor=actor_of(request, query["change_message"]),
            precondition=parse_precondition(request),
            options=commit_options_from(query, wants_plan=True),
        )
        return answer(request, put, status=201 if put.is_new else 200)

    @extend_schema(
        operation_id="resource_types_delete",
        summary="Delete an unused resource type",
        description=(
            "Refused while an override of the type exists. Built-in types cannot be deleted. `dry_run=true` "
            "returns 200 with the plan."
        ),
        tags=["resource types"],
        parameters=[ConfirmedQuery],
        responses={200: PlanRead, 204: None},
        examples=[examples.PLAN],
    )
    @mutation
    def delete(self, request: Request, resource_type: str) -> Response:
        query = ConfirmedQuery.parse(request)
        caller_of(request).require(Action.TYPE_WRITE)
        plan = delete_type(
            resource_type,
            actor=actor_of(request, query["change_message"]),
            precondition=parse_precondition(request),
            options=commit_options_from(query, wants_plan=query["dry_run"]),
        )
        if query["dry_run"]:
            return Response(show_plan(plan, caller_of(request)))
        return Response(status=204)


def answer(request: Request, put: PutTypeResult, *, status: int) -> Response:
    content = {
        **schemas.show_resource_type(put.resource_type),
        "plan": show_plan(put.plan, caller_of(request)),
    }
    return Response(content, status=status, headers={"ETag": _etag(put.resource_type)})


def _etag(resource_type: ResourceType) -> str:
    """Return the ETag. Built-in types change only with the software: their version 0 is never required."""
    return version_etag(resource_type.version)
