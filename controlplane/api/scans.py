"""Text searches in tables of any size: a page looks through some rows, and the next one continues there.

So a page may have few items, or none, although there are more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Q, QuerySet

from controlplane.api.keysets import after, reverse

# Some milliseconds by an index; their texts take up to half a second.
MOST_SCANNED = 10_000
NOTE = (
    f"A page looks through {MOST_SCANNED:,} items: it may have few items, or none, although there are more."
    " Continue while there is a next page, or limit the time."
)


@dataclass(frozen=True, slots=True)
class Scan:
    """The rows that one page looks through. last: the key of the last one."""

    condition: Q
    last: list[Any]


def next_scan(rows: QuerySet[Any, Any], order: Sequence[str], most: int = MOST_SCANNED) -> Scan | None:
    """Return the first rows of `rows` in `order`, by keys alone; None if there are no more than `most`."""
    fields = [name.removeprefix("-") for name in order]
    keys = [*rows.order_by(*order).values_list(*fields)[most - 1 : most + 1]]
    return Scan(after(reverse(order), keys[1]), list(keys[0])) if len(keys) > 1 else None
