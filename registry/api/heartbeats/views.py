"""Doors to heartbeats: one, and many at once."""

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
from registry.api.heartbeats import schemas
from registry.api.heartbeats.bulk_entries import BadEntry, Entry, read_entries
from registry.api.retry_after import with_retry_after
from registry.heartbeats.permits import give_permit
from registry.heartbeats.record import record_heartbeat, renewal_of
from registry.heartbeats.record_many import record_heartbeats
from registry.heartbeats.renew import Renewal
from registry.metrics import HEARTBEATS, count_heartbeat

_WHEN = "2026-11-21T09:30:00Z"
_BEAT = {"timestamp": _WHEN, "consumer_lag": 0}
_REPORTED = {
    **_BEAT,
    "conditions": [{"type": "DiskPressure", "status": "false"}],
    "versions": {"agent": "1.4.2"},
    "providers": [{"name": "kubevirt", "service_type": "vm", "status": "ready"}],
}
_ID = "019a9f5e-7c00-7000-8000-000000000031"
_ANSWER = {
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
_ACCEPTED = {"agent_id": _ID, "status": 200, "code": None, "detail": None, "errors": [], "heartbeat": _ANSWER}


class AgentHeartbeat(Endpoint):
    """Plain heartbeats never come here: registry.api.heartbeats.fast_path takes them."""

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
            "Renews the lease; answered when it is durable. Beat again after `next_heartbeat_in_seconds`. "
            "On 404 and 410 register again. On 409 `duplicate_instance` another process with your name and "
            "credential sends heartbeats: register again after `Retry-After` seconds. What is left out of "
            "conditions, versions and provider health stays as it is. Unknown members are ignored."
        ),
        tags=["agents"],
        request=schemas.HeartbeatWrite,
        responses=schemas.HeartbeatRead,
        examples=[
            OpenApiExample("A heartbeat", value=_BEAT, request_only=True),
            OpenApiExample("With a report", value=_REPORTED, request_only=True),
            OpenApiExample("Taken", value=_ANSWER, response_only=True),
        ],
    )
    def put(self, request: Request, agent_id: UUID) -> Response:
        Query.parse(request)
        body = schemas.parsed(schemas.HeartbeatWrite, request.data)
        policy = liveness_policy()
        with count_heartbeat():
            agent = record_heartbeat(
                agent_id, schemas.heartbeat_of(body, request.data), **_how(request, policy)
            )
        _permit(agent, request)
        return Response(schemas.show_heartbeat(renewal_of(agent), policy))


class ManyHeartbeats(Endpoint):
    actions = {"POST": Action.AGENT_HEARTBEAT}
    unlimited_methods = frozenset({"POST"})

    @extend_schema(
        operation_id="agents_heartbeat_many",
        summary="Send heartbeats for up to 1,000 agents",
        description=(
            "Each heartbeat is taken or refused by itself, and answered as if it had been sent alone. "
            "The gateway's token must have registered the agents, or be allowed to change all."
        ),
        tags=["agents"],
        request=schemas.HeartbeatBatchWrite,
        responses={200: schemas.HeartbeatBatchRead},
        examples=[
            OpenApiExample("Two", value={"items": [{"agent_id": _ID, **_BEAT}]}, request_only=True),
            OpenApiExample("Taken", value={"items": [_ACCEPTED]}, response_only=True),
        ],
    )
    def post(self, request: Request) -> Response:
        Query.parse(request)
        items = parse_body(schemas.HeartbeatBatchWrite, request)["items"]
        policy = liveness_policy()
        entries = read_entries(items)
        beats = {entry.agent_id: entry.heartbeat for entry in entries if isinstance(entry, Entry)}
        results = record_heartbeats(beats, **_how(request, policy))
        items = [
            _accepted(entry.agent_id, results[entry.agent_id], policy)
            if isinstance(entry, Entry)
            else _refused(entry)
            for entry in entries
        ]
        return Response({"items": items})


def _how(request: Request, policy: LivenessPolicy) -> dict[str, Any]:
    return {
        "actor": actor_of(request),
        "any_agent": caller_of(request).verdict(Action.AGENT_WRITE).allowed,
        "policy": policy,
        "congestion_lag": settings.CONGESTION_LAG,
    }


def _permit(agent: Agent, request: Request) -> None:
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
