"""The fast path of heartbeats, in one process: Django's answers, and for nobody else's agents."""

from __future__ import annotations

import json
import re
import threading
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.conf import settings
from django.db import connection, connections, transaction
from django.db.models.functions import Now
from django.utils import timezone

from controlplane.access.models import Principal, RoleBinding, Token
from controlplane.access.tokens import digest
from controlplane.asgi import Router
from controlplane.events.models import Event
from registry.agents import policies
from registry.agents.models import Agent, AgentReport, Lease, SweepRecord
from registry.environments.models import Environment
from registry.heartbeats.token_usage import note_token_uses
from registry.providers.models import Provider
from tests.support.api_client import AGENT, Api, token_for
from tests.support.asgi_client import Worker, close_connections
from tests.support.waiting import until

BEAT = {"timestamp": "2026-11-21T09:30:00Z", "consumer_lag": 0}
REPORT = {
    "conditions": [{"type": "DiskPressure", "status": "False", "message": "two\nlines"}],
    "versions": {"agent": "1.4.2", "ä": "ü"},
    "providers": [{"name": "kubevirt", "service_type": "vm", "status": "Ready"}],
}

PROVIDER = {
    "name": "kubevirt",
    "endpoint": "http://kubevirt:8081",
    "service_type": "vm",
    "schema_version": "v1",
}


class Web:
    """A web worker of our own, with a count of what it left to Django."""

    def __init__(self) -> None:
        self.worker = Worker(Router)
        self.router = self.worker.application
        self.left_to_django = 0
        django = self.router.heartbeats._django

        async def left(*request):
            self.left_to_django += 1
            await django(*request)

        self.router.heartbeats._django = left

    def start(self, token, path, body, *, method="PUT", to=None, **headers):
        all_headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json", **headers}
        return self.worker.start(
            method, path, body, to=to, **{name: value for name, value in all_headers.items() if value}
        )

    def beat(self, token, agent_id, body=None, **how):
        content = json.dumps(BEAT if body is None else body).encode()
        return self.start(token, path_of(agent_id), content, **how).result(15)

    def fast(self, token, agent_id, body=None):
        """Beat and say whether the fast path took it."""
        left = self.left_to_django
        answer = self.beat(token, agent_id, body)
        return answer, self.left_to_django == left

    def stop(self) -> None:
        close_connections(self.router.bridge.pool, settings.WEB_THREADS)
        self.worker.run(self.router.heartbeats.close())
        self.worker.run(self.router.effective.close())
        self.worker.run(self.router.bridge.close(5))
        self.worker.stop()


def path_of(agent_id) -> str:
    return f"/api/v1/agents/{agent_id}/heartbeat"


@pytest.fixture
def web(transactional_db):
    policies.forget_fleet()
    running = Web()
    yield running
    running.stop()
    policies.forget_fleet()


@pytest.fixture
def token(web):
    return token_for("agent")


@pytest.fixture
def agent(web, token):
    """A registered agent that the fast path knows."""
    agent_id = register(token, "a1")
    web.beat(token, agent_id)
    return agent_id


def register(token, name) -> str:
    body = {**AGENT, "name": name, "topic_name": f"dcm.agent.{name}"}
    return Api(token).post("agents", body).json()["agent_id"]


def text(body) -> bytes:
    return json.dumps(body).encode()


