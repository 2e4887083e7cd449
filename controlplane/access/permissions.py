"""Permission checks for DRF: every view declares the action of each of its methods, or is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

import structlog
from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from controlplane.errors import NotAuthenticated, PermissionDenied
from controlplane.identity.callers import Caller
from controlplane.identity.logins import SENSITIVE
from controlplane.identity.roles import DELEGATED, FOR_EVERYONE, INSTALLATION_WIDE, TEAM_OWNED, Action

if TYPE_CHECKING:  # rest_framework.views imports this file through its settings
    from rest_framework.views import APIView

log = structlog.get_logger(__name__)


class DeclaredAction(BasePermission):
    """Check whether the caller may do this at any scope, for any team. The view then checks the object."""

    def has_permission(self, request: Request, view: APIView) -> bool:
        action = declared_action(view, request.method or "")
        if action is None:
            return True  # no such method: DRF then responds 405
        caller = request.user
        if not isinstance(caller, Caller):
            raise NotAuthenticated("Authentication is required. Send a token: Authorization: Bearer cp_pat_…")
        if not may_somewhere(caller, action, delegated=getattr(view, "delegated", False)):
            log.info("access.denied", principal=caller.name, action=action.value)
            raise PermissionDenied(caller.verdict(action).reason, action=action.value)
        if action in SENSITIVE:  # for other actions it depends on the scope
            caller.require_recent_login(action)
        return True


def may_somewhere(caller: Caller, action: Action, *, delegated: bool = False) -> bool:
    """True if the caller may perform the action on some object.

    delegated: the view decides by itself at which scope and for which team.
    """
    if action in DELEGATED and delegated:
        return any(action in grant.actions for grant in caller.grants)
    if action in FOR_EVERYONE or action in DELEGATED:
        return caller.verdict(action).allowed
    if action in TEAM_OWNED and (caller.owners_for(action) or _limited_somewhere(caller, action)):
        return True
    if caller.tenant is not None and action in caller.tenant.actions:
        return True
    if action in INSTALLATION_WIDE:
        return caller.verdict(action).allowed
    return bool(caller.scopes_for(action))


def _limited_somewhere(caller: Caller, action: Action) -> bool:
    """True if a role that is limited to a team allows the action on its objects at some scope."""
    return action not in INSTALLATION_WIDE and any(
        grant.team is not None and action in grant.actions for grant in caller.grants
    )


def declared_action(view: APIView, method: str) -> Action | None:
    """Return the action that the view declares; None for an unsupported method."""
    method = "GET" if method == "HEAD" else method
    if not hasattr(view, method.lower()) or method == "OPTIONS":
        return None
    actions: dict[str, Action] = getattr(view, "actions", {})
    if method not in actions:
        raise PermissionDenied("This operation declares no permission, so nobody may use it.")
    return actions[method]
