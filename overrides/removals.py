"""Would a new set of files remove so much that it may be a mistake? Pure."""

from __future__ import annotations

from dataclasses import dataclass

from overrides.addresses import Address

# A mount that is half there, or a wrong branch, takes away many documents at once.
SHARE = 0.10
AT_LEAST = 20


@dataclass(frozen=True, slots=True)
class Removals:
    """What a set of files would remove. foreign: something among it was not set by files."""

    addresses: tuple[Address, ...]
    stored: int
    foreign: bool = False


def wants_confirmation(removals: Removals) -> bool:
    """More than a tenth and at least twenty; all that there is; or anything that people set by hand."""
    count = len(removals.addresses)
    much = count >= AT_LEAST and count > SHARE * removals.stored
    return count > 0 and (much or count == removals.stored or removals.foreign)
