"""Teams and roles that an identity provider gives: replaced as a set, apart from those given by hand."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from django.db import transaction

from controlplane.access import role_bindings
from controlplane.access.models import Principal, RoleBinding
from controlplane.access.role_bindings import BindingTerms, find_role
from controlplane.access.team_models import Team, Via
from controlplane.access.teams.memberships import replace_memberships
from controlplane.errors import LastAdministrator
from controlplane.identity.actors import Actor
from controlplane.scopes import Scope


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
    """Make these the principal's claimed teams and roles. Unknown teams are skipped.

    is_authoritative: roles given by hand are removed too. Removal of the last administrator is skipped.
    """
    rows = {team.slug: team for team in Team.objects.filter(organisation=principal.organisation)}
    for role in roles:
        if role.team is None or role.team in rows:
            _bind_once(principal, role, rows.get(role.team or ""), actor)
    kept = {role for role in roles}
    vias = [Via.CLAIM, Via.MANUAL] if is_authoritative else [Via.CLAIM]
    for binding in RoleBinding.objects.filter(principal=principal, via__in=vias).select_related("owned_by"):
        if binding.via == Via.MANUAL or _as_claimed(binding) not in kept:
            _unbind_unless_last(binding, actor)
    members = [rows[slug] for slug in sorted(set(teams)) if slug in rows]
    _replace_teams_unless_last(principal, members, actor)


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


def _replace_teams_unless_last(principal: Principal, teams: Collection[Team], actor: Actor) -> None:
    try:
        with transaction.atomic():
            replace_memberships(principal, teams, via=Via.CLAIM, actor=actor)
    except LastAdministrator:
        return
