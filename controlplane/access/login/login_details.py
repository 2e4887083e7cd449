"""When and how the person of a session authenticated. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

SESSION_KEY = "_login"
_MAX_TEXT = 255


@dataclass(frozen=True, slots=True)
class LoginDetails:
    """The login of a session, stored in its content and in columns of its row.

    started_at: of the session here. auth_time: when the person authenticated, which may be earlier at a
    provider. provider, identity_id, provider_sid: empty for a login with a password.
    """

    started_at: datetime
    auth_time: datetime
    provider: str = ""
    identity_id: UUID | None = None
    provider_sid: str = ""
    acr: str = ""
    amr: tuple[str, ...] = ()

    @classmethod
    def from_session(cls, content: Mapping[str, Any]) -> LoginDetails | None:
        """Return the details in a session's content; None for a session without a login."""
        stored = content.get(SESSION_KEY)
        if not isinstance(stored, Mapping):
            return None
        return cls(
            started_at=datetime.fromtimestamp(stored["started_at"], UTC),
            auth_time=datetime.fromtimestamp(stored["auth_time"], UTC),
            provider=stored.get("provider", ""),
            identity_id=UUID(stored["identity"]) if stored.get("identity") else None,
            provider_sid=stored.get("sid", ""),
            acr=stored.get("acr", ""),
            amr=tuple(stored.get("amr", ())),
        )

    def content(self) -> dict[str, Any]:
        return {
            "started_at": int(self.started_at.timestamp()),
            "auth_time": int(self.auth_time.timestamp()),
            "provider": self.provider,
            "identity": str(self.identity_id) if self.identity_id else "",
            "sid": self.provider_sid,
            "acr": self.acr,
            "amr": list(self.amr),
        }

    def columns(self) -> dict[str, Any]:
        return {
            "auth_time": self.auth_time,
            "provider": self.provider,
            "identity_id": self.identity_id,
            "provider_sid": self.provider_sid,
            "acr": self.acr,
            "amr": list(self.amr),
        }


def from_claims(
    claims: Mapping[str, Any], *, provider: str, identity_id: UUID, now: datetime
) -> LoginDetails:
    """Return the details of a login with these claims."""
    methods = claims.get("amr")
    return LoginDetails(
        started_at=now,
        auth_time=_auth_time(claims.get("auth_time"), now),
        provider=provider,
        identity_id=identity_id,
        provider_sid=_text(claims.get("sid")),
        acr=_text(claims.get("acr")),
        amr=tuple(_text(method) for method in methods[:20]) if isinstance(methods, list) else (),
    )


def _auth_time(stated: object, now: datetime) -> datetime:
    """Return the stated time; now if there is none, or if it is in the future."""
    if isinstance(stated, int | float) and not isinstance(stated, bool) and 0 < stated < now.timestamp():
        return datetime.fromtimestamp(stated, UTC)
    return now


def _text(value: object) -> str:
    return value[:_MAX_TEXT] if isinstance(value, str) else ""
