"""Which events a caller may read: for lists, counts, pages, streams and long polls.

An event is readable if the caller has `event.read` at the event's scope, may read objects of its kind
there, and may read every team that the event names.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable

from django.db.models import Q

from controlplane.database.scoped import within
from controlplane.events.audiences import TEAM_MEMBERS, audience_of
from controlplane.events.event_filter import EVERYTHING, Right, Sight
from controlplane.events.models import Event, EventQuerySet
from controlplane.events.types import registered
from controlplane.identity.callers import Caller
from controlplane.identity.roles import FOR_EVERYONE, INSTALLATION_WIDE, Action
from controlplane.scopes import Scope

TeamRule = Callable[[Caller], Collection[str]]
_team_rules: list[TeamRule] = []


def hide_teams_by(rule: TeamRule) -> None:
    """Register the rule that names the teams a caller may not read: the app that keeps teams has it."""
    _team_rules.append(rule)


def sight_of(caller: Caller) -> Sight:
    """What the caller may read now."""
    hidden = frozenset(team for rule in _team_rules for team in rule(caller))
    if not hidden and all(caller.verdict(action).allowed for action in Action):
        return EVERYTHING
    return Sight(rights_of(caller, Action.EVENT_READ, hidden), hidden)


def visible_events(caller: Caller) -> EventQuerySet:
    """The events that the caller may read, numbered or not."""
    return seen_with(sight_of(caller))


def seen_with(sight: Sight) -> EventQuerySet:
    """`Sight.shows` in SQL; a test compares the two."""
    if sight.everything:
        return Event.objects.all()
    rows = Event.objects.filter(rows_with(sight.rights, "type"))
    if sight.hidden_teams:
        for member in TEAM_MEMBERS:
            hidden = Q(**{f"data__{member}__in": sorted(sight.hidden_teams)})
            rows = rows.filter(Q(**{f"data__{member}__isnull": True}) | ~hidden)
    return rows


def rights_of(caller: Caller, log_action: Action, hidden: frozenset[str]) -> tuple[Right, ...]:
    """The types of records that are readable, and where. log_action: that reads the log itself."""
    types: defaultdict[Action, set[str]] = defaultdict(set)
    for event_type in registered():
        audience = audience_of(event_type.name)
        if not (audience.holds_all_teams and hidden):
            types[audience.action].add(event_type.name)
    rights = (
        Right(frozenset(names), _scopes_of(caller, log_action, action)) for action, names in types.items()
    )
    return tuple(right for right in rights if right.scopes)


def rows_with(rights: Iterable[Right], column: str) -> Q:
    """Rows with one of these rights. column: that holds the type."""
    allowed = Q(pk__in=[])
    for right in rights:
        allowed |= Q(**{f"{column}__in": sorted(right.types)}) & within(right.scopes)
    return allowed


def _scopes_of(caller: Caller, log_action: Action, action: Action) -> tuple[Scope, ...]:
    """Where the caller may both read the log and read objects by this action."""
    if action in FOR_EVERYONE or action in INSTALLATION_WIDE:
        readable = [Scope()] if caller.verdict(action).allowed else []
    else:
        readable = caller.scopes_for(action)
    joined = (mine.joined(other) for mine in caller.scopes_for(log_action) for other in readable)
    return tuple(dict.fromkeys(scope for scope in joined if scope is not None))
