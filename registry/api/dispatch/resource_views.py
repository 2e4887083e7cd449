"""HTTP endpoints for resources."""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
from typing import Any, TypeVar

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane import errors
from controlplane.api.endpoints import OF_LISTS, Endpoint, ReasonedQuery, actor_of, caller_of, mutation
from controlplane.api.etags import respond, version_etag
from controlplane.api.fields import Query, parse_body
from controlplane.api.pages import page_response, paginate
from controlplane.endpoints.events.watch_header import hand_over
from controlplane.events.log import last_number
from controlplane.identity.roles import Action
from controlplane.ids import uuid7
from registry.api.dispatch import examples
from registry.api.dispatch import resource_schemas as schemas
from registry.dispatch.models import ResourceRow
from registry.dispatch.resources.long_poll import watch_resource
from registry.dispatch.resources.owners import choose_owner
from registry.dispatch.resources.requests import (
    ResourceRequest,
    cancel_resource,
    create_resource,
    delete_resource,
    retry_resource,
)
from registry.dispatch.resources.scope_checks import check_scope
from registry.dispatch.resources.search import get_readable, search_resources
from registry.dispatch.resources.spec_checks import check_spec
from registry.operations.decisions import Kind, operation_path

View = TypeVar("View", bound=Callable[..., Any])
_TAGS = ["resources"]


class ResourceCollection(Endpoint):
    actions = {"GET": Action.RESOURCE_READ, "POST": Action.RESOURCE_WRITE}
    staleness = OF_LISTS
    problems = {
        "POST": (
            errors.UnknownTeam,
            errors.NameTaken,
            errors.InvalidScope,
            errors.InvalidAttributes,
            errors.RailBroken,
        )
    }

    @extend_schema(
        operation_id="resources_list",
        summary="List resources",
        description="Filter by state, service type, project, domain, agent, team, label or text.",
        tags=_TAGS,
        parameters=[schemas.ResourceListQuery],
        responses=schemas.ResourcePage,
        examples=[examples.RESOURCE_PAGE],
    )
    def get(self, request: Request) -> Response:
        query = schemas.ResourceListQuery.parse(request)
        rows = search_resources(query, caller_of(request))
        scanned = rows if query["q"] else None
        page = paginate(request, rows.filter(query["q"]), order=query["sort"], query=query, scanned=scanned)
        return page_response(request, page, schemas.show_resource)

    @extend_schema(
        operation_id="resources_create",
        summary="Request a resource",
        description=(
            "Chooses an agent that offers the service type, and sends it the request. If no agent can take "
            "the request, it waits as `pending`; `reason` names the cause. Follow the progress with `wait`, "
            "or with the events of the resource."
        ),
        tags=_TAGS,
        parameters=[schemas.ResourceCreationQuery],
        request=schemas.ResourceWrite,
        responses={202: schemas.ResourceRead},
        examples=[examples.RESOURCE_REQUEST, examples.RESOURCE],
    )
    @mutation
    def post(self, request: Request) -> Response:
        query = schemas.ResourceCreationQuery.parse(request)
        resource = resource_request(request, query.get("id"))
        row = create_resource(resource, actor=actor_of(request, query["change_message"]))
        return _accepted(row, Location=f"{request.path}/{row.id}")


