"""CORS: lets pages of other origins, such as a Flyte console, call the API.

It wraps the whole ASGI application, because fast paths bypass Django. Preflights are checked as in FlyteAdmin
(gorilla/handlers 1.5.1). Source: https://fetch.spec.whatwg.org/#http-cors-protocol
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from controlplane.web.django_bridge import Application, Message, Receive, Scope, Send

ANY = "*"
_PATHS = ("/api/", "/healthcheck", "/config/v1/")
_EXACT_PATHS = ("/me",)
_METHODS = frozenset(("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"))
# Headers in the Fetch standard's safelist, and those that our API reads.
_HEADERS = (
    *("accept", "accept-language", "content-language", "origin", "content-type"),
    *("authorization", "flyte-authorization", "idempotency-key", "if-match", "if-none-match", "x-request-id"),
    *("cache-control", "x-controlplane-position"),
)
_EXPOSED = (
    b"ETag, Location, Retry-After, WWW-Authenticate, X-Request-ID, Grpc-Metadata-Content-Type,"
    b" X-Controlplane-Position, X-Controlplane-Staleness, Age, RateLimit, RateLimit-Policy"
)
_ORIGIN = re.compile(r"https?://[^/?#\s@]+")
Header = tuple[bytes, bytes]


@dataclass(frozen=True, slots=True)
class CorsRules:
    """Allowed callers. origins: `scheme://host[:port]` or `*`. headers: allowed ones, in lower case."""

    origins: frozenset[str]
    headers: frozenset[str] = field(default=frozenset(_HEADERS))

    def allows(self, origin: str) -> bool:
        return bool(origin) and (ANY in self.origins or origin in self.origins)

    def granted(self, origin: str) -> list[Header]:
        """Return the headers of every response to an allowed origin."""
        if ANY in self.origins:
            # No credentials: browsers reject them in combination with `*`.
            return [(b"access-control-allow-origin", b"*")]
        return [
            (b"access-control-allow-origin", origin.encode("latin-1")),
            (b"access-control-allow-credentials", b"true"),
        ]

    def preflight(self, origin: str, method: str | None, requested: str) -> tuple[int, list[Header]]:
        """Return status and headers for OPTIONS. requested: Access-Control-Request-Headers."""
        if not self.allows(origin):
            return 200, []
        if method is None:
            return 400, []
        if method not in _METHODS:
            return 405, []
        names = [name for part in requested.split(",") if (name := part.strip().lower())]
        if not self.headers.issuperset(names):
            return 403, []
        allowed = [(b"access-control-allow-methods", method.encode())]
        if names:
            allowed.append((b"access-control-allow-headers", ", ".join(names).encode("latin-1")))
        return 200, [*self.granted(origin), *allowed]


def parse_origins(text: str) -> frozenset[str]:
    """Parse CORS_ALLOWED_ORIGINS. Raises ValueError for an invalid origin."""
    origins = frozenset(part.strip() for part in text.split(",") if part.strip())
    invalid = sorted(origin for origin in origins if origin != ANY and not _ORIGIN.fullmatch(origin))
    if invalid:
        raise ValueError(f"{invalid[0]!r} is neither an origin such as https://console.example.com nor *")
    return origins


def rules_of(origins: Iterable[str], headers: Iterable[str]) -> CorsRules:
    return CorsRules(frozenset(origins), frozenset((*_HEADERS, *(name.lower() for name in headers))))


class Cors:
    """Adds CORS headers to an application's responses. Without allowed origins it changes nothing."""

    def __init__(self, application: Application, rules: CorsRules) -> None:
        self._application = application
        self._rules = rules

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not self._rules.origins or scope["type"] != "http" or not _is_covered(scope["path"]):
            await self._application(scope, receive, send)
            return
        request_headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
        origin = request_headers.get(b"origin", "")
        if scope["method"] == "OPTIONS":
            method = request_headers.get(b"access-control-request-method")
            requested = request_headers.get(b"access-control-request-headers", "")
            status, headers = self._rules.preflight(origin, method, requested)
            headers = [*headers, *self._vary_header(), (b"content-length", b"0")]
            await send({"type": "http.response.start", "status": status, "headers": headers})
            await send({"type": "http.response.body", "body": b""})
            return
        added = self._vary_header()
        if self._rules.allows(origin):
            added = [*added, *self._rules.granted(origin), (b"access-control-expose-headers", _EXPOSED)]

        async def send_with(message: Message) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message["headers"], *added]}
            await send(message)

        await self._application(scope, receive, send_with)

    def _vary_header(self) -> list[Header]:
        """Return the Vary header, unless every origin gets the same response."""
        return [] if ANY in self._rules.origins else [(b"vary", b"Origin")]


def _is_covered(path: str) -> bool:
    return path.startswith(_PATHS) or path in _EXACT_PATHS
