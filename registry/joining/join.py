"""Let agents join: exchange a join token for a credential of the agent's own, bound to its name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import datetime
from itertools import chain
from uuid import UUID

from django.db import transaction

from controlplane.access import audit
from controlplane.access.enrolment import Enrolment, audit_entries, bind_roles, enrol
from controlplane.errors import NameTaken, NotAuthenticated, QuotaExceeded
from controlplane.identity.actors import Actor
from controlplane.ids import uuid7
from controlplane.pools.quotas import lock
from registry.agents.liveness import LivenessPolicy
from registry.agents.models import Agent, Lease
from registry.agents.quotas import AGENTS
from registry.agents.rights import AgentRights
from registry.agents.states import State
from registry.joining.credentials import (
    OWN_PREFIX,
    create_credential,
    create_principal,
    own_principal,
    replace_credential,
    revoke_tokens,
)
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


@dataclass(frozen=True, slots=True)
class JoinResult:
    """secret: the agent's own token, returned only here. repeated: an earlier response was lost.

    expires_at: of the token; None if it never expires.
    """

    agent: Agent
    secret: str
    created: bool
    repeated: bool = False
    expires_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class JoinRequest:
    """A request to join. digest: of the join token. expires_at: of the credential; None for never."""

    digest: bytes
    registration: Registration
    request_id: str
    repeat: RepeatKey | None = None
    expires_at: datetime | None = None


class _LeftToJoin(Exception):
    """Of some tokens, `join` must decide about each request. The argument: their digests.

    A token has fewer uses left than the batch needs, or a quota has less room.
    """


def join_many(requests: Sequence[JoinRequest], policy: LivenessPolicy) -> list[JoinResult | None]:
    """Join all new agents that their tokens admit, in one transaction; None where `join` must decide.

    All requests with a token that has too few uses left for them are left to `join`, and those of a team
    whose quota has too little room. Others are not affected.
    """
    skipped_digests: set[bytes] = set()
    while True:
        try:
            return _join_batch(requests, skipped_digests, policy)
        except _LeftToJoin as error:
            skipped_digests |= error.args[0]


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
        and terms_of(tokens[request.digest]).admits(request.registration)
        and not (request.repeat and (tokens[request.digest].id, request.repeat.key) in used_keys)
    }
    new_agents = [new_agent for new_agent, _ in candidates.values()]
    try:
        inserted_ids = insert_agents(new_agents, policy) if candidates else set()
    except QuotaExceeded as error:
        raise _LeftToJoin(_counted_by(error.members["quota"], tokens)) from error
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
            raise _LeftToJoin({digest})
    bind_roles(enrolments)
    agents = {agent.id: agent for agent in Agent.objects.shown().filter(id__in=inserted_ids)}
    results = {
        index: JoinResult(agents[new_agent.id], enrolment.secret, True)
        for index, (new_agent, enrolment) in admissions.items()
    }
    return [results.get(index) for index in range(len(requests))]


def _counted_by(quota_name: str, tokens: Mapping[bytes, JoinToken]) -> set[bytes]:
    """Return the digests of the tokens whose agents a quota counts."""
    return {
        digest
        for digest, token in tokens.items()
        if quota_name in AGENTS.quota_names([token.team.slug] if token.team else [])
    }


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
    name, actor = f"{OWN_PREFIX}{uuid7().hex}", token_actor(token, request.request_id)
    enrolment = Enrolment(name, actor, token.team)
    actor = Actor(enrolment.id, enrolment.name, request.request_id)
    state, digest = _initial_state(token), enrolment.digest
    return NewAgent(request.registration, actor, state, digest, token.team_id), enrolment


def token_actor(token: JoinToken, request_id: str) -> Actor:
    return Actor(None, f"join token {token.name}"[:63], request_id)


def _initial_state(token: JoinToken) -> State:
    return State.REGISTERED if token.needs_approval else State.READY


def terms_of(token: JoinToken) -> JoinTerms:
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

    Raises InvalidRequest, NotAuthenticated, NameTaken, QuotaExceeded, KeyReused, Conflict.
    """
    request = JoinRequest(bytes(token.digest), registration, request_id, repeat)
    if repeat is not None:
        lock_key(token, repeat)
    if repetition := repeat_join(token, request, policy):
        return repetition
    terms_of(token).check(registration)
    [result] = join_many([request], policy)
    # A concurrent first join with this key may have just committed.
    return result or repeat_join(token, request, policy) or join_individually(token, request, policy)


def repeat_join(token: JoinToken, request: JoinRequest, policy: LivenessPolicy) -> JoinResult | None:
    """Repeat a join whose response was lost; None if this is not a repetition."""
    agent = find_earlier_agent(token, request.repeat) if request.repeat else None
    principal = own_principal(agent) if agent else None
    if agent is None or principal is None:
        return None
    actor = token_actor(token, request.request_id)
    revoke_tokens(principal, actor)
    secret = create_credential(principal, actor, request.expires_at)
    # The first credential is unused, so no process holds the name.
    Lease.objects.filter(agent=agent).update(instance_uuid=None)
    agent_actor = Actor(principal.id, principal.name, request.request_id)
    registered_agent, _ = register_own(request.registration, agent_actor, policy, agent.team_id)
    return JoinResult(registered_agent, secret, True, repeated=True, expires_at=request.expires_at)


def join_individually(token: JoinToken, request: JoinRequest, policy: LivenessPolicy) -> JoinResult:
    """Join an agent whose name is taken, whose token has just ended, or whose quota has little room."""
    registration, request_id = request.registration, request.request_id
    # Before the use of the token, in the order of `join_many`.
    lock(AGENTS, [token.team.slug] if token.team else [])
    if not spend_uses(token):
        raise NotAuthenticated("This join token is used up, expired or revoked. Request a new one.")
    actor = token_actor(token, request_id)
    existing_agent = Agent.objects.select_related("team").filter(name=registration.name).first()
    if existing_agent is not None:
        _check_takeover(existing_agent, token)
    # An agent that a token of the platform replaces stays in its team.
    team = existing_agent.team if existing_agent else token.team
    principal = create_principal(actor, team)
    if existing_agent is not None:
        replace_credential(existing_agent, principal, actor)
    record_admissions([(principal.id, registration, token)])
    if request.repeat is not None:
        record_joins([(token, request.repeat, principal.id)])
    secret = create_credential(principal, actor, request.expires_at)
    agent_actor = Actor(principal.id, principal.name, request_id)
    agent, created = register_own(registration, agent_actor, policy, team.id if team else None)
    return JoinResult(agent, secret, created, expires_at=request.expires_at)


def register_own(
    registration: Registration, actor: Actor, policy: LivenessPolicy, team_id: UUID | None
) -> tuple[Agent, bool]:
    """Register an agent with its own principal. team_id: of a new agent."""
    rights = AgentRights(actor.principal_id)
    return register(registration, actor=actor, rights=rights, policy=policy, team_id=team_id)


def _check_takeover(agent: Agent, token: JoinToken) -> None:
    """Raise NameTaken unless the token may replace the agent."""
    if token.team_id is not None and agent.team_id != token.team_id:
        raise NameTaken(f"The name {agent.name!r} belongs to another agent. Choose another name.")
    if not token.may_take_over:
        raise NameTaken(
            f"An agent named {agent.name!r} already exists. It can be replaced only with a join token that "
            "has may_take_over."
        )
