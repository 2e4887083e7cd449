"""The sections of the console, in the order of the side navigation.

A section appears if console/urls.py has a route with its name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import groupby

from django.urls import NoReverseMatch, reverse

from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action

May = Callable[[Caller], bool]


@dataclass(frozen=True, slots=True)
class Section:
    """A section. page: name of its route. key: shortcut after `g`. lists: routes of lists that belong to it.

    opens: whether its page opens for a caller, as the page itself decides.
    """

    page: str
    title: str
    group: str
    key: str
    opens: May
    lists: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Entry:
    section: Section
    url: str
    is_current: bool


def anybody(caller: Caller) -> bool:
    return True


def with_action(action: Action) -> May:
    """For callers who may perform the action at some scope, or on objects of some team."""
    return lambda caller: any(action in grant.actions for grant in caller.grants)


def of_owners(action: Action) -> May:
    """For callers who may perform the action on objects of everybody, or of some team."""
    return lambda caller: bool(caller.owners_for(action))


def at_scopes(action: Action) -> May:
    """For callers who may perform the action at some scope, on objects of everybody."""
    return lambda caller: bool(caller.scopes_for(action))


def with_all(action: Action) -> May:
    """For callers who may perform the action everywhere."""
    return lambda caller: caller.verdict(action).allowed


SECTIONS = (
    Section("dashboard", "Dashboard", "", "d", anybody),
    Section("overrides", "Overrides", "Configuration", "o", at_scopes(Action.OVERRIDE_READ)),
    Section("projects", "Projects", "Configuration", "5", at_scopes(Action.PROJECT_READ)),
    Section("guard-rails", "Guard rails", "Configuration", "6", at_scopes(Action.OVERRIDE_READ)),
    Section("override-changes", "Scheduled changes", "Configuration", "7", at_scopes(Action.OVERRIDE_READ)),
    Section(
        "change-requests",
        "Change requests",
        "Configuration",
        "8",
        at_scopes(Action.OVERRIDE_READ),
        ("approval-policies",),
    ),
    Section("freezes", "Freezes", "Configuration", "4", at_scopes(Action.OVERRIDE_READ)),
    Section("resource-types", "Resource types", "Configuration", "r", anybody),
    Section(
        "agent-configs", "Agent configurations", "Configuration", "c", of_owners(Action.AGENT_CONFIG_READ)
    ),
    Section("task-types", "Task types", "Configuration", "t", of_owners(Action.AGENT_READ)),
    Section("agents", "Agents", "Fleet", "f", of_owners(Action.AGENT_READ), ("agent-bulk-changes",)),
    Section("environments", "Environments", "Fleet", "e", of_owners(Action.AGENT_READ)),
    Section("guards", "Fleet guards", "Fleet", "u", of_owners(Action.AGENT_READ)),
    Section("resources", "Resources", "Delivery", "n", with_action(Action.RESOURCE_READ)),
    Section("dead-letters", "Dead letters", "Delivery", "z", of_owners(Action.RESOURCE_READ)),
    Section("pools", "Pools", "Delivery", "h", anybody),
    Section(
        "plugins",
        "Plugins",
        "Delivery",
        "1",
        of_owners(Action.PLUGIN_READ),
        ("plugin-releases", "plugin-config"),
    ),
    Section("jobs", "Jobs", "Delivery", "2", at_scopes(Action.JOB_READ)),
    Section(
        "alerts",
        "Alerts",
        "Activity",
        "g",
        of_owners(Action.NOTIFICATION_READ),
        ("notification-rules", "notification-channels"),
    ),
    Section("audit", "Audit log", "Activity", "a", with_action(Action.AUDIT_READ)),
    Section("events", "Events", "Activity", "v", with_action(Action.EVENT_READ)),
    Section("sinks", "Event sinks", "Activity", "y", of_owners(Action.SINK_READ)),
    Section("status", "Status", "Activity", "3", with_all(Action.METRICS_READ)),
    Section("people", "People", "Settings", "l", with_all(Action.ACCESS_READ)),
    Section("teams", "Teams", "Settings", "m", anybody),
    Section("roles", "Roles", "Settings", "q", with_action(Action.ACCESS_READ)),
    Section("role-bindings", "Role bindings", "Settings", "b", with_action(Action.ACCESS_READ)),
    Section("who-can", "Who can", "Settings", "w", with_action(Action.ACCESS_READ)),
    Section("tokens", "Tokens", "Settings", "k", anybody),
    Section("sessions", "Sessions", "Settings", "s", anybody),
    Section("identity-providers", "Identity providers", "Settings", "i", with_all(Action.ACCESS_READ)),
    Section("oauth-clients", "OAuth clients", "Settings", "x", with_all(Action.ACCESS_READ)),
    Section("join-tokens", "Join tokens", "Settings", "j", of_owners(Action.ACCESS_READ)),
    Section("api-reference", "API reference", "Settings", "p", anybody),
)


def entries(path: str, caller: Caller) -> Iterator[Entry]:
    """Yield the sections with a route that open for the caller, and mark the one that contains the path."""
    for section in filter(lambda section: section.opens(caller), SECTIONS):
        try:
            url = reverse(section.page)
        except NoReverseMatch:
            continue
        urls = (url, *map(reverse, section.lists))
        yield Entry(section, url, any(_is_below(path, address) for address in urls))


def _is_below(path: str, url: str) -> bool:
    return path == url or (url != "/" and path.startswith(f"{url}/"))


def groups(path: str, caller: Caller) -> list[tuple[str, list[Entry]]]:
    sections = entries(path, caller)
    return [(name, list(members)) for name, members in groupby(sections, lambda entry: entry.section.group)]


def place(navigation: list[tuple[str, list[Entry]]], back: str, back_to: str) -> list[tuple[str, str]]:
    """Return the way to a page as titles and URLs: area, section and the page above. An area has no URL."""
    for group, members in navigation:
        for entry in members:
            if entry.is_current:
                above = [(entry.section.title, entry.url)] if back and back_to != entry.section.title else []
                area = [(group, "")] if group else []
                return [*area, *above, *([(back_to, back)] if back else [])]
    return [(back_to, back)] if back else []
