"""The time zone in which the console shows times: UTC, the browser's, or a named one, as cookies say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from zoneinfo import ZoneInfo, available_timezones

ZONE_COOKIE = "cp-zone"
# Set by a script: only the browser knows it.
BROWSER_ZONE_COOKIE = "cp-browser-zone"
UTC, BROWSER = "UTC", "browser"


@dataclass(frozen=True, slots=True)
class ShownZone:
    """choice: UTC, browser, or a name. name: of the zone that times are shown in."""

    choice: str
    name: str
    browser: str

    @property
    def zone(self) -> ZoneInfo:
        return ZoneInfo(self.name)

    @property
    def label(self) -> str:
        """Return the name without its area, as the header has room for."""
        return self.name.rpartition("/")[2].replace("_", " ")

    @property
    def other(self) -> str:
        """Return the choice to which the button of the frame changes."""
        return BROWSER if self.choice == UTC else UTC


def read_zone(cookies: Mapping[str, str]) -> ShownZone:
    """Return the zone that the cookies choose; UTC if they name none that exists."""
    choice = cookies.get(ZONE_COOKIE, UTC)
    browser = cookies.get(BROWSER_ZONE_COOKIE, "")
    browser = browser if is_zone(browser) else ""
    if choice == BROWSER:
        return ShownZone(BROWSER, browser or UTC, browser)
    name = choice if is_zone(choice) else UTC
    return ShownZone(name, name, browser)


def is_zone(name: str) -> bool:
    """Return whether a zone has this name."""
    return name in zone_names()


@cache
def zone_names() -> frozenset[str]:
    """Return the names of all zones of this machine."""
    return frozenset(available_timezones()) | {UTC}
