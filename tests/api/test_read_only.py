"""A pause of changes (`manage.py read_only`): reads go on, all changes are refused, and no agent suffers."""

from __future__ import annotations

import io
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import psycopg
import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from django.db import connection, transaction
from django.db.models.functions import Now
from django.test import Client

from controlplane.access.models import AuditRecord, Principal
from controlplane.cluster.beat import LeaderScheduler
from controlplane.cluster.leadership import Role, lead
from controlplane.database.changes import ChangesRefused
from controlplane.events import log
from controlplane.events.models import Event
from controlplane.installation import pauses
from controlplane.installation.models import Pause
from controlplane.installation.refusing_triggers import EXEMPT, NAME
from controlplane.members.models import Member
from controlplane.members.presence import Presence
from controlplane.messaging.loops import repeat
from controlplane.pools.models import Pool
from registry.agents.models import Agent, Lease, SweepRecord
from registry.sweep.sweep import sweep_leases
from tests.support.api_client import AGENT, Api, make_project
from tests.support.flyte_messages import FlyteHttp

pytestmark = pytest.mark.django_db(transaction=True)
WHY = "Postgres 19 is being installed"


def read_only(*words: str, **options: object) -> str:
    output = io.StringIO()
    call_command("read_only", *words, stdout=output, **options)
    return output.getvalue()


@pytest.fixture
def agent(api: Api) -> str:
    agent_id = str(api.post("agents", AGENT).json()["agent_id"])
    beat = {"timestamp": datetime.now(UTC).isoformat(), "consumer_lag": 0}
    assert api.put(f"agents/{agent_id}/heartbeat", beat).status_code == 200
    return agent_id


@pytest.fixture
def paused(agent: str) -> None:
    make_project()
    read_only("on", reason=WHY)


@pytest.mark.usefixtures("paused")
def test_every_kind_of_change_is_refused_with_the_reason_and_changes_nothing(api, agent):
    beat = {"timestamp": datetime.now(UTC).isoformat(), "consumer_lag": 0}
    changes = [
        ("PUT", "pools/snowflake", {"capacity": 1}),
        ("POST", "teams", {"slug": "ml", "title": "ML"}),
        ("POST", "agents", {**AGENT, "name": "a2"}),
        ("PUT", f"agents/{agent}/heartbeat", beat),
        ("POST", "join-tokens", {"name": "j", "name_pattern": "j*", "uses": 5}),
        ("PUT", "overrides/task_resource?domain=staging", {"attributes": {"limits": {"cpu": "3"}}}),
        ("POST", "backups", {}),
    ]
    before = AuditRecord.objects.count(), Event.objects.count()
    for method, path, body in changes:
        refused = api(method, path, body)
        assert (refused.status_code, refused.json()["code"]) == (503, "read_only"), path
        assert refused["Retry-After"] == "10", path
        assert WHY in refused.json()["detail"], path
    assert (AuditRecord.objects.count(), Event.objects.count()) == before
    assert not Pool.objects.exists()

    many = api.post("agents:heartbeat", {"items": [{"agent_id": agent, **beat}]})
    assert (many.status_code, many.json()["code"]) == (503, "read_only")
    flyte = FlyteHttp(api.token)("POST", "projects", {"project": {"id": "p", "name": "P"}})
    assert (flyte.status_code, flyte["Retry-After"]) == (503, "10")
    assert WHY in flyte.json()["message"]
    dcm = api.post("/api/v1alpha1/service-type-instances?id=vm-1", {"spec": {"service_type": "vm"}})
    assert (dcm.status_code, dcm["Retry-After"]) == (503, "10")


@pytest.mark.usefixtures("paused")
def test_reads_go_on_and_show_the_pause(api, agent):
    for path in (
        "me",
        "meta",
        "agents",
        f"agents/{agent}",
        "audit",
        "overrides",
        "overrides/effective?project=flytesnacks&domain=staging",
        "pools",
        "teams",
    ):
        assert api.get(path).status_code == 200, path
    events = api.get("events?limit=50").json()["items"]
    (event,) = [event for event in events if event["type"] == "installation.changes_paused"]
    assert event["data"] == {"reason": WHY}
    ready = Client().get("/readyz?verbose")
    assert (ready.status_code, ready.json()["checks"]["writable"]) == (200, "read_only")
    assert ready.json()["checks"]["postgres"] == "ok"


def test_a_pause_begins_and_ends_with_an_audit_record_and_an_event_each(api):
    assert read_only("status") == "Changes are accepted.\n"
    assert "none is under way" in read_only("on", reason=f" {WHY}\n")
    assert f"by system:read-only: {WHY}" in read_only("status")
    assert api.put("pools/snowflake", {"capacity": 1}).status_code == 503
    assert "accepted again" in read_only("off")
    assert api.put("pools/snowflake", {"capacity": 1}).status_code == 201
    assert read_only("off") == "Changes were not paused.\n"
    rows = AuditRecord.objects.filter(object_type="installation").order_by("id")
    assert [(row.action, row.actor, row.before, row.after) for row in rows] == [
        ("installation.changes_paused", "system:read-only", None, {"reason": WHY}),
        ("installation.changes_resumed", "system:read-only", {"reason": WHY}, None),
    ]
    events = Event.objects.filter(object_type="installation").order_by("position")
    assert [event.type for event in events] == ["installation.changes_paused", "installation.changes_resumed"]


