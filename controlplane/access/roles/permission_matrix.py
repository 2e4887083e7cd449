"""Who may perform an action at a scope, and by which binding."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.conf import settings
from django.db.models import F, Q, QuerySet
from django.db.models.functions import Coalesce

from controlplane.access.role_bindings import bindings_in_force
from controlplane.access.team_models import DEFAULT_ORGANISATION, OrganisationProject, Team
from controlplane.errors import FieldError, InvalidRequest
from controlplane.identity.callers import Caller
from controlplane.identity.grants import Grant, TeamRef
from controlplane.identity.roles import FOR_EVERYONE, INSTALLATION_WIDE, TEAM_OWNED, Action, Role
from controlplane.identity.tenancy import AT_PROJECTS
from controlplane.scopes import Scope

ORDER = ("principal_name", "id", "row_key")
# A binding of a team has a row for each membership.
_MEMBER = "team__memberships"
_ANY_TEAM = TeamRef(UUID(int=0), "any")


def visible_rows(caller: Caller, action: Action, scope: Scope, team: Team | None) -> QuerySet[Any]:
    """Return the rows that the caller may read: those of its own organisation, if it has one."""
    rows = bindings_that_allow(action, scope, team)
    return rows if caller.tenant is None else rows.filter(organisation_id=caller.tenant.id)


def bindings_that_allow(action: Action, scope: Scope, team: Team | None) -> QuerySet[Any]:
    """Return a row for each active principal and each binding that allows it the action: `decide` in SQL.

    team: the owner of the object. A principal in a team by several origins has a row for each.
    """
    rows = _rows(action, scope, team).filter(principal_is_active=True)
    if not settings.ORGANISATIONS:
        return rows
    return rows.filter(organisation_id__in=_organisations_within(action, scope, team))


def _organisations_within(action: Action, scope: Scope, team: Team | None) -> set[UUID | None]:
    """Return the organisations whose principals can reach the object: `tenancy.confine` in SQL."""
    ids: set[UUID | None] = {DEFAULT_ORGANISATION}
    if team is not None and action in TEAM_OWNED:
        ids.add(team.organisation_id)
    if action in AT_PROJECTS:
        projects = OrganisationProject.objects.filter(project=scope.project)
        ids.update(projects.values_list("organisation_id", flat=True))
    return ids


def _rows(action: Action, scope: Scope, team: Team | None) -> QuerySet[Any]:
    checked = Scope() if action in INSTALLATION_WIDE else scope
    keys = Q()
    for above in checked.ladder():
        keys |= Q(**above.segments)
    rows = bindings_in_force().filter(
        keys, _with_action(action), _for_owner(action, team.id if team else None)
    )
    return rows.select_related("team", "owned_by", "custom_role").annotate(
        principal_name=Coalesce("principal__name", f"{_MEMBER}__principal__name"),
        principal_kind=Coalesce("principal__kind", f"{_MEMBER}__principal__kind"),
        principal_is_active=Coalesce("principal__is_active", f"{_MEMBER}__principal__is_active"),
        organisation_id=Coalesce("principal__organisation_id", f"{_MEMBER}__principal__organisation_id"),
        membership_via=F(f"{_MEMBER}__via"),
        row_key=Coalesce(f"{_MEMBER}__id", "id"),
    )


def require_matrix(caller: Caller, action: Action, scope: Scope, team: Team | None) -> None:
    """Raise PermissionDenied unless the caller administers access there, InvalidRequest without an answer."""
    owner = team.id if team else None
    caller.require(Action.ACCESS_READ, Scope() if action in INSTALLATION_WIDE else scope, owner=owner)
    if action in FOR_EVERYONE:
        message = f"Everyone with a valid token may perform {action}, whatever their roles."
        raise InvalidRequest(message, errors=[FieldError("?action", "for_everyone", message)])


def _with_action(action: Action) -> Q:
    """Match roles with the action. A built-in role can allow more if it is limited to a team."""
    unlimited = [role.value for role in Role if action in Grant(role).actions]
    limited = [role.value for role in Role if action in Grant(role, team=_ANY_TEAM).actions]
    built_in = Q(owned_by=None, role__in=unlimited) | Q(owned_by__isnull=False, role__in=limited)
    return Q(built_in, custom_role=None) | Q(custom_role__actions__contains=[action.value])


def _for_owner(action: Action, owner: UUID | None) -> Q:
    unlimited = Q(owned_by=None)
    return unlimited | Q(owned_by=owner) if owner and action in TEAM_OWNED else unlimited
