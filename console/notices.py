"""Notices above a page: the worst one is shown, the others are folded below their number."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

_WORST_FIRST = ("bad", "warn", "info")


@dataclass(frozen=True, slots=True)
class Notice:
    """A notice. title: what is so. text: what it means. url, link: where to act. tone: bad, warn, info."""

    title: str
    text: str = ""
    url: str = ""
    link: str = ""
    tone: str = "warn"
    since: datetime | None = None


def fold(notices: Iterable[Notice]) -> tuple[Notice | None, list[Notice]]:
    """Return the notice to show and those to fold, worst first; of equal ones in the given order."""
    ordered = sorted(notices, key=lambda notice: _WORST_FIRST.index(notice.tone))
    return (ordered[0] if ordered else None), ordered[1:]
