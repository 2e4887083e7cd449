"""Figures of dispatch, as Prometheus scrapes them."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db.models import F
from prometheus_client import CollectorRegistry, generate_latest

from controlplane.identity.actors import Actor
from controlplane.messaging.models import DeadLetter
from registry.dispatch.metrics import DispatchCollector
from registry.dispatch.models import AgentMessaging, AssignmentRow, ResourceRow
from registry.dispatch.resources.requests import ResourceRequest, create_resource
from tests.support.agents_over_nats import make_agent

pytestmark = pytest.mark.django_db


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
    DeadLetter.objects.create(sequence=2, state="discarded", **letter)
    registry = CollectorRegistry()
    registry.register(DispatchCollector())

    with django_assert_max_num_queries(4):
        text = generate_latest(registry).decode()

    assert "cp_dead_letters_open 1.0" in text
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

    assert [collector._replacements.count() for _ in range(2)] == [1, 1]
    assert DispatchCollector()._replacements.count() == 1