# Bodies, and whether the fast path may take them from an agent in its usual state.
BODIES = {
    "plain": (text(BEAT), True),
    "spaces": (b' {\n "timestamp" :"2026-11-21T09:30:00Z","consumer_lag":0 } ', True),
    "offset and fraction": (text({**BEAT, "timestamp": "2026-11-21T09:30:00.123456+05:30"}), True),
    "short fraction": (text({**BEAT, "timestamp": "2026-11-21T09:30:00.5-00:00"}), True),
    "other order": (b'{"consumer_lag": 3, "timestamp": "2026-11-21T09:30:00Z"}', True),
    "almost congested": (text({**BEAT, "consumer_lag": 99}), True),
    "far future": (text({**BEAT, "timestamp": "2999-01-01T00:00:00Z"}), True),
    "congested": (text({**BEAT, "consumer_lag": 100}), False),
    "new report": (text({**BEAT, **REPORT}), False),
    "first year": (text({**BEAT, "timestamp": "0001-01-01T00:00:00+14:00"}), False),
    "last year": (text({**BEAT, "timestamp": "9999-12-31T23:59:59-14:00"}), False),
    "no such day": (text({**BEAT, "timestamp": "2026-02-30T00:00:00Z"}), False),
    "leap second": (text({**BEAT, "timestamp": "2026-06-30T23:59:60Z"}), False),
    "no offset": (text({**BEAT, "timestamp": "2026-11-21T09:30:00"}), False),
    "lower case": (text({**BEAT, "timestamp": "2026-11-21t09:30:00z"}), False),
    "nanoseconds": (text({**BEAT, "timestamp": "2026-11-21T09:30:00.123456789Z"}), False),
    "largest lag": (text({**BEAT, "consumer_lag": 2**63 - 1}), False),
    "too large": (text({**BEAT, "consumer_lag": 2**63}), False),
    "negative": (text({**BEAT, "consumer_lag": -1}), False),
    "fraction": (b'{"timestamp": "2026-11-21T09:30:00Z", "consumer_lag": 0.0}', False),
    "text": (text({**BEAT, "consumer_lag": "0"}), False),
    "true": (text({**BEAT, "consumer_lag": True}), False),
    "leading zero": (b'{"timestamp": "2026-11-21T09:30:00Z", "consumer_lag": 00}', False),
    "twice": (b'{"timestamp": "2026-11-21T09:30:00Z", "consumer_lag": 0, "consumer_lag": 1}', False),
    "unknown member": (text({**BEAT, "surprise": 1}), True),
    "unknown members deep": (text({**BEAT, "surprise": {"a": [None, {"b": 1.5}]}}), True),
    "member in another case": (text({**BEAT, "Consumer_Lag": 5}), True),
    "null instance": (text({**BEAT, "instance_uuid": None}), False),
    "instance as a number": (text({**BEAT, "instance_uuid": 5}), False),
    "no instance": (text({**BEAT, "instance_uuid": "x"}), False),
    "empty instance": (text({**BEAT, "instance_uuid": ""}), False),
    "new instance": (text({**BEAT, "instance_uuid": str(uuid.UUID(int=7))}), False),
    "missing": (text({"consumer_lag": 0}), False),
    "bad report": (text({**BEAT, "conditions": [{"type": "X"}]}), False),
    "null report": (text({**BEAT, "versions": None}), False),
    "list": (b"[]", False),
    "no JSON": (b"{", False),
    "no UTF-8": (b"\xff", False),
    "empty": (b"", False),
}
HEADS = {
    "another agent": ({"path": path_of(uuid.UUID(int=1))}, False),
    "upper-case id": ({"path": "upper"}, False),
    "query": ({"path": "query"}, False),
    "trailing slash": ({"path": "slash"}, False),
    "POST": ({"method": "POST"}, False),
    "no token": ({"Authorization": ""}, False),
    "other scheme": ({"Authorization": "Basic eDp5"}, False),
    "lower-case scheme": ({"Authorization": "bearer {token}"}, False),
    "unknown token": ({"Authorization": "Bearer cp_pat_nothing"}, False),
    "text": ({"Content_Type": "text/plain"}, False),
    "charset": ({"Content_Type": "application/json; charset=utf-8"}, True),
    "no type": ({"Content_Type": "", "Content-Type": ""}, False),
    "evil host": ({"Host": "evil.example"}, False),
    "cookie": ({"Cookie": "cp-session=nothing"}, False),
    "forged request id": ({"X_Request_ID": "bad id\t"}, True),
}


@pytest.mark.parametrize("case", BODIES)
def test_a_body_is_answered_as_django_does(web, token, agent, case):
    body, usual = BODIES[case]

    fast, django, left = both(web, token, path_of(agent), body)

    assert fast == django
    assert (left == 0) is usual


@pytest.mark.parametrize("case", HEADS)
def test_a_head_is_answered_as_django_does(web, token, agent, case):
    given, usual = HEADS[case]
    given = dict(given)
    paths = {"upper": agent.upper(), "query": f"{agent}/heartbeat?x=1", "slash": f"{agent}/heartbeat/"}
    path = given.pop("path", path_of(agent))
    if path in paths:
        path = path_of(paths[path]) if path == "upper" else f"/api/v1/agents/{paths[path]}"
    if case == "no type":
        given = {"Content-Type": ""}
    headers = {name.replace("_", "-"): value.format(token=token) for name, value in given.items()}

    fast, django, left = both(web, token, path, text(BEAT), **headers)

    assert fast == django
    if case != "trailing slash":  # another path: it never comes to us
        assert (left == 0) is usual


