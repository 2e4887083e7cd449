"""The hash chain over audit records. Pure.

Each record's hash covers the hash before it, so that no record can be changed, removed, inserted or moved
without changing the root of its seal; each root covers the root of the day before.

    hash[0] = previous root
    hash[n] = SHA-256(hash[n-1] || canonical(record n))
    root    = SHA-256(hash[last] || number || day || SHA-256(ids and times of all records))

The ids and times are in the root too, so that a segment cannot claim that a missing record was an old one.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from hashlib import sha256
from typing import Any

FIRST_ROOT = bytes(32)
HASH_SIZE = 32
_PLACE = struct.Struct(">qq")


@dataclass(frozen=True, slots=True)
class Record:
    """A sealed record. columns: as text or numbers, as Postgres shows them in UTC; JSON as its text."""

    id: int
    at: datetime
    columns: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Link:
    """What is stored of a sealed record."""

    id: int
    at: datetime
    hash: bytes


@dataclass(frozen=True, slots=True)
class Seal:
    number: int
    day: date
    previous_root: bytes
    root: bytes


@dataclass(frozen=True, slots=True)
class Break:
    """Where the chain breaks. record_id: None if the seal itself was changed."""

    day: date
    record_id: int | None
    what: str

    def __str__(self) -> str:
        record = "" if self.record_id is None else f", record {self.record_id}"
        return f"{self.day}{record}: {self.what}"


@dataclass(slots=True)
class Chain:
    """Hashes records one after the other."""

    last: bytes
    _places: Any = field(default_factory=sha256)

    def add(self, record: Record) -> bytes:
        """Return the record's hash."""
        self.last = sha256(self.last + canonical(record.columns)).digest()
        self._add_place(record.id, record.at)
        return self.last

    def skip(self, link: Link) -> None:
        """Continue behind a record that was archived and dropped."""
        self.last = link.hash
        self._add_place(link.id, link.at)

    def root(self, number: int, day: date) -> bytes:
        head = f"{number}|{day.isoformat()}|".encode()
        return sha256(self.last + head + self._places.digest()).digest()

    def _add_place(self, record_id: int, at: datetime) -> None:
        self._places.update(_PLACE.pack(record_id, _microseconds(at)))


def canonical(columns: Mapping[str, Any]) -> bytes:
    """Return a record as bytes. NULL is left out, so that a new nullable column changes no hash."""
    present = {name: value for name, value in columns.items() if value is not None}
    return json.dumps(present, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def find_breaks(
    seal: Seal,
    segments: Iterable[tuple[Sequence[Link], Mapping[int, Record]]],
    *,
    kept_from: datetime,
) -> Iterable[Break]:
    """Yield the breaks of a seal, in the chain's order.

    segments: the links, and by id those of their records that still exist. kept_from: records before it were
    archived and dropped.
    """
    chain = Chain(seal.previous_root)
    for links, records in segments:
        for link in links:
            what = _continue(chain, link, records.get(link.id), kept_from)
            if what:
                yield Break(seal.day, link.id, what)
    if chain.root(seal.number, seal.day) != seal.root:
        yield Break(seal.day, None, "the seal was changed")


def _continue(chain: Chain, link: Link, record: Record | None, kept_from: datetime) -> str:
    """Add one record to the chain; return what is wrong with it."""
    if record is None:
        chain.skip(link)
        return "the record was deleted" if link.at >= kept_from else ""
    # The time as it was sealed: a changed one is in the columns.
    if chain.add(Record(link.id, link.at, record.columns)) == link.hash:
        return ""
    # Later records are compared with what was stored, so that each change is named once.
    chain.last = link.hash
    return "the record was changed"


def check_order(seal: Seal, before: Seal | None) -> str:
    """Return how a seal does not continue the one before it. before: None for the first one."""
    number, root = (before.number, before.root) if before else (0, FIRST_ROOT)
    if seal.number != number + 1:
        return "the seal before it is missing"
    return "" if seal.previous_root == root else "the seal does not continue the one before it"


def _microseconds(at: datetime) -> int:
    seconds = int(at.replace(microsecond=0).timestamp())
    return seconds * 1_000_000 + at.microsecond
