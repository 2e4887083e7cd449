"""Let agents join: exchange a join token for a credential of the agent's own, bound to its name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import chain
from uuid import UUID

from django.db import transaction

from controlplane.access import audit, issue_tokens, principals, role_bindings
from controlplane.access import tokens as secrets
from controlplane.access.enrolment import Enrolment, audit_entries, bind_roles, enrol
from controlplane.access.models import Principal, PrincipalKind, Token
from controlplane.errors import Conflict, NameTaken, NotAuthenticated
from controlplane.identity.actors import Actor
from controlplane.identity.roles import Role
from controlplane.ids import uuid7
from controlplane.scopes import Scope
from registry.agents.event_types import AGENT_ROTATED
from registry.agents.liveness import LivenessPolicy
from registry.agents.models import Agent, Lease
from registry.agents.states import State
from registry.joining.granted_terms import record_admissions
from registry.joining.insert import NewAgent, audit_entry, insert_agents
from registry.joining.join_tokens import spend_uses, valid_join_tokens
from registry.joining.models import JoinToken
from registry.joining.register import register
from registry.joining.registration import Registration
from registry.joining.repeated_joins import (
    RepeatKey,
    find_earlier_agent,
    find_used_keys,
    lock_key,
    record_joins,
)
from registry.joining.terms import JoinTerms

# Prefix of principals that belong to one agent.
OWN_PREFIX = "agent."


@dataclass(frozen=True, slots=True)
class JoinResult:
    """secret: the agent's own token, returned only here. repeated: an earlier response was lost."""

    agent: Agent
    secret: str
    created: bool
    repeated: bool = False


@dataclass(frozen=True, slots=True)
class JoinRequest:
    """A request to join. digest: of the join token."""

    digest: bytes
    registration: Registration
    request_id: str
    repeat: RepeatKey | None = None


class _TokenUsedUp(Exception):
    """A token has fewer uses left than the batch needs. The argument is the token's digest."""


def join_many(requests: Sequence[JoinRequest], policy: LivenessPolicy) -> list[JoinResult | None]:
    """Join all new agents that their tokens admit, in one transaction; None where `join` must decide.

    All requests with a token that has too few uses left for them are left to `join`.
    """
    skipped_digests: set[bytes] = set()
    while True:
        try:
            return _join_batch(requests, skipped_digests, policy)
        except _TokenUsedUp as error:
            skipped_digests.add(error.args[0])


@transaction.atomic
def _join_batch(
    requests: Sequence[JoinRequest], skipped_digests: Set[bytes], policy: LivenessPolicy
) -> list[JoinResult | None]:
    tokens = valid_join_tokens({request.digest for request in requests} - skipped_digests)
    keys = [
        (tokens[request.digest], request.repeat)
        for request in requests
        if request.repeat and request.digest in tokens
    ]
    used_keys = find_used_keys(keys)
    candidates = {
        index: _candidate(request, tokens[request.digest])
        for index, request in enumerate(requests)
        if request.digest in tokens
        and _terms_of(tokens[request.digest]).admits(request.registration)
        and not (request.repeat and (tokens[request.digest].id, request.repeat.key) in used_keys)
    }
    new_agents = [new_agent for new_agent, _ in candidates.values()]
    inserted_ids = insert_agents(new_agents, policy) if candidates else set()
    admissions = {
        index: (new_agent, enrolment)
        for index, (new_agent, enrolment) in candidates.items()
        if new_agent.id in inserted_ids
    }
    if not admissions:
        return [None] * len(requests)
    enrolments = [enrolment for _, enrolment in admissions.values()]
    enrol(enrolments)
    record_admissions(
        (enrolment.id, new_agent.registration, tokens[requests[index].digest])
        for index, (new_agent, enrolment) in admissions.items()
    )
    _record_keys(requests, {index: enrolment.id for index, (_, enrolment) in admissions.items()}, tokens)
    entries = [(*audit_entries(enrolment), audit_entry(agent)) for agent, enrolment in admissions.values()]
    audit.record_entries(list(chain.from_iterable(entries)))
    for digest, count in sorted(Counter(requests[index].digest for index in admissions).items()):
        if not spend_uses(tokens[digest], count):
            raise _TokenUsedUp(digest)
    bind_roles(enrolments)
    agents = {agent.id: agent for agent in Agent.objects.shown().filter(id__in=inserted_ids)}
    results = {
        index: JoinResult(agents[new_agent.id], enrolment.secret, True)
        for index, (new_agent, enrolment) in admissions.items()
    }
    return [results.get(index) for index in range(len(requests))]


def _record_keys(
    requests: Sequence[JoinRequest],
    principals_by_index: Mapping[int, UUID],
    tokens: Mapping[bytes, JoinToken],
) -> None:
    """Store the Idempotency-Keys of the joins that succeeded."""
    record_joins(
        (tokens[requests[index].digest], repeat, principal_id)
        for index, principal_id in principals_by_index.items()
        if (repeat := requests[index].repeat)
    )


def _candidate(request: JoinRequest, token: JoinToken) -> tuple[NewAgent, Enrolment]:
    """Return the agent and its new principal, which inherits nothing from a former agent of this name."""
    enrolment = Enrolment(f"{OWN_PREFIX}{uuid7().hex}", _token_actor(token, request.request_id))
    actor = Actor(enrolment.id, enrolment.name, request.request_id)
    return NewAgent(request.registration, actor, _initial_state(token), enrolment.digest), enrolment


def _token_actor(token: JoinToken, request_id: str) -> Actor:
    return Actor(None, f"join token {token.name}"[:63], request_id)


def _initial_state(token: JoinToken) -> State:
    return State.REGISTERED if token.needs_approval else State.READY


