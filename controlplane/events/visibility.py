"""Visibility of events: the same for lists, counts, pages, streams and long polls.

An event is readable if the caller has `event.read` at the event's scope, may read objects of its kind there,
and may read every team in the event's data.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable

from django.db.models import Q

from controlplane.database.scoped import within
from controlplane.events.audiences import TEAM_MEMBERS, audience_of
from controlplane.events.event_filter import EVERYTHING, EventFilter, EventRight
from controlplane.events.models import Event, EventQuerySet
from controlplane.events.types import registered
from controlplane.identity.callers import Caller
from controlplane.identity.roles import FOR_EVERYONE, INSTALLATION_WIDE, Action
from controlplane.scopes import Scope

TeamRule = Callable[[Caller], Collection[str]]
_team_rules: list[TeamRule] = []


def hide_teams_by(rule: TeamRule) -> None:
    """Register a rule that returns the teams hidden from a caller. The app with the teams calls it."""
    _team_rules.append(rule)


def event_filter_for(caller: Caller) -> EventFilter:
    """Return the filter for the caller's current permissions."""
    hidden = frozenset(team for rule in _team_rules for team in rule(caller))
    if not hidden and all(caller.verdict(action).allowed for action in Action):
        return EVERYTHING
    return EventFilter(rights_of(caller, Action.EVENT_READ, hidden), hidden)


def visible_events(caller: Caller) -> EventQuerySet:
    """Return the events that the caller may read, numbered or not."""
    return readable_events(event_filter_for(caller))


def readable_events(event_filter: EventFilter) -> EventQuerySet:
    """Return the events that pass the filter: `EventFilter.shows` in SQL. A test compares the two."""
    if event_filter.everything:
        return Event.objects.all()
    rows = Event.objects.filter(rows_with(event_filter.rights, "type"))
    if event_filter.hidden_teams:
        for member in TEAM_MEMBERS:
            hidden = Q(**{f"data__{member}__in": sorted(event_filter.hidden_teams)})
            rows = rows.filter(Q(**{f"data__{member}__isnull": True}) | ~hidden)
    return rows


def rights_of(caller: Caller, log_action: Action, hidden: frozenset[str]) -> tuple[EventRight, ...]:
    """Return the readable types of records with their scopes. log_action: required to read the log."""
    types: defaultdict[Action, set[str]] = defaultdict(set)
    for event_type in registered():
        audience = audience_of(event_type.name)
        if not (audience.holds_all_teams and hidden):
            types[audience.action].add(event_type.name)
    rights = (
        EventRight(frozenset(names), _scopes_of(caller, log_action, action))
        for action, names in types.items()
    )
    return tuple(right for right in rights if right.scopes)


def rows_with(rights: Iterable[EventRight], column: str) -> Q:
    """Return a filter for rows with one of these rights. column: of the type."""
    allowed = Q(pk__in=[])
    for right in rights:
        allowed |= Q(**{f"{column}__in": sorted(right.types)}) & within(right.scopes)
    return allowed


def _scopes_of(caller: Caller, log_action: Action, action: Action) -> tuple[Scope, ...]:
    """Return the scopes where the caller may both read the log and perform the action."""
    if action in FOR_EVERYONE or action in INSTALLATION_WIDE:
        readable = [Scope()] if caller.verdict(action).allowed else []
    else:
        readable = caller.scopes_for(action)
    joined = (
        log_scope.joined(object_scope)
        for log_scope in caller.scopes_for(log_action)
        for object_scope in readable
    )
    return tuple(dict.fromkeys(scope for scope in joined if scope is not None))
