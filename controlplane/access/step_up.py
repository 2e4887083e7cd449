"""The login of the current request, and the policy that sensitive actions require a recent one."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from django.conf import settings
from django.utils import timezone

from controlplane.access.login.login_details import SESSION_KEY, LoginDetails
from controlplane.access.models import Session, Token
from controlplane.identity.callers import Caller
from controlplane.identity.logins import Login, StepUpPolicy, is_recent

# The length of the column in audit records.
_MAX_IDENTITY = 600
_LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)


def remember_password(session: Any) -> None:
    """Record in a console session that the person has just entered the password again."""
    now = datetime.now(UTC)
    details = LoginDetails.from_session(session) or LoginDetails(started_at=now, auth_time=now)
    session[SESSION_KEY] = replace(details, auth_time=now).content()


def provider_of(session: Any) -> str:
    """Return the slug of the identity provider of a session's login; empty for a local login."""
    details = LoginDetails.from_session(session)
    return details.provider if details else ""


def login_of_session(session: Any) -> Login:
    """Return the login of a console session. Without a recorded time, it is the time of the session's key."""
    row: Session | None = getattr(session, "row", None)
    created_at = row.created_at if row else _LONG_AGO
    details = LoginDetails.from_session(session) or LoginDetails(started_at=created_at, auth_time=created_at)
    identity = row.identity if row else None
    return Login(
        auth_time=details.auth_time,
        identity=f"{identity.issuer}#{identity.subject}"[:_MAX_IDENTITY] if identity else "",
        session_hint=f"session {row.id}" if row else "",
        acr=details.acr,
        amr=details.amr,
    )


def login_of_token(token: Token) -> Login:
    """Return the login of a token. Only tokens of an interactive OAuth login have a time."""
    oauth = getattr(token, "oauth", None)
    client = oauth.client.client_id if oauth and oauth.client else ""
    return Login(auth_time=token.auth_time, client=client, session_hint=token.hint)


def with_login(caller: Caller, login: Login) -> Caller:
    """Return the caller with this login, and with the policy if the login is not recent enough for it."""
    policy = current_policy()
    stale = None if is_recent(login, timezone.now(), policy) else policy
    return replace(caller, login=login, step_up=stale)


def current_policy() -> StepUpPolicy:
    return StepUpPolicy(
        max_age=timedelta(minutes=settings.STEP_UP_MINUTES),
        acr_values=tuple(settings.STEP_UP_ACR),
        protected=tuple(settings.PROTECTED_SCOPES),
    )
