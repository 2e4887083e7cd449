"""Reports of finished backups: what they may say, and when the next backup is overdue. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timedelta

from controlplane.errors import FieldError, InvalidRequest

# A backup a day, and two hours in which it may run longer than the day before.
NEXT_WITHIN = timedelta(hours=26)
LONGEST_WITHIN = timedelta(days=40)
# Clocks of machines that make backups differ from the database's.
_CLOCKS_DIFFER = timedelta(minutes=5)
_CREDENTIALS = re.compile(
    r"://[^/\s]*@|[?&][^=\s]*(?:sig|token|key|secret|password|credential)[^=\s]*=", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class BackupReport:
    """A backup that has ended well. finished_at: None for now."""

    finished_at: datetime | None = None
    next_within: timedelta = NEXT_WITHIN
    size_bytes: int | None = None
    location: str = ""


def check_report(report: BackupReport, now: datetime) -> None:
    """Raise InvalidRequest for a time to come, and for a location with credentials."""
    if report.finished_at is not None and report.finished_at > now + _CLOCKS_DIFFER:
        raise _invalid(
            "finished_at", "in_future", f"The backup ended in the future: it is {now.isoformat()} now."
        )
    if not timedelta(seconds=60) <= report.next_within <= LONGEST_WITHIN:
        raise _invalid("next_within_seconds", "out_of_range", "Use between 60 seconds and 40 days.")
    if _CREDENTIALS.search(report.location):
        message = "The location contains credentials, which would be shown to readers. Leave them out."
        raise _invalid("location", "has_credentials", message)


def overdue_for(finished_at: datetime, next_within: timedelta, now: datetime) -> timedelta:
    """Return for how long the next backup is overdue; zero while it is not."""
    return max(now - finished_at - next_within, timedelta())


def _invalid(name: str, code: str, message: str) -> InvalidRequest:
    return InvalidRequest(message, errors=[FieldError(f"/{name}", code, message)])
