"""Optimistic concurrency: may this write go ahead, given the version that stands? Pure.

RFC 9110 section 13 (If-Match, If-None-Match) and RFC 6585 (428), over integer versions.
"""

from __future__ import annotations

from dataclasses import dataclass

from controlplane.errors import VersionMismatch, VersionRequired


@dataclass(frozen=True, slots=True)
class Precondition:
    """What the caller knows of the object it writes.

    versions: the versions it accepts; None if it named none. any_version: it said `If-Match: *`.
    must_be_new: it said `If-None-Match: *`.
    """

    versions: frozenset[int] | None = None
    any_version: bool = False
    must_be_new: bool = False

    @property
    def given(self) -> bool:
        return self.versions is not None or self.any_version or self.must_be_new


def check(precondition: Precondition | None, current: int | None) -> None:
    """Pass, or raise VersionRequired or VersionMismatch. `current` is None where nothing stands.

    Without a precondition everything passes: for callers inside the house, such as seeding.
    """
    if precondition is None:
        return
    if precondition.must_be_new:
        if current is not None:
            raise VersionMismatch(f'It exists already, at version "v{current}".', current=f"v{current}")
        return
    if current is None:
        if precondition.given:
            raise VersionMismatch("There is nothing here to match: it was deleted, or never set.")
        return
    if precondition.any_version:
        return
    if precondition.versions is None:
        raise VersionRequired(
            f'It exists, at version "v{current}". Read it, then send If-Match with the ETag you got.',
            current=f"v{current}",
        )
    if current not in precondition.versions:
        raise VersionMismatch(
            f'It is at version "v{current}" now. Read it again and redo your change.', current=f"v{current}"
        )
