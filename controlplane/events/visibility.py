"""Visibility of events: the same for lists, counts, pages, streams and long polls.

An event is readable if the caller has `event.read` at the event's scope and for the team that owns its
object, may read objects of its kind there, and may read every team in the event's data.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable
from uuid import UUID

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
    return tuple(
        EventRight(frozenset(names), scopes, team_id)
        for team_id in (None, *_teams_of(caller))
        for action, names in types.items()
        if (scopes := _scopes_of(caller, log_action, action, team_id))
    )


def _teams_of(caller: Caller) -> list[UUID]:
    """Return the teams that grants of the caller are limited to."""
    return sorted({grant.team.id for grant in caller.grants if grant.team})


def rows_with(rights: Iterable[EventRight], column: str) -> Q:
    """Return a filter for rows with one of these rights. column: of the type."""
    allowed = Q(pk__in=[])
    for right in rights:
        readable = Q(**{f"{column}__in": sorted(right.types)}) & within(right.scopes)
        allowed |= readable & Q(team_id=right.team_id) if right.team_id else readable
    return allowed


def _scopes_of(caller: Caller, log_action: Action, action: Action, team_id: UUID | None) -> tuple[Scope, ...]:
    """Return the scopes where the caller may both read the log and perform the action.

    team_id: on objects of this team; None: on all objects.
    """
    readable = _grant_scopes(caller, action, team_id)
    if action in FOR_EVERYONE:
        readable = [Scope()] if caller.verdict(action).allowed else []
    elif action in INSTALLATION_WIDE:
        readable = [scope for scope in readable if scope == Scope()]
    joined = (
        log_scope.joined(object_scope)
        for log_scope in _grant_scopes(caller, log_action, team_id)
        for object_scope in readable
    )
    return tuple(dict.fromkeys(scope for scope in joined if scope is not None))


def _grant_scopes(caller: Caller, action: Action, team_id: UUID | None) -> list[Scope]:
    return [
        grant.scope
        for grant in caller.grants
        if action in grant.actions and (grant.team is None or grant.team.id == team_id)
    ]
