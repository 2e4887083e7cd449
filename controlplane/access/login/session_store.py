"""Console sessions in Postgres, stored by the SHA-256 digest of their key.

The key is a secret that only the browser's cookie contains; Django's own table would store it in plain text.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any

from django.conf import settings
from django.contrib.auth import HASH_SESSION_KEY, SESSION_KEY
from django.contrib.sessions import middleware
from django.contrib.sessions.backends.base import CreateError, SessionBase, UpdateError
from django.db import DatabaseError, IntegrityError, transaction
from django.db.models import Q
from django.db.models.functions import Now
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase

from controlplane.access.login.browsers import browser_name
from controlplane.access.login.login_details import LoginDetails
from controlplane.access.models import Principal, Session
from controlplane.database.dispensable import write_if_possible
from controlplane.web.client_address import address_of

# "Last used" is not worth a write per request.
_USE_PRECISION = timedelta(minutes=1)
_EVENTS = "/api/v1/events"


@dataclass(frozen=True, slots=True)
class Origin:
    """The client address and browser of a session's request."""

    address: str = ""
    browser: str = ""


class SessionStore(SessionBase):
    """The SESSION_ENGINE of Django."""

    origin = Origin()
    # The sealed ID token of a login at a provider; it survives a change of the session's key.
    id_token = ""
    _row: Session | None = None

    @property
    def digest(self) -> bytes | None:
        """The key of the session in the database; None for a session that is not stored."""
        return digest_of(self.session_key) if self.session_key else None

    @property
    def row(self) -> Session | None:
        """The row from which the session was loaded; None for a new session."""
        return self._row

    def load(self) -> dict[str, Any]:
        rows = Session.objects.filter(unexpired(), digest=self.digest).annotate(now=Now())
        rows = rows.select_related("identity")
        self._row = rows.first() if self.digest else None
        if self._row is None:
            self._session_key = None
            return {}
        self.id_token = self._row.id_token
        data: dict[str, Any] = self.decode(self._row.data)
        return data

    def exists(self, session_key: str) -> bool:
        return Session.objects.filter(digest=digest_of(session_key)).exists()

    def create(self) -> None:
        while True:
            self._session_key = self._get_new_session_key()  # type: ignore[attr-defined]  # missing in its stubs
            with suppress(CreateError):
                self.save(must_create=True)
                self.modified = True
                return

    def save(self, must_create: bool = False) -> None:
        if self.session_key is None:
            self.create()
            return
        content = self._get_session(no_load=must_create)  # type: ignore[attr-defined]  # missing in its stubs
        login = LoginDetails.from_session(content)
        values = {
            "data": self.encode(content),
            "expires_at": self._expires_at(login),
            "principal_id": content.get(SESSION_KEY),
            "id_token": self.id_token,
            **(login.columns() if login else {}),
        }
        if must_create:
            self._insert(values)
        elif not Session.objects.filter(digest=self.digest).update(**values):
            raise UpdateError

    def delete(self, session_key: str | None = None) -> None:
        key = session_key or self.session_key
        if key:
            Session.objects.filter(digest=digest_of(key)).delete()

    @classmethod
    def clear_expired(cls) -> None:
        Session.objects.exclude(unexpired()).delete()

    def _expires_at(self, login: LoginDetails | None) -> datetime:
        """Use never extends a session beyond its longest life: it counts from the login."""
        if login is None:
            return self.get_expiry_date()
        return login.started_at + timedelta(seconds=settings.SESSION_COOKIE_AGE)

    def record_use(self) -> None:
        """Record the time and address of the session's last use, at most once a minute."""
        row = self._row
        if row is None or row.now - row.last_used_at <= _USE_PRECISION:  # type: ignore[attr-defined]  # annotated
            return
        address = self.origin.address
        write_if_possible(
            lambda: Session.objects.filter(id=row.id).update(last_used_at=Now(), address=address)
        )

    def _insert(self, values: dict[str, Any]) -> None:
        origin = {"address": self.origin.address, "browser": self.origin.browser}
        try:
            with transaction.atomic():
                Session.objects.create(digest=self.digest, **origin, **values)
        except IntegrityError as error:
            raise CreateError from error


class SessionMiddleware(middleware.SessionMiddleware):
    """Django's middleware, which also records where and when sessions are used."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        super().__init__(get_response)

    def process_request(self, request: HttpRequest) -> None:
        super().process_request(request)
        user_agent = request.META.get("HTTP_USER_AGENT", "")
        # The stubs know only Django's own sessions.
        request.session.origin = Origin(address_of(request), browser_name(user_agent))  # type: ignore[attr-defined]

    def process_response(self, request: HttpRequest, response: HttpResponse) -> HttpResponse:
        result: HttpResponse = super().process_response(request, response)
        session = request.session
        if session.accessed and isinstance(session, SessionStore) and not is_automatic(request):
            # The response is complete: a failed record of its use must not lose it.
            with suppress(DatabaseError):
                session.record_use()
        return result


def is_automatic(request: HttpRequest) -> bool:
    """True for what an open page requests by itself, whether or not anybody looks at it."""
    return request.method == "GET" and (
        request.path == _EVENTS or request.headers.get("HX-Request") == "true"
    )


def keep_logged_in(request: HttpRequest, person: Principal) -> None:
    """Keep the session of this request valid after a password change, under a new key."""
    request.session.cycle_key()
    request.session[HASH_SESSION_KEY] = person.get_session_auth_hash()


def unexpired() -> Q:
    """Match sessions that are neither too old nor idle for too long."""
    idle = timedelta(minutes=settings.SESSION_IDLE_MINUTES)
    return Q(expires_at__gt=Now(), last_used_at__gt=Now() - idle)


def digest_of(session_key: str) -> bytes:
    return sha256(session_key.encode()).digest()
