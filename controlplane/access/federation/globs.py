"""Patterns for claims: `*` matches characters except `/` and `:`, `**` matches any characters. Pure.

Claims such as `repo:acme/app:ref:refs/heads/main` consist of parts, and somebody who chooses one part
must not be able to forge the next one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

_SEPARATORS = frozenset("/:")
_WILDCARDS = re.compile(r"\*+")


@dataclass(frozen=True, slots=True)
class _Glob:
    """A pattern as bits, one for each position: those with a character, and those with a wildcard."""

    literals: dict[str, int]
    within_part: int
    across_parts: int
    end: int

    @property
    def wildcards(self) -> int:
        return self.within_part | self.across_parts


def matches(pattern: str, text: str) -> bool:
    """True if the whole text matches. Each character of the text takes the same few steps on integers."""
    glob = _compile(pattern)
    positions = _skip_wildcards(1, glob)
    for character in text:
        staying = glob.across_parts if character in _SEPARATORS else glob.wildcards
        positions = (positions & glob.literals.get(character, 0)) << 1 | (positions & staying)
        if not positions:
            return False
        positions = _skip_wildcards(positions, glob)
    return bool(positions & glob.end)


def has_wildcard(pattern: str) -> bool:
    return "*" in pattern


def literal_start(pattern: str) -> str:
    """Return the text before the first wildcard."""
    return pattern.partition("*")[0]


def _skip_wildcards(positions: int, glob: _Glob) -> int:
    """Add the positions after wildcards that match nothing. Two wildcards are never adjacent."""
    return positions | (positions & glob.wildcards) << 1


@lru_cache(maxsize=1024)
def _compile(pattern: str) -> _Glob:
    # Two or more in a row are one `**`.
    parts = _WILDCARDS.sub(lambda run: "*" if run[0] == "*" else "**", pattern)
    literals: dict[str, int] = {}
    within_part = across_parts = 0
    position, index = 1, 0
    while index < len(parts):
        if parts.startswith("**", index):
            across_parts |= position
            index += 1
        elif parts[index] == "*":
            within_part |= position
        else:
            literals[parts[index]] = literals.get(parts[index], 0) | position
        position, index = position << 1, index + 1
    return _Glob(literals, within_part, across_parts, position)
