"""HTTP endpoints for the service providers of an agent: list, register, read, remove, history."""

from __future__ import annotations

from uuid import UUID

from django.db.models import QuerySet
from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane.api.endpoints import OF_LISTS, Endpoint, actor_of, caller_of, mutation
from controlplane.api.fields import Query, parse_body
from controlplane.api.pages import PageQuery, page_response, paginate
from controlplane.errors import UnknownProvider
from controlplane.identity.roles import Action
from registry.agents.lookup import require_agent
from registry.agents.policies import liveness_policy
from registry.agents.rights import agent_rights
from registry.api.providers import schemas
from registry.providers.models import Provider, ProviderChange
from registry.providers.register import ProviderAccess, register_provider, remove_provider

_WHEN = "2026-11-21T09:30:00Z"
_REGISTRATION = {
    "name": "kubevirt",
    "endpoint": "http://kubevirt.dcm:8081/vms",
    "service_type": "vm",
    "schema_version": "v1alpha1",
    "type": "external",
    "display_name": "KubeVirt",
    "operations": ["create", "delete"],
    "metadata": {"region_code": "eu-west-1", "resources": {"total_cpu": 200}},
}
_PROVIDER = {
    "id": "kubevirt",
    "path": "providers/kubevirt",
    **_REGISTRATION,
    "status": "ready",
    "status_reason": "Reported by the agent: ready.",
    "status_since": _WHEN,
    "holds_service_type": True,
    "lease_expires_at": "2026-11-21T09:31:30Z",
    "last_check_time": _WHEN,
    "create_time": _WHEN,
    "update_time": _WHEN,
}
_CHANGE = {
    "name": "kubevirt",
    "service_type": "vm",
    "old_status": "unhealthy",
    "new_status": "ready",
    "reason": "Reported by the agent: ready.",
    "actor": "agent-eu-1",
    "at": _WHEN,
}
_EXAMPLE = OpenApiExample("A provider", value=_PROVIDER, response_only=True, status_codes=["200", "201"])


class ProviderCollection(Endpoint):
    actions = {"GET": Action.AGENT_READ, "POST": Action.AGENT_REGISTER}
    staleness = OF_LISTS

    @extend_schema(
        operation_id="providers_list",
        summary="List the service providers of an agent",
        description="Each provider with its service type, health and lease.",
        tags=["agents"],
        parameters=[schemas.ProviderListQuery],
        responses=schemas.ProviderPage,
        examples=[
            OpenApiExample("A page", value={"items": [_PROVIDER], "next_cursor": None}, response_only=True)
        ],
    )
    def get(self, request: Request, agent_id: UUID) -> Response:
        query = schemas.ProviderListQuery.parse(request)
        rows = _rows(request, agent_id)
        if "status" in query:
            rows = rows.filter(state=query["status"])
        if not rows.exists():
            require_agent(caller_of(request), agent_id)
        lease = liveness_policy().lease
        page = paginate(request, rows.filter(query["q"]), order=query["sort"], query=query)
        return page_response(request, page, lambda provider: schemas.show_provider(provider, lease))

    @extend_schema(
        operation_id="providers_register",
        summary="Register a service provider or renew its lease",
        description=(
            "201 for a new provider, 200 for an existing one. One provider serves a type: 409 "
            "`service_type_taken` names the holder, whose lease must expire first. A heartbeat whose report "
            "names the provider also renews its lease."
        ),
        tags=["agents"],
        parameters=[schemas.ProviderQuery],
        request=schemas.ProviderWrite,
        responses={200: schemas.ProviderRead, 201: schemas.ProviderRead},
        examples=[OpenApiExample("A provider", value=_REGISTRATION, request_only=True), _EXAMPLE],
    )
    @mutation
    def post(self, request: Request, agent_id: UUID) -> Response:
        query = schemas.ProviderQuery.parse(request)
        body = parse_body(schemas.ProviderWrite, request)
        policy = liveness_policy()
        provider, created = register_provider(
            agent_id,
            schemas.registration_from(body),
            provider_id=query.get("id"),
            access=_access(request),
            policy=policy,
        )
        return Response(
            schemas.show_provider(provider, policy.lease),
            status=201 if created else 200,
            headers={"Location": f"{request.path}/{provider.provider_id}"},
        )


class ProviderItem(Endpoint):
    actions = {"GET": Action.AGENT_READ, "DELETE": Action.AGENT_REGISTER}

    @extend_schema(
        operation_id="providers_get",
        summary="Get one service provider",
        description="Includes the provider's health, its reason, and the time of the last check.",
        tags=["agents"],
        responses=schemas.ProviderRead,
        examples=[_EXAMPLE],
    )
    def get(self, request: Request, agent_id: UUID, provider_id: str) -> Response:
        Query.parse(request)
        provider = _rows(request, agent_id).filter(provider_id=provider_id).first()
        if provider is None:
            raise UnknownProvider(f"The agent {agent_id} has no provider {provider_id[:63]!r}.")
        return Response(schemas.show_provider(provider, liveness_policy().lease))

    @extend_schema(
        operation_id="providers_remove",
        summary="Remove a service provider",
        description="Frees the service type. An agent that now offers fewer types must register again.",
        tags=["agents"],
        parameters=[schemas.RemovalQuery],
        responses={204: None},
    )
    @mutation
    def delete(self, request: Request, agent_id: UUID, provider_id: str) -> Response:
        query = schemas.RemovalQuery.parse(request)
        remove_provider(agent_id, provider_id, access=_access(request, query["change_message"]))
        return Response(status=204)


class ProviderHistory(Endpoint):
    actions = {"GET": Action.AGENT_READ}
    staleness = OF_LISTS

    @extend_schema(
        operation_id="providers_history",
        summary="List state changes of a service provider, newest first",
        description="Each change with the old and new state, the reason and the actor.",
        tags=["agents"],
        parameters=[PageQuery],
        responses=schemas.ProviderChangePage,
        examples=[
            OpenApiExample("A page", value={"items": [_CHANGE], "next_cursor": None}, response_only=True)
        ],
    )
    def get(self, request: Request, agent_id: UUID, provider_id: str) -> Response:
        query = PageQuery.parse(request)
        changes = ProviderChange.objects.within(caller_of(request))
        rows = changes.filter(agent_id=agent_id, provider_id=provider_id)
        if not rows.exists():
            raise UnknownProvider(f"The agent {agent_id} never had a provider {provider_id[:63]!r}.")
        return page_response(
            request, paginate(request, rows, order=("-id",), query=query), schemas.show_change
        )


def _rows(request: Request, agent_id: UUID) -> QuerySet[Provider]:
    providers = Provider.objects.within(caller_of(request)).select_related("agent__lease")
    return providers.filter(agent_id=agent_id)


def _access(request: Request, reason: str = "") -> ProviderAccess:
    rights = agent_rights(caller_of(request), Action.AGENT_REGISTER)
    return ProviderAccess(actor_of(request, reason), rights)
