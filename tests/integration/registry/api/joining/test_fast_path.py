"""Joins through the plain view and through the fast path: the same cases, answers and traces."""

from __future__ import annotations

import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest
from django.conf import settings
from django.db import connection
from django.db.models.functions import Now

from controlplane.access.models import AuditRecord, Principal, RoleBinding, Token
from controlplane.access.teams.teams import create_team
from controlplane.asgi import Router
from controlplane.events.models import Event
from controlplane.pools.models import PoolUsage
from controlplane.pools.pools import PoolSpec, create_pool
from controlplane.web import thread_batches
from registry.agents import policies
from registry.agents.models import Agent, Lease
from registry.api.agents import schemas
from registry.api.joining.fast_requests import read_registration
from registry.joining import join
from registry.joining.models import JoinToken
from registry.task_types.models import ServedTaskType
from tests.support.api_client import ACTOR, AGENT, Api, token_for
from tests.support.asgi_client import Worker, close_connections
from tests.support.waiting import until

PATH = "/api/v1/agents:join"
FULL = {
    **AGENT,
    "service_types": ["vm", "container", "vm"],
    "resources_available": {"total_cpu": 8, "total_memory": "1TB"},
    "labels": {"team": "ml", "x.io/tier": ""},
    "capacity": 3,
    "task_types": [{"name": "spark", "version": "3.5"}, {"name": "ray"}, {"name": "ray"}],
}


class Web:
    """A web worker of our own. taken: how many joins the fast path has answered."""

    def __init__(self) -> None:
        self.worker = Worker(Router)
        self.router = self.worker.application
        self.left_to_django = 0
        django = self.router.joins._django

        async def left(*request):
            self.left_to_django += 1
            await django(*request)

        self.router.joins._django = left

    def start(self, secret, body, *, to=None, path=PATH, **headers):
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        all_headers = {"Authorization": f"Bearer {secret}", "Content-Type": "application/json", **headers}
        return self.worker.start("POST", path, content, to=to, **all_headers)

    def join(self, secret, body, **how):
        """Join, and say whether the fast path took it."""
        left = self.left_to_django
        answer = self.start(secret, body, **how).result(15)
        return answer, self.left_to_django == left

    def stop(self) -> None:
        close_connections(self.router.bridge.pool, settings.WEB_THREADS)
        for part in (self.router.joins, self.router.heartbeats, self.router.effective):
            self.worker.run(part.close())
        self.worker.run(self.router.bridge.close(5))
        self.worker.stop()


@pytest.fixture(scope="module")
def running():
    web = Web()
    yield web
    web.stop()


@pytest.fixture
def web(running, transactional_db):
    """It has learned what a head of Django's has in it, and nobody has joined."""
    policies.forget_fleet()
    answer, _ = running.join(invite(), named("first"))
    assert answer.status == 201
    forget_everybody()
    return running


def forget_everybody() -> None:
    for model in (Agent, Principal, JoinToken):
        model.objects.all().delete()
    with connection.cursor() as cursor:
        cursor.execute("TRUNCATE events_event, access_auditrecord")


def invite(**more) -> str:
    token_body = {"name": "fleet", "name_pattern": "*", "uses": 100, **more}
    answer = Api(token_for("admin")).post("join-tokens", token_body)
    assert answer.status_code == 201, answer.content
    return answer.json()["token"]


def named(name, **more):
    return {**AGENT, "name": name, "topic_name": f"dcm.agent.{name}", **more}


def traces(since):
    """What a join leaves behind, without what is different each time."""
    return (
        list(AuditRecord.objects.filter(id__gt=since).values_list("action", "object_type").order_by("id")),
        sorted(Event.objects.filter(object_type="agent").values_list("type", flat=True)),
        list(Agent.objects.values_list("state", "state_reason", "service_types", "labels", "capacity")),
        list(Lease.objects.values_list("state", "generation", "consumer_lag")),
        sorted(ServedTaskType.objects.values_list("name", "version")),
        list(JoinToken.objects.values_list("uses_left", flat=True)),
        list(RoleBinding.objects.filter(principal__name__startswith="agent.").values_list("role", "domain")),
        list(Token.objects.filter(principal__name__startswith="agent.").values_list("name", "expires_at")),
    )


