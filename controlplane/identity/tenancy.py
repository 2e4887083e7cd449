"""Organisations: what a tenant's grants reach. Pure.

Grants of a principal in an organisation are confined to its projects and teams, once, when the caller is
authenticated. Everything downstream decides by the confined grants alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from uuid import UUID

from controlplane.identity.grants import Grant, TeamRef
from controlplane.identity.roles import INSTALLATION_WIDE, TEAM_OWNED, Action
from controlplane.scopes import Scope

# Documents have a team and no scope, so a role at a project must not reach them.
AT_PROJECTS = frozenset(Action) - INSTALLATION_WIDE - {Action.AGENT_CONFIG_READ, Action.AGENT_CONFIG_PUBLISH}
# What a role of a tenant allows on the organisation as a whole.
_OF_ORGANISATION = frozenset({Action.PROJECT_WRITE})


@dataclass(frozen=True, slots=True)
class Tenancy:
    """An organisation with its projects and teams."""

    id: UUID
    slug: str
    projects: frozenset[str] = frozenset()
    teams: tuple[TeamRef, ...] = ()


def confine(grants: Iterable[Grant], tenancy: Tenancy) -> tuple[Grant, ...]:
    """Return what the grants allow within the organisation."""
    return tuple(dict.fromkeys(confined for grant in grants for confined in _confine(grant, tenancy)))


def organisation_actions(grants: Iterable[Grant]) -> frozenset[Action]:
    """Return what the grants allow on the tenant's organisation as a whole, such as creating projects."""
    unlimited = (grant.actions for grant in grants if grant.team is None and grant.scope == Scope())
    return frozenset().union(*unlimited) & _OF_ORGANISATION


def _confine(grant: Grant, tenancy: Tenancy) -> Iterator[Grant]:
    if grant.team is not None:
        if grant.team in tenancy.teams:
            yield grant
    elif grant.scope.project:
        if grant.scope.project in tenancy.projects:
            yield replace(grant, custom_actions=grant.actions & AT_PROJECTS)
    else:
        yield from _confine_unlimited(grant, tenancy)


def _confine_unlimited(grant: Grant, tenancy: Tenancy) -> Iterator[Grant]:
    for project in sorted(tenancy.projects):
        scope = replace(grant.scope, project=project)
        yield replace(grant, scope=scope, custom_actions=grant.actions & AT_PROJECTS)
    if grant.scope == Scope():
        for team in tenancy.teams:
            yield replace(grant, team=team, custom_actions=grant.actions & TEAM_OWNED)
