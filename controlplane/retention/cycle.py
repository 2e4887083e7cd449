"""One round of retention: make partitions, archive past ones, and drop old ones that are archived."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import partial

import structlog
from django.conf import settings
from django.db import DatabaseError, connection, transaction

from controlplane.access import audit
from controlplane.identity.actors import system
from controlplane.retention.archive import archive_partition, verify
from controlplane.retention.event_types import PARTITION_DROPPED
from controlplane.retention.logs import LOGS, Log
from controlplane.retention.manifests import ArchiveInvalid
from controlplane.retention.models import Archive
from controlplane.retention.months import Partition, to_archive, to_drop
from controlplane.retention.partitions import make_partitions, partitions_of
from controlplane.retention.stores import Store, open_store
from controlplane.retention.turning import remove_abandoned_boundary

log_lines = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a round did. Names of partitions; refused: with the reason."""

    archived: list[str]
    dropped: list[str]
    refused: dict[str, str]


def tend_partitions(*, now: datetime) -> None:
    """Make the partitions of the coming months, and clear up after an abandoned turn."""
    for log in LOGS:
        remove_abandoned_boundary(log, now=now)
        make_partitions(log, now=now)


def retain(*, now: datetime) -> Outcome:
    """Archive and drop what is due. Raises StoreUnavailable without ARCHIVE_URL."""
    store = open_store(settings.ARCHIVE_URL)
    outcome = Outcome([], [], {})
    for log in LOGS:
        _archive_due(log, store, outcome, now)
        _drop_due(log, store, outcome, now)
    log_lines.info(
        "retention.done", archived=outcome.archived, dropped=outcome.dropped, refused=outcome.refused
    )
    return outcome


def drop_partition(log: Log, name: str, store: Store) -> int:
    """Drop a partition whose archive is as it was written. Return the number of its rows.

    Raises ArchiveInvalid; DatabaseError if the partition differs from its archive, or a legal hold keeps it.
    """
    verify(log, name, store)
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL lock_timeout = '1s'; SET LOCAL statement_timeout = 0")
            cursor.execute("SELECT retention_drop_partition(%s, %s)", [log.table, name])
            count = int(cursor.fetchone()[0])
        data = {"partition": name, "count": count}
        audit.record(
            PARTITION_DROPPED,
            "log_partition",
            name,
            actor=system("retention"),
            before=data,
            after=None,
            data=data,
        )
    return count


def _archive_due(log: Log, store: Store, outcome: Outcome, now: datetime) -> None:
    archived = set(Archive.objects.filter(log=log.table).values_list("partition", flat=True))
    for partition in to_archive(partitions_of(log), archived, now):
        if _attempt(partial(archive_partition, log, partition, store), partition, outcome):
            outcome.archived.append(partition.name)


def _drop_due(log: Log, store: Store, outcome: Outcome, now: datetime) -> None:
    archived = set(Archive.objects.filter(log=log.table, dropped_at=None).values_list("partition", flat=True))
    for partition in to_drop(partitions_of(log), archived, now, log.kept):
        if _attempt(partial(drop_partition, log, partition.name, store), partition, outcome):
            outcome.dropped.append(partition.name)


def _attempt(act: Callable[[], object], partition: Partition, outcome: Outcome) -> bool:
    """One partition that is refused holds back no other."""
    try:
        act()
    except (ArchiveInvalid, DatabaseError, OSError) as error:
        reason = str(error).strip().partition("\n")[0]
        log_lines.warning("retention.refused", partition=partition.name, reason=reason)
        outcome.refused[partition.name] = reason
        return False
    return True
