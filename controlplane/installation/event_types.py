"""Event types of the installation."""

from controlplane.events.audiences import declare_audience
from controlplane.events.types import INTEGER, TEXT, register
from controlplane.identity.roles import Action

declare_audience("backup", Action.METRICS_READ)

BACKUP_REPORTED = register(
    "backup.reported",
    "Somebody reported a finished backup.",
    finished_at=TEXT,
    next_within_seconds=INTEGER,
    location=TEXT,
)
