"""The reachability test of agents through HTTP, with a real NATS: API, console and cpctl."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings
from django.db.models.functions import Now
from django.utils.http import urlencode

from controlplane.identity.roles import Role
from controlplane.local.programs import free_port
from controlplane.messaging.nats import NatsConnection
from controlplane.messaging.nats_questions import ask_for_consumer
from controlplane.messaging.streams import REQUESTS
from registry.agents.models import Agent, Lease
from registry.dispatch.models import AgentMessaging
from tests.integration.registry.dispatch.inbound.test_monitor import connect
from tests.support.agents_over_nats import make_agent, publish
from tests.support.api_client import Api, logged_in, token_for
from tests.support.waiting import until


@pytest.fixture
def viewer(transactional_db: None) -> Api:
    return Api(token_for("viewer"))


def beat(agent: Agent) -> None:
    Lease.objects.filter(agent=agent).update(renewed_at=Now(), expires_at=Now() + timedelta(seconds=60))


def outcome_of(viewer: Api, agent: Agent, **query: str) -> Any:
    response = viewer.get(f"agents/{agent.id}/reachability?{urlencode(query)}")
    assert response.status_code == 200, response.content
    return response.json()


def statuses(outcome: Any) -> dict[str, str]:
    return {check["name"]: check["status"] for check in outcome["checks"]}


def waits(agent: Agent) -> bool:
    name = f"{agent.topic_name.removeprefix('dcm.agent.')}-consumer"
    facts = ask_for_consumer(settings.NATS_URL, REQUESTS, name, timeout=10)
    return facts is not None and facts.waiting > 0


def test_heartbeats_alone_do_not_make_an_agent_reachable(nats: NatsConnection, viewer: Api) -> None:
    agent = make_agent("alpha")
    beat(agent)
    outcome = outcome_of(viewer, agent)
    assert statuses(outcome) == {"heartbeats": "reachable", "requests": "unreachable"}
    assert outcome["status"] == "unreachable"
    assert "no consumer in NATS" in outcome["message"]

    consumer = connect(nats, agent)
    assert outcome_of(viewer, agent)["status"] == "unknown"
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(nats.fetch, consumer, limit=1, seconds=30)
        until(lambda: waits(agent))
        assert outcome_of(viewer, agent)["status"] == "reachable"
        publish(nats, agent.topic_name, b"1")
        (message,) = waiting.result()
        handling = outcome_of(viewer, agent)
        assert (handling["status"], "handles 1" in handling["message"]) == ("reachable", True)
        message.ack()


def test_a_test_waits_for_the_next_heartbeat(nats: NatsConnection, viewer: Api) -> None:
    agent = make_agent("alpha", service_types=[])
    beat(agent)
    since = outcome_of(viewer, agent)["tested_at"]
    outcome = outcome_of(viewer, agent, since=since)
    assert (statuses(outcome), outcome["finished"]) == ({"heartbeats": "unknown"}, False)
    page = logged_in("jane", Role.VIEWER).get(f"/agents/{agent.id}/reachability").content.decode()
    assert 'hx-trigger="every 2s"' in page

    beat(agent)
    outcome = outcome_of(viewer, agent, since=since)
    assert (outcome["status"], outcome["finished"]) == ("reachable", True)
    page = logged_in("joe", Role.VIEWER).get(f"/agents/{agent.id}/reachability", {"since": since})
    assert "every 2s" not in page.content.decode()
    assert "Heartbeats arrive." in page.content.decode()


def test_an_agent_that_fetches_by_https_is_judged_by_its_fetches(viewer: Api) -> None:
    agent = make_agent("alpha")
    beat(agent)
    messaging = AgentMessaging.objects.filter(agent=agent)
    messaging.update(channel="https", fetched_at=Now())
    assert outcome_of(viewer, agent)["status"] == "reachable"
    messaging.update(fetched_at=Now() - timedelta(seconds=121))
    assert statuses(outcome_of(viewer, agent))["requests"] == "unreachable"


def test_without_nats_the_way_of_requests_is_unknown(viewer: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "NATS_URL", f"nats://127.0.0.1:{free_port()}")
    agent = make_agent("alpha")
    beat(agent)
    outcome = outcome_of(viewer, agent)
    assert (outcome["status"], outcome["finished"]) == ("unknown", True)
    assert statuses(outcome)["requests"] == "unknown"


def test_bad_input_and_agents_of_nobody(viewer: Api) -> None:
    agent = make_agent("alpha")
    assert viewer.get(f"agents/{agent.id}/reachability?since=yesterday").status_code == 400
    missing = viewer.get("agents/019a9f5e-7c00-7000-8000-000000000001/reachability")
    assert (missing.status_code, missing.json()["code"]) == (404, "unknown_agent")
    page = logged_in("jane", Role.VIEWER).get(f"/agents/{agent.id}/reachability?since=yesterday")
    assert page.status_code in (400, 422)
