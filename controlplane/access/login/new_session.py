"""Begin and end the console session of a request."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from django.conf import settings
from django.contrib import auth
from django.http import HttpRequest

from controlplane.access.login.login_details import SESSION_KEY, LoginDetails
from controlplane.access.login.session_store import SessionStore
from controlplane.access.models import Principal
from controlplane.access.secrets.sealing import seal, unseal
from controlplane.errors import SecretsUnavailable


@dataclass(frozen=True, slots=True)
class EndedSession:
    """The person of a session that has ended, its login, and the ID token for the provider; "" if unknown."""

    person: Principal
    login: LoginDetails | None
    id_token: str


def begin_session(
    request: HttpRequest, person: Principal, login: LoginDetails | None = None, *, id_token: str = ""
) -> None:
    """Log the person in under a new session key. login: None for a password."""
    now = datetime.now(UTC)
    request.session.flush()
    details = login or LoginDetails(started_at=now, auth_time=now, amr=("pwd",))
    request.session[SESSION_KEY] = details.content()
    if isinstance(request.session, SessionStore):
        request.session.id_token = _sealed(id_token, person)
    auth.login(request, person, backend=settings.AUTHENTICATION_BACKENDS[0])
    SessionStore.clear_expired()


def end_session(request: HttpRequest) -> EndedSession | None:
    """End the session of the request, and return what it was; None if nobody was logged in."""
    person = request.user
    if not isinstance(person, Principal):
        return None
    login = LoginDetails.from_session(request.session)
    sealed = request.session.id_token if isinstance(request.session, SessionStore) else ""
    auth.logout(request)
    return EndedSession(person, login, _unsealed(sealed, person))


def _sealed(id_token: str, person: Principal) -> str:
    """Seal the ID token; "" without a key. Then the provider asks at logout which session to end."""
    try:
        return seal(id_token.encode(), _context(person)) if id_token else ""
    except SecretsUnavailable:
        return ""


def _unsealed(sealed: str, person: Principal) -> str:
    try:
        return unseal(sealed, _context(person)).decode() if sealed else ""
    except SecretsUnavailable:
        return ""


def _context(person: Principal) -> str:
    return f"session/{person.id}/id_token"
