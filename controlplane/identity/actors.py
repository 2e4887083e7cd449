"""The actor of a change: who does it, in which request, and why. Passed down to every mutation."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID


@dataclass(frozen=True, slots=True)
class Actor:
    """`principal_id` is None for the system itself: sweeps, seeding, commands."""

    principal_id: UUID | None
    name: str
    request_id: str = ""
    reason: str = ""


def system(part: str) -> Actor:
    """The control plane acting by itself; `part` says which part of it."""
    return Actor(None, f"system:{part}")
