"""Callers of requests: principals with their grants."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from controlplane.errors import PermissionDenied
from controlplane.identity.actors import Actor
from controlplane.identity.roles import Action, Grant, Role, Verdict, decide, scopes_where
from controlplane.scopes import Scope


@dataclass(frozen=True, slots=True)
class Caller:
    """The caller of a request. `principal_id` is None only for the anonymous reader of a trial."""

    principal_id: UUID | None
    name: str
    kind: str
    grants: tuple[Grant, ...]

    # Read by DRF and django_structlog.
    is_authenticated = True
    is_active = True

    @property
    def pk(self) -> str:
        return self.name

    def verdict(self, action: Action, scope: Scope = Scope()) -> Verdict:
        return decide(self.grants, action, scope)

    def require(self, action: Action, scope: Scope = Scope()) -> None:
        """Raise PermissionDenied unless the caller may perform the action at the scope."""
        verdict = self.verdict(action, scope)
        if not verdict.allowed:
            raise PermissionDenied(verdict.reason, action=action.value)

    def scopes_for(self, action: Action) -> list[Scope]:
        """Return the scopes at and below which the caller may perform the action."""
        return scopes_where(self.grants, action)

    def require_somewhere(self, action: Action) -> list[Scope]:
        """Return the scopes below which the caller may perform the action, or raise PermissionDenied."""
        scopes = self.scopes_for(action)
        if not scopes:
            self.require(action)
        return scopes

    def actor(self, request_id: str, reason: str = "") -> Actor:
        return Actor(self.principal_id, self.name, request_id, reason)


ANONYMOUS_READER = Caller(None, "anonymous", "anonymous", (Grant(Role.VIEWER, Scope()),))
