"""The sweep at fleet scale: once each, beside heartbeats and other sweeps, held back by the fleet guard."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection, connections, transaction
from django.db.models.functions import Now
from django.utils import timezone

from controlplane.access.models import AuditRecord
from controlplane.events.models import Event
from controlplane.identity.actors import Actor
from registry.agents import policies
from registry.agents.models import Agent, Lease, SweepRecord
from registry.agents.policies import liveness_policy
from registry.agents.rights import ANY_AGENT
from registry.environments.guarding import environment_id_of
from registry.environments.models import Environment
from registry.heartbeats.record import Heartbeat, record_heartbeat
from registry.sweep import sweep
from registry.sweep.expire import expire_batch
from tests.integration.registry.sweep.test_sweep import beat, expire, long_up, make_agents
from tests.support.api_client import Api, token_for
from tests.support.observations import observed

COPY_AGENTS = """
INSERT INTO registry_agent (id, name, environment, service_types, cost, topic_name, state, state_reason)
SELECT gen_random_uuid(), 'f' || n, 'e' || n %% 10, '[]', 'low', 'dcm.agent.f' || n, 'ready', ''
FROM generate_series(1, %s) AS n
"""
COPY_LEASES = """
INSERT INTO registry_lease (agent_id, renewed_at, expires_at, consumer_lag, environment_id)
SELECT agent.id, now(), now() + interval '90 s', 0, environment.id
FROM registry_agent AS agent JOIN registry_environment AS environment ON environment.name = agent.environment
ORDER BY agent.id
"""


@pytest.fixture(autouse=True)
def _small_fleet():
    policies.forget_fleet()
    yield
    policies.forget_fleet()


def make_fleet(count: int) -> None:
    """Agents of ten environments, by SQL."""
    for number in range(10):
        environment_id_of(f"e{number}")
    with connection.cursor() as cursor:
        cursor.execute(COPY_AGENTS, [count])
        cursor.execute(COPY_LEASES)


def states() -> dict[str, int]:
    counts: dict[str, int] = {}
    for state in Agent.objects.values_list("state", flat=True):
        counts[state] = counts.get(state, 0) + 1
    return counts


def event_count(event_type: str) -> int:
    return Event.objects.filter(type=event_type).count()


def move_environment(agents, name: str) -> None:
    Agent.objects.filter(id__in=[agent.id for agent in agents]).update(environment=name)
    Lease.objects.filter(agent__in=agents).update(environment_id=environment_id_of(name))


@pytest.mark.django_db
def test_one_of_fifty_is_marked_as_usual():
    agents = make_agents(50)
    long_up()
    expire(agent=agents[0])

    assert sweep.sweep_leases() == 1

    assert states() == {"ready": 49, "unavailable": 1}
    assert event_count("fleet_guard.engaged") == 0


@pytest.mark.django_db
def test_sixty_percent_become_unknown_with_one_alert_and_nobody_is_marked():
    agents = make_agents(50)
    long_up()
    expire(agent__in=agents[:30])

    assert [sweep.sweep_leases(), sweep.sweep_leases()] == [30, 0]

    assert states() == {"ready": 20, "unknown": 30}
    # One environment is the whole fleet here: each of the two guards says so once.
    alerts = Event.objects.filter(type="fleet_guard.engaged").values_list("object_id", "data")
    assert {name for name, _ in alerts} == {"prod", "*"}
    assert {(data["silent"], data["agents"]) for _, data in alerts} == {(30, 50)}
    assert (event_count("agent.unknown"), event_count("agent.unavailable")) == (30, 0)
    figures = Api(token_for("viewer")).get("/metrics").content.decode()
    assert 'cp_fleet_guard_engaged{environment="prod"} 1.0' in figures
    assert 'cp_agents{state="unknown"} 30.0' in figures
    assert "cp_sweep_age_seconds" in figures


@pytest.mark.django_db
def test_the_first_to_expire_are_not_marked_before_the_guard_has_seen_the_others():
    agents = make_agents(50)
    long_up()
    Lease.objects.filter(agent__in=agents[:30]).update(expires_at=Now() + timedelta(seconds=30))
    expire(agent=agents[0])

    sweep.sweep_leases()

    assert states() == {"ready": 49, "unknown": 1}


@pytest.mark.django_db
def test_a_guard_of_one_environment_leaves_the_others_alone():
    agents = make_agents(60)
    move_environment(agents[:8], "edge")
    long_up()
    expire(agent__in=[*agents[:6], agents[20]])

    sweep.sweep_leases()

    assert dict(Agent.objects.filter(environment="edge").values_list("name", "state"))["a0"] == "unknown"
    assert Agent.objects.get(name="a20").state == "unavailable"
    assert [environment.name for environment in Environment.objects.exclude(guard_engaged_at=None)] == [
        "edge"
    ]


@pytest.mark.django_db
def test_the_guard_is_lifted_when_they_are_back_and_the_few_left_are_marked():
    agents = make_agents(50)
    long_up()
    expire(agent__in=agents[:30])
    sweep.sweep_leases()
    for agent in agents[:27]:
        assert beat(agent).state == "ready"

    sweep.sweep_leases()

    assert states() == {"ready": 47, "unavailable": 3}
    assert event_count("fleet_guard.lifted") == 2
    assert not Environment.objects.exclude(guard_engaged_at=None).exists()


@pytest.mark.django_db
def test_after_a_quarter_of_an_hour_they_are_marked_and_the_guard_stays_off():
    agents = make_agents(50)
    long_up()
    expire(agent__in=agents[:30])
    sweep.sweep_leases()
    Lease.objects.filter(agent__in=agents[:30]).update(expires_at=Now() - timedelta(minutes=15))
    Environment.objects.exclude(guard_engaged_at=None).update(guard_engaged_at=Now() - timedelta(minutes=15))

    assert [sweep.sweep_leases(), sweep.sweep_leases()] == [30, 0]

    assert states() == {"ready": 20, "unavailable": 30}
    assert (event_count("fleet_guard.engaged"), event_count("fleet_guard.lifted")) == (2, 2)


@pytest.mark.django_db
def test_an_operator_lifts_and_engages_it_through_the_api():
    agents = make_agents(50)
    long_up()
    expire(agent__in=agents[:30])
    sweep.sweep_leases()
    admin = Api(token_for("admin"))
    engaged = admin.get("fleet-guards?engaged=true").json()["items"]

    for name in ("prod", ""):
        answer = admin.post(
            "fleet-guards:overrule?change_message=fire", {"environment": name, "ruling": "lift"}
        )
        assert (answer.status_code, answer.json()["engaged"]) == (200, False)
    sweep.sweep_leases()

    assert [(event["environment"], event["silent"], event["agents"]) for event in engaged] == [
        ("", 30, 50),
        ("prod", 30, 50),
    ]
    assert states() == {"ready": 20, "unavailable": 30}
    audited = AuditRecord.objects.filter(object_type="fleet_guard", reason="fire")
    assert {record.after["ruling"] for record in audited} == {"lift"}
    expire(agent__in=agents[30:])
    sweep.sweep_leases()
    assert states() == {"unavailable": 50}  # the ruling still holds

    again = admin.post("fleet-guards:overrule", {"environment": "prod", "ruling": "engage", "seconds": 60})
    back = admin.post("fleet-guards:overrule", {"environment": "prod", "ruling": "none"})
    assert (again.json()["engaged"], back.json()["ruling"]) == (True, "none")
    Lease.objects.update(expires_at=Now() - timedelta(minutes=2))  # no longer a part of what happens now
    sweep.sweep_leases()
    assert not Environment.objects.get(name="prod").guard_engaged_at


@pytest.mark.django_db
def test_only_who_may_change_agents_overrules_and_only_what_is_known():
    body = {"environment": "nowhere", "ruling": "lift"}

    assert Api(token_for("agent")).post("fleet-guards:overrule", body).status_code == 403
    answer = Api(token_for("editor")).post("fleet-guards:overrule", body)
    assert (answer.status_code, answer.json()["code"]) == (404, "unknown_environment")


@pytest.mark.django_db
def test_ten_minutes_away_and_nobody_is_marked_while_they_come_back():
    agents = make_agents(50)
    long_up()
    sweep.sweep_leases()
    SweepRecord.objects.update(last_sweep_at=Now() - timedelta(minutes=10))
    expire()

    for _ in range(3):
        assert sweep.sweep_leases() == 0
    for agent in agents:
        beat(agent)
    SweepRecord.objects.update(reachable_since=Now() - timedelta(minutes=10))
    sweep.sweep_leases()

    assert states() == {"ready": 50}
    assert event_count("fleet_guard.engaged") == 0


@pytest.mark.django_db
def test_a_sweeper_that_slept_through_an_outage_marks_nobody():
    make_agents(3)
    long_up()
    expire()
    SweepRecord.objects.update(last_sweep_at=Now() - timedelta(minutes=10))
    policy = liveness_policy()

    marked = expire_batch(
        ("(0,0)", "(256,0)"), 100, judged_at=timezone.now(), grace=policy.grace(), gap=policies.outage_gap()
    )

    assert marked == (0, 0)


@pytest.mark.django_db
def test_how_late_an_agent_was_found_is_measured(django_capture_on_commit_callbacks):
    make_agents(2)
    long_up()
    expire()
    Lease.objects.update(expires_at=Now() - timedelta(seconds=10))
    before = [observed("cp_detection_seconds", within=seconds) for seconds in (5.0, 15.0)]

    with django_capture_on_commit_callbacks(execute=True):
        sweep.sweep_leases()

    assert states() == {"unavailable": 2}
    after = [observed("cp_detection_seconds", within=seconds) for seconds in (5.0, 15.0)]
    assert after == [before[0], before[1] + 2]


@pytest.mark.django_db
def test_an_agent_that_flaps_changes_its_state_once_until_it_beats_for_a_lease():
    (agent,) = make_agents(1)
    long_up()
    for _ in range(6):
        expire()
        sweep.sweep_leases()
        beat(agent)

    agent.refresh_from_db()
    assert agent.state == "unavailable"
    assert "too often" in agent.state_reason
    assert (event_count("agent.unavailable"), event_count("agent.ready")) == (2, 1)
    Agent.objects.update(steady_since=Now() - timedelta(minutes=11))
    beat(agent)
    assert Agent.objects.get().state == "ready"


@pytest.mark.django_db
def test_the_sweep_counts_the_fleet_and_the_interval_follows(settings):
    settings.HEARTBEATS_PER_SECOND = 1
    (agent, *_) = make_agents(100)

    sweep.sweep_leases()
    policies.forget_fleet()

    assert SweepRecord.objects.get().live_count == 100
    assert liveness_policy().interval == timedelta(seconds=112)
    lease = beat(agent).lease
    assert lease.expires_at - lease.renewed_at == timedelta(seconds=336)


@pytest.mark.django_db
def test_a_state_that_anybody_changes_is_copied_to_the_lease():
    make_agents(3)

    Agent.objects.filter(name="a1").update(state="congested")
    Agent.objects.filter(name="a2").update(cost="high")

    assert list(Lease.objects.order_by("agent__name").values_list("state", flat=True)) == [
        "ready",
        "congested",
        "ready",
    ]


@pytest.mark.django_db
def test_only_ranges_of_the_table_with_somebody_to_mark_are_walked(settings, monkeypatch):
    settings.FLEET_GUARD_PERCENT = 101
    monkeypatch.setattr(sweep, "BLOCKS", 4)
    make_fleet(3000)
    long_up()
    expire(agent=Lease.objects.order_by("agent_id").first().agent_id)
    walked, real = [], sweep._step
    monkeypatch.setattr(sweep, "_step", lambda *how: walked.append(how) or real(*how))

    assert [sweep.sweep_leases(), sweep.sweep_leases()] == [1, 0]

    assert len(walked) == 1


@pytest.mark.django_db(transaction=True)
def test_sweeps_and_heartbeats_over_many_ranges_mark_each_silent_agent_once_and_no_beating_one(
    settings, monkeypatch
):
    settings.FLEET_GUARD_PERCENT = 101
    monkeypatch.setattr(sweep, "BLOCKS", 4)
    monkeypatch.setattr(sweep, "ROWS", 50)
    make_fleet(3000)
    long_up()
    ids = list(Agent.objects.order_by("id").values_list("id", flat=True))
    beating, silent = ids[::10], set(ids) - set(ids[::10])
    for agent in beating:
        beat_by_id(agent)
    Lease.objects.filter(agent_id__in=silent).update(expires_at=Now() - timedelta(minutes=10))
    stop = threading.Event()

    def keep_beating(some):
        while not stop.is_set():
            for agent in some:
                beat_by_id(agent)
        connections.close_all()

    def run_sweeps(_):
        marked = sum(sweep.sweep_leases() for _ in range(3))
        connections.close_all()
        return marked

    with ThreadPoolExecutor(8) as pool:
        beats = [pool.submit(keep_beating, beating[start::3]) for start in range(3)]
        total = sum(pool.map(run_sweeps, range(4)))
        total += sweep.sweep_leases()
        stop.set()
        for agent in beats:
            agent.result(30)

    assert total == len(silent)
    assert states() == {"ready": len(beating), "unavailable": len(silent)}
    marked = list(Event.objects.filter(type="agent.unavailable").values_list("object_id", flat=True))
    assert sorted(marked) == sorted(str(agent) for agent in silent)
    assert not Lease.objects.exclude(state="ready").filter(agent_id__in=beating).exists()


def beat_by_id(agent_id) -> None:
    record_heartbeat(
        agent_id,
        Heartbeat(datetime.now(UTC), 0),
        actor=Actor(None, "test"),
        rights=ANY_AGENT,
        policy=liveness_policy(),
        congestion_lag=100,
    )


@pytest.mark.django_db(transaction=True)
def test_an_agent_that_is_being_renewed_is_skipped_and_nobody_waits():
    agents = make_agents(2)
    long_up()
    expire()
    marking, go = threading.Event(), threading.Event()

    def hold():
        with connection.cursor() as cursor:
            cursor.execute("BEGIN")
            cursor.execute("SELECT 1 FROM registry_lease WHERE agent_id = %s FOR UPDATE", [agents[0].id])
            marking.set()
            go.wait(60)
            cursor.execute("COMMIT")
        connections.close_all()

    with ThreadPoolExecutor(1) as pool:
        holding = pool.submit(hold)
        marking.wait(60)
        marked = sweep.sweep_leases()
        is_still_held = not holding.done()
        go.set()
        holding.result(10)

    assert (marked, is_still_held) == (1, True)
    assert Agent.objects.get(id=agents[0].id).state == "ready"


@pytest.mark.django_db(transaction=True)
def test_two_sweeps_that_look_at_once_do_the_work_of_one():
    make_agents(2)
    long_up()
    marking, go = threading.Event(), threading.Event()

    def look():
        with connection.cursor() as cursor:
            cursor.execute("BEGIN")
            cursor.execute("SELECT 1 FROM registry_sweeprecord FOR UPDATE")
            marking.set()
            go.wait(60)
            cursor.execute("COMMIT")
        connections.close_all()

    with ThreadPoolExecutor(1) as pool:
        looking = pool.submit(look)
        marking.wait(60)
        expire()
        assert sweep.sweep_leases() == 0
        go.set()
        looking.result(10)
    assert sweep.sweep_leases() == 2


@pytest.mark.django_db(transaction=True)
def test_a_heartbeat_that_waited_for_the_sweep_sees_what_it_did():
    (agent,) = make_agents(1)
    long_up()
    expire()
    marking, go = threading.Event(), threading.Event()

    def mark():
        try:
            with transaction.atomic():
                policy = liveness_policy()
                between = ("(0,0)", "(256,0)")
                marked, _ = expire_batch(
                    between, 9, judged_at=timezone.now(), grace=policy.grace(), gap=policies.outage_gap()
                )
                marking.set()
                go.wait(60)
            return marked
        finally:
            connections.close_all()

    def beat_it():
        try:
            return beat(agent).state
        finally:
            connections.close_all()

    with ThreadPoolExecutor(2) as pool:
        marking_it = pool.submit(mark)
        marking.wait(60)
        beating = pool.submit(beat_it)
        time.sleep(0.3)
        assert not beating.done()
        go.set()
        assert (marking_it.result(10), beating.result(10)) == (1, "ready")

    assert Agent.objects.get().state == Lease.objects.get().state == "ready"
    assert (event_count("agent.unavailable"), event_count("agent.ready")) == (1, 1)