def both(web, token, path, body, **headers):
    """What the fast path and Django answer, without what differs each time; and how many were left."""
    headers = {"X-Request-ID": "r-1", **headers}
    left = web.left_to_django
    fast = web.start(token, path, body, **headers).result(15)
    left = web.left_to_django - left
    django = web.start(token, path, body, to=web.router.bridge, **headers).result(15)
    return comparable(fast), comparable(django), left


def comparable(answer):
    """Status, headers without order and the body; times, jitter and new ids are blotted out in place."""
    body = answer.body.replace(answer["X-Request-ID"].encode(), b"id")
    body = re.sub(
        rb'"(last_heartbeat|lease_expires_at)":"20\d\d-\d\d-\d\dT[\d:]{8}(\.\d+)?Z"', rb'"\1":T', body
    )
    body = re.sub(rb'"next_heartbeat_in_seconds":\d\d\.\d', b'"next_heartbeat_in_seconds":N', body)
    headers = []
    for name, value in answer.headers:
        words = sorted(value.split(b"; ")) if name == b"content-security-policy" else value
        new = name in (b"x-request-id", b"content-length", b"ratelimit") and value != b"r-1"
        headers.append((name, "new" if new else words))
    return answer.status, sorted(headers, key=str), body


def test_both_ways_write_the_same_lease(web, token, agent):
    body = {"timestamp": "2026-11-21T09:30:00.123456+05:30", "consumer_lag": 7}

    rows = []
    for to in (None, web.router.bridge):
        assert web.beat(token, agent, body, to=to).status == 200
        row = Lease.objects.values().get()
        rows.append(row)

    assert row["expires_at"] - row["renewed_at"] == timedelta(seconds=90)
    moved = {"renewed_at", "expires_at"}
    first, second = ({name: row[name] for name in row if name not in moved} for row in rows)
    assert first == second
    assert rows[0]["renewed_at"] < rows[1]["renewed_at"]
    assert rows[0]["expires_at"] - rows[0]["renewed_at"] == timedelta(seconds=90)


def test_what_is_told_is_what_is_stored(web, token, agent):
    answer, fast = web.fast(token, agent)
    document, lease = json.loads(answer.body), Api(token).get(f"agents/{agent}").json()

    assert fast
    assert document["last_heartbeat"] == lease["last_heartbeat"]
    assert document["lease_expires_at"] == lease["lease_expires_at"]
    assert (document["generation"], document["directives"], document["configuration_etag"]) == (1, [], "")
    assert document["heartbeat_interval"] == 30
    assert 24 <= document["next_heartbeat_in_seconds"] <= 30


def test_generation_and_configuration_reach_the_agent(web, token, agent):
    register(token, "a1")
    Environment.objects.update(configuration_etag='"v7"')

    answer, fast = web.fast(token, agent)

    assert fast
    assert json.loads(answer.body)["generation"] == 2
    assert json.loads(answer.body)["configuration_etag"] == '"v7"'
    assert comparable(answer) == comparable(web.beat(token, agent, to=web.router.bridge))


def silence(state, **more):
    Agent.objects.update(state=state, **more)
    Lease.objects.update(expires_at=Now() - timedelta(seconds=5), generation=1)


def after_return():
    """What a return leaves behind, without the times that are its own."""
    agent, lease, event = Agent.objects.get(), Lease.objects.get(), Event.objects.latest("id")
    times = [agent.flapped_at, agent.steady_since, agent.state_since]
    return (
        (agent.state, agent.state_reason, round(agent.flap_penalty, 1), [time is None for time in times]),
        (lease.state, lease.consumer_lag, lease.reported_at, lease.expires_at - lease.renewed_at),
        (event.type, event.object_id, event.actor, event.request_id, event.data),
    )


@pytest.mark.parametrize("lag", [0, 500])
@pytest.mark.parametrize("state", ["unavailable", "unknown"])
def test_a_silent_agent_returns_both_ways_alike(web, token, agent, state, lag):
    body, differences = {**BEAT, "consumer_lag": lag}, []
    for to in (None, web.router.bridge):
        silence(state, flap_penalty=0, flapped_at=None, steady_since=None)
        left = web.left_to_django
        answer = web.beat(token, agent, body, to=to, X_Request_ID="back-1")
        assert web.left_to_django == left
        differences.append((comparable(answer), after_return()))

    assert differences[0] == differences[1]
    assert web.fast(token, agent, body)[1]


