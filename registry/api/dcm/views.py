"""HTTP endpoints for unmodified DCM agents at /api/v1alpha1/agents, with DCM's fields, pages and errors.

Newer agents send a token, older ones do not. A request without a token is accepted only with DCM_AGENTS, and
only for agents that were registered without one. Wire contract: environment-agents.md 2.1, 2.2, 5.4,
dispatch.md A1.
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.conf import settings
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane.access.teams.owning_team import choose_team
from controlplane.errors import UnknownAgent
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
from registry.api.dcm.base import DcmView, page_size, page_token, parse_known, read_page_token
from registry.api.heartbeats.schemas import HeartbeatWrite
from registry.heartbeats.record import Heartbeat, record_heartbeat
from registry.joining.register import register
from registry.metrics import count_heartbeat

_SALT = "dcm-page"
# DCM has three statuses. congested: no new work and no alarm. unavailable: every other state.
_HEALTH_STATUSES = {
    State.READY: "ready",
    State.CONGESTED: "congested",
    State.DRAINING: "congested",
    State.UNKNOWN: "congested",
}


class DcmAgents(DcmView):
    actions = {"GET": Action.AGENT_READ, "POST": Action.AGENT_REGISTER}
    tokenless = frozenset({"POST"})

    def get(self, request: Request) -> Response:
        rows: Any = _visible_agents(request).order_by("name")
        if status := request.query_params.get("health_status"):
            rows = rows.filter(state__in=[state.value for state in State if _health_status(state) == status])
        size = page_size(request.query_params.get("max_page_size", ""))
        if token := request.query_params.get("page_token"):
            rows = rows.filter(name__gt=read_page_token(token, _SALT))
        agents = list(rows[: size + 1])
        page = agents[:size]
        next_token = page_token(page[-1].name, _SALT) if len(agents) > size else ""
        return Response({"agents": [_show(agent) for agent in page], "next_page_token": next_token})

    def post(self, request: Request) -> Response:
        body = parse_known(AgentRegistrationWrite, request, defaults={"resources_available": None})
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
        body = parse_known(HeartbeatWrite, request)
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
