"""Reports of Alertmanager: what is news becomes an event, which rules match by its labels."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple
from uuid import UUID

from django.db import connection, transaction

from controlplane.events import log
from controlplane.identity.actors import Actor
from controlplane.notifications.alertmanager_alerts import AlertPhase, ReportedAlert, data_of, news
from controlplane.notifications.event_types import ALERTMANAGER_FIRING, ALERTMANAGER_RESOLVED
from controlplane.notifications.models import AlertmanagerAlert

# Alertmanager repeats an alert every few hours at the latest.
_KEPT = timedelta(days=30)


@transaction.atomic
def report_alerts(alerts: Sequence[ReportedAlert], *, team_id: UUID | None, actor: Actor) -> int:
    """Append an event for each report that is news to the team; return how many there are."""
    heard = _hold(alerts, team_id)
    fresh = news(alerts, {fingerprint: row.phase for fingerprint, row in heard.items() if row.phase})
    log.append_each([_entry(alert, team_id, actor) for alert in fresh])
    last = {heard[alert.fingerprint].id: alert.phase for alert in fresh}
    phases = [(id_, phase.is_firing, phase.starts_at) for id_, phase in last.items()]
    with connection.cursor() as cursor:
        cursor.execute(_NOTE, [list(column) for column in zip(*phases, strict=True)] or [[], [], []])
    return len(fresh)


class _Heard(NamedTuple):
    """The row of an alert. phase: None if nothing was heard of it before."""

    id: int
    phase: AlertPhase | None


def _hold(alerts: Sequence[ReportedAlert], team_id: UUID | None) -> dict[str, _Heard]:
    """Return what was heard of these alerts, and hold their rows until the transaction ends.

    Two Alertmanagers of a cluster may report one alert at the same moment: one of them waits here.
    """
    fingerprints = sorted({alert.fingerprint for alert in alerts})
    with connection.cursor() as cursor:
        cursor.execute(_HOLD, [team_id, fingerprints])
        rows = cursor.fetchall()
    return {
        fingerprint: _Heard(id_, None if is_firing is None else AlertPhase(is_firing, starts_at))
        for id_, fingerprint, is_firing, starts_at in rows
    }


def forget_old_alerts(now: datetime) -> None:
    """Delete what was heard of alerts that nobody has repeated for a month."""
    AlertmanagerAlert.objects.filter(heard_at__lt=now - _KEPT).delete()


def _entry(alert: ReportedAlert, team_id: UUID | None, actor: Actor) -> log.Entry:
    return log.Entry(
        ALERTMANAGER_FIRING if alert.is_firing else ALERTMANAGER_RESOLVED,
        "alertmanager_alert",
        alert.fingerprint,
        data_of(alert),
        actor.name,
        request_id=actor.request_id,
        team_id=team_id,
    )


# A new row has no phase yet. In the order of fingerprints, so that two reports cannot wait for each other.
_HOLD = """
INSERT INTO notifications_alertmanageralert AS alert (team_id, fingerprint, heard_at)
SELECT %s::uuid, fingerprint, statement_timestamp()
  FROM unnest(%s::text[]) WITH ORDINALITY AS given (fingerprint, place) ORDER BY place
ON CONFLICT (team_id, fingerprint) DO UPDATE SET heard_at = statement_timestamp()
RETURNING id, fingerprint, is_firing, starts_at
"""
_NOTE = """
UPDATE notifications_alertmanageralert alert SET is_firing = given.is_firing, starts_at = given.starts_at
  FROM unnest(%s::bigint[], %s::boolean[], %s::text[]) AS given (id, is_firing, starts_at)
 WHERE alert.id = given.id
"""