def test_who_comes_back_too_often_has_to_beat_first(web, token, agent):
    took = []
    for _ in range(3):
        silence("unavailable")
        took.append(web.fast(token, agent))

    states = [json.loads(answer.body)["health_status"] for answer, _ in took]
    assert ([fast for _, fast in took], states) == (
        [True, False, False],
        ["ready", "unavailable", "unavailable"],
    )


def test_a_silent_agent_does_not_return_with_the_token_of_another(web, token, agent):
    silence("unavailable")

    assert web.fast(token_for("agent"), agent)[0].status == 403
    assert Agent.objects.get().state == "unavailable"


def test_a_token_beats_no_more_once_the_token_it_was_created_with_is_revoked(web):
    operator = Api(token_for("admin"))
    first = operator.post("tokens", {"name": "first"}).json()
    child = Api(first["token"]).post("tokens", {"name": "child"}).json()["token"]
    agent = register(child, "a1")
    web.beat(child, agent)
    assert web.fast(child, agent)[1]

    operator.delete(f"tokens/{first['id']}")

    assert web.beat(child, agent).status == 401


def test_a_silent_agent_does_not_return_with_a_revoked_token(web, token, agent):
    silence("unavailable")
    revoke(token)

    assert web.fast(token, agent)[0].status == 401
    assert Agent.objects.get().state == "unavailable"


def test_what_is_more_than_a_return_is_left_to_django(web, token, agent):
    silence("unavailable", drain_reason="upgrade")
    answer, fast = web.fast(token, agent)
    assert (json.loads(answer.body)["health_status"], fast) == ("draining", False)

    silence("unknown", drain_reason="")
    answer, fast = web.fast(token, agent, {**BEAT, **REPORT})
    assert (json.loads(answer.body)["health_status"], fast) == ("ready", False)
    assert AgentReport.objects.get().versions == REPORT["versions"]


def test_a_fleet_that_returns_at_once_shares_a_transaction(web, token):
    agents = [register(token, f"r{n}") for n in range(20)]
    for agent in agents:
        web.beat(token, agent)
    silence("unavailable")
    left, events = web.left_to_django, threading.Event()
    web.router.heartbeats._recoveries._thread.submit(events.wait, 10)
    heartbeats = [web.start(token, path_of(agent), text(BEAT)) for agent in agents]
    time.sleep(0.3)
    events.set()

    assert [heartbeat.result(15).status for heartbeat in heartbeats] == [200] * 20
    assert web.left_to_django == left
    assert Agent.objects.filter(state="ready").count() == 20
    assert Event.objects.filter(type="agent.ready").count() == 20
    assert Agent.objects.values("state_since").distinct().count() <= 3


def test_who_was_retired_for_silence_returns_by_the_exact_way_and_is_fast_again(web, token, agent):
    Agent.objects.update(state="retired", retired_for_silence=True)

    answer, fast = web.fast(token, agent)

    assert (json.loads(answer.body)["health_status"], fast) == ("ready", False)
    assert web.fast(token, agent)[1]


def test_who_was_sent_away_is_told_to_go_and_yet_seen(web, token, agent):
    Agent.objects.update(state="retired")
    Lease.objects.update(renewed_at=Now() - timedelta(days=40))

    answer, fast = web.fast(token, agent)

    assert (answer.status, fast) == (410, False)
    assert Lease.objects.filter(renewed_at__gt=Now() - timedelta(minutes=1)).exists()


def test_a_congested_agent_stays_fast_while_it_is(web, token, agent):
    lag = {**BEAT, "consumer_lag": 500}

    took = [web.fast(token, agent, body) for body in (lag, lag, BEAT, BEAT)]

    assert [fast for _, fast in took] == [False, True, False, True]
    states = [json.loads(answer.body)["health_status"] for answer, _ in took]
    assert states == ["congested", "congested", "ready", "ready"]


def test_a_report_is_stored_once_and_costs_nothing_while_it_stays(web, token, agent):
    registration = {**BEAT, **REPORT}

    took = [web.fast(token, agent, body)[1] for body in (registration, registration, BEAT, registration)]
    changed = AgentReport.objects.get().changed_at
    took.append(web.fast(token, agent, {**registration, "versions": {"agent": "1.5"}})[1])

    assert took == [False, True, True, True, False]
    agent_body = Api(token).get(f"agents/{agent}").json()
    assert agent_body["versions"] == {"agent": "1.5"}
    assert agent_body["conditions"][0]["status"] == "false"
    assert agent_body["providers"] == [{"name": "kubevirt", "service_type": "vm", "status": "ready"}]
    assert AgentReport.objects.get().changed_at > changed


