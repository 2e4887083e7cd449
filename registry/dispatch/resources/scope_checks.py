"""Checks of the scope at which a resource is requested."""

from __future__ import annotations

from controlplane.errors import UnknownDomain, UnknownProject
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from controlplane.scopes import Scope
from overrides.projects import check_known, require_readable


def check_scope(caller: Caller, scope: Scope) -> None:
    """Raise PermissionDenied, UnknownProject or UnknownDomain.

    A role that is limited to a team and to no project reaches the team's resources in every project, but
    requests new ones only in projects that the caller may read: it must not learn names of others.
    """
    if scope.project and not _has_role_at(caller, scope):
        require_readable(caller, scope.project)
    try:
        check_known(scope)
    except (UnknownProject, UnknownDomain) as error:
        if caller.scopes_for(Action.PROJECT_READ):
            raise
        # Without the nearest name.
        raise type(error)(error.detail.partition(". ")[0] + ".") from error


def _has_role_at(caller: Caller, scope: Scope) -> bool:
    """True if a role for all owners, or a role at the project itself, allows requests there."""
    return any(
        Action.RESOURCE_WRITE in grant.actions
        and grant.scope.covers(scope)
        and (grant.team is None or grant.scope.project)
        for grant in caller.grants
    )
