"""Which partitions to make, archive and drop. Pure.

Times are in UTC; a partition holds the rows from `lower` up to, without, `upper`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

MONTHS_AHEAD = 3
# A row gets its time when its statement begins, and is visible when its transaction ends.
SETTLING = timedelta(days=2)
# A boundary refuses rows after it until the table is turned: time for the operator to finish.
TURNING_TIME = timedelta(days=7)
# Then an unfinished boundary is removed.
TURNING_ABANDONED = timedelta(days=3)
# Before all rows.
EVER = datetime.min.replace(tzinfo=UTC)
_BOUND = re.compile(r"FROM \((?:MINVALUE|'([^']+)')\) TO \('([^']+)'\)")


@dataclass(frozen=True, slots=True)
class Partition:
    name: str
    lower: datetime
    upper: datetime


def parse_partition(name: str, bound: str) -> Partition | None:
    """Read a bound as Postgres shows it, in a session in UTC. None: the default partition."""
    match = _BOUND.search(bound)
    if match is None:
        return None
    lower, upper = match.groups()
    return Partition(name, datetime.fromisoformat(lower) if lower else EVER, datetime.fromisoformat(upper))


def start_of_month(at: datetime, months: int = 0) -> datetime:
    """Return the start of the month that is so many months later."""
    count = at.year * 12 + at.month - 1 + months
    return datetime(count // 12, count % 12 + 1, 1, tzinfo=UTC)


def months_to_make(partitions: Sequence[Partition], now: datetime) -> list[datetime]:
    """Return the starts of this month and the next ones that have no partition."""
    wanted = [start_of_month(now, n) for n in range(MONTHS_AHEAD + 1)]
    return [month for month in wanted if not _is_covered(partitions, month)]


def months_ahead(partitions: Sequence[Partition], now: datetime) -> int:
    """Return for how many months after this one there are partitions; -1 if not even for this one."""
    count = 0
    while _is_covered(partitions, start_of_month(now, count)):
        count += 1
    return count - 1


def months_to_adopt(
    partitions: Sequence[Partition], first: datetime, last: datetime
) -> tuple[datetime, datetime] | None:
    """Return the months of rows in the default partition, as bounds; None if others are between them."""
    lower, upper = start_of_month(first), start_of_month(last, 1)
    overlaps = any(part.lower < upper and lower < part.upper for part in partitions)
    return None if overlaps else (lower, upper)


def to_archive(partitions: Sequence[Partition], archived: Collection[str], now: datetime) -> list[Partition]:
    """Return the past partitions without an archive, oldest first."""
    past = [part for part in partitions if part.upper + SETTLING <= now and part.name not in archived]
    return sorted(past, key=lambda part: part.upper)


def to_drop(
    partitions: Sequence[Partition], archived: Collection[str], now: datetime, kept: timedelta
) -> list[Partition]:
    """Return the archived partitions all of whose rows are older than `kept`, oldest first."""
    old = [part for part in partitions if part.upper + kept <= now and part.name in archived]
    return sorted(old, key=lambda part: part.upper)


def turning_boundary(now: datetime) -> datetime:
    """Return where the table of today ends when it becomes a partition: the start of a month."""
    following = start_of_month(now, 1)
    return following if following - now >= TURNING_TIME else start_of_month(now, 2)


def is_abandoned(boundary: datetime, now: datetime) -> bool:
    """True if a boundary that no partition replaced must go, because it would refuse rows soon."""
    return boundary - now < TURNING_ABANDONED


def _is_covered(partitions: Sequence[Partition], at: datetime) -> bool:
    return any(part.lower <= at < part.upper for part in partitions)
