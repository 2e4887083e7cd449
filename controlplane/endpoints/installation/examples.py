"""Examples of the state of the installation, and of a report of a backup."""

from __future__ import annotations

from drf_spectacular.utils import OpenApiExample

_BACKUP = {
    "finished_at": "2026-11-24T01:10:00Z",
    "next_within_seconds": 93600,
    "size_bytes": 734003200,
    "location": "s3://backups/controlplane/2026-11-24.dump",
}
_META = {
    "version": "0.1.0",
    "commit": "4f2a9c1",
    "server_time": "2026-11-24T02:00:00Z",
    "schema": {"registry": "0010_job_run_artifacts"},
    "limits": {"page_items": 200, "body_bytes": 1048576, "requests_per_minute": 6000},
    "features": {"messaging": True, "scim": False},
    "is_good": False,
    "checks": [
        {
            "name": "CpJetStreamDiffers",
            "is_good": False,
            "severity": "ticket",
            "about": "DISPATCH",
            "value": 1.0,
            "meaning": "Somebody changed it by hand, or an update needs a change that NATS refuses.",
            "runbook": "docs/operations.md#cpjetstreamdiffers",
        }
    ],
    "members": {
        "skew": "ok",
        "skewed_seconds": 0.0,
        "oldest_version": "0.1.0",
        "versions": {"0.1.0": 1},
        "items": [
            {
                "process": "relay",
                "instance": "cp-relay-1-7",
                "host": "cp-relay-1",
                "pid": 7,
                "version": "0.1.0",
                "commit": "4f2a9c1",
                "started_at": "2026-11-20T08:00:00Z",
                "seen_at": "2026-11-24T01:59:55Z",
                "is_gone": False,
                "skew": "ok",
            }
        ],
    },
    "backlog": {
        "outbox": {"count": 3, "oldest_seconds": 0.4},
        "deliveries": {"count": 0, "oldest_seconds": 0.0},
        "events": {"count": 1, "oldest_seconds": 0.1},
        "dead_letters": 0,
    },
    "guards": [],
    "sources": [
        {
            "name": "overrides: folder",
            "state": "current",
            "is_stale": False,
            "checked_at": "2026-11-24T01:59:58Z",
            "loaded_at": "2026-11-23T16:20:00Z",
            "problems": 0,
        }
    ],
    "backup": {**_BACKUP, "reported_by": "backup-job", "overdue_seconds": 0.0},
    "archives": {"events_event": "2026-11-02T00:10:00Z"},
}
META = OpenApiExample("One stream differs", value=_META, response_only=True)
BACKUP_WRITE = OpenApiExample("A dump", value=_BACKUP, request_only=True)
BACKUP = OpenApiExample(
    "Recorded",
    value={
        "id": "019ab1f0-7c00-7000-8000-0000000000b1",
        **_BACKUP,
        "reported_by": "backup-job",
        "reported_at": "2026-11-24T01:10:02Z",
    },
    response_only=True,
)
