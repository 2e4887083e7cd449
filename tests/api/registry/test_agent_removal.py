"""Who is retired for silence and who is removed; who beats is never removed, whichever way it beats."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from django.db import connections, transaction
from django.db.models.functions import Now
from django.test import Client

from controlplane.access.models import AuditRecord
from registry import lifecycle
from registry.agents.models import Agent, Lease
from tests.support.api_client import ACTOR, AGENT, Api, token_for

BEAT = {"timestamp": "2026-11-21T09:30:00Z", "consumer_lag": 0}
REPORTED = {**BEAT, "providers": [{"name": "kubevirt", "service_type": "vm", "status": "ready"}]}
AGES = {"retire_after": timedelta(days=7), "remove_after": timedelta(days=30)}
DCM = "/api/v1alpha1/agents"


def register(api: Api, name: str = "a1") -> str:
    body = {**AGENT, "name": name, "topic_name": f"dcm.agent.{name}"}
    return api.post("agents", body).json()["agent_id"]


def age(agent_id: str, days: int) -> None:
    """As if its state were so old, and so its last heartbeat."""
    then = Now() - timedelta(days=days)
    Agent.objects.filter(id=agent_id).update(state_since=then)
    Lease.objects.filter(agent_id=agent_id).update(renewed_at=then, expires_at=then)


def retire_for_silence(agent_id: str) -> None:
    Agent.objects.filter(id=agent_id).update(state="unavailable")
    age(agent_id, 8)
    assert lifecycle.collect_garbage(**AGES) == (1, 0)


def state(agent_id: str) -> str:
    return Agent.objects.get(id=agent_id).state


def test_long_silence_retires_and_long_absence_removes_and_who_beats_is_never_touched(api):
    silent, gone, alive = register(api, "silent"), register(api, "gone"), register(api, "alive")
    Agent.objects.filter(id=silent).update(state="unavailable")
    api.post(f"agents/{gone}:retire")
    for agent_id in (silent, gone, alive):
        age(agent_id, 6)
    assert lifecycle.collect_garbage(**AGES) == (0, 0)
    for agent_id in (silent, gone, alive):
        age(agent_id, 31)

    assert lifecycle.collect_garbage(**AGES) == (1, 1)

    assert dict(Agent.objects.values_list("name", "state")) == {"silent": "retired", "alive": "ready"}


def test_unknown_agents_are_retired_after_the_same_silence_if_anybody_is_heard(api):
    silent = register(api, "silent")
    Agent.objects.filter(id=silent).update(state="unknown")
    age(silent, 8)

    assert lifecycle.collect_garbage(**AGES) == (0, 0)
    alive = register(api, "alive")
    assert lifecycle.collect_garbage(**AGES) == (1, 0)

    assert (state(silent), state(alive)) == ("retired", "ready")
    assert api.put(f"agents/{silent}/heartbeat", BEAT).json()["health_status"] == "ready"


class Plain:
    """Through Django, with a token."""

    def __init__(self, api: Api, client: Client) -> None:
        self.api, self.client = api, client

    def register(self) -> str:
        return register(self.api)

    def beat(self, agent_id: str, body: Any = BEAT) -> tuple[int, str]:
        answer = self.api.put(f"agents/{agent_id}/heartbeat", body).json()
        return answer.get("status", 200), answer.get("health_status", answer.get("code"))


class Many(Plain):
    """Through a gateway."""

    def beat(self, agent_id: str, body: Any = BEAT) -> tuple[int, str]:
        bulk = {"items": [{"agent_id": agent_id, **body}]}
        (result,) = self.api.post("agents:heartbeat", bulk).json()["items"]
        return result["status"], result["heartbeat"]["health_status"] if result["heartbeat"] else result[
            "code"
        ]


class Dcm(Plain):
    """An unmodified DCM agent: no token, and an answer other than 200 is nothing to it."""

    def register(self) -> str:
        return self.client.post(DCM, AGENT, content_type="application/json").json()["agent_id"]

    def beat(self, agent_id: str, body: Any = BEAT) -> tuple[int, str]:
        answer = self.client.put(f"{DCM}/{agent_id}/heartbeat", body, content_type="application/json")
        return answer.status_code, answer.json().get("health_status", "agent_retired")


@pytest.fixture(params=[Plain, Many, Dcm])
def way(request, api, settings, client) -> Any:
    settings.DCM_AGENTS = True
    return request.param(api, client)


def test_one_heartbeat_undoes_what_silence_alone_had_done(way, api):
    agent_id = way.register()
    retire_for_silence(agent_id)
    assert state(agent_id) == "retired"

    assert way.beat(agent_id) == (200, "ready")

    body = api.get(f"agents/{agent_id}").json()
    assert (body["health_status"], body["state_reason"]) == ("ready", "Heartbeats arrive.")
    age(agent_id, 31)
    assert lifecycle.collect_garbage(**AGES) == (0, 0)


def test_each_way_counts_what_it_takes_and_what_it_refuses(way, api):
    def figures() -> list[float]:
        text = api.get("/metrics").content.decode()
        lines = dict(line.rsplit(" ", 1) for line in text.splitlines() if line.startswith("cp_heartbeats"))
        names = ("accepted", "agent_retired", "unknown_agent")
        return [float(lines.get(f'cp_heartbeats_total{{result="{name}"}}', 0)) for name in names]

    agent_id, before = way.register(), figures()
    way.beat(agent_id)
    api.post(f"agents/{agent_id}:deregister")
    way.beat(agent_id)
    api.delete(f"agents/{agent_id}")
    way.beat(agent_id)

    assert [now - then for now, then in zip(figures(), before, strict=True)] == [1, 1, 1]


@pytest.mark.parametrize("farewell", ["deregister", "retire"])
def test_who_was_told_to_go_is_told_again_and_kept_while_it_beats(way, api, farewell):
    agent_id = way.register()
    api.post(f"agents/{agent_id}:{farewell}")
    age(agent_id, 31)

    assert way.beat(agent_id, REPORTED) == (410, "agent_retired")

    assert lifecycle.collect_garbage(**AGES) == (0, 0)
    assert state(agent_id) == "retired"
    lease = Lease.objects.get()
    assert lease.renewed_at > lease.agent.state_since
    assert lease.report_digest is None
    age(agent_id, 31)
    assert lifecycle.collect_garbage(**AGES) == (0, 1)


def test_what_an_operator_says_of_a_silent_agent_is_not_undone_by_a_heartbeat(api):
    agent_id = register(api)
    retire_for_silence(agent_id)

    api.post(f"agents/{agent_id}:retire?change_message=Sold")
    api.post(f"agents/{agent_id}:retire")

    assert Plain(api, Client()).beat(agent_id) == (410, "agent_retired")
    assert AuditRecord.objects.filter(object_id=agent_id, action="agent.changed").count() == 1
    assert register(api) == agent_id
    assert state(agent_id) == "ready"


def test_a_congested_or_draining_agent_comes_back_from_long_silence_as_it_is(api):
    busy, drained = register(api, "busy"), register(api, "drained")
    api.post(f"agents/{drained}:drain", {"reason": "Kernel update."})
    retire_for_silence(busy)
    retire_for_silence(drained)
    plain = Plain(api, Client())

    assert plain.beat(busy, {**BEAT, "consumer_lag": 100}) == (200, "congested")
    assert plain.beat(drained) == (200, "draining")


def test_an_unavailable_agent_that_beats_is_not_retired(api):
    """One that flaps beats for a while before it counts as back."""
    agent_id = register(api)
    Agent.objects.update(state="unavailable", state_since=Now() - timedelta(days=8))

    assert lifecycle.collect_garbage(**AGES) == (0, 0)
    assert state(agent_id) == "unavailable"


def meanwhile_removed(agent_id: str, work: Callable[[], Any]) -> Any:
    """Do the work while another transaction removes the agent; it waits for that and goes on."""
    removed, go = threading.Event(), threading.Event()

    def remove() -> None:
        with transaction.atomic():
            lifecycle.remove(agent_id, force=True, actor=ACTOR)
            removed.set()
            go.wait(60)
        connections.close_all()

    def run() -> Any:
        try:
            return work()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(2) as pool:
        removing = pool.submit(remove)
        assert removed.wait(60)
        working = pool.submit(run)
        with pytest.raises(TimeoutError):
            working.result(0.3)
        go.set()
        removing.result(10)
        return working.result(10)


@pytest.mark.django_db(transaction=True)
def test_an_agent_that_is_removed_meanwhile_stops_neither_the_end_of_drains_nor_the_garbage():
    api = Api(token_for("admin"))
    names = ("a", "b", "c")
    drained = [register(api, name) for name in names]
    for agent_id in drained:
        api.post(f"agents/{agent_id}:drain", {"reason": "x"})
    Agent.objects.update(drain_until=Now() - timedelta(minutes=10))

    assert meanwhile_removed(drained[0], lifecycle.end_drains) == 2
    assert {state(agent) for agent in drained[1:]} == {"ready"}

    Agent.objects.update(state="unavailable")
    for agent_id in drained[1:]:
        age(agent_id, 8)
    assert meanwhile_removed(drained[1], lambda: lifecycle.collect_garbage(**AGES)) == (1, 0)
    assert state(drained[2]) == "retired"