def test_a_report_that_stays_renews_its_providers_without_django(web, token, agent):
    api = Api(token)
    api.post(f"agents/{agent}/providers?id=p1", {**PROVIDER, "status": "ready"})
    body = {**BEAT, **REPORT}

    took = [web.fast(token, agent, body)[1] for _ in range(2)]
    Provider.objects.update(expires_at=Now() - timedelta(hours=1))
    Lease.objects.update(vouched_at=Now() - timedelta(seconds=60))
    before = api.get(f"agents/{agent}/providers/p1").json()["lease_expires_at"]
    took.append(web.fast(token, agent)[1])
    plain = api.get(f"agents/{agent}/providers/p1").json()["lease_expires_at"]
    took.append(web.fast(token, agent, body)[1])

    assert took == [False, True, True, True]
    assert plain == before
    assert api.get(f"agents/{agent}/providers/p1").json()["lease_expires_at"] > before


def test_while_failures_are_counted_django_looks_at_each_report(web, token, agent):
    api = Api(token)
    api.post(f"agents/{agent}/providers?id=p1", {**PROVIDER, "status": "ready"})
    failed = {**BEAT, "providers": [{"name": "kubevirt", "service_type": "vm", "status": "unavailable"}]}

    took = [web.fast(token, agent, failed)[1] for _ in range(4)]

    assert took == [False, False, False, True]
    assert api.get(f"agents/{agent}/providers/p1").json()["status"] == "unavailable"


def forget(secret):
    Token.objects.all().delete()


def revoke(secret):
    Token.objects.update(revoked_at=timezone.now())


def expire(secret):
    Token.objects.update(expires_at=timezone.now())


def switch_off(secret):
    Principal.objects.update(is_active=False)


def take_roles(secret):
    RoleBinding.objects.all().delete()


def narrow_role(secret):
    RoleBinding.objects.update(project="other")


def lesser_role(secret):
    RoleBinding.objects.update(role="viewer")


@pytest.mark.parametrize(
    ("change", "status"),
    [
        (forget, 401),
        (revoke, 401),
        (expire, 401),
        (switch_off, 401),
        (take_roles, 403),
        (narrow_role, 403),
        (lesser_role, 403),
    ],
)
def test_who_may_no_longer_beat_is_refused_at_once(web, token, agent, change, status):
    assert web.fast(token, agent)[1]

    change(token)

    answer, fast = web.fast(token, agent)
    assert (answer.status, fast) == (status, False)


def test_a_token_that_expires_by_itself_is_refused(web, token, agent):
    Token.objects.update(expires_at=Now() + timedelta(seconds=1))
    web.beat(token, agent)
    assert web.fast(token, agent)[1]

    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_sleep(1)")

    assert web.fast(token, agent)[0].status == 401


def test_nobody_beats_for_the_agent_of_another(web, token, agent):
    before = Lease.objects.values().get()

    answer, fast = web.fast(token_for("agent"), agent)

    assert (answer.status, fast) == (403, False)
    assert Lease.objects.values().get() == before


def test_a_revocation_that_meets_the_first_heartbeat_is_never_missed(web, token):
    """The permit is being given while the token is revoked: whoever comes second sees the other."""
    for number in range(10):
        secret = token_for("agent")
        agent_id = register(secret, f"m{number}")
        meet = threading.Barrier(2)

        def revoke_it(secret=secret, meet=meet):
            try:
                meet.wait(60)
                Token.objects.filter(digest=digest(secret)).update(revoked_at=timezone.now())
            finally:
                connections.close_all()

        with ThreadPoolExecutor(1) as pool:
            revoking = pool.submit(revoke_it)
            meet.wait(60)
            web.beat(secret, agent_id)
            revoking.result(10)

        assert web.beat(secret, agent_id).status == 401
        assert Lease.objects.get(agent_id=agent_id).token_digest is None


