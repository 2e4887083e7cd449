"""NATS' auth callout: what its server sends for each login, and what it is answered. Pure."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import Any

from controlplane.messaging.logins.nkeys import AccountKey, read_claims

# Where NATS' server sends each login.
SUBJECT = "$SYS.REQ.USER.AUTH"
_MOST_SUBSCRIPTIONS = 64
_MOST_BYTES = 1_048_576


@dataclass(frozen=True, slots=True)
class LoginRequest:
    """A client that logs in. asked_at: by the clock of its server, in Unix seconds."""

    user: str
    password: str
    host: str
    # The key that the server made for this connection.
    client_key: str
    server_id: str
    client_id: int
    asked_at: int

    def __repr__(self) -> str:
        """Leave out the password."""
        return f"LoginRequest({self.user!r}, {self.host!r}, {self.server_id!r}, {self.client_id!r})"


@dataclass(frozen=True, slots=True)
class Permissions:
    """Subjects that a user may publish and subscribe. Everything else is refused."""

    publish: tuple[str, ...]
    subscribe: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Grant:
    """An accepted login. seconds: after these, the server disconnects the client."""

    account: str
    name: str
    permissions: Permissions
    seconds: int


def read_request(body: bytes) -> LoginRequest:
    """Read a request of NATS' server. Raises ValueError."""
    claims = read_claims(body.decode())
    try:
        facts, options = claims["nats"], claims["nats"]["connect_opts"]
        return LoginRequest(
            user=str(options.get("user", "")),
            password=str(options.get("pass", "")),
            host=str(facts["client_info"].get("host", "")),
            client_key=str(facts["user_nkey"]),
            server_id=str(facts["server_id"]["id"]),
            client_id=int(facts["client_info"]["id"]),
            asked_at=int(claims["iat"]),
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"The request of NATS' server has no {error}.") from error


def accept(key: AccountKey, request: LoginRequest, grant: Grant) -> bytes:
    """Return the answer that admits the client with these permissions."""
    user = {
        **_claims(key, request, audience=grant.account),
        "name": grant.name,
        "exp": request.asked_at + grant.seconds,
        "nats": {
            "type": "user",
            "version": 2,
            "pub": {"allow": list(grant.permissions.publish)},
            "sub": {"allow": list(grant.permissions.subscribe)},
            "subs": _MOST_SUBSCRIPTIONS,
            "payload": _MOST_BYTES,
            "data": -1,
        },
    }
    return _answer(key, request, {"jwt": key.sign(user)})


def refuse(key: AccountKey, request: LoginRequest, reason: str) -> bytes:
    """Return the answer that refuses the client. Only the server's log shows the reason."""
    return _answer(key, request, {"error": reason})


def _answer(key: AccountKey, request: LoginRequest, content: dict[str, Any]) -> bytes:
    claims = _claims(key, request, audience=request.server_id)
    body = {"type": "authorization_response", "version": 2, **content}
    return key.sign({**claims, "nats": body}).encode()


def _claims(key: AccountKey, request: LoginRequest, *, audience: str) -> dict[str, Any]:
    return {
        "jti": secrets.token_hex(16),
        # Of the clock that will judge them.
        "iat": request.asked_at,
        "iss": key.public,
        "sub": request.client_key,
        "aud": audience,
    }
