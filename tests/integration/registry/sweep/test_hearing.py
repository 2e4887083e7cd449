"""Nobody can reach us, on real rows: sweeps go on meanwhile, and nobody is marked for it."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db.models import F
from django.db.models.functions import Now

from controlplane.events.models import Event
from registry.agents import policies
from registry.agents.models import Agent, Lease, SweepRecord
from registry.environments.models import Environment
from registry.providers import expiry
from registry.providers.models import Provider
from registry.sweep import sweep
from tests.integration.registry.sweep.test_fleet_scale import event_count, move_environment, states
from tests.integration.registry.sweep.test_sweep import beat, long_up, make_agents
from tests.support.api_client import Api, token_for

pytestmark = pytest.mark.django_db
STEP = 5


@pytest.fixture(autouse=True)
def _small_fleet():
    policies.forget_fleet()
    yield
    policies.forget_fleet()


def pass_time(seconds: float) -> None:
    """Every stored time is so much longer ago."""
    past = timedelta(seconds=seconds)
    for model, names in (
        (Lease, ("renewed_at", "expires_at")),
        (Agent, ("state_since", "flapped_at", "steady_since")),
        (
            Environment,
            (
                "guard_engaged_at",
                "guard_lifted_at",
                "heard_at",
                "hearing_since",
                "guard_mode_set_at",
                "guard_mode_until",
            ),
        ),
        (SweepRecord, ("last_sweep_at", "reachable_since")),
    ):
        model.objects.update(**{name: F(name) - past for name in names})


def run(seconds: float, beating=(), step=STEP) -> None:
    """Sweep every five seconds; those that beat do so every thirty, each at its own time."""
    for second in range(0, int(seconds), step):
        pass_time(step)
        for number, agent in enumerate(beating):
            if (second // STEP + number) % 6 == 0:
                beat(agent)
        sweep.sweep_leases()


def start(count: int):
    """A fleet that has beaten for a while."""
    agents = make_agents(count)
    long_up()
    for second in range(0, 60, STEP):
        pass_time(STEP)
        for number, agent in enumerate(agents):
            if (second // STEP + number) % 6 == 0:
                beat(agent)
        SweepRecord.objects.update(last_sweep_at=Now())
        sweep.sweep_leases()
    assert states() == {"ready": count}
    return agents


@pytest.mark.parametrize(("count", "outage"), [(1, 70), (3, 70), (3, 135), (8, 1000)])
def test_while_nobody_can_be_heard_nobody_becomes_unavailable_nor_after_it(count, outage):
    agents = start(count)

    run(outage, step=5 if outage < 500 else 20)
    assert set(states()) <= {"ready", "unknown"}
    # The last ones are back after one interval.
    for place in range(6):
        for agent in agents[place::6]:
            beat(agent)
        run(STEP)
    run(100, beating=agents)

    assert states() == {"ready": count}
    assert event_count("agent.unavailable") == 0
    assert not Environment.objects.exclude(guard_engaged_at=None).exists()


def test_whoever_does_not_return_is_found_one_grace_later():
    agents = start(3)
    run(135)

    run(60, beating=agents[:2])
    assert states() == {"ready": 2, "unknown": 1}
    run(60, beating=agents[:2])

    assert states() == {"ready": 2, "unavailable": 1}


def test_one_that_dies_is_found_in_time_while_another_is_heard_anywhere():
    agents = start(2)
    move_environment(agents[:1], "edge")
    beat(agents[0])

    run(90, beating=agents[1:])
    assert set(states()) == {"ready"}
    run(15, beating=agents[1:])

    assert Agent.objects.get(name="a0").state == "unavailable"
    assert event_count("fleet_guard.engaged") == 0


def test_the_only_agent_of_all_that_dies_is_unknown_with_an_alert_until_an_operator_rules():
    start(1)
    admin = Api(token_for("admin"))

    run(105)
    assert states() == {"unknown": 1}
    (alert,) = Event.objects.filter(type="fleet_guard.engaged")
    assert (alert.object_id, alert.data["reason"][:8]) == ("*", "No agent")
    run(1000, step=20)
    assert states() == {"unknown": 1}

    admin.post("fleet-guards:overrule", {"environment": "", "ruling": "lift"})
    run(STEP)
    assert states() == {"unavailable": 1}


def test_an_environment_of_two_that_is_cut_off_is_doubted_while_others_are_heard():
    agents = start(5)
    move_environment(agents[:2], "edge")

    run(110, beating=agents[2:])
    Environment.objects.exclude(guard_engaged_at=None).update(guard_engaged_at=Now() - timedelta(minutes=20))
    run(STEP, beating=agents[2:])

    assert states() == {"ready": 3, "unknown": 2}
    assert [environment.name for environment in Environment.objects.exclude(guard_engaged_at=None)] == [
        "edge"
    ]
    run(120, beating=agents)
    assert states() == {"ready": 5}
    assert event_count("agent.unavailable") == 0


def test_an_old_ruling_does_not_cover_a_new_outage():
    agents = start(20)
    admin = Api(token_for("admin"))
    run(100, beating=agents[8:])  # eight are cut off
    for environment in ("", "prod"):
        admin.post("fleet-guards:overrule", {"environment": environment, "ruling": "lift", "seconds": 86_400})
    run(120, beating=agents[8:])
    assert states() == {"ready": 12, "unavailable": 8}
    assert set(Environment.objects.values_list("guard_mode", flat=True)) == {""}  # ended with its incident

    run(135)

    assert states() == {"unknown": 12, "unavailable": 8}


def test_a_ruling_that_is_still_in_force_does_not_cover_the_silence_of_all():
    agents = start(10)
    admin = Api(token_for("admin"))
    run(95, beating=agents[6:])
    for environment in ("", "prod"):
        admin.post("fleet-guards:overrule", {"environment": environment, "ruling": "lift"})
    run(STEP, beating=agents[6:])

    run(135)

    assert event_count("agent.unavailable") == 6
    assert states() == {"unavailable": 6, "unknown": 4}


def test_providers_keep_their_types_while_nobody_is_heard():
    (agent,) = start(1)
    lease = Lease.objects.get()
    assert lease.expires_at > lease.renewed_at
    Environment.objects.filter(name="").update(heard_at=Now() - timedelta(seconds=100))
    Provider.objects.create(
        agent=agent,
        name="kubevirt",
        endpoint="http://kubevirt:8081",
        service_type="vm",
        schema_version="v1",
        state="ready",
        state_since=Now(),
        expires_at=Now() - timedelta(seconds=5),
    )
    Agent.objects.update(state_since=Now() - timedelta(days=1))
    SweepRecord.objects.update(last_sweep_at=Now(), reachable_since=Now() - timedelta(days=1))

    assert expiry.expire_providers() == 0
    Environment.objects.filter(name="").update(heard_at=Now())
    assert expiry.expire_providers() == 1


def test_when_agents_were_heard_is_written_by_the_sweep_and_not_by_heartbeats():
    (agent,) = make_agents(1)
    sweep.sweep_leases()
    heard = Environment.objects.get(name="").heard_at
    assert heard == Lease.objects.get().renewed_at

    beat(agent)

    assert Environment.objects.get(name="").heard_at == heard
