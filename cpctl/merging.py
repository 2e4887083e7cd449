"""Three-way merge of two edits of one document. Pure."""

from __future__ import annotations

from typing import Any

_ABSENT: Any = object()


def three_way(base: Any, mine: Any, theirs: Any, at: str = "") -> tuple[Any, list[str]]:
    """The document with both edits, and where they contradict each other. There, mine stands."""
    if mine == base:
        return theirs, []
    if theirs in (base, mine):
        return mine, []
    if not (isinstance(mine, dict) and isinstance(theirs, dict)):
        return mine, [at or "/"]
    was = base if isinstance(base, dict) else {}
    merged: dict[str, Any] = {}
    conflicts: list[str] = []
    for key in [*mine, *(key for key in theirs if key not in mine)]:
        was_here, here, there = (one.get(key, _ABSENT) for one in (was, mine, theirs))
        value, found = three_way(was_here, here, there, f"{at}/{key}")
        conflicts += found
        if value is not _ABSENT:
            merged[key] = value
    return merged, conflicts
