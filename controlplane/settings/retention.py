"""Retention of the event log and the audit log, and where their archives are."""

from controlplane.settings import environment as env

__all__ = ["ARCHIVE_URL", "AUDIT_RETENTION_DAYS", "EVENTS_RETENTION_DAYS"]

EVENTS_RETENTION_DAYS = env.integer(
    "EVENTS_RETENTION_DAYS",
    default=90,
    minimum=1,
    meaning="Days for which events are kept. Whole months are dropped, after they were archived.",
)
AUDIT_RETENTION_DAYS = env.integer(
    "AUDIT_RETENTION_DAYS",
    default=400,
    minimum=1,
    meaning="Days for which audit records are kept. Whole months are dropped, after they were archived.",
)
ARCHIVE_URL = env.text(
    "ARCHIVE_URL",
    default="",
    meaning="Folder of the archives: a path, file:///path, or with `fsspec` and its package for the store,"
    " s3://bucket/prefix or gs://bucket/prefix. Empty: nothing is archived, so nothing is dropped.",
)
