"""Event types of the installation."""

from controlplane.events.audiences import declare_audience
from controlplane.events.types import INTEGER, TEXT, register
from controlplane.identity.roles import Action

declare_audience("backup", Action.METRICS_READ)
declare_audience("installation", Action.METRICS_READ)

BACKUP_REPORTED = register(
    "backup.reported",
    "Somebody reported a finished backup.",
    finished_at=TEXT,
    next_within_seconds=INTEGER,
    location=TEXT,
)
CHANGES_PAUSED = register(
    "installation.changes_paused",
    "An operator paused all changes; reads go on.",
    reason=TEXT,
)
CHANGES_RESUMED = register(
    "installation.changes_resumed",
    "Changes are accepted again.",
    reason=TEXT,
    seconds=INTEGER,
)
RESTORED = register(
    "installation.restored",
    "The database was restored from a backup, or lost changes in a failover.",
    last_event=INTEGER,
    first_event=INTEGER,
    revision=INTEGER,
)
