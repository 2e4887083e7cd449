"""Who may perform an action at a scope, and by which binding."""

from __future__ import annotations

from uuid import UUID

from django.db.models import F, Q, QuerySet
from django.db.models.functions import Coalesce

from controlplane.access.models import RoleBinding
from controlplane.access.role_bindings import bindings_in_force
from controlplane.access.team_models import Team
from controlplane.errors import FieldError, InvalidRequest
from controlplane.identity.callers import Caller
from controlplane.identity.roles import ALLOWED, FOR_EVERYONE, INSTALLATION_WIDE, TEAM_OWNED, Action, Role
from controlplane.scopes import Scope

ORDER = ("principal_name", "id", "row_key")
# A binding of a team has a row for each membership.
_MEMBER = "team__memberships"


def bindings_that_allow(action: Action, scope: Scope, team: Team | None) -> QuerySet[RoleBinding]:
    """Return a row for each active principal and each binding that allows it the action: `decide` in SQL.

    team: the owner of the object. A principal in a team by several origins has a row for each.
    """
    checked = Scope() if action in INSTALLATION_WIDE else scope
    keys = Q()
    for above in checked.ladder():
        keys |= Q(**above.segments)
    rows = bindings_in_force().filter(
        keys, _with_action(action), _for_owner(action, team.id if team else None)
    )
    return (
        rows.select_related("team", "owned_by", "custom_role")
        .annotate(
            principal_name=Coalesce("principal__name", f"{_MEMBER}__principal__name"),
            principal_kind=Coalesce("principal__kind", f"{_MEMBER}__principal__kind"),
            principal_is_active=Coalesce("principal__is_active", f"{_MEMBER}__principal__is_active"),
            membership_via=F(f"{_MEMBER}__via"),
            row_key=Coalesce(f"{_MEMBER}__id", "id"),
        )
        .filter(principal_is_active=True)
    )


def require_matrix(caller: Caller, action: Action, scope: Scope, team: Team | None) -> None:
    """Raise PermissionDenied unless the caller administers access there, InvalidRequest without an answer."""
    owner = team.id if team else None
    caller.require(Action.ACCESS_READ, Scope() if action in INSTALLATION_WIDE else scope, owner=owner)
    if action in FOR_EVERYONE:
        message = f"Everyone with a valid token may perform {action}, whatever their roles."
        raise InvalidRequest(message, errors=[FieldError("?action", "for_everyone", message)])


def _with_action(action: Action) -> Q:
    built_in = [role.value for role in Role if action in ALLOWED[role]]
    return Q(custom_role=None, role__in=built_in) | Q(custom_role__actions__contains=[action.value])


def _for_owner(action: Action, owner: UUID | None) -> Q:
    unlimited = Q(owned_by=None)
    return unlimited | Q(owned_by=owner) if owner and action in TEAM_OWNED else unlimited
