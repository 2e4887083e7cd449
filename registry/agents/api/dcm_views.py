"""Unmodified DCM agents at /api/v1alpha1/agents: their fields, their pages, their errors, and no token.

Only where DCM_AGENTS is on. What they send without a token may touch agents that came the same way, and
no others. Wire contract: environment-agents.md 2.1, 2.2, 5.4.
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.conf import settings
from django.core import signing
from django.http import Http404
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from controlplane.access.actors import Actor
from controlplane.api.problems import STATUS_BY_ERROR
from controlplane.api.request_ids import current_request_id
from controlplane.errors import ControlplaneError, InvalidRequest, UnknownAgent
from registry.agents.api.heartbeat_shapes import HeartbeatWrite
from registry.agents.api.serializers import RegistrationWrite, registration_from
from registry.agents.heartbeats import Heartbeat, record_heartbeat
from registry.agents.metrics import counted
from registry.agents.policies import liveness_policy
from registry.agents.registering import register
from registry.agents.states import State
from registry.models import Agent

_MOST = 100
_SALT = "dcm-page"
# DCM knows three words. No new work and no alarm: congested. Nobody there: unavailable.
_WORDS = {
    State.READY: "ready",
    State.CONGESTED: "congested",
    State.DRAINING: "congested",
    State.UNKNOWN: "congested",
}
# RFC 7807's `type`, as DCM's control plane says it.
_SLUGS = {
    400: "validation-error",
    404: "not-found",
    409: "conflict",
    410: "not-found",
    413: "validation-error",
}


class DcmView(APIView):
    authentication_classes = ()
    permission_classes = ()
    schema = None

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        if not settings.DCM_AGENTS:
            raise Http404
        super().initial(request, *args, **kwargs)

    def handle_exception(self, exc: Exception) -> Response:
        if isinstance(exc, Http404):
            return super().handle_exception(exc)
        if isinstance(exc, ControlplaneError):
            return _problem(int(STATUS_BY_ERROR[type(exc)]), exc.detail, self.request.path)
        if isinstance(exc, serializers.ValidationError):
            return _problem(400, str(exc.detail), self.request.path)
        return super().handle_exception(exc)


class DcmAgents(DcmView):
    def get(self, request: Request) -> Response:
        rows: Any = Agent.objects.shown().order_by("name")
        if word := request.query_params.get("health_status"):
            rows = rows.filter(state__in=[state.value for state in State if _word(state) == word])
        size = _page_size(request.query_params.get("max_page_size", ""))
        if token := request.query_params.get("page_token"):
            rows = rows.filter(name__gt=_read_page_token(token))
        found = list(rows[: size + 1])
        page = found[:size]
        more = signing.dumps(page[-1].name, salt=_SALT) if len(found) > size else ""
        return Response({"agents": [_show(one) for one in page], "next_page_token": more})

    def post(self, request: Request) -> Response:
        said = _parsed(RegistrationWrite, request, also={"resources_available": None})
        policy = liveness_policy()
        agent, created = register(registration_from(said), actor=_actor(), any_agent=False, policy=policy)
        return Response(_show(agent), status=201 if created else 200)


class DcmAgent(DcmView):
    def get(self, request: Request, agent_id: UUID) -> Response:
        return Response(_show(_find(agent_id)))


class DcmHeartbeat(DcmView):
    def put(self, request: Request, agent_id: UUID) -> Response:
        said = _parsed(HeartbeatWrite, request)
        with counted():
            record_heartbeat(
                agent_id,
                Heartbeat(said["timestamp"], said["consumer_lag"]),
                actor=_actor(),
                any_agent=False,
                policy=liveness_policy(),
                congestion_lag=settings.CONGESTION_LAG,
            )
        return Response(_show(_find(agent_id)))


def _find(agent_id: UUID) -> Agent:
    found = Agent.objects.shown().filter(id=agent_id).first()
    if found is None:
        raise UnknownAgent(f"agent {agent_id} not found")
    return found


def _parsed(shape: type[Any], request: Request, also: dict[str, Any] | None = None) -> dict[str, Any]:
    """Members that we know; a DCM agent may send more, and null where it has nothing."""
    if not isinstance(request.data, dict):
        raise InvalidRequest("The body must be a JSON object.")
    known = {name: request.data[name] for name in shape().fields if request.data.get(name) is not None}
    parsed = shape(data={**known, **(also or {})})
    parsed.is_valid(raise_exception=True)
    return dict(parsed.validated_data)


def _actor() -> Actor:
    return Actor(None, "dcm agent", current_request_id())


def _word(state: str) -> str:
    return _WORDS.get(State(state), "unavailable")


def _show(agent: Agent) -> dict[str, Any]:
    return {
        "agent_id": str(agent.id),
        "name": agent.name,
        "environment": agent.environment,
        "service_types": agent.service_types,
        "cost": agent.cost,
        "topic_name": agent.topic_name,
        "health_status": _word(agent.state),
        "last_heartbeat": agent.lease.renewed_at,
        "create_time": agent.created_at,
        "update_time": agent.updated_at,
        # Ours; a DCM client ignores it.
        "state": agent.state,
    }


def _page_size(text: str) -> int:
    if not text:
        return _MOST
    if not (text.isascii() and text.isdecimal() and 1 <= int(text) <= _MOST):
        raise InvalidRequest(f"max_page_size must be from 1 to {_MOST}")
    return int(text)


def _read_page_token(token: str) -> str:
    try:
        return str(signing.loads(token, salt=_SALT))
    except signing.BadSignature as error:
        raise InvalidRequest("invalid page_token") from error


def _problem(status: int, detail: str, instance: str) -> Response:
    slug = _SLUGS.get(status, "internal-error")
    body = {"type": slug, "title": slug.replace("-", " "), "status": status, "detail": detail}
    return Response({**body, "instance": instance}, status=status, content_type="application/problem+json")