def last_audit() -> int:
    return AuditRecord.objects.order_by("-id").values_list("id", flat=True).first() or 0


def used_up() -> None:
    JoinToken.objects.update(uses_left=0)


def revoke() -> None:
    JoinToken.objects.update(revoked_at=Now())


def expire() -> None:
    JoinToken.objects.update(expires_at=Now())


def take_the_name() -> None:
    Api(token_for("agent")).post("agents", named("a1", topic_name="dcm.agent.other"))


def take_the_topic() -> None:
    Api(token_for("agent")).post("agents", named("other", topic_name="dcm.agent.a1"))


def nothing() -> None:
    """A token as it was made."""


# Terms of the token, what happens before, the body, the answer, and whether the fast path gives it.
CASES = {
    "new": ({}, nothing, FULL, 201, True),
    "waits for approval": ({"needs_approval": True}, nothing, AGENT, 201, True),
    "last use": ({"uses": 1}, nothing, AGENT, 201, True),
    "name taken": ({}, take_the_name, AGENT, 409, False),
    "topic taken": ({}, take_the_topic, AGENT, 409, False),
    "taken over": ({"may_take_over": True}, take_the_name, AGENT, 200, False),
    "used up": ({}, used_up, AGENT, 401, False),
    "revoked": ({}, revoke, AGENT, 401, False),
    "expired": ({}, expire, AGENT, 401, False),
    "another name": ({"name_pattern": "b*"}, nothing, AGENT, 400, False),
    "another environment": ({"environment": "dev"}, nothing, AGENT, 400, False),
    "another service": ({"service_types": ["gpu"]}, nothing, AGENT, 400, False),
    "bad body": ({}, nothing, {**AGENT, "cost": "free"}, 400, False),
    "no object": ({}, nothing, b"[]", 400, False),
}


def comparable(body):
    """An answer's body without what is different each time."""
    text = json.loads(body)
    text.pop("request_id", None)
    agent = text.get("agent", {})
    for name in ("agent_id", "next_heartbeat_in_seconds", "state_since", "create_time", "update_time"):
        agent.pop(name, None)
    for name in ("last_heartbeat", "lease_expires_at"):
        agent.pop(name, None)
    return {**text, "token": (text.get("token") or "")[:7]}


@pytest.mark.parametrize("case", CASES)
def test_both_ways_answer_the_same_and_leave_the_same(web, case):
    terms, before, body, status, fast = CASES[case]
    outcomes = []
    for to in (None, web.router.bridge):
        forget_everybody()
        secret = invite(**terms)
        before()
        since = last_audit()
        answer, took = web.join(secret, body, to=to)
        assert answer.status == status, answer.body
        assert took is (fast or to is not None)
        heads = sorted(name for name, _ in answer.headers)
        outcomes.append((comparable(answer.body), heads, traces(since)))

    assert outcomes[0] == outcomes[1]


def test_what_is_told_is_what_is_stored_and_the_credential_beats_at_once(web):
    answer, took = web.join(invite(), FULL, X_Request_ID="storm-1")
    document = json.loads(answer.body)
    agent_id = document["agent"]["agent_id"]

    assert (took, answer["x-request-id"]) == (True, "storm-1")
    body = Api(token_for("admin")).get(f"agents/{agent_id}").json()
    steady = {**body, "next_heartbeat_in_seconds": 0}
    assert {**document["agent"], "next_heartbeat_in_seconds": 0} == steady
    row = AuditRecord.objects.get(action="agent.registered")
    principal = Principal.objects.get(name=row.actor)
    assert (row.request_id, row.actor_id, row.before) == ("storm-1", principal.id, None)
    assert not principal.has_usable_password()
    assert Agent.objects.get().registered_by == principal.id
    # The fast heartbeats know the new token, and an unavailable Django does not matter to them.
    lease = Lease.objects.get()
    assert bytes(lease.token_digest) == bytes(Token.objects.get(principal=principal).digest)
    beat = {"timestamp": "2026-11-21T09:30:00Z", "consumer_lag": 0}
    assert Api(document["token"]).put(f"agents/{agent_id}/heartbeat", beat).status_code == 200


