"""Read settings from the environment, loudly, and remember each for the settings page of the docs.

`NAME_FILE` may name a file that holds the value of `NAME`, so that secrets can be mounted.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from django.core.exceptions import ImproperlyConfigured

T = TypeVar("T")

_TRUE = {"1", "true", "yes", "on"}
_FALSE = {"0", "false", "no", "off", ""}


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting of ours, as docs/settings.md shows it. `default` is None where it is required."""

    name: str
    default: str | None
    meaning: str


DECLARED: dict[str, Setting] = {}


def text(name: str, *, default: str | None, meaning: str) -> str:
    """Read a string. A default of None makes the setting required."""
    return _read(name, str, default, meaning)


def integer(name: str, *, default: int | None, meaning: str, minimum: int = 0) -> int:
    def parse(raw: str) -> int:
        number = int(raw)
        if number < minimum:
            raise ValueError(f"must be at least {minimum}")
        return number

    return _read(name, parse, None if default is None else str(default), meaning)


def parsed(name: str, parse: Callable[[str], T], *, default: str | None, meaning: str) -> T:
    """Read anything else; `parse` raises ValueError for what cannot be used."""
    return _read(name, parse, default, meaning)


def boolean(name: str, *, default: bool, meaning: str) -> bool:
    return _read(name, _boolean, "true" if default else "false", meaning)


def names(name: str, *, default: str | None, meaning: str) -> list[str]:
    """Read a comma-separated list; empty members are dropped."""
    return _read(
        name,
        lambda raw: [part.strip() for part in raw.split(",") if part.strip()],
        default,
        meaning,
    )


def _read(name: str, parse: Callable[[str], T], default: str | None, meaning: str) -> T:
    DECLARED[name] = Setting(name, default, meaning)
    raw = _raw(name)
    if raw is None:
        raw = default
    if raw is None:
        raise ImproperlyConfigured(f"{name} is not set: {meaning} Set {name} or {name}_FILE.")
    try:
        return parse(raw)
    except ValueError as error:
        raise ImproperlyConfigured(f"{name} cannot be used: {error}.") from error


def _raw(name: str) -> str | None:
    """Return what the environment says; an empty string counts as not said."""
    path = os.environ.get(f"{name}_FILE")
    if not path:
        return os.environ.get(name) or None
    try:
        return Path(path).read_text().strip()
    except OSError as error:
        raise ImproperlyConfigured(f"{name}_FILE cannot be read: {error}.") from error


def _boolean(raw: str) -> bool:
    word = raw.strip().lower()
    if word in _TRUE:
        return True
    if word in _FALSE:
        return False
    raise ValueError(f"{raw!r} is neither true nor false")
