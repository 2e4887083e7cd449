"""Rules: which events become alerts, and how alerts become messages. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from hashlib import sha256
from typing import Any
from uuid import UUID

from controlplane.delivery.cloudevents import Origin
from controlplane.delivery.filters import SinkFilter, filter_from
from controlplane.delivery.logged_event import LoggedEvent
from controlplane.events.audiences import kind_of
from controlplane.notifications.opposites import raises_alert, types_ended_by
from controlplane.notifications.quiet_hours import QuietHours, quiet_hours_from
from controlplane.notifications.templates import Values, render

# What notifications themselves cause. An alert about it would cause the next.
EXCLUDED_KINDS = frozenset({"notification", "notification_rule", "alert"})
FLYTE_WORKFLOW = "flyte.workflow_event"
DEFAULT_KEY = "{{ object.type }}/{{ object.id }}"
MOST_KEY = 1_200


class Mode(StrEnum):
    # A message per alert.
    EACH = "each"
    # A message per window.
    DIGEST = "digest"
    # A message per alert at once, in quiet hours too.
    PAGED = "paged"


class Severity(StrEnum):
    INFO = "info"
    WARNING = "warning"
    CRITICAL = "critical"


@dataclass(frozen=True, slots=True)
class Rule:
    """channels: ids in the order of escalation. escalate_after: None sends to all channels at once.

    phases: of Flyte's workflow events; empty: all. subject, body: templates; empty for those of the event.
    """

    id: UUID
    name: str
    filter: SinkFilter
    channels: tuple[UUID, ...]
    created_by: UUID
    phases: frozenset[str] = frozenset()
    mode: Mode = Mode.EACH
    window: timedelta = timedelta(seconds=60)
    quiet_hours: QuietHours | None = None
    severity: Severity = Severity.WARNING
    dedupe_key: str = DEFAULT_KEY
    retract: bool = True
    escalate_after: timedelta | None = None
    max_per_hour: int = 60
    subject: str = ""
    body: str = ""

    def raises(self, event: LoggedEvent, origin: Origin) -> bool:
        """True if the event becomes an alert."""
        return (
            kind_of(event.type) not in EXCLUDED_KINDS
            and raises_alert(event.type, self.filter.types)
            and self._has_phase(event)
            and self.filter.matches(event, origin)
        )

    def ended_types(self, event: LoggedEvent) -> tuple[str, ...]:
        """Return the types whose alerts the event ends."""
        return types_ended_by(event.type) if self.retract else ()

    def key_of(self, values: Values) -> str:
        """Return the key of the alert: events with one key are one alert."""
        key = render(self.dedupe_key or DEFAULT_KEY, values)
        return key if len(key) <= MOST_KEY else sha256(key.encode()).hexdigest()

    def quiet_until(self, now: datetime) -> datetime | None:
        """Return when a message may go, or None for now."""
        if self.quiet_hours is None or self.mode is Mode.PAGED:
            return None
        return self.quiet_hours.ends_at(now, self.severity)

    def _has_phase(self, event: LoggedEvent) -> bool:
        if not self.phases:
            return True
        execution = event.data.get("event")
        phase = execution.get("phase") if isinstance(execution, Mapping) else None
        return event.type == FLYTE_WORKFLOW and phase in self.phases


@dataclass(frozen=True, slots=True)
class RuleSpec:
    """What people write of a rule, as JSON has it. to: ids of channels."""

    name: str
    when: Mapping[str, Any] = field(default_factory=dict)
    to: tuple[UUID, ...] = ()
    mode: str = Mode.EACH
    digest_seconds: int = 60
    quiet_hours: Mapping[str, Any] = field(default_factory=dict)
    severity: str = Severity.WARNING
    dedupe_key: str = ""
    retract: bool = True
    escalate_seconds: int | None = None
    max_per_hour: int = 60
    subject: str = ""
    body: str = ""
    is_active: bool = True


def rule_from(spec: RuleSpec, *, rule_id: UUID, created_by: UUID) -> Rule:
    """Return the rule. Raises InvalidRequest for quiet hours that cannot be read."""
    when = {name: value for name, value in spec.when.items() if name != "phases"}
    return Rule(
        id=rule_id,
        name=spec.name,
        filter=filter_from(when, "/when"),
        channels=spec.to,
        created_by=created_by,
        phases=frozenset(spec.when.get("phases", ())),
        mode=Mode(spec.mode),
        window=timedelta(seconds=spec.digest_seconds),
        quiet_hours=quiet_hours_from(spec.quiet_hours),
        severity=Severity(spec.severity),
        dedupe_key=spec.dedupe_key or DEFAULT_KEY,
        retract=spec.retract,
        escalate_after=None if spec.escalate_seconds is None else timedelta(seconds=spec.escalate_seconds),
        max_per_hour=spec.max_per_hour,
        subject=spec.subject,
        body=spec.body,
    )
