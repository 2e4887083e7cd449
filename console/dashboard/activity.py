"""Events of the dashboard's time range: counts for the timeline, and recent changes.

Nothing numbers events here: after a storm that would take seconds, and the dashboard needs no numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Count, DateTimeField, F, Func, Value
from django.db.models.functions import Now

from console.dashboard import timeline
from console.dashboard.changes import Change, change_types, describe
from console.dashboard.timeline import TimeRange
from controlplane.events import types
from controlplane.events.models import Event, EventQuerySet
from controlplane.events.visibility import visible_events
from controlplane.identity.callers import Caller
from controlplane.scopes import SEGMENTS, Scope

# The newest events that are searched. A busy day can have millions, and this page must stay fast.
_MOST_EVENTS = 500_000


@dataclass(frozen=True, slots=True)
class RecentChange:
    """scope: of an override's change; None for other objects."""

    event: Event
    change: Change
    scope: Scope | None


@dataclass(frozen=True, slots=True)
class Activity:
    """counted_from: begin of the events that were searched, if later than that of the range."""

    rows: list[timeline.Row]
    changes: list[RecentChange]
    counted_from: datetime | None


def read_activity(caller: Caller, period: TimeRange, begin: datetime, *, most_changes: int) -> Activity:
    """Return the events that the caller can read, since `begin`."""
    first, counted_from = _searched(begin)
    events = visible_events(caller).filter(at__gte=begin, position__gte=first)
    names = change_types([event_type.name for event_type in types.registered()])
    changed = events.filter(type__in=names).annotate(now=Now()).order_by("-position")[:most_changes]
    return Activity(
        timeline.rows(_counts(events, period, begin), period, begin=begin),
        [_recent_change(event) for event in changed],
        counted_from,
    )


def _recent_change(event: Event) -> RecentChange:
    scope = Scope(**{name: getattr(event, name) for name in SEGMENTS})
    change = describe(event.type, event.object_id, event.data)
    return RecentChange(event, change, scope if event.object_type == "override" else None)


def _counts(events: EventQuerySet, period: TimeRange, begin: datetime) -> dict[tuple[datetime, str], int]:
    step: Any = Func(
        Value(period.step), F("at"), Value(begin), function="date_bin", output_field=DateTimeField()
    )
    groups = events.filter(type__in=timeline.TYPES).annotate(step=step).values_list("step", "type")
    return {(at, name): count for at, name, count in groups.annotate(count=Count("position"))}


def _searched(begin: datetime) -> tuple[int, datetime | None]:
    """Return the position of the first searched event, and its time if that is later than `begin`."""
    last = Event.objects.order_by("-position").values_list("position", flat=True).first() or 0
    first = max(0, last - _MOST_EVENTS)
    if not first:
        return 0, None
    at = Event.objects.filter(position__gte=first).order_by("position").values_list("at", flat=True).first()
    return first, at if at and at > begin else None