def test_many_at_once_share_statements_and_all_are_renewed(web, token, agent):
    agents = [agent, *(register(token, f"m{number}") for number in range(40))]
    for member in agents:
        web.beat(token, member)
    Lease.objects.update(renewed_at=Now() - timedelta(hours=1), expires_at=Now() - timedelta(hours=1))
    left, before = web.left_to_django, statements()

    under_way = [web.start(token, path_of(agent), text(BEAT)) for agent in agents * 5]
    answers = [heartbeat.result(15) for heartbeat in under_way]

    assert {answer.status for answer in answers} == {200}
    assert web.left_to_django == left
    assert not Lease.objects.filter(renewed_at__lt=Now() - timedelta(minutes=1)).exists()
    assert statements() - before < len(answers) / 2


def statements() -> int:
    """Transactions committed so far."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_stat_force_next_flush()")
        cursor.execute("SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()")
        return cursor.fetchone()[0]


def test_one_wrong_heartbeat_in_a_batch_hinders_no_other(web, token, agent):
    numbers = [register(token, f"m{number}") for number in range(5)]
    for one in numbers:
        web.beat(token, one)

    asked = [agent, uuid.uuid4(), *numbers]
    answers = [one.result(15) for one in [web.start(token, path_of(a), text(BEAT)) for a in asked]]

    assert [answer.status for answer in answers] == [200, 404, 200, 200, 200, 200, 200]


def test_a_row_that_somebody_holds_delays_and_is_then_renewed(web, token, agent):
    before = Lease.objects.get().renewed_at
    with transaction.atomic():
        Lease.objects.select_for_update().get()
        under_way = web.start(token, path_of(agent), text(BEAT))
        with pytest.raises(TimeoutError):
            under_way.result(0.5)

    assert under_way.result(15).status == 200
    assert Lease.objects.get().renewed_at > before


def test_it_survives_the_loss_of_its_connections(web, token, agent):
    assert web.fast(token, agent)[1]
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE application_name = 'controlplane-heartbeats'"
        )

    answers = [web.beat(token, agent).status for _ in range(5)]
    threading.Event().wait(0.4)

    assert answers == [200] * 5
    web.beat(token, agent)
    assert web.fast(token, agent)[1]


def test_heartbeats_stay_in_place(web, token, agent):
    before = updates()
    for _ in range(50):
        assert web.fast(token, agent)[1]
    web.worker.run(web.router.heartbeats._batches.close())  # a session that ends writes its figures
    # Whoever closes a connection does not wait for the end of its session.
    deadline = time.monotonic() + 10
    while updates()[0] - before[0] < 50 and time.monotonic() < deadline:
        threading.Event().wait(0.05)

    updated, in_place = (after - earlier for after, earlier in zip(updates(), before, strict=True))

    assert updated >= 50
    assert updated - in_place <= 3  # registering and the first heartbeat


def updates() -> tuple[int, int]:
    """Updates of leases so far, and those in place (HOT)."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_stat_force_next_flush()")
        cursor.execute(
            "SELECT n_tup_upd, n_tup_hot_upd FROM pg_stat_user_tables WHERE relname = 'registry_lease'"
        )
        return cursor.fetchone()


def test_a_large_fleet_is_told_a_longer_interval_by_both_ways(web, token, agent):
    SweepRecord.objects.update(live_count=400_000)
    policies.forget_fleet()
    web.beat(token, agent)  # after this statement the worker knows

    fast, was_fast = web.fast(token, agent)
    django = web.beat(token, agent, to=web.router.bridge)

    assert was_fast
    assert json.loads(fast.body)["heartbeat_interval"] == 112
    assert json.loads(django.body)["heartbeat_interval"] == 112
    lease = Lease.objects.get()
    assert lease.expires_at - lease.renewed_at == timedelta(seconds=336)


@pytest.mark.parametrize(
    ("own", "environments", "seconds"),
    [(1800, None, 1800), (None, 600, 600), (1800, 600, 1800), (600, 1800, 600), (None, None, 90)],
)
def test_a_lease_that_is_set_is_granted_by_both_ways(web, token, agent, own, environments, seconds):
    Lease.objects.update(lease_seconds=own)
    Environment.objects.filter(name="prod").update(lease_seconds=environments)
    other = register(token, "other")
    Lease.objects.filter(agent_id=other).update(environment=None, lease_seconds=None)
    web.beat(token, other)

    answer, fast = web.fast(token, agent)
    other_answer, _ = web.fast(token, other)
    stored = Lease.objects.get(agent_id=agent)

    assert fast
    assert json.loads(answer.body)["lease_seconds"] == seconds
    assert stored.expires_at - stored.renewed_at == timedelta(seconds=seconds)
    assert (
        json.loads(answer.body)["lease_expires_at"]
        == Api(token).get(f"agents/{agent}").json()["lease_expires_at"]
    )
    assert comparable(answer) == comparable(web.beat(token, agent, to=web.router.bridge))
    assert json.loads(other_answer.body)["lease_seconds"] == 90


