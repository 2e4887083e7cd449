"""HTTP endpoints for join tokens and for the credentials of agents."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework.authentication import BaseAuthentication
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane.access.issue_tokens import check_before
from controlplane.access.issuers.external_tokens import ExternalToken
from controlplane.access.models import Token
from controlplane.api import idempotency
from controlplane.api.endpoints import Endpoint, MutationQuery, ReasonedQuery, actor_of, caller_of, mutation
from controlplane.api.fields import parse_body
from controlplane.api.pages import PageQuery, page_response, paginate
from controlplane.errors import ControlplaneError, PermissionDenied, UnknownAgent
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from controlplane.observability.request_ids import current_request_id
from registry.agents.liveness import LivenessPolicy
from registry.agents.models import Agent
from registry.agents.policies import liveness_policy
from registry.api.agents import examples, schemas
from registry.api.joining.schemas import (
    AgentCredential,
    CreatedJoinToken,
    JoinTokenPage,
    JoinTokenWrite,
    join_token_spec,
)
from registry.joining.join import JoinResult, join, rotate
from registry.joining.join_tokens import (
    create_join_token,
    find_join_token,
    record_refusal,
    revoke_join_token,
)
from registry.joining.models import JoinToken
from registry.joining.repeated_joins import RepeatKey, repeat_key
from registry.metrics import JOINS

_SCHEME = "bearer"
_TOKEN = {
    "id": "019a9f5e-7c00-7000-8000-000000000041",
    "name": "eu-fleet",
    "hint": "cp_joi_3fZa",
    "name_pattern": "prod-eu-*",
    "environment": "prod-eu-west-1",
    "service_types": ["vm", "container"],
    "needs_approval": False,
    "may_take_over": False,
    "uses_left": 10,
    "created_by": "admin",
    "created_at": examples.WHEN,
    "expires_at": "2026-11-22T09:30:00Z",
    "revoked": False,
}
_CREDENTIAL = {"agent": examples.AGENT, "token": "cp_agt_9xQb..."}


class JoinTokenAuthentication(BaseAuthentication):
    """Authenticate `Authorization: Bearer cp_joi_…`, which permits joining and nothing else."""

    def authenticate(self, request: Request) -> tuple[Caller, JoinToken] | None:
        secret = _secret(request)
        if secret is None:
            return None
        token = find_join_token(secret, repeats="Idempotency-Key" in request.headers)
        return Caller(None, f"join token {token.name}"[:63], "join", ()), token

    def authenticate_header(self, request: Request) -> str:
        return "Bearer"


def _secret(request: Request) -> str | None:
    scheme, _, secret = request.headers.get("Authorization", "").partition(" ")
    return secret.strip() if scheme.lower() == _SCHEME else None


class JoinTokenCollection(Endpoint):
    actions = {"GET": Action.ACCESS_READ, "POST": Action.ACCESS_WRITE}

    @extend_schema(
        operation_id="join_tokens_list",
        summary="List join tokens",
        description="Returns each token with its terms and remaining uses, never with its secret.",
        tags=["joining"],
        parameters=[PageQuery],
        responses=JoinTokenPage,
        examples=[
            OpenApiExample("A page", value={"items": [_TOKEN], "next_cursor": None}, response_only=True)
        ],
    )
    def get(self, request: Request) -> Response:
        query = PageQuery.parse(request)
        page = paginate(request, JoinToken.objects.all(), order=("-id",), query=query)
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
        spec = join_token_spec(body)
        issuer = request.auth if isinstance(request.auth, Token) else None
        if isinstance(request.auth, ExternalToken):
            check_before(spec.expires_at, request.auth.expires_at, "/expires_in_seconds")
        token, secret = create_join_token(
            body["name"], spec, actor=actor_of(request), issuer_id=issuer.id if issuer else None
        )
        return _respond_once({**_show_token(token), "token": secret}, 201)


class JoinTokenItem(Endpoint):
    actions = {"DELETE": Action.ACCESS_WRITE}

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
        revoke_join_token(token_id, actor=actor_of(request, query["change_message"]))
        return Response(status=204)


class AgentJoin(Endpoint):
    """Join an agent. Plain joins are answered by registry.api.joining.fast_path instead."""

    actions = {"POST": Action.AGENT_JOIN}
    unlimited_methods = frozenset({"POST"})
    authentication_classes = (JoinTokenAuthentication,)

    def handle_exception(self, exc: Exception) -> Response:
        """Record a refusal, in a transaction of its own: that of the join is rolled back by now."""
        secret = _secret(self.request)
        if secret and isinstance(exc, ControlplaneError):
            record_refusal(secret, exc.detail, request_id=current_request_id())
        return super().handle_exception(exc)

    @extend_schema(
        operation_id="agents_join",
        summary="Join with a join token",
        description=(
            "Registers the agent and returns a token of its own, bound to its name. Store the token: it is "
            "shown once. If the response is lost, repeat the request with the same `Idempotency-Key` within "
            "a day: while the first token is unused, it is revoked and the same agent gets a new one, "
            "without spending another use of the join token. With a join token that needs approval the "
            "agent is `registered`: it can send heartbeats, but gets no work until an operator approves it."
        ),
        tags=["joining"],
        parameters=[MutationQuery],
        request=schemas.AgentRegistrationWrite,
        responses={200: AgentCredential, 201: AgentCredential},
        examples=[
            OpenApiExample("An agent", value=examples.REGISTRATION, request_only=True),
            OpenApiExample(
                "A credential", value=_CREDENTIAL, response_only=True, status_codes=["200", "201"]
            ),
        ],
    )
    @mutation
    def post(self, request: Request) -> Response:
        MutationQuery.parse(request)
        token = request.auth
        if not isinstance(token, JoinToken):
            raise PermissionDenied("Joining requires a join token: Authorization: Bearer cp_joi_…")
        registration = schemas.registration_from(parse_body(schemas.AgentRegistrationWrite, request))
        policy = liveness_policy()
        try:
            result = join(
                token,
                registration,
                request_id=current_request_id(),
                policy=policy,
                repeat=_repeat_key(request),
            )
        except ControlplaneError as error:
            JOINS.labels(error.code).inc()
            raise
        JOINS.labels("accepted").inc()
        response = Response(show_join_result(result, policy), status=201 if result.created else 200)
        if result.repeated:
            response["Idempotent-Replayed"] = "true"
        return response


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
        examples=[OpenApiExample("A credential", value=_CREDENTIAL, response_only=True)],
    )
    @mutation
    def post(self, request: Request, agent_id: UUID) -> Response:
        query = ReasonedQuery.parse(request)
        agent = Agent.objects.shown().filter(id=agent_id).first()
        if agent is None:
            raise UnknownAgent(f"There is no agent {agent_id}.")
        caller = caller_of(request)
        if agent.registered_by != caller.principal_id:
            caller.require(Action.AGENT_WRITE)
        token = request.auth if isinstance(request.auth, Token) else None
        own_token = token if token and token.principal_id == agent.registered_by else None
        secret = rotate(agent, actor=actor_of(request, query["change_message"]), own_token=own_token)
        body = {"agent": schemas.show_agent(agent, liveness_policy()), "token": secret}
        return _respond_once(body, 200)


def _repeat_key(request: Request) -> RepeatKey | None:
    key = idempotency.key_of(request)
    is_dry_run = MutationQuery.parse(request)["dry_run"]
    return None if key is None or is_dry_run else repeat_key(key, request.data)


def show_join_result(result: JoinResult, policy: LivenessPolicy) -> dict[str, Any]:
    return {"agent": schemas.show_agent(result.agent, policy), "token": result.secret}


def _respond_once(body: dict[str, Any], status: int) -> Response:
    """Respond with a secret, which an idempotent replay leaves out."""
    response = Response(body, status=status)
    response.replayed_body = {**body, "token": None}  # type: ignore[attr-defined]  # endpoints.py
    return response


def _show_token(token: JoinToken) -> dict[str, Any]:
    fields = {name: getattr(token, name) for name in _TOKEN if name not in ("id", "revoked")}
    return {"id": str(token.id), **fields, "revoked": token.revoked_at is not None}
