"""Manifests of archives: what a file must contain. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import msgspec


class ArchiveInvalid(Exception):
    """An archive is missing, or differs from its manifest."""


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """Describes an archive of one partition. Times are ISO 8601 in UTC; lower: empty for the first partition.

    first_key, last_key: of the column `position` or `id`. first_seq, last_seq: numbers of events. sha256: of
    the compressed file. root: of the last seal of audit records; for events, the SHA-256 of all lines.
    """

    partition: str
    log: str
    lower: str
    upper: str
    count: int
    first_key: int | None
    last_key: int | None
    first_seq: int | None
    last_seq: int | None
    sha256: str
    root: str


def encode(manifest: Manifest) -> bytes:
    return msgspec.json.format(msgspec.json.encode(manifest), indent=2) + b"\n"


def decode(text: bytes) -> Manifest:
    """Raises msgspec.DecodeError."""
    return msgspec.json.decode(text, type=Manifest)


def data_path(log: str, partition: str) -> str:
    return f"{log}/{partition}.jsonl.zst"


def manifest_path(log: str, partition: str) -> str:
    return f"{log}/{partition}.manifest.json"


@dataclass(frozen=True, slots=True)
class Facts:
    """What the lines of an archive say by themselves."""

    count: int
    first_key: int | None
    last_key: int | None
    first_seq: int | None
    last_seq: int | None
    lines_sha256: str


class Counting:
    """Gathers the facts of lines, one by one."""

    def __init__(self, key: str) -> None:
        self._key = key
        self._lines = sha256()
        self._count = 0
        self._keys: list[int] = []
        self._seqs: list[int] = []

    def add(self, line: bytes) -> None:
        """line: one JSON object with the key, ending with a line break."""
        row = msgspec.json.decode(line)
        self._lines.update(line)
        self._count += 1
        self._keys = _widened(self._keys, row[self._key])
        if row.get("seq") is not None:
            self._seqs = _widened(self._seqs, row["seq"])

    def facts(self) -> Facts:
        first_key, last_key = self._keys or (None, None)
        first_seq, last_seq = self._seqs or (None, None)
        return Facts(self._count, first_key, last_key, first_seq, last_seq, self._lines.hexdigest())


def _widened(bounds: list[int], number: int) -> list[int]:
    return [min(bounds[0], number), max(bounds[1], number)] if bounds else [number, number]


def difference(manifest: Manifest, facts: Facts, file_sha256: str) -> str:
    """Return how a file differs from its manifest, or an empty string."""
    found: dict[str, Any] = {
        "sha256": file_sha256,
        "count": facts.count,
        "first_key": facts.first_key,
        "last_key": facts.last_key,
        "first_seq": facts.first_seq,
        "last_seq": facts.last_seq,
    }
    if manifest.log == "events_event":
        found["root"] = facts.lines_sha256
    for name, value in found.items():
        if getattr(manifest, name) != value:
            return f"{name} is {value}, and {getattr(manifest, name)} in the manifest"
    return ""
