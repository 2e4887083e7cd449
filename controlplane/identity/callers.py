"""Callers of requests: principals with their grants."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from controlplane.errors import PermissionDenied
from controlplane.identity.actors import Actor
from controlplane.identity.logins import MACHINE, Login, StepUpPolicy
from controlplane.identity.roles import Action, Grant, Role, Verdict, decide, scopes_where
from controlplane.scopes import Scope


@dataclass(frozen=True, slots=True)
class Caller:
    """The caller of a request. `principal_id` is None only for the anonymous reader of a trial.

    step_up: the policy for sensitive actions if the login is not recent enough for it; None if it is.
    """

    principal_id: UUID | None
    name: str
    kind: str
    grants: tuple[Grant, ...]
    login: Login = MACHINE
    step_up: StepUpPolicy | None = None

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
        self.require_recent_login(action, scope)

    def require_recent_login(self, action: Action, scope: Scope = Scope()) -> None:
        """Raise StepUpRequired if the action is sensitive and the login is not recent."""
        if self.step_up and self.step_up.covers(action, scope):
            raise self.step_up.refusal(f"{action} at {scope}")

    def require_recent_login_for(self, object_count: int) -> None:
        """Raise StepUpRequired if the request changes many objects and the login is not recent."""
        if self.step_up and object_count > self.step_up.most_objects:
            raise self.step_up.refusal(f"A change of {object_count} objects")

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
        return Actor(
            self.principal_id,
            self.name,
            request_id,
            reason,
            client=self.login.client,
            identity=self.login.identity,
            session_hint=self.login.session_hint,
        )


ANONYMOUS_READER = Caller(None, "anonymous", "anonymous", (Grant(Role.VIEWER, Scope()),))
