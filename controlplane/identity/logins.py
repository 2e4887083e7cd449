"""How callers authenticated, and which actions require a recent login (RFC 9470). Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from controlplane.errors import StepUpRequired
from controlplane.identity.roles import Action
from controlplane.scopes import Scope

# Actions that decide what others may do, or override their decisions.
SENSITIVE = frozenset(
    {
        Action.ACCESS_WRITE,
        Action.OVERRIDE_FORCE,
        Action.RAIL_WRITE,
        Action.FREEZE_WRITE,
        Action.FREEZE_OVERRIDE,
        Action.APPROVAL_WRITE,
        Action.OVERRIDE_APPROVE,
        Action.APPROVAL_BYPASS,
    }
)
# Actions that change protected scopes.
_WRITES = frozenset(
    {Action.OVERRIDE_WRITE, Action.OVERRIDE_FORCE, Action.RAIL_WRITE, Action.PROJECT_WRITE, Action.TYPE_WRITE}
)


@dataclass(frozen=True, slots=True)
class Login:
    """How a caller authenticated.

    auth_time: when the person last entered credentials; None for machine tokens. identity: at the identity
    provider, as `<issuer>#<subject>`; empty for a local login. acr, amr: as the provider stated them.
    """

    auth_time: datetime | None = None
    client: str = ""
    identity: str = ""
    session_hint: str = ""
    acr: str = ""
    amr: tuple[str, ...] = ()


MACHINE = Login()


@dataclass(frozen=True, slots=True)
class StepUpPolicy:
    """When sensitive actions require a new login. max_age: of the login; zero turns the policy off.

    acr_values: of which a provider must state one, as acr or amr. protected: scopes whose changes are
    sensitive. most_objects: that one request may change without a recent login.
    """

    max_age: timedelta
    acr_values: tuple[str, ...] = ()
    protected: tuple[Scope, ...] = ()
    most_objects: int = 100

    def covers(self, action: Action, scope: Scope) -> bool:
        """True if the action is sensitive, or changes values in a protected scope."""
        if action in SENSITIVE:
            return True
        return action in _WRITES and any(scope.joined(protected) is not None for protected in self.protected)

    def refusal(self, subject: str) -> StepUpRequired:
        """Return the error for an action or change that this policy refuses."""
        minutes = int(self.max_age.total_seconds() // 60)
        strength = f" with {' or '.join(self.acr_values)}" if self.acr_values else ""
        return StepUpRequired(
            f"{subject} requires a login within the last {minutes} minutes{strength}. Log in again, then"
            " repeat the request.",
            max_age=int(self.max_age.total_seconds()),
            acr_values=list(self.acr_values),
        )


def is_recent(login: Login, now: datetime, policy: StepUpPolicy) -> bool:
    """True if the login permits sensitive actions now. Machine tokens always do."""
    if login.auth_time is None or not policy.max_age:
        return True
    if now - login.auth_time > policy.max_age:
        return False
    return not policy.acr_values or not login.identity or _is_strong(login, policy)


def needs_step_up(action: Action, scope: Scope, login: Login, now: datetime, policy: StepUpPolicy) -> bool:
    """Decide whether the caller must log in again before this action at this scope."""
    return policy.covers(action, scope) and not is_recent(login, now, policy)


def _is_strong(login: Login, policy: StepUpPolicy) -> bool:
    return not {login.acr, *login.amr}.isdisjoint(policy.acr_values)
