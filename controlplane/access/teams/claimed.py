"""Teams and roles that an identity provider gives: replaced as a set, apart from those given by hand."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import structlog
from django.db import transaction
from django.db.models import QuerySet

from controlplane.access import role_bindings
from controlplane.access.models import Principal, RoleBinding
from controlplane.access.role_bindings import BindingTerms, find_role, is_role, lock_administrators
from controlplane.access.team_models import Team, Via
from controlplane.access.teams.memberships import add_member, remove_member
from controlplane.errors import LastAdministrator
from controlplane.identity.actors import Actor
from controlplane.scopes import Scope

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class ClaimedRole:
    """A role that a claim gives. team: the name of the team on whose objects alone it has effect."""

    role: str
    scope: Scope = Scope()
    team: str | None = None


@transaction.atomic
def replace_claimed(
    principal: Principal,
    teams: Collection[str],
    roles: Collection[ClaimedRole],
    *,
    actor: Actor,
    is_authoritative: bool = False,
) -> None:
    """Make these the principal's claimed teams and roles. Unknown teams and roles are skipped.

    is_authoritative: roles given by hand are removed too. Removal of the last administrator is skipped.
    """
    vias = [Via.CLAIM, Via.MANUAL] if is_authoritative else [Via.CLAIM]
    rows = {team.slug: team for team in Team.objects.filter(organisation=principal.organisation)}
    kept_roles = {role for role in roles if _is_known(role, rows)}
    kept_teams = {rows[slug] for slug in teams if slug in rows}
    if _is_current(principal, kept_teams, kept_roles, vias):
        return
    # Two logins of a person at once would both add the same rows.
    lock_administrators()
    for role in roles:
        if role in kept_roles:
            _bind_once(principal, role, rows.get(role.team or ""), actor)
    for binding in _bindings(principal, vias):
        if binding.via == Via.MANUAL or _as_claimed(binding) not in kept_roles:
            _unbind_unless_last(binding, actor)
    _replace_teams(principal, sorted(kept_teams, key=lambda team: team.slug), actor)


def _is_known(role: ClaimedRole, teams: Collection[str]) -> bool:
    is_known = is_role(role.role)
    if not is_known:
        log.warning("access.claimed_role_unknown", role=role.role)
    return is_known and (role.team is None or role.team in teams)


def _is_current(
    principal: Principal, teams: set[Team], roles: set[ClaimedRole], vias: Collection[str]
) -> bool:
    """True if nothing is to be changed: most logins change nothing, and wait for nobody."""
    bindings = {(_as_claimed(binding), binding.via) for binding in _bindings(principal, vias)}
    return bindings == {(role, Via.CLAIM) for role in roles} and set(_claimed_teams(principal)) == teams


def _bindings(principal: Principal, vias: Collection[str]) -> QuerySet[RoleBinding]:
    return RoleBinding.objects.filter(principal=principal, via__in=vias).select_related(
        "owned_by", "custom_role"
    )


def _claimed_teams(principal: Principal) -> QuerySet[Team]:
    return Team.objects.filter(memberships__principal=principal, memberships__via=Via.CLAIM)


def _as_claimed(binding: RoleBinding) -> ClaimedRole:
    return ClaimedRole(binding.role, binding.scope, binding.owned_by.slug if binding.owned_by else None)


def _bind_once(principal: Principal, role: ClaimedRole, team: Team | None, actor: Actor) -> None:
    exists = RoleBinding.objects.filter(
        principal=principal, role=role.role, owned_by=team, via=Via.CLAIM, **role.scope.segments
    ).exists()
    if not exists:
        terms = BindingTerms(owned_by=team, via=Via.CLAIM)
        role_bindings.bind_role(principal, find_role(role.role), role.scope, actor=actor, terms=terms)


def _unbind_unless_last(binding: RoleBinding, actor: Actor) -> None:
    """Remove a binding, but not the last administrator's: a claim must not lock everybody out."""
    try:
        with transaction.atomic():
            role_bindings.unbind_role(binding.id, actor=actor)
    except LastAdministrator:
        return


def _replace_teams(principal: Principal, teams: Collection[Team], actor: Actor) -> None:
    for team in teams:
        add_member(team, principal, actor=actor, via=Via.CLAIM)
    former = _claimed_teams(principal)
    for team in former.exclude(id__in=[team.id for team in teams]).order_by("slug"):
        _leave_unless_last(team, principal, actor)


def _leave_unless_last(team: Team, principal: Principal, actor: Actor) -> None:
    try:
        with transaction.atomic():
            remove_member(team, principal, actor=actor, via=Via.CLAIM)
    except LastAdministrator:
        return
