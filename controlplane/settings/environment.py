"""Read settings from environment variables, fail on invalid ones, and record each for docs/settings.md.

`NAME_FILE` may be the path of a file with the value of `NAME`, so that secrets can be mounted.
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
    """A setting as docs/settings.md shows it. `default` is None if the setting is required.

    is_shown: its value is no secret, and may be shown to administrators and in support bundles. value: as
    written, of a setting that is shown and set.
    """

    name: str
    default: str | None
    meaning: str
    is_shown: bool = False
    is_set: bool = False
    value: str | None = None


DECLARED: dict[str, Setting] = {}
# Values of settings that have no environment variable, from FLYTE_AUTH_CONFIG_FILE.
FROM_FLYTE: dict[str, str] = {}


def text(name: str, *, default: str | None, meaning: str, is_shown: bool = False) -> str:
    """Read a string. A default of None makes the setting required."""
    return _read(name, str, default, meaning, is_shown=is_shown)


def integer(
    name: str, *, default: int | None, meaning: str, minimum: int = 0, maximum: int | None = None
) -> int:
    def parse(raw: str) -> int:
        number = int(raw)
        if number < minimum:
            raise ValueError(f"must be at least {minimum}")
        if maximum is not None and number > maximum:
            raise ValueError(f"must be at most {maximum}")
        return number

    return _read(name, parse, None if default is None else str(default), meaning, is_shown=True)


def parsed(
    name: str, parse: Callable[[str], T], *, default: str | None, meaning: str, is_shown: bool = False
) -> T:
    """Read a value of any other type. `parse` raises ValueError for an invalid value."""
    return _read(name, parse, default, meaning, is_shown=is_shown)


def boolean(name: str, *, default: bool, meaning: str) -> bool:
    return _read(name, _boolean, "true" if default else "false", meaning, is_shown=True)


def names(name: str, *, default: str | None, meaning: str) -> list[str]:
    """Read a comma-separated list without its empty items."""
    return _read(
        name,
        lambda raw: [part.strip() for part in raw.split(",") if part.strip()],
        default,
        meaning,
    )


def _read(
    name: str, parse: Callable[[str], T], default: str | None, meaning: str, *, is_shown: bool = False
) -> T:
    raw = _raw(name)
    # Numbers and switches are no secrets. Whatever is a text is one unless its declaration says otherwise.
    value = raw if is_shown else None
    DECLARED[name] = Setting(name, default, meaning, is_shown, is_set=raw is not None, value=value)
    is_from_flyte = raw is None and name in FROM_FLYTE
    if raw is None:
        raw = FROM_FLYTE.get(name, default)
    if raw is None:
        raise ImproperlyConfigured(f"{name} is required but not set. Set {name} or {name}_FILE: {meaning}")
    try:
        return parse(raw)
    except ValueError as error:
        source = " (from FLYTE_AUTH_CONFIG_FILE)" if is_from_flyte else ""
        raise ImproperlyConfigured(f"{name}{source} is invalid: {error}.") from error


def _raw(name: str) -> str | None:
    """Return the variable's value, or None if it is unset or empty."""
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
