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
    if current is None:
        _check_absent(precondition)
    else:
        _check_version(precondition, current)


def _check_absent(precondition: Precondition) -> None:
    if precondition.given and not precondition.must_be_new:
        raise VersionMismatch("There is nothing here to match: it was deleted, or never set.")


def _check_version(precondition: Precondition, current: int) -> None:
    etag = f"v{current}"
    if precondition.must_be_new:
        raise VersionMismatch(f'It exists already, at version "{etag}".', current=etag)
    if precondition.any_version:
        return
    if precondition.versions is None:
        raise VersionRequired(
            f'It exists, at version "{etag}". Read it, then send If-Match with the ETag you got.',
            current=etag,
        )
    if current not in precondition.versions:
        raise VersionMismatch(
            f'It is at version "{etag}" now. Read it again and redo your change.', current=etag
        )
