"""Optimistic concurrency: preconditions of writes on the current version. Pure.

Implements RFC 9110 section 13 (If-Match, If-None-Match) and RFC 6585 (428) for integer versions.
"""

from __future__ import annotations

from dataclasses import dataclass

from controlplane.errors import VersionMismatch, VersionRequired


@dataclass(frozen=True, slots=True)
class Precondition:
    """The version that a write expects.

    versions: accepted versions; None without If-Match. any_version: `If-Match: *`.
    must_be_new: `If-None-Match: *`. may_omit_version: the write may replace any version without If-Match, as
    in a dry run.
    """

    versions: frozenset[int] | None = None
    any_version: bool = False
    must_be_new: bool = False
    may_omit_version: bool = False

    @property
    def is_set(self) -> bool:
        return self.versions is not None or self.any_version or self.must_be_new


def check(precondition: Precondition | None, current: int | None) -> None:
    """Raise VersionRequired or VersionMismatch if the check fails. `current` is None if nothing exists.

    None as precondition always passes, for internal callers such as seeding.
    """
    if precondition is None:
        return
    if current is None:
        _check_absent(precondition)
    else:
        _check_version(precondition, current)


def _check_absent(precondition: Precondition) -> None:
    if precondition.is_set and not precondition.must_be_new:
        raise VersionMismatch(
            "If-Match does not match: the object was deleted or never existed. Read it again."
        )


def _check_version(precondition: Precondition, current: int) -> None:
    etag = f"v{current}"
    if precondition.must_be_new:
        raise VersionMismatch(
            f'The object already exists, at version "{etag}". Read it, and send its ETag in If-Match.',
            current=etag,
        )
    if precondition.any_version or (precondition.versions is None and precondition.may_omit_version):
        return
    if precondition.versions is None:
        raise VersionRequired(
            f'The object exists, at version "{etag}". Read it, and send its ETag in If-Match.',
            current=etag,
        )
    if current not in precondition.versions:
        raise VersionMismatch(
            f'The object is now at version "{etag}". Read it again, and repeat your change.', current=etag
        )
