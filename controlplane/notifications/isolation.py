"""Isolation: what fails for one rule, such as a text that cannot be made, stops no other rule."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable
from typing import TypeVar
from uuid import UUID

from django.db import InterfaceError, OperationalError, transaction
from prometheus_client import Counter

FAILURES = Counter("cp_notification_rule_failures_total", "Steps of single rules that failed.")
_log = logging.getLogger(__name__)
# The engine tries again several times a second; one line in the log a minute is enough for people.
_LOG_EVERY_SECONDS = 60.0
_logged_at: dict[UUID, float] = {}
_Answer = TypeVar("_Answer")


def decide_alone(rule_id: UUID, step: Callable[[], _Answer]) -> _Answer | None:
    """Return what a decision about one rule returns; None, with a line in the log, if it fails."""
    try:
        return step()
    except (OperationalError, InterfaceError):
        # Postgres is away, or met another transaction: no fault of the rule, and the batch is repeated.
        raise
    except Exception:
        _note(rule_id)
        return None


def write_alone(rule_id: UUID, step: Callable[[], _Answer]) -> _Answer | None:
    """Return what a step that writes for one rule returns; None, with nothing written, if it fails."""

    def within_savepoint() -> _Answer:
        with transaction.atomic():
            return step()

    return decide_alone(rule_id, within_savepoint)


def each_alone(steps: Iterable[tuple[UUID, Callable[[], _Answer | None]]]) -> list[_Answer]:
    """Return what the decisions return, each about one rule, without None and those that failed."""
    answers = [decide_alone(rule_id, step) for rule_id, step in steps]
    return [answer for answer in answers if answer is not None]


def _note(rule_id: UUID) -> None:
    FAILURES.inc()
    now = time.monotonic()
    if now - _logged_at.get(rule_id, -_LOG_EVERY_SECONDS) < _LOG_EVERY_SECONDS:
        return
    _logged_at[rule_id] = now
    _log.exception("The notification rule %s failed. Others go on: correct or delete this one.", rule_id)
