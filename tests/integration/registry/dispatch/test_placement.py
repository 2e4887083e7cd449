"""Placement against the database: which agents are read, and what is known of them."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest
from django.db import connection
from django.db.models import F
from django.db.models.functions import Now

from controlplane.access.team_models import Team
from controlplane.access.teams.teams import create_team
from controlplane.identity.callers import Caller
from controlplane.identity.grants import Grant, TeamRef
from controlplane.identity.roles import Role
from registry.agents.models import Agent, Lease, SweepRecord
from registry.dispatch.models import AgentMessaging, AssignmentRow, ResourceRow
from registry.dispatch.placement import load_candidates as loading
from registry.dispatch.placement import policy_hook
from registry.dispatch.placement.candidates import Candidate, Requirements, Weakness
from registry.dispatch.placement.choose import choose
from registry.dispatch.placement.load_candidates import load_candidates, load_pool
from registry.dispatch.resources.explain import explain_request, explain_resource
from registry.dispatch.resources.requests import (
    ResourceRequest,
    cancel_resource,
    create_resource,
    retry_resource,
)
from registry.dispatch.sweep import sweep_resources
from registry.environments.models import Environment
from tests.support.api_client import ACTOR, ADMINISTRATOR

pytestmark = pytest.mark.django_db
NEEDS = Requirements("vm", key="web")


def make_agent(name: str = "alpha", *, consumer: bool | None = True, **facts: Any) -> Agent:
    values: dict[str, Any] = {
        "environment": "prod", "service_types": ["vm"], "cost": "low", "state": "ready", **facts,
    }  # fmt: skip
    agent = Agent.objects.create(name=name, topic_name=f"dcm.agent.{name}", **values)
    Lease.objects.create(
        agent=agent, renewed_at=Now(), expires_at=Now() + timedelta(seconds=60), state=agent.state
    )
    if consumer is not None:
        AgentMessaging.objects.create(agent=agent, has_consumer=consumer, checked_at=Now())
    return agent


def request(resource_id: str = "web", **facts: Any) -> ResourceRow:
    return create_resource(ResourceRequest(resource_id, "vm", {}, **facts), actor=ACTOR)


def one() -> Candidate:
    [candidate] = load_candidates(NEEDS)
    return candidate


def first_refusal(requirements: Requirements = NEEDS) -> str:
    return choose(requirements, load_candidates(requirements)).verdicts[0].refusals[0].text


def test_everything_that_is_known_of_an_agent():
    agent = make_agent(labels={"tier": "gold"}, capacity=7, flap_penalty=1.5, service_type_conditions=[
        {"service_type": "db", "status": "unhealthy", "provider": "pg", "reason": "Slow."}])  # fmt: skip
    AgentMessaging.objects.update(pending_count=3, unacknowledged_count=2)
    request("mine")

    candidate = one()
    assert (candidate.waiting, candidate.load, candidate.capacity) == (5, 1, 7)
    assert (candidate.receives, candidate.late, candidate.guard, candidate.congested) == (
        True,
        False,
        "",
        False,
    )
    assert candidate.weaknesses == {"db": Weakness(False, "pg", "Slow.")}
    assert (candidate.ref.id, candidate.labels, candidate.flap_penalty) == (
        str(agent.id),
        {"tier": "gold"},
        1.5,
    )


def test_unanswered_requests_count_before_nats_is_looked_at():
    make_agent()
    for number in range(3):
        request(f"r{number}")
    AssignmentRow.objects.filter(resource="r0").update(state="closed")
    AssignmentRow.objects.filter(resource="r1").update(state="running")

    assert (one().waiting, one().load) == (1, 2)


def test_a_late_agent(settings):
    make_agent()
    interval = settings.HEARTBEAT_INTERVAL_SECONDS
    Lease.objects.update(renewed_at=Now() - timedelta(seconds=2 * interval))

    assert first_refusal() == "Its heartbeat is overdue."
    Lease.objects.update(lease_seconds=9 * interval)
    assert one().late is False


@pytest.mark.parametrize("guarded", ["prod", ""])
def test_an_engaged_guard(guarded):
    make_agent()
    Environment.objects.update_or_create(name=guarded, defaults={"guard_engaged_at": Now()})

    assert f"The fleet guard of {guarded or 'the whole fleet'} is engaged" in first_refusal()
    assert (
        request().reason == "No agent that offers vm can take it now. They are: under an engaged fleet guard."
    )


def test_who_receives_messages():
    agent = make_agent(consumer=None)
    assert one().receives is None
    assert choose(NEEDS, load_candidates(NEEDS)).chosen is not None

    Agent.objects.update(created_at=Now() - timedelta(minutes=3))
    assert "receives no messages" in first_refusal()
    AgentMessaging.objects.create(agent=agent, channel="https", fetched_at=Now())
    assert (one().receives, one().ref.channel) == (True, "https")
    AgentMessaging.objects.update(fetched_at=Now() - timedelta(minutes=3), has_consumer=True)
    assert one().receives is False
    AgentMessaging.objects.update(channel="nats")
    assert one().receives is True


def test_a_mark_of_a_weak_type_ends_by_time_and_by_registration():
    make_agent()
    mark = {"status": "unavailable", "reason": "Full.", "provider": "kube", "generation": 1}
    for until, generation, holds in (("2999", 1, True), ("2000", 1, False), ("2999", 2, False)):
        row = {**mark, "until": f"{until}-01-01T00:00:00+00:00", "generation": generation}
        AgentMessaging.objects.update(weak_types={"vm": row})
        assert one().weaknesses == ({"vm": Weakness(True, "kube", "Full.")} if holds else {})


def test_another_teams_agents_do_not_exist():
    ours, other = (create_team(name, actor=ACTOR) for name in ("ours", "other"))
    for name, team in (("a", ours), ("b", other), ("c", None)):
        make_agent(name, team=team)

    assert {one.ref.name for one in load_candidates(Requirements("vm", owner=ours.id))} == {"a", "c"}
    assert {one.ref.name for one in load_candidates(NEEDS)} == {"c"}
    assert request("x", constraints={"agent": "b"}).reason == "There is no agent b for it."
    assert "There is no agent zz" in request("y", constraints={"agent": "zz"}).reason


def test_the_environment_the_agent_and_the_selector_narrow_the_search():
    make_agent("a", labels={"tier": "gold"})
    make_agent("b", environment="dev")
    for constraints, name in (
        ({"environment": "dev"}, "b"),
        ({"selector": "tier=gold"}, "a"),
        ({"selector": "!tier"}, "b"),
        ({"agent": "b"}, "b"),
    ):
        assert request(f"r-{name}-{len(str(constraints))}", constraints=constraints).agent_name == name
    assert "not the required" not in request("x", constraints={"agent": "b", "environment": "prod"}).reason


def test_a_large_fleet_is_sampled(monkeypatch):
    agents = [
        Agent(
            name=f"a{number:03}",
            topic_name=f"dcm.agent.a{number:03}",
            environment="prod",
            service_types=["vm"],
            cost="low",
            labels={"rare": "1"} if number == 7 else {},
        )
        for number in range(200)
    ]
    Agent.objects.bulk_create(agents)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE registry_agent")
    monkeypatch.setattr(loading, "SAMPLE", 100)
    monkeypatch.setattr(loading, "ENOUGH", 10)

    pool = load_pool(NEEDS)
    assert pool.sampled
    assert 10 <= len(pool.candidates) < 200
    assert pool == load_pool(NEEDS)
    # Too few in the sample: an index finds them.
    rare = load_pool(Requirements("vm", selector="rare=1", key="web"))
    assert ([one.ref.name for one in rare.candidates], rare.sampled) == (["a007"], False)
    assert "only a sample" in explain_request(ResourceRequest("", "vm", {}), ADMINISTRATOR).reason


def test_an_explanation_shows_only_agents_that_the_caller_may_read():
    ours, other = (create_team(name, actor=ACTOR) for name in ("ours", "other"))
    for name, team in (("a", ours), ("b", other), ("c", None)):
        make_agent(name, team=team, cost="high" if team else "low")
    member = limited(ours)

    everything = explain_request(ResourceRequest("", "vm", {}), ADMINISTRATOR)
    assert everything.chosen == "c"
    assert {one.agent.name: [r.obstacle.name for r in one.refusals] for one in everything.verdicts} == {
        "a": ["OWNER"], "b": ["OWNER"], "c": [],
    }  # fmt: skip
    seen = explain_request(ResourceRequest("", "vm", {}, team_id=ours.id), member)
    assert (seen.chosen, seen.reason) == (None, "An agent that you may not read would get it.")
    assert [one.agent.name for one in seen.verdicts] == ["a"]
    Agent.objects.exclude(team=other).delete()
    assert explain_request(ResourceRequest("", "vm", {}, team_id=ours.id), member).reason == (
        "No agent offers the service type vm."
    )


def test_an_explanation_of_a_resource_lets_its_agent_keep_it():
    make_agent()
    row = request()

    assert explain_resource(row.id, ADMINISTRATOR).chosen == "alpha"
    assert ResourceRow.objects.get().version == row.version


def limited(team: Team) -> Caller:
    return Caller(None, "member", "user", (Grant(Role.VIEWER, team=TeamRef(team.id, team.slug)),))


class Policy:
    """A policy over HTTP, which responds with `answer` and records its inputs."""

    def __init__(self) -> None:
        self.answer: Any = {"result": {}}
        self.inputs: list[Any] = []
        policy = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                policy.inputs.append(json.loads(body)["input"])
                if policy.answer is None:
                    return
                text = (
                    policy.answer if isinstance(policy.answer, bytes) else json.dumps(policy.answer).encode()
                )
                self.send_response(200)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *_: Any) -> None:
                pass

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_port}/v1/data/placement"


@pytest.fixture
def policy(settings: Any) -> Iterator[Policy]:
    running = Policy()
    settings.DISPATCH_POLICY_URL = running.url
    yield running
    running.server.shutdown()
    running.server.server_close()


def test_a_policy_gets_the_resource_and_the_able_agents(policy):
    make_agent("a")
    make_agent("b", cost="high", labels={"gpu": "1"})
    make_agent("c", state="draining")
    policy.answer = {"result": {"reject": {"a": "No GPU."}}}

    row = request(labels={"app": "web"}, constraints={"environment": "prod"})
    assert row.agent_name == "b"
    [sent] = policy.inputs
    assert sent["resource"] == {
        "id": "web", "service_type": "vm", "spec": {}, "project": "", "domain": "", "workflow": "",
        "launch_plan": "", "team": None, "labels": {"app": "web"}, "placement": {"environment": "prod"},
    }  # fmt: skip
    assert [one["agent"] for one in sent["candidates"]] == ["a", "b"]
    assert sent["candidates"][1]["labels"] == {"gpu": "1"}


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ({"result": {"deny": "Change freeze."}}, "The placement policy denies it: Change freeze."),
        ({}, "gave no valid answer, so nothing is placed. Its response has no object named result."),
        (b"oops", "gave no valid answer, so nothing is placed. Its response is not a JSON object."),
        ({"result": {"reject": ["a"]}}, "a member of the wrong type"),
        ({"result": {"choose": "nobody"}}, "rejected by the placement policy"),
    ],
)
def test_without_a_valid_answer_nothing_is_placed_until_the_sweep_gets_one(policy, answer, reason):
    make_agent()
    policy.answer = answer
    row = request()
    assert (row.state, row.agent_name) == ("pending", "")
    assert reason in row.reason

    policy.answer = {"result": {}}
    swept(row)
    assert ResourceRow.objects.get().agent_name == "alpha"


def test_a_policy_that_is_away_places_nothing(policy, settings):
    make_agent()
    settings.DISPATCH_POLICY_URL = "http://127.0.0.1:9/"

    assert "The placement policy gave no valid answer" in request().reason


def test_a_policy_that_failed_is_left_alone_for_a_moment(policy, monkeypatch):
    make_agent()
    policy.answer = None
    assert "gave no valid answer" in request("a").reason
    assert "gave no valid answer" in request("b").reason
    assert len(policy.inputs) == 1

    monkeypatch.setattr(policy_hook, "_PAUSE_SECONDS", 0.0)
    policy.answer = {"result": {}}
    assert request("c").agent_name == "alpha"


def test_a_request_under_the_lock_waits_for_the_sweep_and_its_policy(policy):
    make_agent()
    row = request()
    cancel_resource(row.id, caller=ADMINISTRATOR, actor=ACTOR)
    AssignmentRow.objects.update(state="closed")
    calls = len(policy.inputs)

    row = retry_resource(row.id, caller=ADMINISTRATOR, actor=ACTOR)
    assert (row.state, row.reason) == ("pending", "It waits for the placement policy.")
    assert len(policy.inputs) == calls
    swept(row)
    assert AssignmentRow.objects.filter(epoch=2, state="pending").count() == 1


def swept(row: ResourceRow) -> None:
    SweepRecord.objects.update(last_sweep_at=Now(), reachable_since=Now() - timedelta(hours=1))
    ResourceRow.objects.filter(id=row.id).update(
        due_at=Now(), placed_at=F("placed_at") - timedelta(minutes=5)
    )
    assert sweep_resources() == 1
