"""HTTP endpoints to list, register, read and remove agents."""

from __future__ import annotations

from functools import partial
from uuid import UUID

from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane import errors
from controlplane.access.teams.owning_team import choose_team
from controlplane.api.endpoints import OF_LISTS, Endpoint, actor_of, caller_of, mutation
from controlplane.api.fields import Query, parse_body
from controlplane.api.pages import page_response, paginate
from controlplane.errors import Conflict, DuplicateInstance
from controlplane.identity.roles import Action
from registry.agents.chance import steady_chance
from registry.agents.lookup import get_agent, lock_agent
from registry.agents.policies import liveness_policy
from registry.agents.rights import agent_rights
from registry.api.agents import examples, schemas
from registry.api.agents.list_query import AgentListQuery
from registry.api.retry_after import with_retry_after
from registry.joining.name_conflicts import note_rival
from registry.joining.register import register
from registry.lifecycle import remove
from registry.listing.search import search_agents


class AgentCollection(Endpoint):
    actions = {"GET": Action.AGENT_READ, "POST": Action.AGENT_REGISTER}
    staleness = OF_LISTS
    problems = {"POST": (errors.UnknownTeam,)}
    unlimited_methods = frozenset({"POST"})

    def handle_exception(self, exc: Exception) -> Response:
        """Record the rival instance after the transaction of the rejected registration is rolled back."""
        if isinstance(exc, DuplicateInstance):
            note_rival(exc, actor=actor_of(self.request))
        return with_retry_after(super().handle_exception(exc), exc)

    @extend_schema(
        operation_id="agents_list",
        summary="List agents",
        description=(
            "Filter by state, environment, service type, label or name. Shows each agent with its state and "
            "last heartbeat."
        ),
        tags=["agents"],
        parameters=[AgentListQuery],
        responses=schemas.AgentPage,
        examples=[
            OpenApiExample(
                "A page", value={"items": [examples.AGENT], "next_cursor": None}, response_only=True
            )
        ],
    )
    def get(self, request: Request) -> Response:
        query = AgentListQuery.parse(request)
        policy = liveness_policy()
        rows = search_agents(query, caller_of(request))
        page = paginate(request, rows, order=query["sort"], query=query)
        return page_response(request, page, partial(schemas.show_agent, policy=policy))

    @extend_schema(
        operation_id="agents_register",
        summary="Register an agent",
        description=(
            "201 for a new agent, 200 for an existing one. It becomes ready and its lease starts. With an "
            "`instance_uuid`, 409 `duplicate_instance` while another process with the same name and "
            "credential sends heartbeats; register again after `Retry-After` seconds."
        ),
        tags=["agents"],
        parameters=[schemas.RegistrationQuery],
        request=schemas.OwnedRegistrationWrite,
        responses={200: schemas.AgentRead, 201: schemas.AgentRead},
        examples=[
            OpenApiExample("An agent", value=examples.REGISTRATION, request_only=True),
            examples.AGENT_READ,
        ],
    )
    @mutation
    def post(self, request: Request) -> Response:
        schemas.RegistrationQuery.parse(request)
        body = parse_body(schemas.OwnedRegistrationWrite, request)
        policy, caller = liveness_policy(), caller_of(request)
        team = choose_team(caller.owners_for(Action.AGENT_REGISTER), body["team"])
        agent, created = register(
            schemas.registration_from(body),
            actor=actor_of(request),
            rights=agent_rights(caller, Action.AGENT_REGISTER),
            policy=policy,
            team_id=team.id if team else None,
        )
        if body["team"] and agent.team != team:
            raise Conflict(
                f"The agent {agent.name!r} already has another owner. Transfer it with "
                f"POST /api/v1/agents/{agent.id}:transfer, or leave out team."
            )
        location = {"Location": f"{request.path}/{agent.id}"}
        return Response(schemas.show_agent(agent, policy), status=201 if created else 200, headers=location)


class AgentItem(Endpoint):
    actions = {"GET": Action.AGENT_READ, "DELETE": Action.AGENT_WRITE}
    problems = {"DELETE": (errors.StillInUse,)}

    @extend_schema(
        operation_id="agents_get",
        summary="Get one agent",
        description="Includes the agent's state, lease, capacity, service types and task types.",
        tags=["agents"],
        responses=schemas.AgentRead,
        examples=[examples.AGENT_READ],
    )
    def get(self, request: Request, agent_id: UUID) -> Response:
        Query.parse(request)
        agent = get_agent(caller_of(request), agent_id)
        chance = steady_chance(agent.id, agent.lease.expires_at)
        return Response(schemas.show_agent(agent, liveness_policy(), chance))

    @extend_schema(
        operation_id="agents_remove",
        summary="Remove the record of an agent",
        description="Only for a retired agent: otherwise 409 `still_in_use`, unless `force=true`.",
        tags=["agents"],
        parameters=[schemas.RemovalQuery],
        responses={204: None},
    )
    @mutation
    def delete(self, request: Request, agent_id: UUID) -> Response:
        query = schemas.RemovalQuery.parse(request)
        lock_agent(caller_of(request), agent_id, Action.AGENT_WRITE)
        remove(agent_id, force=query["force"], actor=actor_of(request, query["change_message"]))
        return Response(status=204)