def _terms_of(token: JoinToken) -> JoinTerms:
    return JoinTerms(token.name_pattern, token.environment, frozenset(token.service_types))


@transaction.atomic
def join(
    token: JoinToken,
    registration: Registration,
    *,
    request_id: str,
    policy: LivenessPolicy,
    repeat: RepeatKey | None = None,
) -> JoinResult:
    """Join the agent. Repeated with the same key, issue a new credential without spending another use.

    Raises InvalidRequest, NotAuthenticated, NameTaken, KeyReused, Conflict.
    """
    request = JoinRequest(bytes(token.digest), registration, request_id, repeat)
    if repeat is not None:
        lock_key(token, repeat)
    if repetition := _repeat_join(token, request, policy):
        return repetition
    _terms_of(token).check(registration)
    [result] = join_many([request], policy)
    # A concurrent first join with this key may have just committed.
    return result or _repeat_join(token, request, policy) or _join_individually(token, request, policy)


def _repeat_join(token: JoinToken, request: JoinRequest, policy: LivenessPolicy) -> JoinResult | None:
    """Repeat a join whose response was lost; None if this is not a repetition."""
    agent = find_earlier_agent(token, request.repeat) if request.repeat else None
    principal = own_principal(agent) if agent else None
    if principal is None:
        return None
    actor = _token_actor(token, request.request_id)
    _revoke_tokens(principal, actor)
    secret = _create_credential(principal, actor)
    # The first credential is unused, so no process holds the name.
    Lease.objects.filter(agent=agent).update(instance_uuid=None)
    agent_actor = Actor(principal.id, principal.name, request.request_id)
    registered_agent, _ = register(request.registration, actor=agent_actor, any_agent=False, policy=policy)
    return JoinResult(registered_agent, secret, created=True, repeated=True)


def _join_individually(token: JoinToken, request: JoinRequest, policy: LivenessPolicy) -> JoinResult:
    """Join an agent whose name is taken, or whose token has just ended."""
    registration, request_id = request.registration, request.request_id
    if not spend_uses(token):
        raise NotAuthenticated("This join token is used up, expired or revoked. Request a new one.")
    actor = _token_actor(token, request_id)
    existing_agent = Agent.objects.filter(name=registration.name).first()
    if existing_agent is not None and not token.may_take_over:
        raise NameTaken(
            f"An agent named {registration.name!r} already exists. It can be replaced only with a "
            "join token that has may_take_over."
        )
    principal = _create_principal(actor)
    if existing_agent is not None:
        _replace_credential(existing_agent, principal, actor)
    record_admissions([(principal.id, registration, token)])
    if request.repeat is not None:
        record_joins([(token, request.repeat, principal.id)])
    secret = _create_credential(principal, actor)
    agent, created = register(
        registration,
        actor=Actor(principal.id, principal.name, request_id),
        any_agent=False,
        policy=policy,
    )
    return JoinResult(agent, secret, created)


@transaction.atomic
def rotate(agent: Agent, *, actor: Actor, own_token: Token | None = None) -> str:
    """Issue a new credential to the agent and revoke its old ones. Returns the secret.

    own_token: the agent's token, if it rotates itself: the new one gets the same expiry limit and issuer.
    """
    principal = own_principal(agent)
    if principal is None:
        raise NameTaken("This agent has no credential of its own, because it registered with a shared token.")
    if not principal.is_active:
        raise Conflict("This agent's credential was revoked. Let the agent join again.")
    if own_token is not None:
        secret = issue_tokens.renew_token(own_token, name="agent", actor=actor)
        _revoke_tokens(principal, actor, except_secret=secret)
    else:
        _revoke_tokens(principal, actor)
        secret = _create_credential(principal, actor)
    _record_rotation(agent, actor)
    return secret


def own_principal(agent: Agent) -> Principal | None:
    """Return the principal of this agent alone; None if the agent registered with a shared token."""
    if agent.registered_by is None:
        return None
    return Principal.objects.filter(id=agent.registered_by, name__startswith=OWN_PREFIX).first()


def _create_principal(actor: Actor) -> Principal:
    """Create a principal, which inherits nothing from a former agent of this name."""
    principal = principals.create_principal(
        f"{OWN_PREFIX}{uuid7().hex}", kind=PrincipalKind.AGENT, actor=actor
    )
    role_bindings.bind_role(principal, Role.AGENT, Scope(), actor=actor)
    return principal


def _replace_credential(agent: Agent, principal: Principal, actor: Actor) -> None:
    former_principal = own_principal(agent)
    if former_principal is not None:
        principals.set_active(former_principal.name, is_active=False, actor=actor)
    # A takeover needs no agreement of the process that holds the name.
    Lease.objects.filter(agent=agent).update(instance_uuid=None)
    Agent.objects.filter(id=agent.id).update(registered_by=principal.id)
    _record_rotation(agent, actor)


def _create_credential(principal: Principal, actor: Actor) -> str:
    _, secret = principals.create_token(principal, name="agent", expires_at=None, actor=actor)
    return secret


def _revoke_tokens(principal: Principal, actor: Actor, except_secret: str = "") -> None:
    tokens = Token.objects.filter(principal=principal, revoked_at=None)
    for token in tokens.exclude(digest=secrets.digest(except_secret)):
        issue_tokens.revoke_token(token.id, of=None, actor=actor)


def _record_rotation(agent: Agent, actor: Actor) -> None:
    audit.record(
        AGENT_ROTATED,
        "agent",
        str(agent.id),
        actor=actor,
        before=None,
        after=None,
        data={"agent_id": str(agent.id), "name": agent.name, "environment": agent.environment},
    )