class ResourceItem(Endpoint):
    actions = {"GET": Action.RESOURCE_READ, "DELETE": Action.RESOURCE_WRITE}

    @extend_schema(
        operation_id="resources_get",
        summary="Get one resource",
        description=(
            "Poll with `If-None-Match`: with `wait`, the response is delayed until the resource has another "
            "state or the time is over."
        ),
        tags=_TAGS,
        parameters=[
            schemas.ResourceGetQuery,
            OpenApiParameter(
                "If-None-Match",
                str,
                OpenApiParameter.HEADER,
                required=False,
                description="ETag of your copy. The response is 304 if the copy is current.",
            ),
        ],
        responses=schemas.ResourceRead,
        examples=[examples.RESOURCE],
    )
    def get(self, request: Request, resource_id: str) -> Response:
        query, caller = schemas.ResourceGetQuery.parse(request), caller_of(request)
        # Read before the resource: a change in between ends the wait at once.
        last_event = last_number() if query["wait"] else 0
        row = get_readable(caller, resource_id)
        response = respond(request, schemas.show_resource(row), etag=version_etag(row.version))
        if response.status_code == HTTPStatus.NOT_MODIFIED and query["wait"]:
            watch = watch_resource(row.id, caller, after=last_event, seconds=query["wait"])
            hand_over(watch, request.headers, response)
        return response

    @extend_schema(
        operation_id="resources_delete",
        summary="Delete a resource",
        description=(
            "Sends the deletion to every agent that may have the resource. Its state is `deleting` until "
            "they answer, then `deleted`. Deleting it again changes nothing."
        ),
        tags=_TAGS,
        parameters=[schemas.ResourceDeletionQuery],
        responses={202: schemas.ResourceRead},
        examples=[examples.RESOURCE],
    )
    @mutation
    def delete(self, request: Request, resource_id: str) -> Response:
        query, caller = schemas.ResourceDeletionQuery.parse(request), caller_of(request)
        actor = actor_of(request, query["change_message"])
        return _accepted(delete_resource(resource_id, force=query["force"], caller=caller, actor=actor))


class _ResourceStep(Endpoint):
    """A POST that changes the goal of a resource."""

    actions = {"POST": Action.RESOURCE_WRITE}
    problems = {"POST": (errors.Conflict,)}
    step: Callable[..., ResourceRow]

    def run(self, request: Request, resource_id: str, query: dict[str, Any], **options: bool) -> Response:
        actor = actor_of(request, query["change_message"])
        return _accepted(type(self).step(resource_id, caller=caller_of(request), actor=actor, **options))


def _document(
    operation: str, summary: str, description: str, query: type[Query] = ReasonedQuery
) -> Callable[[View], View]:
    decorator: Callable[[View], View] = extend_schema(
        operation_id=f"resources_{operation}",
        summary=summary,
        description=description,
        tags=_TAGS,
        parameters=[query],
        request=None,
        responses={202: schemas.ResourceRead},
        examples=[examples.RESOURCE],
    )
    return decorator


class ResourceCancellation(_ResourceStep):
    step = staticmethod(cancel_resource)

    @_document(
        "cancel",
        "Cancel a request",
        "Ends the attempt to create a resource that does not run yet. The resource stays, and `:retry` tries "
        "again. 409 `conflict` if it runs, has failed, or is being deleted.",
    )
    @mutation
    def post(self, request: Request, resource_id: str) -> Response:
        return self.run(request, resource_id, ReasonedQuery.parse(request))


class ResourceRetry(_ResourceStep):
    step = staticmethod(retry_resource)

    @_document(
        "retry",
        "Try again",
        "Makes another attempt at a resource that has failed or was cancelled, or at a deletion that has "
        "failed. For a resource that waits for an agent, looks for one now. Otherwise 409 `conflict`.",
        schemas.ResourceRetryQuery,
    )
    @mutation
    def post(self, request: Request, resource_id: str) -> Response:
        query = schemas.ResourceRetryQuery.parse(request)
        return self.run(request, resource_id, query, force=query["force"])


def resource_request(request: Request, resource_id: str | None) -> ResourceRequest:
    """Return the request in the body. Authorise before anything is looked up, so that nothing is disclosed.

    Raises PermissionDenied, UnknownTeam, UnknownProject, InvalidAttributes, RailBroken, ...
    """
    body = parse_body(schemas.ResourceWrite, request)
    scope = schemas.scope_in(body)
    caller = caller_of(request)
    team = choose_owner(caller, scope, body["team"])
    check_scope(caller, scope)
    check_spec(body["service_type"], body["spec"], scope)
    return ResourceRequest(
        resource_id or str(uuid7()),
        body["service_type"],
        body["spec"],
        scope,
        team.id if team else None,
        dict(body["labels"]),
        dict(body["placement"]),
    )


def _accepted(row: ResourceRow, **headers: str) -> Response:
    headers["ETag"] = version_etag(row.version)
    headers["Operation-Location"] = operation_path(Kind.RESOURCE, row.id)
    return Response(schemas.show_resource(row), status=HTTPStatus.ACCEPTED, headers=headers)
