"""Suggestions for unknown names: our name for what other APIs call so, or else the nearest one. Pure."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

_LONGEST = 80
# Names of other APIs and of people's habits, with our names for the same; the first one that is valid counts.
_SYNONYMS: dict[str, tuple[str, ...]] = {
    "state": ("health_status", "status"),
    "status": ("health_status", "state"),
    "health": ("health_status",),
    "phase": ("state", "health_status"),
    "label_selector": ("selector",),
    "labelselector": ("selector",),
    "selector": ("label_selector",),
    "health_status": ("state", "status"),
    "labels": ("selector",),
    "label": ("selector",),
    "search": ("q",),
    "query": ("q",),
    "text": ("q",),
    "name_contains": ("q",),
    "name": ("q",),
    "sort_by": ("sort", "order"),
    "order_by": ("sort", "order"),
    "ordering": ("sort", "order"),
    "order": ("sort",),
    "page_size": ("limit",),
    "per_page": ("limit",),
    "max_results": ("limit",),
    "page_token": ("cursor",),
    "continue": ("cursor",),
    "offset": ("cursor",),
    "page": ("cursor",),
    "start": ("cursor",),
    "fields": ("only",),
    "exclude": ("omit",),
    "from": ("since",),
    "start_time": ("since",),
    "to": ("until",),
    "end_time": ("until",),
    "env": ("environment",),
    "last_seen_at": ("last_heartbeat", "last_used_at", "seen_at"),
    "last_seen": ("last_heartbeat", "last_used_at", "seen_at"),
    "heartbeat": ("last_heartbeat",),
    "lag": ("consumer_lag",),
    "created": ("create_time", "created_at"),
    "created_at": ("create_time", "at"),
    "create_time": ("created_at", "at"),
    "updated": ("update_time", "updated_at", "changed_at"),
    "updated_at": ("update_time", "changed_at"),
    "update_time": ("updated_at", "changed_at"),
    "time": ("at", "created_at", "create_time"),
    "timestamp": ("at", "created_at", "create_time"),
}


def suggest(name: str, valid_names: Sequence[str]) -> str:
    """Return the valid name that was probably meant; empty if none is near. A leading minus sign stays."""
    sign = "-" if name.startswith("-") else ""
    bare = name.removeprefix("-")[:_LONGEST]
    for meant in _SYNONYMS.get(bare.lower().replace("-", "_"), ()):
        if meant in valid_names:
            return f"{sign}{meant}"
    near = difflib.get_close_matches(bare, valid_names, n=1, cutoff=0.6)
    return f"{sign}{near[0]}" if near else ""