@pytest.mark.parametrize(
    ("how", "headers"),
    [
        ({"path": PATH + "?dry_run=true"}, {}),
        ({}, {"Cookie": "a=b"}),
        ({}, {"Authorization": "bearer {}"}),
    ],
)
def test_what_is_unusual_is_left_to_django(web, how, headers):
    secret = invite()
    answer, took = web.join(
        secret, AGENT, **how, **{name: value.format(secret) for name, value in headers.items()}
    )

    assert (answer.status, took) == (201, False)
    assert Agent.objects.exists() is not bool(how)


def test_a_join_with_a_key_is_fast_and_its_repetition_is_djangos(web):
    secret = invite(uses=2)

    first, took = web.join(secret, AGENT, Idempotency_Key="k1")
    again, took_again = web.join(secret, AGENT, Idempotency_Key="k1")
    other, took_other = web.join(secret, named("a2"), Idempotency_Key="k2")

    assert [first.status for first in (first, again, other)] == [201, 201, 201]
    assert (took, took_again, took_other) == (True, False, True)
    document, told_again = json.loads(first.body), json.loads(again.body)
    assert document["agent"]["agent_id"] == told_again["agent"]["agent_id"]
    assert document["token"] != told_again["token"]
    assert JoinToken.objects.get().uses_left == 0
    assert Token.objects.filter(principal__name__startswith="agent.", revoked_at=None).count() == 2


def test_a_bad_key_is_refused_by_both_ways(web):
    assert [
        web.join(invite(), AGENT, Idempotency_Key="a b", to=to)[0].status for to in (None, web.router.bridge)
    ] == [400, 400]


def test_one_key_many_times_in_a_batch_lets_one_agent_in(web):
    secret = invite()
    release = threading.Event()
    web.router.joins._batches._thread.submit(release.wait, 10)
    joins = [web.start(secret, AGENT, Idempotency_Key="k1") for _ in range(6)]
    time.sleep(0.2)
    release.set()
    answers = [join.result(15) for join in joins]

    assert {answer.status for answer in answers} <= {201, 409}
    assert JoinToken.objects.get().uses_left == 99
    assert Agent.objects.count() == 1
    assert Token.objects.filter(principal__name__startswith="agent.", revoked_at=None).count() == 1


def at_once(web, secrets, bodies):
    """Ask all while the thread of the batches is held, so that they form one batch."""
    release = threading.Event()
    web.router.joins._batches._thread.submit(release.wait, 10)
    joins = [web.start(secret, body) for secret, body in zip(secrets, bodies, strict=True)]
    time.sleep(0.2)
    release.set()
    return [join.result(15) for join in joins]


def test_many_in_one_batch_share_a_transaction_and_each_has_its_own(web):
    secret = invite(uses=50)

    answers = at_once(web, [secret] * 50, [named(f"m{n}") for n in range(50)])

    bodies = [json.loads(answer.body) for answer in answers]
    assert [answer.status for answer in answers] == [201] * 50
    assert [body["agent"]["name"] for body in bodies] == [f"m{n}" for n in range(50)]
    assert len({body["token"] for body in bodies}) == 50
    assert Agent.objects.values("created_at").distinct().count() <= 2
    assert AuditRecord.objects.filter(action="agent.registered").count() == 50
    assert JoinToken.objects.get().uses_left == 0


def test_one_that_is_refused_hurts_no_other(web):
    good, bad = invite(), invite(name_pattern="b*")
    take_the_name()
    bodies = [named("x1"), named("a1"), named("x2"), named("x3", cost="free"), named("x4")]

    answers = at_once(web, [good, good, bad, good, good], bodies)

    assert [answer.status for answer in answers] == [201, 409, 400, 400, 201]


def test_of_two_with_one_name_in_a_batch_one_joins(web):
    secret = invite()

    answers = at_once(web, [secret] * 2, [AGENT] * 2)

    assert sorted(answer.status for answer in answers) == [201, 409]
    assert JoinToken.objects.get().uses_left == 99
    assert Principal.objects.filter(name__startswith="agent.").count() == 1


def test_a_token_with_three_uses_lets_three_of_ten_in(web):
    few, many = invite(uses=3), invite()

    answers = at_once(web, [few] * 10 + [many], [named(f"t{n}") for n in range(11)])

    assert sorted(answer.status for answer in answers[:10]) == [201] * 3 + [401] * 7
    assert answers[10].status == 201
    assert Agent.objects.count() == 4
    assert sorted(JoinToken.objects.values_list("uses_left", flat=True)) == [0, 99]


