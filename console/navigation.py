"""The sections of the console, in the order of the side navigation.

A section appears if console/urls.py has a route with its name.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

from django.urls import NoReverseMatch, reverse


@dataclass(frozen=True, slots=True)
class Section:
    """A section. page: name of its route. key: shortcut after `g`. others: lists that belong to it."""

    page: str
    title: str
    group: str
    key: str
    others: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Entry:
    section: Section
    url: str
    is_current: bool


SECTIONS = (
    Section("dashboard", "Dashboard", "", "d"),
    Section("overrides", "Overrides", "Configuration", "o"),
    Section("resource-types", "Resource types", "Configuration", "r"),
    Section("agents", "Agents", "Fleet", "f"),
    Section("environments", "Environments", "Fleet", "e"),
    Section("agent-configs", "Agent configurations", "Fleet", "c"),
    Section("task-types", "Task types", "Fleet", "t"),
    Section("guards", "Fleet guards", "Fleet", "u"),
    Section("resources", "Resources", "Dispatch", "n"),
    Section("dead-letters", "Dead letters", "Dispatch", "z"),
    Section("pools", "Pools", "Dispatch", "h"),
    Section("plugins", "Plugins", "Executors", "1", ("plugin-releases", "plugin-config")),
    Section("jobs", "Jobs", "Executors", "2"),
    Section("alerts", "Alerts", "Records", "g", ("notification-rules", "notification-channels")),
    Section("audit", "Audit log", "Records", "a"),
    Section("events", "Events", "Records", "v"),
    Section("sinks", "Event sinks", "Records", "y"),
    Section("people", "People", "Access", "l"),
    Section("teams", "Teams", "Access", "m"),
    Section("roles", "Roles", "Access", "q"),
    Section("role-bindings", "Role bindings", "Access", "b"),
    Section("who-can", "Who can", "Access", "w"),
    Section("tokens", "Tokens", "Access", "k"),
    Section("sessions", "Sessions", "Access", "s"),
    Section("identity-providers", "Identity providers", "Access", "i"),
    Section("oauth-clients", "OAuth clients", "Access", "x"),
    Section("join-tokens", "Join tokens", "Access", "j"),
    Section("status", "Status", "Help", "3"),
    Section("docs", "API reference", "Help", "p"),
)


def entries(path: str) -> Iterator[Entry]:
    """Yield the sections with a route, and mark the one that contains the path."""
    for section in SECTIONS:
        try:
            url = reverse(section.page)
        except NoReverseMatch:
            continue
        urls = (url, *map(reverse, section.others))
        yield Entry(section, url, any(_is_below(path, one) for one in urls))


def _is_below(path: str, url: str) -> bool:
    return path == url or (url != "/" and path.startswith(f"{url}/"))


def groups(path: str) -> list[tuple[str, list[Entry]]]:
    return [
        (name, list(members)) for name, members in groupby(entries(path), lambda entry: entry.section.group)
    ]
