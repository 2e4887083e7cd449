"""Join: an agent without a credential shows a join token and gets one of its own, bound to its name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from uuid import UUID

from django.db import transaction

from controlplane.access import audit, issue_tokens, principals
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
from registry.joining.granted_terms import note_admissions
from registry.joining.insert import Newcomer, admit, audit_entry
from registry.joining.join_tokens import use, valid_join_tokens
from registry.joining.models import JoinToken
from registry.joining.register import register
from registry.joining.registration import Registration
from registry.joining.repeated_joins import RepeatKey, earlier_agent, hold_key, known_keys, note_joins
from registry.joining.terms import Invitation

# Principals that stand for one agent.
OWN_PREFIX = "agent."


@dataclass(frozen=True, slots=True)
class Joined:
    """secret: the agent's own token, told now and never again. repeated: the answer before was lost."""

    agent: Agent
    secret: str
    created: bool
    repeated: bool = False


@dataclass(frozen=True, slots=True)
class Joining:
    """An agent that asks to join. digest: of the join token that it shows."""

    digest: bytes
    registration: Registration
    request_id: str
    repeat: RepeatKey | None = None


class _UsedUp(Exception):
    """So many at once do not have this token's uses. The argument is its digest."""


def join_many(joinings: Sequence[Joining], policy: LivenessPolicy) -> list[Joined | None]:
    """Let in all new agents that their tokens admit, in one transaction; None where `join` must judge.

    A token that has fewer uses left than agents show it is left to `join` with all of them.
    """
    left: set[bytes] = set()
    while True:
        try:
            return _join_usual(joinings, left, policy)
        except _UsedUp as error:
            left.add(error.args[0])


@transaction.atomic
def _join_usual(joinings: Sequence[Joining], left: Set[bytes], policy: LivenessPolicy) -> list[Joined | None]:
    tokens = valid_join_tokens({one.digest for one in joinings} - left)
    keyed = [(tokens[one.digest], one.repeat) for one in joinings if one.repeat and one.digest in tokens]
    known = known_keys(keyed)
    candidates = {
        place: _candidate(one, tokens[one.digest])
        for place, one in enumerate(joinings)
        if one.digest in tokens
        and _invitation(tokens[one.digest]).admits(one.registration)
        and not (one.repeat and (tokens[one.digest].id, one.repeat.key) in known)
    }
    admitted = admit([newcomer for newcomer, _ in candidates.values()], policy) if candidates else set()
    entered = {place: one for place, one in candidates.items() if one[0].id in admitted}
    if not entered:
        return [None] * len(joinings)
    enrolments = [enrolment for _, enrolment in entered.values()]
    enrol(enrolments)
    note_admissions(
        (one[1].id, one[0].registration, tokens[joinings[place].digest]) for place, one in entered.items()
    )
    _note_keys(joinings, {place: one[1].id for place, one in entered.items()}, tokens)
    audit.record_entries(
        [entry for one in entered.values() for entry in (*audit_entries(one[1]), audit_entry(one[0]))]
    )
    for digest, count in sorted(Counter(joinings[place].digest for place in entered).items()):
        if not use(tokens[digest], count):
            raise _UsedUp(digest)
    bind_roles(enrolments)
    agents = {one.id: one for one in Agent.objects.shown().filter(id__in=admitted)}
    return [
        Joined(agents[entered[place][0].id], entered[place][1].secret, True) if place in entered else None
        for place in range(len(joinings))
    ]


def _note_keys(
    joinings: Sequence[Joining], principals_by_place: Mapping[int, UUID], tokens: Mapping[bytes, JoinToken]
) -> None:
    """Remember the Idempotency-Keys of those that were let in."""
    note_joins(
        (tokens[joinings[place].digest], repeat, principal_id)
        for place, principal_id in principals_by_place.items()
        if (repeat := joinings[place].repeat)
    )


def _candidate(one: Joining, token: JoinToken) -> tuple[Newcomer, Enrolment]:
    """The principal is new each time: what a former holder of the name has is not inherited."""
    enrolment = Enrolment(f"{OWN_PREFIX}{uuid7().hex}", _host(token, one.request_id))
    actor = Actor(enrolment.id, enrolment.name, one.request_id)
    return Newcomer(one.registration, actor, _initial(token), enrolment.digest), enrolment


def _host(token: JoinToken, request_id: str) -> Actor:
    return Actor(None, f"join token {token.name}"[:63], request_id)


def _initial(token: JoinToken) -> State:
    return State.REGISTERED if token.needs_approval else State.READY


def _invitation(token: JoinToken) -> Invitation:
    return Invitation(token.name_pattern, token.environment, frozenset(token.service_types))


