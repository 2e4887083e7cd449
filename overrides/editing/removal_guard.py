"""Would a new set of files or documents remove so much that it may be a mistake? Pure."""

from __future__ import annotations

from dataclasses import dataclass

from overrides.resolution.addresses import Address

# A mount that is half there, or a wrong branch, takes away many documents at once.
SHARE = 0.10
AT_LEAST = 20


@dataclass(frozen=True, slots=True)
class Removals:
    """What a set of files or documents would remove, out of `stored` overrides in reach.

    what: those overrides, in the words of an error. foreign: something among the removed was not set by
    the remover. expected: the caller asked for an earlier state, so that removing everything, if that is
    little, surprises nobody.
    """

    addresses: tuple[Address, ...]
    stored: int
    foreign: bool = False
    what: str = "overrides"
    expected: bool = False


def wants_confirmation(removals: Removals) -> bool:
    """More than a tenth and at least twenty; all that there is; or anything that others set."""
    count = len(removals.addresses)
    much = count >= AT_LEAST and count > SHARE * removals.stored
    everything = count == removals.stored and not removals.expected
    return count > 0 and (much or everything or removals.foreign)
