"""HTTP endpoints for unmodified DCM agents at /api/v1alpha1/agents, with DCM's fields, pages and errors.

Newer agents send a token, older ones do not. A request without a token is accepted only with DCM_AGENTS, and
only for agents that were registered without one. Wire contract: environment-agents.md 2.1, 2.2, 5.4,
dispatch.md A1.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import Any, ClassVar
from uuid import UUID

from django.conf import settings
from django.core import signing
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView, set_rollback

from controlplane.access.authentication import TokenAuthentication
from controlplane.access.oauth import metadata
from controlplane.api.problems import STATUS_BY_ERROR
from controlplane.errors import ControlplaneError, InvalidRequest, NotAuthenticated, UnknownAgent
from controlplane.identity.actors import Actor
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from controlplane.observability.request_ids import current_request_id
from registry.agents.models import Agent
from registry.agents.policies import liveness_policy
from registry.agents.querysets import AgentQuerySet
from registry.agents.rights import AgentRights, agent_rights
from registry.agents.states import State
from registry.api.agents.schemas import AgentRegistrationWrite, registration_from
from registry.api.heartbeats.schemas import HeartbeatWrite
from registry.heartbeats.record import Heartbeat, record_heartbeat
from registry.joining.owning_team import choose_team
from registry.joining.register import register
from registry.metrics import count_heartbeat

_MAX_PAGE_SIZE = 100
_SALT = "dcm-page"
# DCM has three statuses. congested: no new work and no alarm. unavailable: every other state.
_HEALTH_STATUSES = {
    State.READY: "ready",
    State.CONGESTED: "congested",
    State.DRAINING: "congested",
    State.UNKNOWN: "congested",
}
# The `type` of RFC 7807 problems, as sent by DCM's control plane.
_SLUGS = {
    400: "validation-error",
    401: "unauthorized",
    403: "forbidden",
    404: "not-found",
    409: "conflict",
    410: "not-found",
    413: "validation-error",
}


class DcmView(APIView):
    """A view of DCM. actions: required by method. tokenless: methods that need no token with DCM_AGENTS."""

    authentication_classes = (TokenAuthentication,)
    permission_classes = ()
    schema = None
    actions: ClassVar[dict[str, Action]] = {}
    tokenless: ClassVar[frozenset[str]] = frozenset()

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        method = request.method or ""
        if method not in self.actions:
            return  # answered with 405 by the caller
        if isinstance(request.user, Caller):
            request.user.require_for_some_owner(self.actions[method])
        elif not (settings.DCM_AGENTS and method in self.tokenless):
            raise NotAuthenticated(
                "The request has no token. Send Authorization: Bearer cp_agt_… (DCM_AUTH_TOKEN)."
            )

    def handle_exception(self, exc: Exception) -> Response:
        if isinstance(exc, ControlplaneError):
            set_rollback()
            return _problem(int(STATUS_BY_ERROR[type(exc)]), exc.detail, self.request.path)
        if isinstance(exc, serializers.ValidationError):
            return _problem(400, str(exc.detail), self.request.path)
        return super().handle_exception(exc)


class DcmAgents(DcmView):
    actions = {"GET": Action.AGENT_READ, "POST": Action.AGENT_REGISTER}
    tokenless = frozenset({"POST"})

    def get(self, request: Request) -> Response:
        rows: Any = _visible_agents(request).order_by("name")
        if status := request.query_params.get("health_status"):
            rows = rows.filter(state__in=[state.value for state in State if _health_status(state) == status])
        size = _page_size(request.query_params.get("max_page_size", ""))
        if token := request.query_params.get("page_token"):
            rows = rows.filter(name__gt=_read_page_token(token))
        agents = list(rows[: size + 1])
        page = agents[:size]
        next_token = signing.dumps(page[-1].name, salt=_SALT) if len(agents) > size else ""
        return Response({"agents": [_show(agent) for agent in page], "next_page_token": next_token})

    def post(self, request: Request) -> Response:
        body = _parse(AgentRegistrationWrite, request, defaults={"resources_available": None})
        agent, created = register(
            registration_from(body),
            actor=_actor(request),
            rights=_rights(request, Action.AGENT_REGISTER),
            policy=liveness_policy(),
            dcm=True,
            team_id=_team_id(request),
        )
        return Response(_show(agent), status=201 if created else 200)


class DcmAgent(DcmView):
    actions = {"GET": Action.AGENT_READ}
    tokenless = frozenset({"GET"})

    def get(self, request: Request, agent_id: UUID) -> Response:
        return Response(_show(_find(request, agent_id)))


class DcmHeartbeat(DcmView):
    actions = {"PUT": Action.AGENT_HEARTBEAT}
    tokenless = frozenset({"PUT"})

    def put(self, request: Request, agent_id: UUID) -> Response:
        body = _parse(HeartbeatWrite, request)
        with count_heartbeat():
            record_heartbeat(
                agent_id,
                Heartbeat(body["timestamp"], body["consumer_lag"]),
                actor=_actor(request),
                rights=_rights(request, Action.AGENT_HEARTBEAT),
                policy=liveness_policy(),
                congestion_lag=settings.CONGESTION_LAG,
            )
        return Response(_show(Agent.objects.shown().get(id=agent_id)))


def _find(request: Request, agent_id: UUID) -> Agent:
    agent = _visible_agents(request).filter(id=agent_id).first()
    if agent is None:
        raise UnknownAgent(f"agent {agent_id} not found")
    return agent


def _visible_agents(request: Request) -> AgentQuerySet:
    """Return the caller's agents; without a token those that were registered without one."""
    if isinstance(request.user, Caller):
        return Agent.objects.shown().within(request.user)
    rows: AgentQuerySet = Agent.objects.shown().filter(registered_by=None, team=None)
    return rows


