"""Decide what happens to a scheduled change when its time has come. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from controlplane.errors import FieldError, InvalidRequest
from overrides.freezes.decisions import Freeze, sentence


class ChangeState(StrEnum):
    """applied is final for a change without an end; refused too, whether before or after it was applied."""

    SCHEDULED = "scheduled"
    APPLIED = "applied"
    REVERTED = "reverted"
    CANCELLED = "cancelled"
    REFUSED = "refused"


class Step(StrEnum):
    APPLY = "apply"
    REVERT = "revert"
    WAIT = "wait"
    REFUSE = "refuse"


@dataclass(frozen=True, slots=True)
class Situation:
    """What is known when a change is due. expected: the version that it was planned for, or made itself.

    current: the latest version; changed_by: who made it. may_write: whether the author still may.
    """

    state: ChangeState
    expected: int
    current: int
    changed_by: str
    may_write: bool
    frozen_by: Sequence[Freeze] = ()


@dataclass(frozen=True, slots=True)
class Decision:
    step: Step
    reason: str = ""


def decide(situation: Situation) -> Decision:
    """Decide on a due change. A revert waits for freezes, and does not depend on its author."""
    is_revert = situation.state is ChangeState.APPLIED
    if not is_revert and not situation.may_write:
        return Decision(Step.REFUSE, "The author no longer has override.write there. Schedule it again.")
    if situation.current != situation.expected:
        return Decision(Step.REFUSE, _drifted(situation, is_revert=is_revert))
    if situation.frozen_by:
        step = Step.WAIT if is_revert else Step.REFUSE
        return Decision(step, f"{sentence(situation.frozen_by[0])}.")
    return Decision(Step.REVERT if is_revert else Step.APPLY)


def check_times(at: datetime | None, until: datetime | None, now: datetime) -> None:
    """Raise InvalidRequest unless both are in the future, in order, and there is one of them."""
    if at is None and until is None:
        raise _refused("/at", "required", "Send at, until or both. To change it now for good, use PUT.")
    if at is not None and at <= now:
        raise _refused("/at", "in_the_past", "at must be in the future. To apply it now, omit at.")
    if until is not None and until <= (at or now):
        message = "until must be later than at." if at else "until must be in the future."
        raise _refused("/until", "before_start", message)


def _drifted(situation: Situation, *, is_revert: bool) -> str:
    what = "Its values stay; remove them by hand." if is_revert else "Schedule it again for that version."
    who = f" by {situation.changed_by}" if situation.changed_by else ""
    return (
        f"The override was changed{who} at version {situation.current}; expected was version "
        f"{situation.expected}. {what}"
    )


def _refused(pointer: str, code: str, message: str) -> InvalidRequest:
    return InvalidRequest(message, errors=[FieldError(pointer, code, message)])
