"""HTTP endpoints for heartbeats, single and in batches."""

from __future__ import annotations

from uuid import UUID

from django.conf import settings
from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane import errors
from controlplane.access.models import Token
from controlplane.api.endpoints import Endpoint, actor_of, caller_of
from controlplane.api.fields import Query, parse_body
from controlplane.identity.roles import Action
from registry.agents.liveness import LivenessPolicy
from registry.agents.models import Agent
from registry.agents.policies import liveness_policy
from registry.agents.rights import agent_rights
from registry.api.heartbeats import schemas
from registry.api.heartbeats.bulk_results import record_batch
from registry.api.retry_after import with_retry_after
from registry.heartbeats.permits import give_permit
from registry.heartbeats.record import record_heartbeat, renewal_of
from registry.heartbeats.record_many import RecordingOptions
from registry.metrics import count_heartbeat

_WHEN = "2026-11-21T09:30:00Z"
_HEARTBEAT = {"timestamp": _WHEN, "consumer_lag": 0}
_HEARTBEAT_WITH_REPORT = {
    **_HEARTBEAT,
    "conditions": [{"type": "DiskPressure", "status": "false"}],
    "versions": {"agent": "1.4.2"},
    "providers": [{"name": "kubevirt", "service_type": "vm", "status": "ready"}],
}
_ID = "019a9f5e-7c00-7000-8000-000000000031"
_RENEWAL = {
    "agent_id": _ID,
    "health_status": "ready",
    "last_heartbeat": _WHEN,
    "lease_expires_at": "2026-11-21T09:31:30Z",
    "lease_seconds": 90,
    "heartbeat_interval": 30,
    "next_heartbeat_in_seconds": 27.4,
    "generation": 1,
    "directives": [],
    "configuration_etag": "",
}
_BATCH_RESULT = {
    "agent_id": _ID,
    "status": 200,
    "code": None,
    "detail": None,
    "errors": [],
    "heartbeat": _RENEWAL,
}


class AgentHeartbeat(Endpoint):
    """Record a heartbeat. Plain ones are answered by registry.api.heartbeats.fast_path instead."""

    actions = {"PUT": Action.AGENT_HEARTBEAT}
    problems = {
        "PUT": (
            errors.UnknownAgent,
            errors.DuplicateInstance,
            errors.AgentRetired,
        )
    }
    unlimited_methods = frozenset({"PUT"})

    def handle_exception(self, exc: Exception) -> Response:
        return with_retry_after(super().handle_exception(exc), exc)

    @extend_schema(
        operation_id="agents_heartbeat",
        summary="Send a heartbeat",
        description=(
            "Renews the lease and responds once the renewal is durable. Send the next heartbeat after "
            "`next_heartbeat_in_seconds`. On 404 and 410, register again. On 409 `duplicate_instance`, "
            "another process with your name and credential sends heartbeats: register again after "
            "`Retry-After` seconds. Conditions, versions and provider health that you leave out stay "
            "unchanged. Unknown members are ignored."
        ),
        tags=["agents"],
        request=schemas.HeartbeatWrite,
        responses=schemas.HeartbeatRead,
        examples=[
            OpenApiExample("A heartbeat", value=_HEARTBEAT, request_only=True),
            OpenApiExample("With a report", value=_HEARTBEAT_WITH_REPORT, request_only=True),
            OpenApiExample("Accepted", value=_RENEWAL, response_only=True),
        ],
    )
    def put(self, request: Request, agent_id: UUID) -> Response:
        Query.parse(request)
        body = schemas.parse_with(schemas.HeartbeatWrite, request.data)
        policy = liveness_policy()
        with count_heartbeat():
            heartbeat = schemas.heartbeat_of(body, request.data)
            options = _recording_options(request, policy)
            agent = record_heartbeat(agent_id, heartbeat, **options.as_arguments())
        _ensure_permit(agent, request)
        return Response(schemas.show_heartbeat(renewal_of(agent), policy))


class HeartbeatBatch(Endpoint):
    actions = {"POST": Action.AGENT_HEARTBEAT}
    unlimited_methods = frozenset({"POST"})

    @extend_schema(
        operation_id="agents_heartbeat_many",
        summary="Send heartbeats for up to 1,000 agents",
        description=(
            "Each heartbeat is accepted or refused by itself, with the result it would get if sent alone. "
            "The caller must have registered the agents, or be allowed to change all agents."
        ),
        tags=["agents"],
        request=schemas.HeartbeatBatchWrite,
        responses={200: schemas.HeartbeatBatchRead},
        examples=[
            OpenApiExample("A batch", value={"items": [{"agent_id": _ID, **_HEARTBEAT}]}, request_only=True),
            OpenApiExample("Accepted", value={"items": [_BATCH_RESULT]}, response_only=True),
        ],
    )
    def post(self, request: Request) -> Response:
        Query.parse(request)
        items = parse_body(schemas.HeartbeatBatchWrite, request)["items"]
        options = _recording_options(request, liveness_policy())
        return Response({"items": record_batch(items, options)})


def _recording_options(request: Request, policy: LivenessPolicy) -> RecordingOptions:
    return RecordingOptions(
        actor_of(request),
        agent_rights(caller_of(request), Action.AGENT_HEARTBEAT),
        policy,
        settings.CONGESTION_LAG,
    )


def _ensure_permit(agent: Agent, request: Request) -> None:
    token = request.auth
    if isinstance(token, Token) and bytes(agent.lease.token_digest or b"") != bytes(token.digest):
        give_permit(agent, token)
