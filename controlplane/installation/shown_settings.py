"""Settings as people may see them: without values that can be secrets. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

# Of URLs, in which people put passwords even where a setting asks for none.
_USER_INFO = re.compile(r"(://)[^/@\s]+@")


class Declared(Protocol):
    """A declared setting (controlplane.settings.environment)."""

    @property
    def name(self) -> str: ...
    @property
    def is_shown(self) -> bool: ...
    @property
    def is_set(self) -> bool: ...
    @property
    def value(self) -> str | None: ...


@dataclass(frozen=True, slots=True)
class ShownSetting:
    """value: None if it is not set, or not shown."""

    name: str
    is_set: bool
    is_shown: bool
    value: str | None


def shown_settings(declared: Iterable[Declared]) -> list[ShownSetting]:
    """Return all settings by name. Texts are not shown unless their declaration says that they are."""
    return [
        ShownSetting(
            name=setting.name,
            is_set=setting.is_set,
            is_shown=setting.is_shown,
            value=_USER_INFO.sub(r"\1…@", setting.value) if setting.is_shown and setting.value else None,
        )
        for setting in sorted(declared, key=lambda setting: setting.name)
    ]
