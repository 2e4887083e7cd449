"""Grant a role at the request of a caller, who must have all that the role gives."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.db import transaction

from controlplane.access.models import CustomRole, Principal, RoleBinding
from controlplane.access.principals import get_visible_principal
from controlplane.access.role_bindings import BindingTerms, bind_role, check_may_grant, find_role
from controlplane.access.team_models import Team
from controlplane.access.teams.visible_teams import get_visible_team
from controlplane.database.clock import database_now
from controlplane.errors import FieldError, InvalidRequest
from controlplane.identity.actors import Actor
from controlplane.identity.callers import Caller
from controlplane.identity.grants import Grant
from controlplane.identity.roles import Role
from controlplane.scopes import Scope


@dataclass(frozen=True, slots=True)
class RoleOrder:
    """A role to grant, by names. Exactly one of principal and team gets it.

    owned_by: the team on whose objects alone the role has effect.
    """

    role: str
    scope: Scope = Scope()
    principal: str | None = None
    team: str | None = None
    owned_by: str | None = None
    expires_at: datetime | None = None


@transaction.atomic
def grant_role(caller: Caller, order: RoleOrder, *, actor: Actor) -> RoleBinding:
    """Grant the role.

    Raises PermissionDenied if the caller lacks any of its permissions, UnknownPrincipal, UnknownTeam,
    UnknownRole, InvalidRequest, NameTaken.
    """
    _check_order(order)
    role = find_role(order.role)
    owner = get_visible_team(caller, order.owned_by) if order.owned_by else None
    # Before the look-up of the holder: who administers nothing learns no names.
    check_may_grant(caller, _grant(role, order.scope, owner))
    terms = BindingTerms(owned_by=owner, expires_at=order.expires_at)
    return bind_role(_holder(caller, order), role, order.scope, actor=actor, terms=terms)


def _check_order(order: RoleOrder) -> None:
    if (order.principal is None) == (order.team is None):
        message = "Name either a principal or a team, and not both."
        raise InvalidRequest(message, errors=[FieldError("/principal", "one_holder", message)])
    if order.expires_at is not None and order.expires_at <= database_now():
        message = "The role would end in the past. Choose a later time."
        raise InvalidRequest(message, errors=[FieldError("/expires_at", "in_the_past", message)])


def _grant(role: Role | CustomRole, scope: Scope, owner: Team | None) -> Grant:
    team = owner.ref if owner else None
    if isinstance(role, CustomRole):
        return Grant(role.name, scope, team, role.known_actions)
    return Grant(role, scope, team)


def _holder(caller: Caller, order: RoleOrder) -> Principal | Team:
    if order.team is not None:
        return get_visible_team(caller, order.team)
    return get_visible_principal(caller, order.principal or "")
