"""Changes of teams."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import ProtectedError

from controlplane.access import audit, event_types
from controlplane.access.role_bindings import check_administrator_remains, lock_administrators
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


def check_team_name(name: str, pointer: str, *, of: str = "a team") -> None:
    """Raise InvalidRequest unless the name is valid."""
    if not _SLUG.fullmatch(name) or len(name) > 63:
        message = (
            f"The name of {of} must have lowercase letters, digits and single inner hyphens, at most 63."
        )
        raise InvalidRequest(message, errors=[FieldError(pointer, "malformed", message)])


def get_team(slug: str) -> Team:
    """Return the team. Raises UnknownTeam."""
    team = Team.objects.filter(slug=slug).order_by("created_at").first()
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
        if Team.objects.filter(slug=slug, organisation_id=organisation_id).exists():
            raise NameTaken(f"The team {slug!r} already exists. Choose another name.") from error
        raise _group_taken(external_group) from error
    team.refresh_from_db()
    _record(event_types.TEAM_CREATED, team, actor, before=None, after=team_state(team))
    return team


@transaction.atomic
def change_team(
    team: Team,
    *,
    actor: Actor,
    title: str,
    external_group: str | None,
    precondition: Precondition | None = None,
) -> Team:
    """Change a team's title and its group at the identity provider. Raises UnknownTeam."""
    team = _locked(team)
    check(precondition, team.version)
    if (team.title, team.external_group) == (title, external_group):
        return team
    before = team_state(team)
    team.title, team.external_group, team.version = title, external_group, team.version + 1
    try:
        with transaction.atomic():
            team.save(update_fields=["title", "external_group", "version"])
    except IntegrityError as error:
        raise _group_taken(external_group) from error
    _record(event_types.TEAM_CHANGED, team, actor, before=before, after=team_state(team))
    return team


@transaction.atomic
def delete_team(team: Team, *, actor: Actor, precondition: Precondition | None = None) -> None:
    """Delete a team with its memberships and roles.

    Raises UnknownTeam, StillInUse if it owns anything, LastAdministrator.
    """
    lock_administrators()
    team = _locked(team)
    check(precondition, team.version)
    before = team_state(team)
    kinds = {kind for find_owned in _owned_by_name for kind in find_owned(team)}
    try:
        with transaction.atomic():
            Team.objects.filter(id=team.id).delete()
    except ProtectedError as error:
        kinds |= {str(row._meta.verbose_name_plural) for row in error.protected_objects}
    if kinds:
        owned = ", ".join(sorted(kinds))
        raise StillInUse(f"Team {team.slug!r} still owns {owned}. Move or delete them first.")
    check_administrator_remains()
    _record(event_types.TEAM_DELETED, team, actor, before=before, after=None)


def _locked(team: Team) -> Team:
    row = Team.objects.select_for_update().filter(id=team.id).first()
    if row is None:
        raise UnknownTeam(f"Team {team.slug!r} does not exist.")
    return row


def _group_taken(group: str | None) -> NameTaken:
    return NameTaken(f"Another team already mirrors the group {(group or '')[:80]!r}. Remove it there first.")


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
