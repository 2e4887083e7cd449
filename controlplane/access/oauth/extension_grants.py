"""Grant types that other packages add to the token endpoint, such as token exchange."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus

from controlplane.access.oauth.models import OAuthClient


class OAuthError(Exception):
    """An error of the token endpoint (RFC 6749 section 5.2). error: its code, such as `invalid_grant`."""

    def __init__(self, error: str, description: str = "", *, status: int = HTTPStatus.BAD_REQUEST) -> None:
        super().__init__(f"{error}: {description}")
        self.error = error
        self.description = description
        self.status = int(status)


@dataclass(frozen=True, slots=True)
class RequestFacts:
    """The request for a token. address: of the client."""

    address: str
    request_id: str


@dataclass(frozen=True, slots=True)
class IssuedToken:
    """A token for the response. issued_token_type: for token exchange (RFC 8693 section 2.2.1)."""

    access_token: str
    expires_in: int
    scope: str
    token_type: str = "Bearer"  # noqa: S105  (the type)
    issued_token_type: str = ""


# Called in a transaction, which is committed for an OAuthError too. client: authenticated, None without.
Handler = Callable[[Mapping[str, str], OAuthClient | None, RequestFacts], IssuedToken]
_handlers: dict[str, Handler] = {}


def register_grant(grant_type: str, handler: Handler) -> None:
    """Add a grant type. Apps call it when they are ready."""
    _handlers[grant_type] = handler


def handler_of(grant_type: str) -> Handler | None:
    return _handlers.get(grant_type)


def extension_grants() -> tuple[str, ...]:
    return tuple(_handlers)
