"""Archives of partitions: write, verify and read them.

A file is JSONL compressed by zstd, one row on a line. The manifest beside it is written last, after the file
was read back, so that a killed run leaves no archive that counts.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from hashlib import sha256
from typing import IO, Any, cast

import zstandard
from django.db import connection, transaction
from psycopg import sql

from controlplane.access import audit
from controlplane.access.audit_chain.models import AuditSeal
from controlplane.access.models import AuditRecord
from controlplane.events.log import number_committed
from controlplane.identity.actors import system
from controlplane.retention.event_types import PARTITION_ARCHIVED
from controlplane.retention.logs import AUDIT, EVENTS, LOGS, Log
from controlplane.retention.manifests import (
    ArchiveInvalid,
    Counting,
    Facts,
    Manifest,
    data_path,
    decode,
    difference,
    encode,
    manifest_path,
)
from controlplane.retention.models import Archive
from controlplane.retention.months import Partition
from controlplane.retention.stores import Store

_LEVEL = 10


def archive_partition(log: Log, partition: Partition, store: Store) -> Manifest:
    """Write a partition's archive, verify it, and record it.

    Raises ArchiveInvalid if a read differs, or if days of the audit log are not sealed.
    """
    if log is EVENTS:
        number_committed()
    else:
        _check_sealed(partition)
    path = data_path(log.table, partition.name)
    counting, digest = Counting(log.key), sha256()
    with store.write(path) as file:
        packer = zstandard.ZstdCompressor(level=_LEVEL, write_checksum=True)
        with packer.stream_writer(cast(IO[bytes], _Hashing(file, digest)), closefd=False) as packed:
            for line in _lines_of(log, partition):
                counting.add(line)
                packed.write(line)
    manifest = _manifest(log, partition, counting.facts(), digest.hexdigest())
    _check(manifest, store)
    with store.write(manifest_path(log.table, partition.name)) as file:
        file.write(encode(manifest))
    _record(manifest, partition)
    return manifest


def verify(log: Log, name: str, store: Store) -> Manifest:
    """Read a whole archive and compare it with its manifest and with what was recorded.

    Raises ArchiveInvalid.
    """
    manifest = read_manifest(log, name, store)
    recorded = Archive.objects.filter(partition=name).first()
    if recorded and (recorded.sha256, recorded.root) != (manifest.sha256, manifest.root):
        raise ArchiveInvalid(f"The manifest of {name} is not the one that was recorded when it was archived.")
    _check(manifest, store)
    return manifest


def read_manifest(log: Log, name: str, store: Store) -> Manifest:
    """Raises ArchiveInvalid if there is none."""
    try:
        with store.read(manifest_path(log.table, name)) as file:
            return decode(file.read())
    except (OSError, ValueError) as error:
        raise ArchiveInvalid(f"The manifest of {name} cannot be read: {error}.") from error


def lines(log: Log, name: str, store: Store) -> Iterator[bytes]:
    """Yield the rows of an archive as JSON lines."""
    with store.read(data_path(log.table, name)) as file:
        yield from _unpacked(file)


def log_of(name: str) -> Log:
    """Return the log of a partition. Raises ArchiveInvalid for another name."""
    for log in LOGS:
        if name.startswith(f"{log.table}_"):
            return log
    raise ArchiveInvalid(f"{name} is not a partition: its name starts with none of the logs' names.")


def _lines_of(log: Log, partition: Partition) -> Iterator[bytes]:
    """Read a partition through its log, in one statement: the worker has no rights on partitions."""
    query = sql.SQL("COPY (SELECT to_jsonb(row)::text FROM {} AS row WHERE {} ORDER BY {}) TO STDOUT").format(
        sql.Identifier(log.table), _within(partition), sql.SQL(log.order)
    )
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL statement_timeout = 0; SET LOCAL timezone = 'UTC'")
        with cursor.copy(query) as copy:
            copy.set_types(["text"])
            for (text,) in copy.rows():
                yield text.encode() + b"\n"


def _within(partition: Partition) -> sql.Composable:
    before = sql.SQL("at < {}").format(sql.Literal(partition.upper.isoformat()))
    if partition.lower.year == 1:
        return before
    return sql.SQL("at >= {} AND ").format(sql.Literal(partition.lower.isoformat())) + before


def _manifest(log: Log, partition: Partition, facts: Facts, file_sha256: str) -> Manifest:
    return Manifest(
        partition=partition.name,
        log=log.table,
        lower="" if partition.lower.year == 1 else partition.lower.isoformat(),
        upper=partition.upper.isoformat(),
        count=facts.count,
        first_key=facts.first_key,
        last_key=facts.last_key,
        first_seq=facts.first_seq,
        last_seq=facts.last_seq,
        sha256=file_sha256,
        root=_last_root(partition) if log is AUDIT else facts.lines_sha256,
    )


def _check_sealed(partition: Partition) -> None:
    last_day = partition.upper.date() - timedelta(days=1)
    if AuditSeal.objects.filter(day__gte=last_day).exists():
        return
    if AuditRecord.objects.filter(at__gte=partition.lower, at__lt=partition.upper).exists():
        raise ArchiveInvalid(f"{partition.name} is not sealed up to {last_day}. It is archived after that.")


def _last_root(partition: Partition) -> str:
    seal = AuditSeal.objects.filter(day__lt=partition.upper.date()).order_by("-number").first()
    return bytes(seal.root).hex() if seal else ""


def _check(manifest: Manifest, store: Store) -> None:
    counting, digest = Counting(_key_of(manifest)), sha256()
    try:
        with store.read(data_path(manifest.log, manifest.partition)) as file:
            for line in _unpacked(_HashedReader(file, digest)):
                counting.add(line)
    except (OSError, ValueError, zstandard.ZstdError) as error:
        raise ArchiveInvalid(f"The archive of {manifest.partition} cannot be read: {error}.") from error
    if found := difference(manifest, counting.facts(), digest.hexdigest()):
        raise ArchiveInvalid(f"The archive of {manifest.partition} was changed: {found}.")


def _key_of(manifest: Manifest) -> str:
    return next(log.key for log in LOGS if log.table == manifest.log)


@transaction.atomic
def _record(manifest: Manifest, partition: Partition) -> None:
    Archive.objects.update_or_create(
        partition=manifest.partition,
        defaults={
            "log": manifest.log,
            "upper_at": partition.upper,
            "count": manifest.count,
            "first_key": manifest.first_key,
            "last_key": manifest.last_key,
            "sha256": manifest.sha256,
            "root": manifest.root,
            "path": data_path(manifest.log, manifest.partition),
        },
    )
    data = {"partition": manifest.partition, "count": manifest.count, "sha256": manifest.sha256}
    audit.record(
        PARTITION_ARCHIVED,
        "log_partition",
        manifest.partition,
        actor=system("retention"),
        before=None,
        after=data,
        data=data,
    )


def _unpacked(file: Any) -> Iterator[bytes]:
    unpacker = zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True)
    with closing(io.BufferedReader(unpacker)) as reader:
        yield from reader


class _Hashing(io.RawIOBase):
    """A file to write to that also hashes what is written."""

    def __init__(self, file: IO[bytes], digest: Any) -> None:
        self._file, self._digest = file, digest

    def writable(self) -> bool:
        return True

    def write(self, chunk: Any) -> int:
        self._digest.update(chunk)
        return self._file.write(chunk)


class _HashedReader:
    def __init__(self, file: IO[bytes], digest: Any) -> None:
        self._file, self._digest = file, digest

    def read(self, size: int = -1) -> bytes:
        chunk = self._file.read(size)
        self._digest.update(chunk)
        return chunk

    def close(self) -> None:
        self._file.close()
