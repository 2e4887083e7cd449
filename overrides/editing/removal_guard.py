"""Decide whether a change removes so many overrides that it could be a mistake. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from overrides.resolution.addresses import Address

# An incomplete mount, or a wrong branch, removes many documents at once.
SHARE = 0.10
AT_LEAST = 20


@dataclass(frozen=True, slots=True)
class Removals:
    """The overrides that a set of files or documents would remove, out of `stored` overrides in reach.

    what: those overrides, for messages. foreign: some of the removed overrides were set by somebody else.
    expected: the caller asked for an earlier state, so that removing all of a few overrides is no surprise.
    """

    addresses: tuple[Address, ...]
    stored: int
    foreign: bool = False
    what: str = "overrides"
    expected: bool = False


def needs_confirmation(removals: Removals) -> bool:
    """Return whether the removal is at least twenty and more than a tenth, everything, or foreign."""
    count = len(removals.addresses)
    is_large = count >= AT_LEAST and count > SHARE * removals.stored
    is_everything = count == removals.stored and not removals.expected
    return count > 0 and (is_large or is_everything or removals.foreign)
