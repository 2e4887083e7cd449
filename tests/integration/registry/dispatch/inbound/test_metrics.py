"""Figures of dispatch, as Prometheus scrapes them."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from django.db.models import F
from prometheus_client import REGISTRY, CollectorRegistry, generate_latest

from controlplane.identity.actors import Actor
from controlplane.messaging.models import DeadLetter
from registry.dispatch.lifecycle.records import Change
from registry.dispatch.lifecycle.states import AssignmentState
from registry.dispatch.metrics import DispatchCollector
from registry.dispatch.models import AgentMessaging, AssignmentRow, ResourceRow
from registry.dispatch.resources.requests import ResourceRequest, create_resource
from registry.dispatch.storage import lock_resource, save
from tests.support.agents_over_nats import make_agent

pytestmark = pytest.mark.django_db


def move_to(state: AssignmentState) -> None:
    loaded = lock_resource("web")
    (assignment,) = loaded.resource.assignments
    changed = loaded.resource.with_assignment(replace(assignment, state=state))
    save(loaded, Change(changed), actor="alpha")


def started_within(seconds: str) -> float:
    labels = {"service_type": "container", "le": seconds}
    return REGISTRY.get_sample_value("cp_dispatch_start_seconds_bucket", labels) or 0.0


def test_what_an_operator_should_look_at_is_counted(django_assert_max_num_queries) -> None:
    alpha, beta = make_agent("alpha"), make_agent("beta")
    make_agent("retired", state="retired")
    AgentMessaging.objects.filter(agent=alpha).update(is_congested=True)
    AgentMessaging.objects.filter(agent=beta).update(has_consumer=False)
    make_agent("fetching")
    AgentMessaging.objects.filter(agent__name="fetching").update(has_consumer=False, channel="https")
    create_resource(ResourceRequest("web", "container", {}), actor=Actor(None, "admin"))
    ResourceRow.objects.update(state_since=F("state_since") - timedelta(seconds=90))
    letter = {"stream": "s", "subject": "x", "payload": b"", "reason": "r"}
    DeadLetter.objects.create(sequence=1, **letter)
    DeadLetter.objects.create(sequence=2, state="discarded", resource_id="web", **letter)
    DeadLetter.objects.create(sequence=3, resource_id="web", **letter)
    registry = CollectorRegistry()
    registry.register(DispatchCollector())

    with django_assert_max_num_queries(5):
        text = generate_latest(registry).decode()

    assert "cp_dead_letters_open 2.0" in text
    assert 'cp_dispatch_dead_letters{service_type="unknown"} 1.0' in text
    assert 'cp_dispatch_dead_letters{service_type="container"} 1.0' in text
    assert "cp_agents_without_consumer 1.0" in text
    assert "cp_agents_congested_measured 1.0" in text
    assert 'cp_resources_unfinished{state="pending"} 1.0' in text
    age = next(
        line for line in text.splitlines() if line.startswith('cp_resource_oldest_seconds{state="pending"')
    )
    assert 90 <= float(age.split()[1]) < 120


def test_each_replacement_is_counted_once() -> None:
    make_agent("alpha")
    create_resource(ResourceRequest("web", "container", {}), actor=Actor(None, "admin"))
    collector = DispatchCollector()
    AssignmentRow.objects.update(epoch=2, created_at=F("created_at") - timedelta(minutes=2))

    assert [collector._replacements.count() for _ in range(2)] == [{"container": 1}] * 2
    assert DispatchCollector()._replacements.count() == {"container": 1}


def test_a_resource_starts_once(django_capture_on_commit_callbacks) -> None:
    make_agent("alpha")
    create_resource(ResourceRequest("web", "container", {}), actor=Actor(None, "admin"))
    ResourceRow.objects.update(created_at=F("created_at") - timedelta(seconds=5))
    before = {bound: started_within(bound) for bound in ("2.0", "10.0", "+Inf")}

    # What runs can be changed by its provider, fail and recover.
    for state in ("QUEUED", "RUNNING", "PROVISIONING", "RUNNING", "FAILED", "RUNNING"):
        with django_capture_on_commit_callbacks(execute=True):
            move_to(AssignmentState[state])

    assert [started_within(bound) - number for bound, number in before.items()] == [0, 1, 1]
