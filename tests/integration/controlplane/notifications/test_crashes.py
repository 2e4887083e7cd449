"""An engine that is killed between any two steps loses no alert and sends no message twice."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from pathlib import Path

import pytest

from controlplane.delivery.models import Delivery
from controlplane.events.models import Event
from registry.agents.states import State
from tests.integration.controlplane.notifications.conftest import report
from tests.support.relay_processes import RelayProcess
from tests.support.waiting import until

pytestmark = pytest.mark.django_db(transaction=True)
ALL_POINTS = (
    *("notifications read", "messages queued", "alerts raised", "alerts published"),
    *("notifications moved", "messages queued:3", "notifications moved:2"),
)
_USUAL_POINTS = ("alerts raised", "notifications moved")


def test_each_alert_is_one_message(make_channel, make_rule, office, tmp_path):
    make_rule(make_channel("pagerduty"), mode="paged", max_per_hour=1000)
    kill_engines_at(_USUAL_POINTS, tmp_path)


def kill_engines_at(points: Sequence[str], folder: Path) -> None:
    """Kill an engine at each point, with two new alerts each; check that each alert is one message."""
    # Fewer than twenty: those would be one mass event.
    names = [f"agent-{number}" for number in range(2 * len(points))]
    for number, point in enumerate(points):
        report(State.UNAVAILABLE, *names[2 * number : 2 * number + 2])
        run = RelayProcess(folder / "relay.log", only="notifications", FAILPOINT=point)
        assert run.wait(30) == -signal.SIGKILL, (point, run.output)
    last = RelayProcess(folder / "relay.log", only="notifications")
    until(lambda: Delivery.objects.count() == len(names), explain=lambda: last.output)
    assert last.stop() == 0, last.output

    events = Event.objects.filter(type="notification.message")
    subjects = sorted(event.data["subject"] for event in events)
    assert subjects == sorted(f"agent unavailable: {name}" for name in names)
    assert Delivery.objects.values("event_id").distinct().count() == len(names)
