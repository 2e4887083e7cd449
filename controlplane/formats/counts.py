"""Numbers with their nouns: `1 scope`, `2 scopes`. Pure."""

from __future__ import annotations


def counted(number: int, noun: str, plural: str = "") -> str:
    """Return a number with its noun. plural: for what is not the noun with an s, such as `fields are`."""
    return f"{number} {noun if number == 1 else plural or f'{noun}s'}"
