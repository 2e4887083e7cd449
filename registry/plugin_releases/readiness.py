"""When nodes may install a release although some providers are slow, and when to try again. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta

_FIRST_RETRY, _LONGEST_RETRY = timedelta(seconds=5), timedelta(minutes=10)


@dataclass(frozen=True, slots=True)
class FetchProgress:
    """A plugin of a release. has_artifact: the wanted one; has_fallback: that of the release before."""

    has_artifact: bool
    has_failed: bool = False
    has_fallback: bool = False

    @property
    def is_late(self) -> bool:
        return not self.has_artifact and not self.has_failed

    @property
    def is_usable(self) -> bool:
        return self.has_artifact or self.has_fallback


def is_ready(plugins: Iterable[FetchProgress], quiet: timedelta, grace: timedelta) -> bool:
    """Return whether nodes install what is there.

    quiet: since the last archive arrived, or since the release began. A release without a usable plugin
    waits, and what runs stays.
    """
    plugins = list(plugins)
    if plugins and not any(plugin.is_usable for plugin in plugins):
        return False
    return quiet >= grace or not any(plugin.is_late for plugin in plugins)


def retry_delay(attempts: int) -> timedelta:
    """Return how long to wait after this many failures."""
    doubled: int = 1 << min(attempts - 1, 10)
    return min(_FIRST_RETRY * doubled, _LONGEST_RETRY)
