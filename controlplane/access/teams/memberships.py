"""Changes of the members of teams."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet

from controlplane.access import audit, event_types
from controlplane.access.models import Principal
from controlplane.access.role_bindings import check_administrator_remains, lock_administrators
from controlplane.access.team_models import Membership, Team, Via
from controlplane.database.compiled_query import CompiledQuery
from controlplane.errors import UnknownMember
from controlplane.events.types import EventType
from controlplane.identity.actors import Actor


def teams_of(principal_id: UUID) -> list[Team]:
    """Return the teams of a principal, by name."""
    return _TEAMS.rows(principal_id)


def _teams_with(principal_id: UUID) -> QuerySet[Team]:
    return Team.objects.filter(memberships__principal_id=principal_id).distinct().order_by("slug")


_TEAMS = CompiledQuery(_teams_with, UUID(int=0))


@transaction.atomic
def add_member(team: Team, principal: Principal, *, actor: Actor, via: str = Via.MANUAL) -> bool:
    """Add a principal to a team. Returns False if it is a member by this origin already."""
    _, is_new = Membership.objects.get_or_create(team=team, principal=principal, via=via)
    if is_new:
        _record(event_types.MEMBER_ADDED, team, principal, via, actor)
    return is_new


@transaction.atomic
def remove_member(team: Team, principal: Principal, *, actor: Actor, via: str = Via.MANUAL) -> None:
    """Remove a principal from a team. Raises UnknownMember, LastAdministrator."""
    lock_administrators()
    rows = Membership.objects.select_for_update().filter(team=team, principal=principal, via=via)
    deleted_count, _ = rows.delete()
    if not deleted_count:
        raise UnknownMember(_why_unknown(team, principal))
    check_administrator_remains()
    _record(event_types.MEMBER_REMOVED, team, principal, via, actor)


def _why_unknown(team: Team, principal: Principal) -> str:
    other = Membership.objects.filter(team=team, principal=principal).first()
    if other is None:
        return f"{principal.name} is not a member of team {team.slug!r}."
    source = "a claim of the identity provider" if other.via == Via.CLAIM else "SCIM"
    return f"{principal.name} is in team {team.slug!r} by {source}. Remove it from the group there."


def _record(event_type: EventType, team: Team, principal: Principal, via: str, actor: Actor) -> None:
    state: dict[str, Any] = {"team": team.slug, "principal": principal.name, "via": via}
    is_added = event_type is event_types.MEMBER_ADDED
    audit.record(
        event_type,
        "membership",
        f"{team.slug}/{principal.name}",
        actor=actor,
        before=None if is_added else state,
        after=state if is_added else None,
        data=state,
        team_id=team.id,
    )
