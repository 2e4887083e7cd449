"""HTTP endpoints for join tokens and for the credentials of agents."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane import errors
from controlplane.access.issue_tokens import check_before
from controlplane.access.issuers.external_tokens import ExternalToken
from controlplane.access.models import Token
from controlplane.api.endpoints import Endpoint, MutationQuery, ReasonedQuery, actor_of, caller_of, mutation
from controlplane.api.fields import parse_body
from controlplane.api.pages import page_response, paginate
from controlplane.identity.roles import Action
from registry.agents.lookup import get_own_agent
from registry.agents.policies import liveness_policy
from registry.api.agents import examples, schemas
from registry.api.joining.join_views import CREDENTIAL
from registry.api.joining.schemas import (
    AgentCredential,
    CreatedJoinToken,
    JoinTokenListQuery,
    JoinTokenPage,
    JoinTokenWrite,
    RevokedAgentToken,
    RevokedAgentTokens,
    join_token_spec,
)
from registry.joining.credentials import revoke_all, rotate
from registry.joining.join_tokens import (
    check_may_create,
    create_join_token,
    lock_join_token,
    readable_join_tokens,
    revoke_join_token,
)
from registry.joining.models import JoinToken

_TOKEN = {
    "id": "019a9f5e-7c00-7000-8000-000000000041",
    "name": "eu-fleet",
    "hint": "cp_joi_3fZa",
    "team": "ml",
    "name_pattern": "prod-eu-*",
    "environment": "prod-eu-west-1",
    "service_types": ["vm", "container"],
    "needs_approval": False,
    "may_take_over": False,
    "issuer_rule": None,
    "uses_left": 10,
    "created_by": "admin",
    "created_at": examples.WHEN,
    "expires_at": "2026-11-22T09:30:00Z",
    "revoked": False,
}
_REVOKED = {
    "agent": CREDENTIAL["agent"],
    "tokens": [
        {
            "id": "019a9f5e-7c00-7000-8000-000000000042",
            "name": "agent",
            "hint": "cp_agt_3fZa",
            "created_at": examples.WHEN,
            "expires_at": None,
            "last_used_at": examples.WHEN,
        }
    ],
}


class JoinTokenCollection(Endpoint):
    actions = {"GET": Action.ACCESS_READ, "POST": Action.ACCESS_WRITE}
    delegated = True
    problems = {"POST": (errors.UnknownTeam, errors.QuotaExceeded)}

    @extend_schema(
        operation_id="join_tokens_list",
        summary="List join tokens",
        description="Returns each token with its terms and remaining uses, never with its secret.",
        tags=["joining"],
        parameters=[JoinTokenListQuery],
        responses=JoinTokenPage,
        examples=[
            OpenApiExample("A page", value={"items": [_TOKEN], "next_cursor": None}, response_only=True)
        ],
    )
    def get(self, request: Request) -> Response:
        query = JoinTokenListQuery.parse(request)
        rows = readable_join_tokens(caller_of(request))
        if "team" in query:
            rows = rows.filter(team__slug=query["team"])
        page = paginate(request, rows.filter(query["q"]), order=query["sort"], query=query)
        return page_response(request, page, _show_token)

    @extend_schema(
        operation_id="join_tokens_create",
        summary="Create a join token",
        description="Give the token to the agents' operator. It is shown only once.",
        tags=["joining"],
        parameters=[MutationQuery],
        request=JoinTokenWrite,
        responses={201: CreatedJoinToken},
        examples=[
            OpenApiExample(
                "For ten agents",
                value={"name": "eu-fleet", "name_pattern": "prod-eu-*", "uses": 10},
                request_only=True,
            ),
            OpenApiExample(
                "A join token",
                value={**_TOKEN, "token": "cp_joi_3fZa..."},
                response_only=True,
                status_codes=["201"],
            ),
        ],
    )
    @mutation
    def post(self, request: Request) -> Response:
        MutationQuery.parse(request)
        body = parse_body(JoinTokenWrite, request)
        spec = join_token_spec(body, caller_of(request))
        check_may_create(caller_of(request), spec.team)
        if spec.issuer_rule is not None:
            # It decides about tokens of an issuer that all teams use.
            caller_of(request).require(Action.ACCESS_WRITE)
        issuer = request.auth if isinstance(request.auth, Token) else None
        if isinstance(request.auth, ExternalToken):
            check_before(spec.expires_at, request.auth.expires_at, "/expires_in_seconds")
        token, secret = create_join_token(
            body["name"], spec, actor=actor_of(request), issuer_id=issuer.id if issuer else None
        )
        return _respond_once({**_show_token(token), "token": secret}, 201)


class JoinTokenItem(Endpoint):
    actions = {"DELETE": Action.ACCESS_WRITE}
    delegated = True

    @extend_schema(
        operation_id="join_tokens_revoke",
        summary="Revoke a join token",
        description="Agents that joined with the token keep their credentials.",
        tags=["joining"],
        parameters=[ReasonedQuery],
        responses={204: None},
    )
    @mutation
    def delete(self, request: Request, token_id: UUID) -> Response:
        query = ReasonedQuery.parse(request)
        lock_join_token(caller_of(request), token_id)
        revoke_join_token(token_id, actor=actor_of(request, query["change_message"]))
        return Response(status=204)


class AgentRotation(Endpoint):
    actions = {"POST": Action.AGENT_HEARTBEAT}

    @extend_schema(
        operation_id="agents_rotate",
        summary="Rotate the token of an agent",
        description=(
            "Agents can rotate their own token, operators the token of any agent. The former tokens are "
            "revoked at once."
        ),
        tags=["joining"],
        parameters=[ReasonedQuery],
        request=None,
        responses=AgentCredential,
        examples=[OpenApiExample("A credential", value=CREDENTIAL, response_only=True)],
    )
    @mutation
    def post(self, request: Request, agent_id: UUID) -> Response:
        query = ReasonedQuery.parse(request)
        agent = get_own_agent(caller_of(request), agent_id)
        token = request.auth if isinstance(request.auth, Token) else None
        own_token = token if token and token.principal_id == agent.registered_by else None
        secret = rotate(agent, actor=actor_of(request, query["change_message"]), own_token=own_token)
        body = {
            "agent": schemas.show_agent(agent, liveness_policy()),
            "token": secret,
            "token_expires_at": own_token.expires_at if own_token else None,
        }
        return _respond_once(body, 200)


class AgentTokenRevocation(Endpoint):
    actions = {"POST": Action.AGENT_HEARTBEAT}

    @extend_schema(
        operation_id="agents_revoke_tokens",
        summary="Revoke the tokens of an agent",
        description=(
            "The agent's requests are refused at once, and its lease ends. Its record, its resources and its "
            "login at NATS stay. To let it return, rotate its token, or let it join again. A dry run answers "
            "which tokens would be revoked, and when each was last used. 409 if the agent uses a shared "
            "token."
        ),
        tags=["joining"],
        parameters=[ReasonedQuery],
        request=None,
        responses=RevokedAgentTokens,
        examples=[OpenApiExample("One token", value=_REVOKED, response_only=True)],
    )
    @mutation
    def post(self, request: Request, agent_id: UUID) -> Response:
        query = ReasonedQuery.parse(request)
        agent = get_own_agent(caller_of(request), agent_id)
        tokens = revoke_all(agent, actor=actor_of(request, query["change_message"]))
        shown = schemas.show_agent(agent, liveness_policy())
        return Response({"agent": shown, "tokens": RevokedAgentToken(tokens, many=True).data})


def _respond_once(body: dict[str, Any], status: int) -> Response:
    """Respond with a secret, which an idempotent replay leaves out."""
    response = Response(body, status=status)
    response.replayed_body = {**body, "token": None}  # type: ignore[attr-defined]  # endpoints.py
    return response


def _show_token(token: JoinToken) -> dict[str, Any]:
    fields = {name: getattr(token, name) for name in _TOKEN if name not in ("id", "team", "revoked")}
    owner = token.team.slug if token.team else None
    return {"id": str(token.id), "team": owner, **fields, "revoked": token.revoked_at is not None}
