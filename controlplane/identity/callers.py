"""Callers of requests: principals with their grants."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from controlplane.errors import PermissionDenied
from controlplane.identity.actors import Actor
from controlplane.identity.ceilings import allows_for_everyone
from controlplane.identity.grants import Grant, Owners, Verdict, decide, owners_at, owners_where, scopes_where
from controlplane.identity.logins import MACHINE, SENSITIVE, Login, StepUpPolicy
from controlplane.identity.roles import FOR_EVERYONE, Action, Role
from controlplane.scopes import Scope


@dataclass(frozen=True, slots=True)
class Tenant:
    """The organisation of a caller. actions: what the caller may do in it as a whole."""

    id: UUID
    slug: str
    actions: frozenset[Action] = frozenset()


@dataclass(frozen=True, slots=True)
class Caller:
    """The caller of a request. `principal_id` is None only for the anonymous reader of a trial.

    scopes: of the token in use, which have cut the grants; None for a token or session without a ceiling.
    grants_end_at: when the first of the grants expires; None if none does.
    tenant: the caller's organisation; None for callers of the installation itself.
    step_up: the policy for sensitive actions if the login is not recent enough for it; None if it is.
    teams: names of the caller's teams, sorted; None if they were not read.
    """

    principal_id: UUID | None
    name: str
    kind: str
    grants: tuple[Grant, ...]
    scopes: tuple[str, ...] | None = None
    grants_end_at: datetime | None = None
    tenant: Tenant | None = None
    login: Login = MACHINE
    step_up: StepUpPolicy | None = None
    teams: tuple[str, ...] | None = None

    # Read by DRF and django_structlog.
    is_authenticated = True
    is_active = True

    @property
    def pk(self) -> str:
        return self.name

    @property
    def reader(self) -> str:
        """Return the organisation, whose callers see the same rows of the database; empty without one."""
        return str(self.tenant.id) if self.tenant else ""

    def verdict(self, action: Action, scope: Scope = Scope(), owner: UUID | None = None) -> Verdict:
        if self.scopes is None:
            return decide(self.grants, action, scope, owner)
        if action in FOR_EVERYONE and not allows_for_everyone(action, self.scopes):
            return Verdict(False, f"{action} requires a token with the scope all.")
        verdict = decide(self.grants, action, scope, owner)
        if verdict.allowed:
            return verdict
        scopes = " ".join(self.scopes)
        return Verdict(False, f"{verdict.reason} Your token is limited to the scopes: {scopes}.")

    def require(self, action: Action, scope: Scope = Scope(), *, owner: UUID | None = None) -> None:
        """Raise PermissionDenied unless the caller may perform the action at the scope."""
        verdict = self.verdict(action, scope, owner)
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

    def require_to_create_projects(self) -> None:
        """Raise PermissionDenied unless the caller may create projects, in its organisation if it has one."""
        if self.tenant is None or Action.PROJECT_WRITE not in self.tenant.actions:
            self.require(Action.PROJECT_WRITE, Scope())

    def scopes_for(self, action: Action, *, owner: UUID | None = None) -> list[Scope]:
        """Return the scopes at and below which the caller may perform the action, on objects of the owner."""
        return scopes_where(self.grants, action, owner)

    def owners_for(self, action: Action) -> Owners:
        """Return the teams on whose objects the caller may perform the action."""
        return owners_where(self.grants, action)

    def owners_at(self, action: Action, scope: Scope) -> Owners:
        """Return the teams on whose objects at the scope the caller may perform the action."""
        return owners_at(self.grants, action, scope)

    def require_somewhere(self, action: Action) -> list[Scope]:
        """Return the scopes below which the caller may perform the action, or raise PermissionDenied."""
        scopes = self.scopes_for(action)
        if not scopes:
            self.require(action)
        return scopes

    def require_for_some_owner(self, action: Action) -> Owners:
        """Return the teams on whose objects the caller may perform the action, or raise PermissionDenied."""
        owners = self.owners_for(action)
        if not owners:
            self.require(action)
        if action in SENSITIVE:
            self.require_recent_login(action)
        return owners

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
