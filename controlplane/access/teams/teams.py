"""Changes of teams."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import ProtectedError

from controlplane.access import audit, event_types
from controlplane.access.team_models import DEFAULT_ORGANISATION, Organisation, Team
from controlplane.errors import FieldError, InvalidRequest, NameTaken, StillInUse, UnknownTeam
from controlplane.events.types import EventType
from controlplane.identity.actors import Actor
from controlplane.preconditions import Precondition, check

# Like a Kubernetes namespace; two hyphens separate the team from the agent in namespaced IDs.
_SLUG = re.compile(r"[a-z0-9](?:-?[a-z0-9]){0,62}")

# Each returns the kinds of objects that a team still owns by its name.
_owned_by_name: list[Callable[[Team], Collection[str]]] = []


def keep_teams_with(find_owned: Callable[[Team], Collection[str]]) -> None:
    """Register a function that finds what a team owns by its name. Apps call it when they are ready."""
    _owned_by_name.append(find_owned)


def check_team_name(team: str, pointer: str) -> None:
    """Raise InvalidRequest unless the name is valid."""
    if not _SLUG.fullmatch(team) or len(team) > 63:
        message = "A team's name must have lowercase letters, digits and single inner hyphens, at most 63."
        raise InvalidRequest(message, errors=[FieldError(pointer, "malformed", message)])


def get_team(slug: str, *, lock: bool = False) -> Team:
    """Return the team. Raises UnknownTeam."""
    rows = Team.objects.select_for_update() if lock else Team.objects.all()
    team = rows.filter(slug=slug).order_by("created_at").first()
    if team is None:
        raise UnknownTeam(f"Team {slug[:80]!r} does not exist.")
    return team


@transaction.atomic
def create_team(
    slug: str,
    *,
    actor: Actor,
    title: str = "",
    external_group: str | None = None,
    organisation: Organisation | None = None,
) -> Team:
    """Create a team without members. Raises InvalidRequest, NameTaken."""
    check_team_name(slug, "/slug")
    organisation_id = organisation.id if organisation else DEFAULT_ORGANISATION
    team = Team(slug=slug, title=title, external_group=external_group, organisation_id=organisation_id)
    try:
        with transaction.atomic():
            team.save(force_insert=True)
    except IntegrityError as error:
        raise NameTaken(f"The team {slug!r} already exists. Choose another name.") from error
    team.refresh_from_db()
    _record(event_types.TEAM_CREATED, team, actor, before=None, after=team_state(team))
    return team


@transaction.atomic
def change_team(
    slug: str,
    *,
    actor: Actor,
    title: str,
    external_group: str | None,
    precondition: Precondition | None = None,
) -> Team:
    """Change a team's title and its group at the identity provider. Raises UnknownTeam."""
    team = get_team(slug, lock=True)
    check(precondition, team.version)
    if (team.title, team.external_group) == (title, external_group):
        return team
    before = team_state(team)
    team.title, team.external_group, team.version = title, external_group, team.version + 1
    team.save(update_fields=["title", "external_group", "version"])
    _record(event_types.TEAM_CHANGED, team, actor, before=before, after=team_state(team))
    return team


@transaction.atomic
def delete_team(slug: str, *, actor: Actor, precondition: Precondition | None = None) -> None:
    """Delete a team with its memberships and roles. Raises UnknownTeam, StillInUse if it owns anything."""
    team = get_team(slug, lock=True)
    check(precondition, team.version)
    before = team_state(team)
    kinds = {kind for find_owned in _owned_by_name for kind in find_owned(team)}
    try:
        with transaction.atomic():
            Team.objects.filter(id=team.id).delete()
    except ProtectedError as error:
        kinds |= {str(row._meta.verbose_name_plural) for row in error.protected_objects}
    if kinds:
        raise StillInUse(f"Team {slug!r} still owns {', '.join(sorted(kinds))}. Move or delete them first.")
    _record(event_types.TEAM_DELETED, team, actor, before=before, after=None)


def team_state(team: Team) -> dict[str, Any]:
    """Return the team as audit records hold it."""
    return {"slug": team.slug, "title": team.title, "external_group": team.external_group}


def _record(
    event_type: EventType,
    team: Team,
    actor: Actor,
    *,
    before: dict[str, Any] | None,
    after: dict[str, Any] | None,
) -> None:
    audit.record(
        event_type,
        "team",
        team.slug,
        actor=actor,
        before=before,
        after=after,
        data={"team": team.slug},
        team_id=team.id,
    )
