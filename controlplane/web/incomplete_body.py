"""A request's body that ended early: reading it fails, so that nobody takes half of it for the whole."""

from __future__ import annotations

from typing import Any, NoReturn


class IncompleteBody:
    """In place of `wsgi.input`. Django turns the OSError into UnreadablePostError."""

    def read(self, size: int = -1) -> bytes:
        raise_incomplete()

    def readline(self, size: int = -1) -> bytes:
        raise_incomplete()


async def receive_nothing() -> dict[str, Any]:
    """What an ASGI application receives of such a body; the bridge then lets Django answer."""
    return {"type": "http.disconnect"}


def raise_incomplete() -> NoReturn:
    raise OSError("The body ended early.")
