"""HTTP endpoints for heartbeats, single and in batches."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any
from uuid import UUID

from django.conf import settings
from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane import errors
from controlplane.access.models import Token
from controlplane.api.endpoints import Endpoint, actor_of, caller_of
from controlplane.api.fields import Query, parse_body
from controlplane.api.problems import STATUS_BY_ERROR
from controlplane.errors import ControlplaneError
from controlplane.identity.roles import Action
from registry.agents.liveness import LivenessPolicy
from registry.agents.models import Agent
from registry.agents.policies import liveness_policy
from registry.agents.rights import agent_rights
from registry.api.heartbeats import schemas
from registry.api.heartbeats.bulk_entries import BadEntry, Entry, read_entries
from registry.api.retry_after import with_retry_after
from registry.heartbeats.permits import give_permit
from registry.heartbeats.record import record_heartbeat, renewal_of
from registry.heartbeats.record_many import record_heartbeats
from registry.heartbeats.renew import Renewal
from registry.metrics import HEARTBEATS, count_heartbeat

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
            agent = record_heartbeat(
                agent_id, schemas.heartbeat_of(body, request.data), **_recording_options(request, policy)
            )
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
        policy = liveness_policy()
        entries = read_entries(items)
        heartbeats = {entry.agent_id: entry.heartbeat for entry in entries if isinstance(entry, Entry)}
        results = record_heartbeats(heartbeats, **_recording_options(request, policy))
        items = [
            _accepted(entry.agent_id, results[entry.agent_id], policy)
            if isinstance(entry, Entry)
            else _refused(entry)
            for entry in entries
        ]
        return Response({"items": items})


def _recording_options(request: Request, policy: LivenessPolicy) -> dict[str, Any]:
    return {
        "actor": actor_of(request),
        "rights": agent_rights(caller_of(request), Action.AGENT_HEARTBEAT),
        "policy": policy,
        "congestion_lag": settings.CONGESTION_LAG,
    }


def _ensure_permit(agent: Agent, request: Request) -> None:
    token = request.auth
    if isinstance(token, Token) and bytes(agent.lease.token_digest or b"") != bytes(token.digest):
        give_permit(agent, token)


def _accepted(agent_id: UUID, result: Renewal | ControlplaneError, policy: LivenessPolicy) -> dict[str, Any]:
    if isinstance(result, ControlplaneError):
        return _refused(BadEntry(str(agent_id), result))
    HEARTBEATS.labels("accepted").inc()
    answer = schemas.show_heartbeat(result, policy)
    plain = {"agent_id": str(agent_id), "status": 200, "code": None, "detail": None, "errors": []}
    return {**plain, "heartbeat": answer}


def _refused(entry: BadEntry) -> dict[str, Any]:
    error = entry.error
    HEARTBEATS.labels(error.code).inc()
    return {
        "agent_id": entry.agent_id,
        "status": int(STATUS_BY_ERROR[type(error)]),
        "code": error.code,
        "detail": error.detail,
        "errors": [asdict(field_error) for field_error in error.errors],
        "heartbeat": None,
    }
