"""Actors of changes: the principal, request and reason, passed to every mutation."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID


@dataclass(frozen=True, slots=True)
class Actor:
    """The actor of a change. `principal_id` is None for the system itself: sweeps, seeding, commands.

    client: the OAuth client, if any. identity: the identity at a provider, as `<issuer>#<subject>`.
    session_hint: the session or token in use, by its first characters; never a secret. ticket: id or address
    of the task that the change belongs to; kept with changes of overrides.
    """

    principal_id: UUID | None
    name: str
    request_id: str = ""
    reason: str = ""
    client: str = ""
    identity: str = ""
    session_hint: str = ""
    ticket: str = ""


def system(part: str) -> Actor:
    """Return the actor for a part of the control plane itself."""
    return Actor(None, f"system:{part}")
