"""What a response says about deprecated parts of the API: the fields Deprecation, Sunset and Link. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from email.utils import format_datetime
from typing import Any

# RFC 8594 names no length; within this time clients can be changed, released and installed.
SHORTEST_NOTICE = timedelta(days=180)


@dataclass(frozen=True, slots=True)
class Deprecation:
    """A part of the API that goes away. sunset: the first day without it, in UTC. instead: a sentence."""

    since: date
    sunset: date
    instead: str

    def __post_init__(self) -> None:
        if self.sunset - self.since < SHORTEST_NOTICE:
            raise ValueError(f"Between since and sunset are less than {SHORTEST_NOTICE.days} days.")


@dataclass(frozen=True, slots=True)
class Deprecations:
    """What is deprecated of one view. methods: whole operations. parameters: of the query, by name."""

    methods: Mapping[str, Deprecation] = field(default_factory=dict)
    parameters: Mapping[str, Deprecation] = field(default_factory=dict)

    def used(self, method: str, parameters: Collection[str]) -> dict[str, Deprecation]:
        """Return what a request uses, by the name that metrics have: `GET` or `?order`."""
        used = {method: self.methods[method]} if method in self.methods else {}
        return used | {f"?{name}": gone for name, gone in self.parameters.items() if name in parameters}


def describe(operation: dict[str, Any], method: str, deprecations: Deprecations) -> None:
    """Mark what is deprecated in an operation of the OpenAPI document."""
    if gone := deprecations.methods.get(method):
        _mark(operation, gone)
    for parameter in operation.get("parameters", []):
        if parameter["in"] == "query" and (gone := deprecations.parameters.get(parameter["name"])):
            _mark(parameter, gone)


def _mark(part: dict[str, Any], gone: Deprecation) -> None:
    note = f"Deprecated, until {gone.sunset}: {gone.instead}"
    part["deprecated"] = True
    part["x-sunset"] = str(gone.sunset)
    part["description"] = f"{part.get('description', '')} {note}".strip()


def headers_of(used: Collection[Deprecation], link: str, guide: str) -> dict[str, str]:
    """Return the header fields of RFC 9745 and RFC 8594, with the earliest dates of what was used.

    used: at least one. link: the Link header so far, which is kept. guide: URL of the page that explains it.
    """
    reference = f'<{guide}>; rel="deprecation"; type="text/html"'
    return {
        "Deprecation": f"@{int(_midnight(min(each.since for each in used)).timestamp())}",
        "Sunset": format_datetime(_midnight(min(each.sunset for each in used)), usegmt=True),
        "Link": f"{link}, {reference}" if link else reference,
    }


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)
