"""Decide which freezes hold a change, and what may be changed of a freeze. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from controlplane.errors import Conflict, FieldError, InvalidRequest
from controlplane.scopes import Scope


class FreezeState(StrEnum):
    UPCOMING = "upcoming"
    ACTIVE = "active"
    ENDED = "ended"


@dataclass(frozen=True, slots=True)
class Freeze:
    """A freeze from `starts_at` up to, not including, `ends_at`. ended_at: ended before its time."""

    id: UUID
    scope: Scope
    starts_at: datetime
    ends_at: datetime
    reason: str
    created_by: str
    ended_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class FreezeOverride:
    """The wish to change overrides in spite of freezes. scopes: at and below which the caller may do so."""

    reason: str
    scopes: tuple[Scope, ...]

    def reaches(self, freeze: Freeze) -> bool:
        """True if the caller holds the permission at the freeze's scope, not only at that of the change."""
        return any(scope.covers(freeze.scope) for scope in self.scopes)


def state_of(freeze: Freeze, now: datetime) -> FreezeState:
    if freeze.ended_at is not None or now >= freeze.ends_at:
        return FreezeState.ENDED
    return FreezeState.UPCOMING if now < freeze.starts_at else FreezeState.ACTIVE


def freezes_over(freezes: Iterable[Freeze], scopes: Iterable[Scope], now: datetime) -> tuple[Freeze, ...]:
    """Return the active freezes that cover one of the scopes, the last to end first."""
    changed = set(scopes)
    covering = [
        freeze
        for freeze in freezes
        if state_of(freeze, now) is FreezeState.ACTIVE
        and any(freeze.scope.covers(scope) for scope in changed)
    ]
    return tuple(sorted(covering, key=lambda freeze: (freeze.ends_at, str(freeze.id)), reverse=True))


def refusing(freezes: Iterable[Freeze], override: FreezeOverride | None) -> tuple[Freeze, ...]:
    """Return the freezes that the override does not reach."""
    return tuple(freeze for freeze in freezes if override is None or not override.reaches(freeze))


def check_interval(starts_at: datetime, ends_at: datetime, now: datetime) -> None:
    """Raise InvalidRequest unless the freeze ends after it starts, and in the future."""
    if ends_at <= starts_at:
        raise _refused("before_start", f"ends_at must be later than starts_at, {utc(starts_at)}.")
    if ends_at <= now:
        raise _refused("in_the_past", f"ends_at must be in the future. It is {utc(now)} now.")


def check_amendment(freeze: Freeze, starts_at: datetime, ends_at: datetime, now: datetime) -> None:
    """Raise Conflict for a freeze that ended, InvalidRequest for times that it cannot have any more."""
    state = state_of(freeze, now)
    if state is FreezeState.ENDED:
        raise Conflict("The freeze has ended. Declare a new one.")
    if state is FreezeState.ACTIVE and starts_at != freeze.starts_at:
        message = "The freeze has started, so its start cannot change. Omit starts_at."
        raise InvalidRequest(message, errors=[FieldError("/starts_at", "already_started", message)])
    check_interval(starts_at, ends_at, now)


def sentence(freeze: Freeze) -> str:
    """Return who froze what, until when and why, as one sentence."""
    return (
        f"{freeze.created_by} froze overrides at {freeze.scope} until {utc(freeze.ends_at)}: {freeze.reason}"
    )


def utc(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M} UTC"


def _refused(code: str, message: str) -> InvalidRequest:
    return InvalidRequest(message, errors=[FieldError("/ends_at", code, message)])
