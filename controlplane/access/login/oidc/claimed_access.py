"""Apply the claims of a login: the person's claimed teams and roles become what the provider's rules give."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from controlplane.access import audit, event_types
from controlplane.access.login.oidc.claims import claimed_access
from controlplane.access.login.oidc.provider import Provider
from controlplane.access.models import Principal, RoleBinding
from controlplane.access.team_models import Membership, Via
from controlplane.access.teams.claimed import ClaimedRole, replace_claimed
from controlplane.events.types import EventType
from controlplane.identity.actors import Actor


def apply_claims(
    person: Principal, provider: Provider, claims: Mapping[str, Any], *, request_id: str
) -> None:
    """Replace the person's claimed teams and roles as a set. Needs a transaction."""
    access = claimed_access(provider.rules, claims)
    actor = Actor(person.id, person.name, request_id, f"Claims of the identity provider {provider.slug}")
    before = _claimed(person)
    replace_claimed(
        person,
        access.teams,
        [ClaimedRole(role.role, role.scope, role.team) for role in access.roles],
        actor=actor,
        is_authoritative=provider.is_authoritative,
    )
    after = _claimed(person)
    _record(event_types.ROLE_CLAIMED, person, provider, after - before, actor)
    _record(event_types.ROLE_UNCLAIMED, person, provider, before - after, actor)


def _claimed(person: Principal) -> set[str]:
    """Return the teams and roles by claims, as texts."""
    bindings = RoleBinding.objects.filter(principal=person, via=Via.CLAIM)
    teams = Membership.objects.filter(principal=person, via=Via.CLAIM).select_related("team")
    return {str(binding) for binding in bindings} | {f"team {row.team.slug}" for row in teams}


def _record(
    event_type: EventType, person: Principal, provider: Provider, items: set[str], actor: Actor
) -> None:
    if items:
        audit.record(
            event_type,
            "principal",
            person.name,
            actor=actor,
            before=None,
            after=None,
            data={"principal": person.name, "provider": provider.slug, "items": sorted(items)},
        )
