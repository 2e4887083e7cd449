"""Confirmations of far-reaching changes. Pure.

Two kinds of change need confirmation: those that affect many scopes, and those that remove many overrides.
The number of affected scopes confirms the first; the plan's digest confirms both, for exactly that plan.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

from controlplane.formats.counts import counted
from overrides.editing.removal_guard import Removals, needs_confirmation

_DIGEST_LENGTH = 32
# The format of the API's parameter: a number of scopes, or a digest.
PATTERN = rf"^([0-9]{{1,9}}|[0-9a-f]{{{_DIGEST_LENGTH}}})$"


@dataclass(frozen=True, slots=True)
class Confirmation:
    """A required confirmation. confirm: the value to send. reason: why, as a complete sentence."""

    confirm: str
    reason: str


@dataclass(frozen=True, slots=True)
class Effect:
    """The effects that confirmations depend on. most: affected scopes without confirmation; 0: any number."""

    affected: int
    digest: str
    most: int = 0
    removals: Removals | None = None


def digest_of(parts: Iterable[str]) -> str:
    """Return the digest of a plan from a text for each of its changes, in a fixed order."""
    hashed = hashlib.sha256()
    for part in parts:
        hashed.update(part.encode())
        hashed.update(b"\n")
    return hashed.hexdigest()[:_DIGEST_LENGTH]


def confirmation_for(effect: Effect) -> Confirmation | None:
    """Return the confirmation that the change requires; None if it needs none."""
    removals = effect.removals
    many = bool(effect.most) and effect.affected > effect.most
    reach = _reach(effect)
    if removals is not None and needs_confirmation(removals):
        also = f", and changes {reach}" if many else ""
        removed = f"{len(removals.addresses)} of the {removals.stored} {removals.what}"
        return Confirmation(effect.digest, f"This removes {removed}{also}.")
    return Confirmation(str(effect.affected), f"This changes {reach}.") if many else None


def objection_to(effect: Effect, confirm: str) -> Confirmation | None:
    """Return the confirmation to send instead; None if `confirm` is right, or none is needed.

    A wrong number or digest is always refused, even if the change needs no confirmation.
    """
    required = confirmation_for(effect)
    if confirm == effect.digest or (not confirm and required is None):
        return None
    if confirm and confirm != str(effect.affected):
        expected = required.confirm if required else str(effect.affected)
        reason = required.reason if required else f"This changes {_reach(effect)}."
        return Confirmation(expected, f"You confirmed a different plan ({confirm}). {reason}")
    return required if required is None or required.confirm != confirm else None


def _reach(effect: Effect) -> str:
    return f"what applies at {counted(effect.affected, 'scope')}"