def test_a_full_quota_of_a_team_refuses_its_agents_and_no_others(web):
    create_team("ml", actor=ACTOR)
    create_pool("quota:agents:ml", PoolSpec(3), team=None, actor=ACTOR)
    few, many = invite(team="ml"), invite()

    answers = at_once(web, [few, many] * 6, [named(f"t{n}") for n in range(12)])

    assert sorted(answer.status for answer in answers[::2]) == [201] * 3 + [409] * 3
    assert {json.loads(answer.body).get("code", "") for answer in answers[::2]} == {"", "quota_exceeded"}
    assert [answer.status for answer in answers[1::2]] == [201] * 6
    assert sorted(JoinToken.objects.values_list("uses_left", flat=True)) == [94, 97]


def test_a_batch_that_fits_its_quota_stays_on_the_fast_path(web):
    create_pool("quota:agents", PoolSpec(6), team=None, actor=ACTOR)
    secret, left = invite(), web.left_to_django

    answers = at_once(web, [secret] * 6, [named(f"t{n}") for n in range(6)])

    assert [answer.status for answer in answers] == [201] * 6
    assert web.left_to_django == left
    assert PoolUsage.objects.get().used == 6


def test_two_workers_that_meet_count_every_use(web):
    """Django and the fast path take the same token at once."""
    secret = invite(uses=20)
    with ThreadPoolExecutor(4) as pool:
        joins = [
            pool.submit(web.join, secret, named(f"w{n}"), to=None if n % 2 else web.router.bridge)
            for n in range(30)
        ]
        statuses = sorted(join.result(20)[0].status for join in joins)

    assert statuses == [201] * 20 + [401] * 10
    assert Agent.objects.count() == 20


def test_a_connection_lost_in_mid_batch_leaves_nothing_and_the_agent_joins_all_the_same(web, monkeypatch):
    """The batch is rolled back, and Django takes its joins one by one."""
    secret, lost = invite(), []
    bind = join.bind_roles

    def lose(enrolments):
        bind(enrolments)
        if not lost:
            lost.append(Agent.objects.count())
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_terminate_backend(pg_backend_pid())")

    monkeypatch.setattr(join, "bind_roles", lose)
    answers = at_once(web, [secret] * 5, [named(f"l{n}") for n in range(5)])

    assert lost[0] >= 1
    assert [answer.status for answer in answers] == [201] * 5
    assert Agent.objects.count() == Lease.objects.count() == 5
    assert Principal.objects.filter(name__startswith="agent.").count() == 5
    assert JoinToken.objects.get().uses_left == 95
    time.sleep(0.3)
    assert web.join(secret, named("later"))[1]


# Bodies that the fast path takes must mean to Django what they mean to it.
BODIES = [
    AGENT,
    FULL,
    {**AGENT, "service_types": []},
    {**AGENT, "resources_available": None, "capacity": None, "labels": {}, "task_types": []},
    {**AGENT, "name": "with space", "labels": {"a": "b" * 63}},
    {**AGENT, "name": "ä"},
    {**AGENT, "name": ""},
    {**AGENT, "name": "x" * 256},
    {**AGENT, "name": "a\n"},
    {**AGENT, "name": 5},
    {**AGENT, "cost": "LOW"},
    {**AGENT, "topic_name": "dcm.agent.a\n"},
    {**AGENT, "topic_name": "dcm.agent.*"},
    {**AGENT, "capacity": 1.0},
    {**AGENT, "capacity": True},
    {**AGENT, "capacity": -1},
    {**AGENT, "capacity": 2**31},
    {**AGENT, "labels": {"bad name": "x"}},
    {**AGENT, "labels": {"a": 5}},
    {**AGENT, "labels": {"a": "x\n"}},
    {**AGENT, "labels": {"a\n": "x"}},
    {**AGENT, "labels": {f"l{n}": "" for n in range(65)}},
    {**AGENT, "resources_available": {"total_gpu": 1}},
    {**AGENT, "resources_available": {}},
    {**AGENT, "task_types": [{"name": "a b"}]},
    {**AGENT, "task_types": None},
    {**AGENT, "unknown": 1},
    {**AGENT, "instance_uuid": "00000000-0000-4000-8000-000000000001"},
    {**AGENT, "instance_uuid": None},
    {**AGENT, "instance_uuid": "00000000-0000-4000-8000-00000000000A"},
    {**AGENT, "instance_uuid": "00000000000040008000000000000001"},
    {**AGENT, "instance_uuid": "urn:uuid:00000000-0000-4000-8000-000000000001"},
    {**AGENT, "instance_uuid": "x"},
    {**AGENT, "instance_uuid": 5},
    {**AGENT, "topic_name": "dcm.agent." + "x" * 239},
    {**AGENT, "topic_name": "dcm.agent." + "x" * 240},
    {name: AGENT[name] for name in AGENT if name != "cost"},
]


