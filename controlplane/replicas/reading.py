"""The part of a request in which statements may go to a replica."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from django.db import connections

REPLICA = "replica"
_ON_REPLICA = ContextVar("on_replica", default=False)


class PrimaryRequired(Exception):
    """A read on a replica found that only the primary can answer."""


def are_configured() -> bool:
    """Return whether there are replicas (DATABASE_REPLICA_URL)."""
    return REPLICA in connections


@contextmanager
def on_replica() -> Iterator[None]:
    """Send reads of models to the replica, within the context and this thread."""
    token = _ON_REPLICA.set(True)
    try:
        yield
    finally:
        _ON_REPLICA.reset(token)


def is_on_replica() -> bool:
    return _ON_REPLICA.get()


def require_primary() -> None:
    """Have the read start again on the primary if it is on a replica."""
    if is_on_replica():
        raise PrimaryRequired
