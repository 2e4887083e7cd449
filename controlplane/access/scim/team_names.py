"""Names of teams for groups of an identity provider. Pure."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable

_LENGTH = 63
_ILLEGAL = re.compile(r"[^a-z0-9]+")
_MOST_COLLISIONS = 1000


def team_name_of(display_name: str, is_free: Callable[[str], bool]) -> str:
    """Return a free name for the team of a group, such as `ml-platform` for "ML Platform"."""
    base = _ILLEGAL.sub("-", display_name.lower()).strip("-")[:_LENGTH].strip("-") or _digest(display_name)
    if is_free(base):
        return base
    for number in range(2, _MOST_COLLISIONS):
        suffix = f"-{number}"
        name = base[: _LENGTH - len(suffix)].strip("-") + suffix
        if is_free(name):
            return name
    return _digest(display_name)


def _digest(display_name: str) -> str:
    """Return a name for a group without a letter or digit that team names may contain."""
    return "group-" + hashlib.sha256(display_name.encode()).hexdigest()[:12]
