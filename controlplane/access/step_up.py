"""The login of the current request, and the policy that sensitive actions require a recent one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from django.conf import settings
from django.contrib.sessions.backends.base import SessionBase
from django.utils import timezone

from controlplane.access.models import Session, Token
from controlplane.identity.callers import Caller
from controlplane.identity.logins import Login, StepUpPolicy, is_recent

# Keys of a console session's data.
_AUTH_TIME, _ACR, _AMR, _IDENTITY = "auth_time", "acr", "amr", "identity"
_LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)


def remember_login(
    session: SessionBase,
    *,
    auth_time: datetime | None = None,
    identity: str = "",
    acr: str = "",
    amr: Sequence[str] = (),
) -> None:
    """Record in a console session when and how the person logged in.

    auth_time: now by default. identity: at the identity provider, as `<issuer>#<subject>`.
    """
    session[_AUTH_TIME] = int((auth_time or timezone.now()).timestamp())
    session[_IDENTITY], session[_ACR], session[_AMR] = identity, acr, list(amr)


def login_of_session(session: Any) -> Login:
    """Return the login of a console session. Without a recorded time, it is the time of the session's key."""
    row: Session | None = getattr(session, "row", None)
    seconds = session.get(_AUTH_TIME)
    created_at = row.created_at if row else _LONG_AGO
    return Login(
        auth_time=datetime.fromtimestamp(seconds, UTC) if isinstance(seconds, int) else created_at,
        identity=session.get(_IDENTITY, ""),
        session_hint=f"session {row.id}" if row else "",
        acr=session.get(_ACR, ""),
        amr=tuple(session.get(_AMR, ())),
    )


def login_of_token(token: Token, client: str = "") -> Login:
    """Return the login of a token. Only tokens of an interactive OAuth login have a time."""
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