@pytest.mark.parametrize("reason", ["", "  ", "x" * 201])
def test_a_pause_needs_a_reason(reason):
    with pytest.raises(CommandError, match="Say why"):
        read_only("on", reason=reason)
    assert not Pause.objects.get().is_on
    assert not AuditRecord.objects.filter(object_type="installation").exists()


def test_a_second_pause_only_changes_the_reason(api):
    read_only("on", reason=WHY)
    read_only("on", reason="It takes longer")
    assert "It takes longer" in api.put("pools/snowflake", {"capacity": 1}).json()["detail"]
    assert Event.objects.filter(object_type="installation").count() == 1


def test_no_agent_becomes_unavailable_because_of_a_pause(agent):
    SweepRecord.objects.update(last_sweep_at=Now(), reachable_since=Now() - timedelta(days=1))
    read_only("on", reason=WHY)
    with pytest.raises(ChangesRefused):
        sweep_leases()
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica; "
                       "UPDATE registry_lease SET expires_at = now() - interval '1 minute'")  # fmt: skip
    read_only("off")
    assert sweep_leases() == 0
    assert Agent.objects.get().state == "ready"
    # The same lease ends an agent once the grace is over.
    SweepRecord.objects.update(reachable_since=Now() - timedelta(days=1))
    Lease.objects.update(renewed_at=Now() - timedelta(minutes=5))
    sweep_leases()
    assert Agent.objects.get().state in ("unavailable", "unknown")


def test_a_pause_waits_for_what_is_being_written(other):
    other.execute(
        "INSERT INTO cluster_leadership (role, holder, epoch, expires_at)"
        " VALUES ('other', gen_random_uuid(), 1, now())"
    )
    # A pooler hides which process of Postgres it is.
    process = str(other.info.backend_pid) if settings.DATABASE_POOLER == "none" else "have not ended"
    with pytest.raises(CommandError, match=process):
        read_only("on", reason=WHY, wait_seconds=0.2)
    threading.Timer(0.3, other.commit).start()
    assert "none is under way" in read_only("on", reason=WHY, wait_seconds=10.0)


@pytest.fixture
def other() -> Iterator[psycopg.Connection]:
    """A session of somebody else."""
    parameters = connection.get_connection_params()
    names = ("host", "port", "dbname", "user")
    with psycopg.connect(**{name: parameters[name] for name in names if name in parameters}) as session:
        yield session


def test_a_session_that_was_open_before_is_refused_too(other):
    other.execute("SELECT 1")
    read_only("on", reason=WHY, wait_seconds=5.0)
    with pytest.raises(psycopg.errors.ReadOnlySqlTransaction, match=WHY):
        other.execute("DELETE FROM pools_pool")


def test_every_table_has_the_trigger_but_for_those_that_say_who_runs():
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT relname FROM pg_class AS one WHERE relkind IN ('r', 'p') AND NOT relispartition"
            " AND relnamespace = 'public'::regnamespace AND NOT EXISTS"
            " (SELECT FROM pg_trigger WHERE tgrelid = one.oid AND tgname = %s AND tgenabled = 'O')",
            [NAME],
        )
        assert {name for (name,) in cursor.fetchall()} == set(EXEMPT)


def test_nobody_leads_in_a_pause_so_that_beat_sends_nothing():
    assert lead(Role.BEAT) is not None
    read_only("on", reason=WHY)
    with pytest.raises(ChangesRefused):
        lead(Role.BEAT)
    assert not LeaderScheduler._leads


def test_loops_wait_for_the_end_of_a_pause():
    read_only("on", reason=WHY)
    stop, calls = threading.Event(), []

    def step() -> float:
        calls.append(pauses.current_pause() is not None)
        Principal.objects.filter(name="nobody").update(name="nobody")
        stop.set()
        return 0.0

    threading.Timer(1.2, lambda: read_only("off")).start()
    repeat(step, stop)
    assert calls == [True, False], "Once in the pause, and once after it."


def test_it_is_known_who_runs_in_a_pause():
    read_only("on", reason=WHY)
    presence = Presence("relay")
    presence.beat()
    assert presence.is_reachable
    assert Member.objects.filter(process="relay").exists()


def test_followers_get_the_rest_after_the_pause(other):
    """An event that is committed as the pause begins has no number until its end."""
    other.execute(
        "INSERT INTO events_event (id, type, object_type, object_id, domain, project, workflow, launch_plan,"
        " actor, request_id, data) VALUES (gen_random_uuid(), 'team.created', 'team', 'x', '', '', '', '',"
        " 'a', '', '{}')"
    )
    threading.Timer(0.3, other.commit).start()
    read_only("on", reason=WHY, wait_seconds=10.0)
    last = log.last_number()
    assert Event.objects.filter(seq=None).count() == 1
    with transaction.atomic():
        assert not log.follow(last).exists()
    read_only("off")
    assert [event.type for event in log.follow(last)] == ["team.created", "installation.changes_resumed"]
