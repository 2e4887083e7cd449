"""What a change must be confirmed with, and whether it was. Pure.

Two things are asked about: a change of what applies at many scopes, and a removal of many overrides. The
number of affected scopes confirms the first; the digest of the plan confirms both, for exactly that plan.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

from overrides.editing.removal_guard import Removals, wants_confirmation

_DIGEST_LENGTH = 32
# As the API's parameter takes it: a number of scopes, or a digest.
PATTERN = rf"^([0-9]{{1,9}}|[0-9a-f]{{{_DIGEST_LENGTH}}})$"


@dataclass(frozen=True, slots=True)
class Confirmation:
    """confirm: what to send. reason: what the change does that must be confirmed, as a whole sentence."""

    confirm: str
    reason: str


@dataclass(frozen=True, slots=True)
class Effect:
    """What a change does, as far as confirmations are about it. most: scopes that need none; 0: any."""

    affected: int
    digest: str
    most: int = 0
    removals: Removals | None = None


def digest_of(parts: Iterable[str]) -> str:
    """The digest of a plan from a text for each of its changes, in a fixed order."""
    hashed = hashlib.sha256()
    for part in parts:
        hashed.update(part.encode())
        hashed.update(b"\n")
    return hashed.hexdigest()[:_DIGEST_LENGTH]


def confirmation_for(effect: Effect) -> Confirmation | None:
    """What the change must be confirmed with; None if it needs no confirmation."""
    removals = effect.removals
    many = bool(effect.most) and effect.affected > effect.most
    reach = f"what applies at {effect.affected} scopes"
    if removals is not None and wants_confirmation(removals):
        also = f", and changes {reach}" if many else ""
        removed = f"{len(removals.addresses)} of the {removals.stored} {removals.what}"
        return Confirmation(effect.digest, f"This removes {removed}{also}.")
    return Confirmation(str(effect.affected), f"This changes {reach}.") if many else None


def objection_to(effect: Effect, given: str) -> Confirmation | None:
    """What is to be confirmed instead; None if what was given confirms the change, or nothing must be.

    A wrong number or digest never confirms, not even a change that needs no confirmation.
    """
    required = confirmation_for(effect)
    if given == effect.digest or (not given and required is None):
        return None
    if given and given != str(effect.affected):
        wanted = required.confirm if required else str(effect.affected)
        reason = required.reason if required else f"This changes what applies at {effect.affected} scopes."
        return Confirmation(wanted, f"You confirmed a different plan ({given}). {reason}")
    return required if required is None or required.confirm != given else None
