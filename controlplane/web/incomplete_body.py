"""An incomplete request body: reading it fails, so that a part is never processed as the whole."""

from __future__ import annotations

from typing import Any, NoReturn


class IncompleteBody:
    """A replacement of `wsgi.input`. Django turns the OSError into UnreadablePostError."""

    def read(self, size: int = -1) -> bytes:
        raise_incomplete()

    def readline(self, size: int = -1) -> bytes:
        raise_incomplete()


async def receive_nothing() -> dict[str, Any]:
    """Receive such a body, as an ASGI application; the bridge then lets Django answer."""
    return {"type": "http.disconnect"}


def raise_incomplete() -> NoReturn:
    raise OSError("The body ended early.")