RARE = (
    {**AGENT, "name": "ä"},
    {**AGENT, "labels": {"a": 5}},
    {**AGENT, "instance_uuid": "urn:uuid:00000000-0000-4000-8000-000000000001"},
)


@pytest.mark.parametrize("body", BODIES, ids=lambda body: json.dumps(body)[-60:])
def test_what_the_fast_path_reads_django_reads_alike(body):
    fast = read_registration(json.dumps(body).encode())
    parsed = schemas.AgentRegistrationWrite(data=body)

    if fast is not None:
        assert parsed.is_valid(), parsed.errors
        assert schemas.registration_from(dict(parsed.validated_data)) == fast
    elif parsed.is_valid():  # left to Django without need: only what is rare
        assert body in RARE


def test_a_member_that_is_said_twice_is_left_to_django():
    body = json.dumps(AGENT)[:-1] + ', "name": "b"}'

    assert read_registration(body.encode()) is None


def test_a_teams_token_is_taken_by_the_fast_path_and_its_agent_belongs_to_the_team(web):
    team = create_team("zqours", actor=ACTOR)
    plain, fast = invite(team="zqours"), invite(team="zqours")

    answer, was_fast = web.join(fast, named("a1"))
    by_django = Api(plain).post("agents:join", named("a2"))

    assert (answer.status, by_django.status_code, was_fast) == (201, 201, True)
    assert json.loads(answer.body)["agent"]["team"] == by_django.json()["agent"]["team"] == "zqours"
    assert list(Agent.objects.values_list("team_id", flat=True)) == [team.id, team.id]
    bindings = RoleBinding.objects.filter(principal__name__startswith="agent.")
    assert list(bindings.values_list("owned_by_id", flat=True)) == [team.id, team.id]
    joins = Event.objects.filter(type__in=["agent.registered", "role.bound"], team_id=team.id)
    assert sorted(joins.values_list("type", flat=True)) == ["agent.registered"] * 2 + ["role.bound"] * 2


@pytest.fixture
def no_standby(services, settings):
    """Commits wait for a standby that does not exist. Call it to let them go on."""
    settings.DATABASE_COMMIT_WAIT_SECONDS = 0.5
    with psycopg.connect(services.environment["DATABASE_URL"], autocommit=True) as administrator:

        def configure(*statements: str) -> None:
            for statement in statements:
                administrator.execute(statement)
            administrator.execute("SELECT pg_reload_conf()")

        configure("ALTER SYSTEM SET synchronous_standby_names = 'missing'")
        until(lambda: administrator.execute("SHOW synchronous_standby_names").fetchone()[0] == "missing")
        yield lambda: configure("ALTER SYSTEM RESET synchronous_standby_names")
        configure("ALTER SYSTEM RESET synchronous_standby_names")


def test_a_join_that_may_have_been_committed_is_not_tried_again(web, no_standby, monkeypatch):
    """Tried again, it would find its own name in use, and be refused as if somebody else had it."""
    secret = invite()
    monkeypatch.setattr(
        thread_batches, "_LIMITS", f"{thread_batches._LIMITS}; SET LOCAL synchronous_commit = on"
    )

    answer, _ = web.join(secret, AGENT)
    assert (answer.status, json.loads(answer.body)["code"]) == (503, "outcome_unknown")
    assert answer["Retry-After"] == "2"

    no_standby()
    until(lambda: Agent.objects.count() == 1, 60)
    assert JoinToken.objects.get().uses_left == 99
