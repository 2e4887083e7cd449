"""Cross-origin requests: pages of other origins, such as a Flyte console, may call the API.

Around the whole ASGI application and not in Django, because fast paths answer beside Django. Preflights are
judged as FlyteAdmin judges them (gorilla/handlers 1.5.1). Source: https://fetch.spec.whatwg.org/#http-cors-protocol
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from controlplane.web.django_bridge import Application, Message, Receive, Scope, Send

ANY = "*"
_PATHS = ("/api/", "/healthcheck")
_METHODS = frozenset(("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"))
# A page may send these without asking (the Fetch standard's safelist), or our API reads them.
_HEADERS = (
    *("accept", "accept-language", "content-language", "origin", "content-type"),
    *("authorization", "flyte-authorization", "idempotency-key", "if-match", "if-none-match", "x-request-id"),
)
_EXPOSED = b"ETag, Location, Retry-After, WWW-Authenticate, X-Request-ID, Grpc-Metadata-Content-Type"
_ORIGIN = re.compile(r"https?://[^/?#\s@]+")
Header = tuple[bytes, bytes]


@dataclass(frozen=True, slots=True)
class CorsRules:
    """Who may call. origins: `scheme://host[:port]`, or `*`. headers: what pages may send, in lower case."""

    origins: frozenset[str]
    headers: frozenset[str] = field(default=frozenset(_HEADERS))

    def allows(self, origin: str) -> bool:
        return bool(origin) and (ANY in self.origins or origin in self.origins)

    def granted(self, origin: str) -> list[Header]:
        """What every answer to an allowed origin says."""
        if ANY in self.origins:
            # No credentials: browsers refuse them together with a star.
            return [(b"access-control-allow-origin", b"*")]
        return [
            (b"access-control-allow-origin", origin.encode("latin-1")),
            (b"access-control-allow-credentials", b"true"),
        ]

    def preflight(self, origin: str, method: str | None, wanted: str) -> tuple[int, list[Header]]:
        """Status and headers of the answer to OPTIONS. wanted: Access-Control-Request-Headers."""
        if not self.allows(origin):
            return 200, []
        if method is None:
            return 400, []
        if method not in _METHODS:
            return 405, []
        names = [name for part in wanted.split(",") if (name := part.strip().lower())]
        if not self.headers.issuperset(names):
            return 403, []
        allowed = [(b"access-control-allow-methods", method.encode())]
        if names:
            allowed.append((b"access-control-allow-headers", ", ".join(names).encode("latin-1")))
        return 200, [*self.granted(origin), *allowed]


def parse_origins(text: str) -> frozenset[str]:
    """Read CORS_ALLOWED_ORIGINS. Raises ValueError for what can be no origin."""
    origins = frozenset(part.strip() for part in text.split(",") if part.strip())
    wrong = sorted(one for one in origins if one != ANY and not _ORIGIN.fullmatch(one))
    if wrong:
        raise ValueError(f"{wrong[0]!r} is not an origin such as https://console.example.com, nor *")
    return origins


def rules_of(origins: Iterable[str], headers: Iterable[str]) -> CorsRules:
    return CorsRules(frozenset(origins), frozenset((*_HEADERS, *(name.lower() for name in headers))))


class Cors:
    """The application, with the headers that let other origins call it. Without rules it changes nothing."""

    def __init__(self, application: Application, rules: CorsRules) -> None:
        self._application = application
        self._rules = rules

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not self._rules.origins or scope["type"] != "http" or not scope["path"].startswith(_PATHS):
            await self._application(scope, receive, send)
            return
        sent = {name: value.decode("latin-1") for name, value in scope["headers"]}
        origin = sent.get(b"origin", "")
        if scope["method"] == "OPTIONS":
            asked = sent.get(b"access-control-request-method")
            wanted = sent.get(b"access-control-request-headers", "")
            status, headers = self._rules.preflight(origin, asked, wanted)
            headers = [*headers, *self._varies(), (b"content-length", b"0")]
            await send({"type": "http.response.start", "status": status, "headers": headers})
            await send({"type": "http.response.body", "body": b""})
            return
        added = self._varies()
        if self._rules.allows(origin):
            added = [*added, *self._rules.granted(origin), (b"access-control-expose-headers", _EXPOSED)]

        async def send_with(message: Message) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message["headers"], *added]}
            await send(message)

        await self._application(scope, receive, send_with)

    def _varies(self) -> list[Header]:
        """The answer differs by origin, unless every origin gets the same."""
        return [] if ANY in self._rules.origins else [(b"vary", b"Origin")]
