"""The two logs with retention."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from django.conf import settings


@dataclass(frozen=True, slots=True)
class Log:
    """A partitioned table. key: its ascending column. order: the order of rows in archives.

    setting: the name of the setting with the days for which it is kept.
    """

    table: str
    key: str
    order: str
    setting: str

    @property
    def kept(self) -> timedelta:
        return timedelta(days=getattr(settings, self.setting))


EVENTS = Log("events_event", "position", "seq", "EVENTS_RETENTION_DAYS")
AUDIT = Log("access_auditrecord", "id", "at, id", "AUDIT_RETENTION_DAYS")
LOGS = (EVENTS, AUDIT)
