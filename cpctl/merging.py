"""Three-way merge of two edits of a document. Pure."""

from __future__ import annotations

from typing import Any

_ABSENT: Any = object()


def three_way(base: Any, own: Any, theirs: Any, at: str = "") -> tuple[Any, list[str]]:
    """Return the merged document and the paths of conflicts, where `own` wins."""
    if own == base:
        return theirs, []
    if theirs in (base, own):
        return own, []
    if not (isinstance(own, dict) and isinstance(theirs, dict)):
        return own, [at or "/"]
    original = base if isinstance(base, dict) else {}
    merged: dict[str, Any] = {}
    conflicts: list[str] = []
    for key in [*own, *(key for key in theirs if key not in own)]:
        was_here, here, there = (version.get(key, _ABSENT) for version in (original, own, theirs))
        value, inner_conflicts = three_way(was_here, here, there, f"{at}/{key}")
        conflicts += inner_conflicts
        if value is not _ABSENT:
            merged[key] = value
    return merged, conflicts
