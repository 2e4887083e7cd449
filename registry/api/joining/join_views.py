"""The HTTP endpoint at which agents join."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypedDict

from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework.authentication import BaseAuthentication
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane.access.federation import refusals as federation
from controlplane.api import idempotency
from controlplane.api.endpoints import Endpoint, MutationQuery, mutation
from controlplane.api.fields import parse_body
from controlplane.errors import (
    ControlplaneError,
    FieldError,
    InvalidRequest,
    IssuerUnavailable,
)
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from controlplane.observability.request_ids import current_request_id
from registry.agents.liveness import LivenessPolicy
from registry.agents.policies import liveness_policy
from registry.api.agents import examples, schemas
from registry.api.joining.schemas import AgentCredential, AgentJoinWrite
from registry.joining.join import JoinResult, join
from registry.joining.join_tokens import find_join_token, record_refusal
from registry.joining.models import JoinToken
from registry.joining.repeated_joins import RepeatKey, repeat_key
from registry.joining.subject_joins import SubjectAdmission, find_admission, join_with_subject
from registry.metrics import JOINS, result_label

_SCHEME = "bearer"
_SUBJECT = "subject_token"
CREDENTIAL = {"agent": examples.AGENT, "token": "cp_agt_9xQb...", "token_expires_at": None}


class _JoinOptions(TypedDict):
    request_id: str
    policy: LivenessPolicy
    repeat: RepeatKey | None


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


class SubjectTokenAuthentication(BaseAuthentication):
    """Authenticate a token of a trusted issuer in the body, which permits joining and nothing else."""

    def authenticate(self, request: Request) -> tuple[Caller, SubjectAdmission] | None:
        text = request.data.get(_SUBJECT) if isinstance(request.data, Mapping) else None
        if not isinstance(text, str):
            return None
        admission = find_admission(text)
        return Caller(None, f"join token {admission.tokens[0].name}"[:63], "join", ()), admission


def _secret(request: Request) -> str | None:
    scheme, _, secret = request.headers.get("Authorization", "").partition(" ")
    return secret.strip() if scheme.lower() == _SCHEME else None


class AgentJoin(Endpoint):
    """Join an agent. Plain joins are answered by registry.api.joining.fast_path instead."""

    actions = {"POST": Action.AGENT_JOIN}
    unlimited_methods = frozenset({"POST"})
    problems = {"POST": (IssuerUnavailable,)}
    authentication_classes = (JoinTokenAuthentication, SubjectTokenAuthentication)
    admission: SubjectAdmission | None = None

    def handle_exception(self, exc: Exception) -> Response:
        """Record a refusal, in a transaction of its own: that of the join is rolled back by now."""
        secret = _secret(self.request)
        if isinstance(exc, ControlplaneError) and self.admission:
            issuer = self.admission.workload.issuer.issuer
            federation.record_refusal(issuer, exc.detail, request_id=current_request_id())
        elif secret and isinstance(exc, ControlplaneError):
            record_refusal(secret, exc.detail, request_id=current_request_id())
        return super().handle_exception(exc)

    @extend_schema(
        operation_id="agents_join",
        summary="Join as a new agent",
        description=(
            "Registers the agent and returns a token of its own, bound to its name. Store the token: it is "
            "shown once. If the response is lost, repeat the request with the same `Idempotency-Key` within "
            "a day: while the first token is unused, it is revoked and the same agent gets a new one, "
            "without spending another use of the join token. With a join token that needs approval the "
            "agent is `registered`: it can send heartbeats, but gets no work until an operator approves it. "
            "Instead of a join token, an agent can send `subject_token`, which must match the issuer rule of "
            "a join token. Its own token then expires at `token_expires_at`: before that, the agent joins "
            "again with the next token of its issuer, and gets 200."
        ),
        tags=["joining"],
        parameters=[MutationQuery],
        request=AgentJoinWrite,
        responses={200: AgentCredential, 201: AgentCredential},
        examples=[
            OpenApiExample("An agent", value=examples.REGISTRATION, request_only=True),
            OpenApiExample("A credential", value=CREDENTIAL, response_only=True, status_codes=["200", "201"]),
        ],
    )
    @mutation
    def post(self, request: Request) -> Response:
        MutationQuery.parse(request)
        body = parse_body(AgentJoinWrite, request)
        subject_token = body.pop(_SUBJECT, None)
        registration = schemas.registration_from(body)
        policy = liveness_policy()
        options: _JoinOptions = {
            "request_id": current_request_id(),
            "policy": policy,
            "repeat": _repeat_key(request),
        }
        try:
            if isinstance(request.auth, SubjectAdmission):
                self.admission = request.auth
                result = join_with_subject(request.auth, registration, **options)
            elif isinstance(request.auth, JoinToken) and subject_token is None:
                result = join(request.auth, registration, **options)
            else:
                raise _two_tokens()
        except ControlplaneError as error:
            JOINS.labels(result_label(error.code)).inc()
            raise
        JOINS.labels("accepted").inc()
        response = Response(show_join_result(result, policy), status=201 if result.created else 200)
        if result.repeated:
            response["Idempotent-Replayed"] = "true"
        return response


def _repeat_key(request: Request) -> RepeatKey | None:
    key = idempotency.key_of(request)
    is_dry_run = MutationQuery.parse(request)["dry_run"]
    return None if key is None or is_dry_run else repeat_key(key, request.data)


def show_join_result(result: JoinResult, policy: LivenessPolicy) -> dict[str, Any]:
    return {
        "agent": schemas.show_agent(result.agent, policy),
        "token": result.secret,
        "token_expires_at": result.expires_at,
    }


def _two_tokens() -> InvalidRequest:
    message = "Send either a join token in the header Authorization, or `subject_token` in the body."
    return InvalidRequest(message, errors=[FieldError(f"/{_SUBJECT}", "not_allowed", message)])
