"""Groups of the identity provider: create, change and remove the memberships of teams here."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import Q
from django.db.models.functions import Now

from controlplane.access.models import Principal
from controlplane.access.scim.models import ScimGroup, ScimUser
from controlplane.access.scim.team_names import team_name_of
from controlplane.access.team_models import Membership, Team, Via
from controlplane.access.teams.memberships import add_member, remove_member
from controlplane.access.teams.teams import change_team, create_team
from controlplane.errors import FieldError, InvalidRequest, NameTaken, UnknownTeam
from controlplane.identity.actors import Actor


@dataclass(frozen=True, slots=True)
class GroupFields:
    """What the provider sent about a group. member_ids: SCIM ids of users."""

    display_name: str
    external_id: str
    member_ids: frozenset[UUID]


def get_group(team_id: UUID, *, lock: bool = False) -> ScimGroup:
    """Return the group. Raises UnknownTeam."""
    rows = ScimGroup.objects.select_related("team")
    rows = rows.select_for_update(of=("self",)) if lock else rows
    group = rows.filter(team_id=team_id).first()
    if group is None:
        raise UnknownTeam(f"The group {team_id} does not exist.")
    return group


def member_ids_of(team_ids: Collection[UUID]) -> dict[UUID, list[UUID]]:
    """Return the members by SCIM of each team, in the order of their ids."""
    members: dict[UUID, list[UUID]] = {team_id: [] for team_id in team_ids}
    rows = Membership.objects.filter(team_id__in=team_ids, via=Via.SCIM).order_by("principal_id")
    for team_id, principal_id in rows.values_list("team_id", "principal_id"):
        members[team_id].append(principal_id)
    return members


@transaction.atomic
def create_group(fields: GroupFields, *, actor: Actor) -> ScimGroup:
    """Create a group with a team, or for the team whose external group it is. Raises NameTaken."""
    if ScimGroup.objects.filter(display_name__iexact=fields.display_name).exists():
        raise _taken(fields.display_name)
    team = _prepared_team(fields) or _new_team(fields, actor)
    group = ScimGroup(team=team, display_name=fields.display_name, external_id=fields.external_id)
    _save(group, force_insert=True)
    _set_members(team, fields.member_ids, actor)
    return get_group(team.id)


@transaction.atomic
def change_group(team_id: UUID, fields: GroupFields, *, actor: Actor) -> ScimGroup:
    """Replace a group's names and members. The team's name stays. Raises UnknownTeam, NameTaken."""
    group = get_group(team_id, lock=True)
    is_renamed = (group.display_name, group.external_id) != (fields.display_name, fields.external_id)
    if group.display_name != fields.display_name:
        _rename_team(group.team, fields.display_name, actor)
    has_new_members = _set_members(group.team, fields.member_ids, actor)
    if is_renamed or has_new_members:
        group.display_name, group.external_id = fields.display_name, fields.external_id
        group.version += 1
        group.changed_at = Now()
        _save(group)
    return get_group(team_id)


@transaction.atomic
def delete_group(team_id: UUID, *, actor: Actor) -> None:
    """Remove all members by SCIM. The team stays, since it may own agents. Raises UnknownTeam."""
    group = get_group(team_id, lock=True)
    _set_members(group.team, frozenset(), actor)
    ScimGroup.objects.filter(team_id=team_id).delete()


def _prepared_team(fields: GroupFields) -> Team | None:
    """Return the team that an administrator, or an earlier group, assigned to this group."""
    names = [name for name in (fields.display_name, fields.external_id) if name]
    return Team.objects.filter(external_group__in=names, scim_group=None).order_by("created_at").first()


def _new_team(fields: GroupFields, actor: Actor) -> Team:
    slug = team_name_of(fields.display_name, _is_free)
    return create_team(slug, actor=actor, title=fields.display_name, external_group=fields.display_name)


def _rename_team(team: Team, display_name: str, actor: Actor) -> None:
    change_team(team, actor=actor, title=display_name, external_group=display_name)


def _is_free(slug: str) -> bool:
    """False if another group has the team. Raises NameTaken if the team was not made by SCIM.

    A group must not give its members the roles of a team just because the names are alike.
    """
    team = Team.objects.filter(slug=slug).select_related("scim_group").first()
    if team is not None and not hasattr(team, "scim_group"):
        raise NameTaken(
            f"The team {slug!r} already exists. Set its external group to the name of this group to let the"
            " identity provider manage its members, or rename the group."
        )
    return team is None


def _set_members(team: Team, member_ids: frozenset[UUID], actor: Actor) -> bool:
    """Make these the members by SCIM. True if something changed."""
    current_ids = frozenset(member_ids_of([team.id])[team.id])
    added, removed = member_ids - current_ids, current_ids - member_ids
    _check_are_users(added)
    for person in Principal.objects.filter(Q(id__in=added) | Q(id__in=removed)).order_by("id"):
        if person.id in added:
            add_member(team, person, actor=actor, via=Via.SCIM)
        else:
            remove_member(team, person, actor=actor, via=Via.SCIM)
    return bool(added or removed)


def _check_are_users(ids: frozenset[UUID]) -> None:
    users = frozenset(ScimUser.objects.filter(principal_id__in=ids).values_list("principal_id", flat=True))
    if missing := sorted(map(str, ids - users)):
        message = f"The user {missing[0]} does not exist. Create users before adding them to groups."
        raise InvalidRequest(message, errors=[FieldError("/members", "unknown", message)])


def _save(group: ScimGroup, *, force_insert: bool = False) -> None:
    try:
        with transaction.atomic():
            group.save(force_insert=force_insert)
    except IntegrityError as error:
        raise _taken(group.display_name) from error


def _taken(display_name: str) -> NameTaken:
    return NameTaken(f"A group with the displayName {display_name[:80]!r} already exists.")
