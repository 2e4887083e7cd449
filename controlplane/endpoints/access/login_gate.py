"""Request limit for the login page, applied before Django.

A flood of requests is rejected in the event loop: in Django, each would cost milliseconds of CPU time.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from controlplane.access.attempt_counters import LocalCounters
from controlplane.api.problems import plain_response
from controlplane.endpoints.access.password_queue import send_response
from controlplane.errors import TooManyAttempts
from controlplane.web.client_address import Network, client_address, source_of
from controlplane.web.django_bridge import Application, Receive, Scope, Send

# The callback asks the identity provider; the others hash a password or begin a login.
PATHS = frozenset({"/login", "/login/local", "/callback"})
_SECONDS = 60


class LoginGate:
    """Limits requests per minute and address to `most`; 0 disables the limit.

    Each web worker counts its own requests.
    """

    def __init__(
        self,
        application: Application,
        *,
        most: int,
        trusted: Sequence[Network],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._application = application
        self._most = most
        self._trusted = trusted
        self._counters = LocalCounters(clock)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._most and self._count(scope) > self._most:
            await _send_too_many(send)
        else:
            await self._application(scope, receive, send)

    def _count(self, scope: Scope) -> int:
        peer = scope.get("client") or ("", 0)
        forwarded = [value for name, value in scope["headers"] if name == b"x-forwarded-for"]
        address = client_address(peer[0], b",".join(forwarded).decode("latin-1"), self._trusted)
        return self._counters.add([source_of(address)], _SECONDS)[0]


async def _send_too_many(send: Send) -> None:
    detail = "Too many requests to the login page from your address. Try again in a minute."
    response = plain_response(TooManyAttempts(detail, retry_after=_SECONDS))
    response["Retry-After"] = str(_SECONDS)
    await send_response(send, response)
