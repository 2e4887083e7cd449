"""Let agents join with a token of their issuer, such as that of a Kubernetes service account.

The agent's credential ends soon. The agent joins again before that, with its issuer's next token.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID

from django.db import connection, transaction

from controlplane.access.federation.rules import lifetime
from controlplane.access.federation.workload_tokens import WorkloadToken, spend, verify_workload_token
from controlplane.access.issuers.verify import JwtRefused
from controlplane.access.models import Principal
from controlplane.errors import Conflict, NotAuthenticated
from controlplane.identity.actors import Actor
from registry.agents.liveness import LivenessPolicy
from registry.agents.models import Agent
from registry.joining.credentials import create_credential, own_principal
from registry.joining.issuer_rules import IssuerRule
from registry.joining.join import (
    JoinRequest,
    JoinResult,
    join_individually,
    register_own,
    repeat_join,
    terms_of,
    token_actor,
)
from registry.joining.models import JoinToken, SubjectAgent
from registry.joining.registration import Registration
from registry.joining.repeated_joins import RepeatKey, lock_key


@dataclass(frozen=True, slots=True)
class SubjectAdmission:
    """A verified token of an issuer, and the join tokens whose rules it matches."""

    workload: WorkloadToken
    tokens: Sequence[JoinToken]


def find_admission(subject_token: str) -> SubjectAdmission:
    """Return what a token of an issuer permits. Raises NotAuthenticated, IssuerUnavailable."""
    try:
        workload = verify_workload_token(subject_token)
    except JwtRefused as refusal:
        raise NotAuthenticated(f"Invalid subject token: {refusal.reason}") from refusal
    candidates = JoinToken.objects.select_related("team").filter(
        issuer_rule__isnull=False, issuer_rule__issuer=workload.issuer.issuer, revoked_at=None
    )
    missed = {
        token: rule.missed(workload.claims)
        for token in candidates.order_by("id")
        if (rule := IssuerRule.of_row(token.issuer_rule))
    }
    matching = [token for token, claims in missed.items() if not claims]
    if not matching:
        nearest = min(missed.values(), key=len, default=())
        reason = f"The nearest one missed: {', '.join(f'`{claim}`' for claim in nearest)}." if nearest else ""
        raise NotAuthenticated(f"No join token has an issuer rule that this token matches. {reason}".strip())
    return SubjectAdmission(workload, matching)


@transaction.atomic
def join_with_subject(
    admission: SubjectAdmission,
    registration: Registration,
    *,
    request_id: str,
    policy: LivenessPolicy,
    repeat: RepeatKey | None = None,
) -> JoinResult:
    """Join the agent, or renew its credential if the same subject joined it before.

    The number of uses and the expiry of the join token limit new agents only. Raises InvalidRequest,
    NotAuthenticated, NameTaken, KeyReused, Conflict.
    """
    token = _choose(admission.tokens, registration)
    request = JoinRequest(b"", registration, request_id, repeat, _ends_at(token, admission.workload))
    if repeat is not None:
        lock_key(token, repeat)
        if repetition := repeat_join(token, request, policy):
            return repetition
    terms_of(token).check(registration)
    _spend(admission.workload)
    digest = _digest(admission.workload, registration.name)
    _lock(digest)
    if principal_id := _principal_with(digest, registration.name):
        return _renew(principal_id, token, request, policy)
    result = join_individually(token, request, policy)
    principal = own_principal(result.agent)
    assert principal is not None  # it was created for this agent
    SubjectAgent.objects.update_or_create(digest=digest, defaults={"principal_id": principal.id})
    return result


def _choose(tokens: Sequence[JoinToken], registration: Registration) -> JoinToken:
    """Return the first whose terms admit the agent, or the first: its terms then explain the refusal."""
    return next((token for token in tokens if terms_of(token).admits(registration)), tokens[0])


def _ends_at(token: JoinToken, workload: WorkloadToken) -> datetime:
    rule, now = IssuerRule.of_row(token.issuer_rule), time.time()
    assert rule is not None  # it admitted the agent
    seconds = lifetime(ttl=rule.ttl, max_ttl=workload.issuer.max_ttl, expires_at=workload.expires_at, now=now)
    return datetime.fromtimestamp(int(now) + seconds, UTC)


def _spend(workload: WorkloadToken) -> None:
    try:
        spend(workload)
    except JwtRefused as refusal:
        raise NotAuthenticated(f"Invalid subject token: {refusal.reason}") from refusal


def _principal_with(digest: bytes, name: str) -> UUID | None:
    """Return the principal with which the same subject joined this agent; None for a new agent."""
    row = SubjectAgent.objects.filter(digest=digest).first()
    if row is None or not Agent.objects.filter(name=name, registered_by=row.principal_id).exists():
        return None
    return row.principal_id


def _renew(principal_id: UUID, token: JoinToken, request: JoinRequest, policy: LivenessPolicy) -> JoinResult:
    """Issue the next credential. The former ones end by themselves, so that no heartbeat fails meanwhile."""
    principal = Principal.objects.get(id=principal_id)
    if not principal.is_active:
        raise Conflict("This agent's credential was revoked. Ask an operator to remove the agent's record.")
    secret = create_credential(principal, token_actor(token, request.request_id), request.expires_at)
    agent_actor = Actor(principal.id, principal.name, request.request_id)
    agent, _ = register_own(request.registration, agent_actor, policy, None)
    return JoinResult(agent, secret, created=False, expires_at=request.expires_at)


def _digest(workload: WorkloadToken, name: str) -> bytes:
    # Names have no control characters, and the issuer is one of ours.
    text = "\n".join((workload.issuer.issuer, name, workload.subject))
    return hashlib.sha256(text.encode(errors="replace")).digest()


def _lock(digest: bytes) -> None:
    """Serialize joins of one agent by one subject, until the transaction ends."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [int.from_bytes(digest[:8], signed=True)])
