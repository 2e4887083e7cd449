"""Positions in the write-ahead log of Postgres: a timeline, and how far it was written or replayed. Pure."""

from __future__ import annotations

from dataclasses import dataclass

# The name of a WAL file begins with its timeline.
_TIMELINE_DIGITS = 8


@dataclass(frozen=True, slots=True, order=True)
class Position:
    """A position. lsn: in bytes, from the beginning of time; only comparable on one timeline."""

    timeline: int
    lsn: int

    @classmethod
    def of(cls, walfile: str, lsn: str) -> Position:
        """Return the position of `pg_walfile_name(lsn)` and `lsn`. Raises ValueError."""
        return cls(int(walfile[:_TIMELINE_DIGITS], 16), parse_lsn(lsn))

    def includes(self, other: Position) -> bool:
        """Return whether a server at this position has everything up to the other one."""
        return self.timeline == other.timeline and self.lsn >= other.lsn

    def __str__(self) -> str:
        return f"{self.timeline:X}/{self.lsn >> 32:X}/{self.lsn & 0xFFFFFFFF:X}"


def parse_position(text: str) -> Position:
    """Return the position of its text. Raises ValueError."""
    timeline, _, lsn = text.partition("/")
    return Position(int(timeline, 16), parse_lsn(lsn))


def parse_lsn(text: str) -> int:
    """Return the number of an LSN such as 16/B374D848. Raises ValueError."""
    high, slash, low = text.partition("/")
    if not slash:
        raise ValueError(f"{text!r} is no LSN.")
    return (int(high, 16) << 32) | int(low, 16)