def test_the_process_that_holds_the_name_is_taken_fast_and_another_is_refused_by_both_ways(web, token, agent):
    first, second = ({**BEAT, "instance_uuid": str(uuid.UUID(int=number))} for number in (1, 2))

    took = [web.fast(token, agent, body)[1] for body in (first, first, BEAT)]
    refused, fast = web.fast(token, agent, second)
    django = web.beat(token, agent, second, to=web.router.bridge)

    assert (took, fast) == ([False, True, True], False)
    assert (refused.status, django.status) == (409, 409)
    assert json.loads(refused.body)["code"] == json.loads(django.body)["code"] == "duplicate_instance"
    assert 1 <= int(refused["Retry-After"]) <= 45
    assert Lease.objects.get().instance_uuid == uuid.UUID(int=1)


def test_a_silent_agent_returns_fast_only_in_the_process_that_holds_the_name(web, token, agent):
    first, second = ({**BEAT, "instance_uuid": str(uuid.UUID(int=number))} for number in (1, 2))
    web.beat(token, agent, first)
    silence("unavailable", flap_penalty=0, flapped_at=None, steady_since=None)

    assert web.fast(token, agent, second)[0].status == 409
    assert Agent.objects.get().state == "unavailable"
    answer, fast = web.fast(token, agent, first)
    assert (answer.status, fast, Agent.objects.get().state) == (200, True, "ready")


def test_who_is_switched_off_between_its_heartbeat_and_its_permit_gets_none(web, token):
    """The heartbeat is recorded, and its permit waits for the lock on the token."""
    agent = register(token, "a1")
    with transaction.atomic():
        Token.objects.select_for_update().get(digest=digest(token))
        under_way = web.start(token, path_of(agent), text(BEAT))
        until(lambda: Lease.objects.get().reported_at is not None)
        time.sleep(0.2)  # it waits for the token's row now
        assert not under_way.done()
        Principal.objects.filter(tokens__digest=digest(token)).update(is_active=False)

    assert under_way.result(15).status == 200
    assert Lease.objects.get().token_digest is None
    answer, fast = web.fast(token, agent)
    assert (answer.status, fast) == (401, False)


def test_fast_heartbeats_are_counted(web, token, agent):
    web.fast(token, agent)

    web.router.heartbeats._metrics.write()

    text = Api(token_for("viewer")).get("/metrics").content.decode()
    assert re.search(
        r'cp_http_requests_total\{code_class="2xx",method="PUT",route="api/v1/agents/<uuid', text
    )


def test_a_token_that_only_beats_is_known_to_be_in_use(web, token, agent):
    Token.objects.update(last_used_at=Now() - timedelta(hours=3))
    assert web.fast(token, agent)[1]

    assert [note_token_uses(), note_token_uses()] == [1, 0]

    assert Token.objects.get(digest=digest(token)).last_used_at == Lease.objects.get().renewed_at


def test_nothing_is_told_before_the_commit(web, token, agent):
    """The statement succeeds and its commit fails: nobody may hear that a heartbeat was taken."""
    agents = [agent, *(register(token, f"m{number}") for number in range(30))]
    for member in agents:
        web.beat(token, member)
    before = dict(Lease.objects.values_list("agent_id", "renewed_at"))
    with connection.cursor() as cursor:
        cursor.execute(_FAILS_AT_COMMIT)
    try:
        answers = [agent.result(30) for agent in [web.start(token, path_of(a), text(BEAT)) for a in agents]]
    finally:
        with connection.cursor() as cursor:
            cursor.execute("DROP FUNCTION fail_at_commit() CASCADE")

    assert {answer.status for answer in answers} <= {500, 503}
    assert dict(Lease.objects.values_list("agent_id", "renewed_at")) == before


_FAILS_AT_COMMIT = """
CREATE FUNCTION fail_at_commit() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN RAISE EXCEPTION 'not this time'; END $$;
CREATE CONSTRAINT TRIGGER fails_at_commit AFTER UPDATE ON registry_lease
DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION fail_at_commit();
"""
