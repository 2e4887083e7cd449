"""Suggestions for misspelled names. Pure."""

from __future__ import annotations

from collections.abc import Iterable

_LONGEST = 80


def nearest(misspelled: str, names: Iterable[str]) -> str:
    """Return ` Did you mean agents?`, or nothing if no name is similar. Case and underscores do not count."""
    import difflib

    by_text = {_folded(name): name for name in names}
    close = difflib.get_close_matches(_folded(misspelled[:_LONGEST]), by_text, n=1, cutoff=0.6)
    return f" Did you mean {by_text[close[0]]}?" if close else ""


def _folded(name: str) -> str:
    return name.replace("_", "").replace("-", "").lower()