def _parse(serializer: type[Any], request: Request, defaults: dict[str, Any] | None = None) -> dict[str, Any]:
    """Parse known fields. A DCM agent may send more fields, and null for those that are not set."""
    if not isinstance(request.data, dict):
        raise InvalidRequest("The body must be a JSON object.")
    fields = {name: request.data[name] for name in serializer().fields if request.data.get(name) is not None}
    parsed = serializer(data={**fields, **(defaults or {})})
    parsed.is_valid(raise_exception=True)
    return dict(parsed.validated_data)


def _actor(request: Request) -> Actor:
    if isinstance(request.user, Caller):
        return request.user.actor(current_request_id())
    return Actor(None, "dcm agent", current_request_id())


def _rights(request: Request, action: Action) -> AgentRights:
    return agent_rights(request.user, action) if isinstance(request.user, Caller) else AgentRights(None)


def _team_id(request: Request) -> UUID | None:
    """Return the owner of a new agent. DCM's agents do not name one."""
    if not isinstance(request.user, Caller):
        return None
    team = choose_team(request.user.owners_for(Action.AGENT_REGISTER), None)
    return team.id if team else None


def _health_status(state: str) -> str:
    return _HEALTH_STATUSES.get(State(state), "unavailable")


def _show(agent: Agent) -> dict[str, Any]:
    return {
        "agent_id": str(agent.id),
        "name": agent.name,
        "environment": agent.environment,
        "service_types": agent.service_types,
        "cost": agent.cost,
        "topic_name": agent.topic_name,
        "health_status": _health_status(agent.state),
        "last_heartbeat": agent.lease.renewed_at,
        "create_time": agent.created_at,
        "update_time": agent.updated_at,
        # Our addition; DCM clients ignore it.
        "state": agent.state,
    }


def _page_size(text: str) -> int:
    if not text:
        return _MAX_PAGE_SIZE
    if not (text.isascii() and text.isdecimal() and 1 <= int(text) <= _MAX_PAGE_SIZE):
        raise InvalidRequest(f"max_page_size must be from 1 to {_MAX_PAGE_SIZE}")
    return int(text)


def _read_page_token(token: str) -> str:
    try:
        return str(signing.loads(token, salt=_SALT))
    except signing.BadSignature as error:
        raise InvalidRequest("invalid page_token") from error


def _challenge() -> str:
    return metadata.challenge(settings.PUBLIC_URL, is_invalid=False)


def _problem(status: int, detail: str, instance: str) -> Response:
    slug = _SLUGS.get(status, "internal-error")
    body = {"type": slug, "title": slug.replace("-", " "), "status": status, "detail": detail}
    return Response(
        {**body, "instance": instance},
        status=status,
        content_type="application/problem+json",
        headers={"WWW-Authenticate": _challenge()} if status == HTTPStatus.UNAUTHORIZED else None,
    )
