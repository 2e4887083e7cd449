"""An incomplete request body: reading it fails, so that a part is never processed as the whole."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, NoReturn

# In the scope of a request: its body ended early, but its client can still read a response.
INCOMPLETE = "controlplane.incomplete_body"


class IncompleteBody:
    """A replacement of `wsgi.input`. Django turns the OSError into UnreadablePostError."""

    def read(self, size: int = -1) -> bytes:
        raise_incomplete()

    def readline(self, size: int = -1) -> bytes:
        raise_incomplete()


async def receive_nothing() -> dict[str, Any]:
    """Receive such a body, as an ASGI application; the bridge then lets Django answer."""
    return {"type": "http.disconnect"}


def noticing_incomplete(application: Callable[..., Awaitable[None]]) -> Callable[..., Awaitable[None]]:
    """Return the application with a `receive` for which such a body ends with a disconnection."""

    async def run(scope: dict[str, Any], receive: Callable[[], Awaitable[Any]], send: Any) -> None:
        async def receive_whole() -> Any:
            message = await receive()
            return await receive_nothing() if INCOMPLETE in scope else message

        await application(scope, receive_whole, send)

    return run


def raise_incomplete() -> NoReturn:
    raise OSError("The body ended early.")