@transaction.atomic
def join(
    token: JoinToken,
    registration: Registration,
    *,
    request_id: str,
    policy: LivenessPolicy,
    repeat: RepeatKey | None = None,
) -> Joined:
    """Let the agent in; with a key that let it in before, give it a new credential without another use.

    Raises InvalidRequest, NotAuthenticated, NameTaken, KeyReused, Conflict.
    """
    joining = Joining(bytes(token.digest), registration, request_id, repeat)
    if repeat is not None:
        hold_key(token, repeat)
    if earlier := _join_again(token, joining, policy):
        return earlier
    _invitation(token).check(registration)
    [joined] = join_many([joining], policy)
    # The first join with this key may have ended just now.
    return joined or _join_again(token, joining, policy) or _join_exactly(token, joining, policy)


def _join_again(token: JoinToken, joining: Joining, policy: LivenessPolicy) -> Joined | None:
    """The join whose answer was lost; None if there is none."""
    agent = earlier_agent(token, joining.repeat) if joining.repeat else None
    principal = own_principal(agent) if agent else None
    if principal is None:
        return None
    actor = _host(token, joining.request_id)
    _revoke_all(principal, actor)
    secret = _new_credential(principal, actor)
    # Nobody has used the first credential, so no process holds the name.
    Lease.objects.filter(agent=agent).update(instance_uuid=None)
    own = Actor(principal.id, principal.name, joining.request_id)
    shown, _ = register(joining.registration, actor=own, any_agent=False, policy=policy)
    return Joined(shown, secret, created=True, repeated=True)


def _join_exactly(token: JoinToken, joining: Joining, policy: LivenessPolicy) -> Joined:
    """A name that is taken, or a token that has just ended."""
    registration, request_id = joining.registration, joining.request_id
    if not use(token):
        raise NotAuthenticated("This join token is used up, or has just ended. Ask for a new one.")
    actor = _host(token, request_id)
    known = Agent.objects.filter(name=registration.name).first()
    if known is not None and not token.may_take_over:
        raise NameTaken(
            f"There is an agent {registration.name!r} already. If it is to be replaced, ask for a join token "
            "with may_take_over."
        )
    principal = _new_principal(actor)
    if known is not None:
        _hand_over(known, principal, actor)
    note_admissions([(principal.id, registration, token)])
    if joining.repeat is not None:
        note_joins([(token, joining.repeat, principal.id)])
    secret = _new_credential(principal, actor)
    agent, created = register(
        registration,
        actor=Actor(principal.id, principal.name, request_id),
        any_agent=False,
        policy=policy,
    )
    return Joined(agent, secret, created)


@transaction.atomic
def rotate(agent: Agent, *, actor: Actor, used: Token | None = None) -> str:
    """Give the agent a new credential; its old ones end now. Returns the secret.

    used: the agent's own token, if it rotates itself: the new one lives no longer and has the same issuer.
    """
    principal = own_principal(agent)
    if principal is None:
        raise NameTaken("This agent has no credential of its own: it registered with a shared token.")
    if not principal.is_active:
        raise Conflict("This agent was sent away, and its token with it. Let it join again.")
    if used is not None:
        secret = issue_tokens.renew_token(used, name="agent", actor=actor)
        _revoke_all(principal, actor, but=secret)
    else:
        _revoke_all(principal, actor)
        secret = _new_credential(principal, actor)
    _note(agent, actor)
    return secret


def own_principal(agent: Agent) -> Principal | None:
    """The principal that stands for this agent alone; None for one that registered with a shared token."""
    if agent.registered_by is None:
        return None
    return Principal.objects.filter(id=agent.registered_by, name__startswith=OWN_PREFIX).first()


def _new_principal(actor: Actor) -> Principal:
    """A new one each time: what the former holder of the name has is not inherited."""
    principal = principals.create_principal(
        f"{OWN_PREFIX}{uuid7().hex}", kind=PrincipalKind.AGENT, actor=actor
    )
    principals.bind_role(principal, Role.AGENT, Scope(), actor=actor)
    return principal


def _hand_over(agent: Agent, principal: Principal, actor: Actor) -> None:
    former = own_principal(agent)
    if former is not None:
        principals.set_active(former.name, is_active=False, actor=actor)
    # The process that held the name need not agree.
    Lease.objects.filter(agent=agent).update(instance_uuid=None)
    Agent.objects.filter(id=agent.id).update(registered_by=principal.id)
    _note(agent, actor)


def _new_credential(principal: Principal, actor: Actor) -> str:
    _, secret = principals.create_token(principal, name="agent", expires_at=None, actor=actor)
    return secret


def _revoke_all(principal: Principal, actor: Actor, but: str = "") -> None:
    former = Token.objects.filter(principal=principal, revoked_at=None).exclude(digest=secrets.digest(but))
    for token in former:
        issue_tokens.revoke_token(token.id, of=None, actor=actor)


def _note(agent: Agent, actor: Actor) -> None:
    audit.record(
        AGENT_ROTATED,
        "agent",
        str(agent.id),
        actor=actor,
        before=None,
        after=None,
        data={"agent_id": str(agent.id), "name": agent.name, "environment": agent.environment},
    )
