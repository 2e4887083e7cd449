"""HTTP endpoints for DCM clients at /api/v1alpha1/service-type-instances: resources with DCM's fields.

They always need a token. Wire contract: environment-agents.md 2.8, dispatch.md section B.
"""

from __future__ import annotations

import re
from typing import Any

from django.db import transaction
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane.access.permissions import may_somewhere
from controlplane.api.endpoints import actor_of, caller_of
from controlplane.api.fields import Text
from controlplane.errors import FieldError, InvalidRequest, PermissionDenied
from controlplane.identity.actors import Actor
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from controlplane.ids import uuid7
from controlplane.scopes import Scope
from registry.api.dcm.base import DcmView, page_size, page_token, parse_known, problem, read_page_token
from registry.api.dispatch.resource_schemas import (
    ID_PATTERN,
    SERVICE_TYPE_MESSAGE,
    SERVICE_TYPE_PATTERN,
    SpecField,
)
from registry.dispatch.lifecycle.states import ResourceState
from registry.dispatch.models import ResourceRow
from registry.dispatch.resources.owners import choose_owner
from registry.dispatch.resources.requests import ResourceRequest, create_resource, delete_resource
from registry.dispatch.resources.search import get_readable, search_resources
from registry.dispatch.resources.spec_checks import check_spec
from registry.dispatch.storage import unknown_resource

_SALT = "dcm-instance-page"
# DCM has fewer states; the others have the same names.
_STATUSES = {
    ResourceState.CANCELLING.value: "cancelled",
    ResourceState.DELETION_FAILED.value: "deleting",
}
_DELETION_STATUSES = {
    ResourceState.DELETING.value: "SCHEDULED",
    ResourceState.DELETION_FAILED.value: "FAILED",
}
_BOOLEANS = {"": False, "false": False, "0": False, "true": True, "1": True}


class _NoAgentError(Exception):
    """No agent can take the request, and DCM's contract has no request that waits for one."""


class InstanceWrite(serializers.Serializer[Any]):
    spec = SpecField()
    # DCM's own clients put it into the spec.
    service_type = Text(max_length=63, required=False)


class _InstanceView(DcmView):
    def require(self, caller: Caller, action: Action) -> None:
        if not may_somewhere(caller, action):
            raise PermissionDenied(caller.verdict(action).reason, action=action.value)

    def handle_exception(self, exc: Exception) -> Response:
        if isinstance(exc, _NoAgentError):
            return problem(503, str(exc), self.request.path)
        return super().handle_exception(exc)


class DcmInstances(_InstanceView):
    actions = {"GET": Action.RESOURCE_READ, "POST": Action.RESOURCE_WRITE}

    def get(self, request: Request) -> Response:
        parameters = request.query_params
        names = {"service_type": "service_type", "agent_name": "agent"}
        query: dict[str, Any] = {
            ours: parameters[theirs] for theirs, ours in names.items() if theirs in parameters
        }
        query["show_deleted"] = _flag(request, "show_deleted")
        rows = search_resources(query, caller_of(request)).order_by("id")
        size = page_size(parameters.get("max_page_size", ""))
        if token := parameters.get("page_token"):
            rows = rows.filter(id__gt=read_page_token(token, _SALT))
        candidates = list(rows[: size + 1])
        page = candidates[:size]
        next_token = page_token(page[-1].id, _SALT) if len(candidates) > size else ""
        return Response({"instances": [_show(row) for row in page], "next_page_token": next_token})

    def post(self, request: Request) -> Response:
        instance_id = request.query_params.get("id")
        if instance_id is not None:
            _check_id(instance_id)
        body = parse_known(InstanceWrite, request)
        service_type = _service_type(body)
        team = choose_owner(caller_of(request), Scope(), None)
        check_spec(service_type, body["spec"], Scope())
        resource = ResourceRequest(
            instance_id or str(uuid7()),
            service_type,
            body["spec"],
            team_id=team.id if team else None,
        )
        return Response(_show(_create_at_once(resource, actor_of(request))), status=201)


class DcmInstance(_InstanceView):
    actions = {"GET": Action.RESOURCE_READ, "DELETE": Action.RESOURCE_WRITE}

    def get(self, request: Request, instance_id: str) -> Response:
        _check_id(instance_id)
        row = get_readable(caller_of(request), instance_id)
        if row.state == ResourceState.DELETED and not _flag(request, "show_deleted"):
            raise unknown_resource(instance_id)
        return Response(_show(row))

    def delete(self, request: Request, instance_id: str) -> Response:
        """Delete an instance. Deletions are always deferred: they are sent until the agent answers."""
        _check_id(instance_id)
        _flag(request, "deferred")
        if get_readable(caller_of(request), instance_id).state == ResourceState.DELETED:
            raise unknown_resource(instance_id)
        delete_resource(instance_id, force=False, caller=caller_of(request), actor=actor_of(request))
        return Response(status=204)


@transaction.atomic
def _create_at_once(resource: ResourceRequest, actor: Actor) -> ResourceRow:
    """Create the resource, or nothing if no agent can take it now."""
    row = create_resource(resource, actor=actor)
    if row.agent_id is None:
        raise _NoAgentError(f"{row.reason} Try again later, or use POST /api/v1/resources, which waits.")
    return row


def _service_type(body: dict[str, Any]) -> str:
    in_spec = body["spec"].get("service_type", body.get("service_type"))
    if not isinstance(in_spec, str) or not re.fullmatch(SERVICE_TYPE_PATTERN, in_spec):
        message = f"spec.service_type is required. {SERVICE_TYPE_MESSAGE}"
        raise InvalidRequest(message, errors=[FieldError("/spec/service_type", "required", message)])
    if body.get("service_type", in_spec) != in_spec:
        message = "service_type and spec.service_type differ. Send one of them."
        raise InvalidRequest(message, errors=[FieldError("/service_type", "conflict", message)])
    return in_spec


def _check_id(instance_id: str) -> None:
    if not re.fullmatch(ID_PATTERN, instance_id):
        raise InvalidRequest(
            "An id must have 1 to 63 characters of a-z, 0-9 and -, and must not begin or end with -."
        )


def _flag(request: Request, name: str) -> bool:
    value = _BOOLEANS.get(request.query_params.get(name, "").lower())
    if value is None:
        raise InvalidRequest(f"{name} must be true or false.")
    return value


def _show(row: ResourceRow) -> dict[str, Any]:
    shown = {
        "id": row.id,
        "path": f"service-type-instances/{row.id}",
        # Our addition; DCM's clients find it in the spec.
        "service_type": row.service_type,
        "agent_name": row.agent_name or None,
        "status": _STATUSES.get(row.state, row.state),
        "spec": row.spec,
        "create_time": row.created_at,
        "update_time": row.updated_at,
    }
    deletion_status = _DELETION_STATUSES.get(row.state)
    return {**shown, "deletion_status": deletion_status} if deletion_status else shown
