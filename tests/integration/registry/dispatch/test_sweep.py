"""The sweep: what is due, what is held back, how much at once, and who is placed soon."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db.models import F
from django.db.models.functions import Now

from controlplane.database.clock import statement_now
from controlplane.messaging.models import OutboxMessage
from registry.agents.models import Agent, SweepRecord
from registry.dispatch import storage, sweep
from registry.dispatch.models import AssignmentRow, ResourceRow
from registry.environments.models import Environment
from registry.tasks import sweep_resources
from tests.support import dispatch_samples as samples

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _reachable() -> None:
    samples.end_grace()


def let_pass(seconds: int) -> None:
    past = timedelta(seconds=seconds)
    AssignmentRow.objects.update(since=F("since") - past, sent_at=F("sent_at") - past)
    AssignmentRow.objects.update(deletion_sent_at=F("deletion_sent_at") - past)
    ResourceRow.objects.update(due_at=F("due_at") - past, placed_at=F("placed_at") - past)


def creates() -> int:
    return OutboxMessage.objects.filter(event_type="dcm.request.create").count()


def seconds_until_due() -> float:
    due_at = ResourceRow.objects.get().due_at
    assert due_at is not None
    return round((due_at - statement_now()).total_seconds())


def test_an_unanswered_request_is_sent_again_and_the_first_message_is_settled() -> None:
    samples.make_agent("alpha")
    samples.request()
    samples.send_all()
    assert seconds_until_due() == 60

    sweep_resources()
    assert creates() == 1
    let_pass(61)
    sweep_resources()

    assert creates() == 2
    assert OutboxMessage.objects.filter(settled_at=None).count() == 1
    assert AssignmentRow.objects.get().tries == 2


def test_a_message_that_nats_has_not_stored_uses_no_tries_and_wakes_nobody() -> None:
    samples.make_agent("alpha")
    version = samples.request().version
    for _ in range(5):
        let_pass(61)
        sweep_resources()

    assert (AssignmentRow.objects.get().tries, creates()) == (1, 1)
    assert ResourceRow.objects.get().version == version
    samples.send_all()
    sweep_resources()
    assert creates() == 1


@pytest.mark.parametrize("guard", ["outage", "environment", "fleet", "unknown"])
def test_nothing_is_sent_while_it_may_be_us_who_do_not_hear(guard: str) -> None:
    agent = samples.make_agent("alpha")
    samples.make_agent("beta", environment="dev", cost="high")
    samples.request()
    samples.send_all()
    let_pass(3600)
    match guard:
        case "outage":
            SweepRecord.objects.update(reachable_since=Now())
        case "unknown":
            Agent.objects.update(state="unknown")
        case _:
            name = "" if guard == "fleet" else agent.environment
            Environment.objects.update_or_create(name=name, defaults={"guard_engaged_at": Now()})

    sweep_resources()

    assert (creates(), AssignmentRow.objects.count()) == (1, 1)
    if guard == "outage":
        SweepRecord.objects.update(reachable_since=Now() - timedelta(days=1))
        sweep_resources()
        assert creates() == 2


def test_a_waiting_resource_is_placed_as_soon_as_an_agent_is_able() -> None:
    agent = samples.make_agent("alpha", state="registered")
    samples.request()
    for _ in range(5):
        let_pass(61)
        sweep_resources()
    assert seconds_until_due() == 60
    assert "alpha" not in ResourceRow.objects.get().agent_name

    Agent.objects.filter(id=agent.id).update(state="ready")
    let_pass(5)
    sweep_resources()

    assert ResourceRow.objects.get().agent_name == "alpha"


def test_one_run_is_bounded_and_what_is_left_comes_first_next_time(monkeypatch: Any) -> None:
    for number in range(7):
        samples.request(f"r{number}")
    ResourceRow.objects.update(due_at=Now() - timedelta(minutes=1))
    monkeypatch.setattr(sweep, "_MOST", 3)

    looks = [sweep.sweep_resources() for _ in range(3)]

    assert looks == [3, 3, 1]
    monkeypatch.setattr(sweep, "_SECONDS", 0.0)
    ResourceRow.objects.update(due_at=Now())
    assert sweep.sweep_resources() == 0


def test_a_resource_whose_timers_fail_does_not_stop_the_others(monkeypatch: Any) -> None:
    samples.request("broken")
    samples.request("sound")
    let_pass(61)
    load = storage.load

    def failing(row: ResourceRow) -> storage.Loaded:
        if row.id == "broken":
            raise RuntimeError("unreadable")
        return load(row)

    monkeypatch.setattr(storage, "load", failing)
    sweep._look_at("broken")
    sweep._look_at("sound")

    tries = dict(ResourceRow.objects.values_list("id", "placement_tries"))
    assert tries == {"broken": 1, "sound": 2}
    assert not ResourceRow.objects.filter(due_at__lt=Now()).exists()


def test_each_state_has_its_time() -> None:
    agent = samples.make_agent("alpha")
    samples.request()
    samples.send_all()
    samples.answer("request-queued", agent)
    assert seconds_until_due() == 300
    samples.answer("creation-acknowledged", agent)
    assert seconds_until_due() == 900
    samples.report("RUNNING")
    assert ResourceRow.objects.get().due_at is None
