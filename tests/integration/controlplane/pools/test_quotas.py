"""Quotas in Postgres: exact however many create at once, and free of cost where there are none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.db import close_old_connections, connection, connections, transaction
from django.db.models.functions import Now
from django.test.utils import CaptureQueriesContext

from controlplane.access.team_models import Team
from controlplane.database.clock import database_now
from controlplane.delivery.models import Sink
from controlplane.delivery.sink_terms import SinkTerms
from controlplane.delivery.sinks import create_sink
from controlplane.errors import InvalidRequest, QuotaExceeded
from controlplane.identity.actors import Actor
from controlplane.pools import drift, quotas
from controlplane.pools.limits import LimitSpec, put_limit
from controlplane.pools.models import Pool, PoolLease, PoolUsage
from controlplane.pools.pools import PoolSpec, change_pool, create_pool
from controlplane.pools.quota_rules import quota_named
from controlplane.pools.redis_door import leases
from controlplane.preconditions import Precondition
from controlplane.scopes import Scope
from overrides.editing.writes import put_override
from overrides.file_source.synchronise import synchronise
from overrides.models import Override
from overrides.resolution.addresses import Address
from registry.agents.models import Agent
from registry.agents.policies import liveness_policy
from registry.agents.states import Cost
from registry.joining.join import JoinRequest, JoinResult, join, join_many
from registry.joining.join_tokens import JoinTokenSpec, create_join_token
from registry.joining.models import JoinToken
from registry.joining.registration import Registration
from registry.joining.terms import JoinTerms
from tests.support.api_client import ACTOR, make_principal, make_project, token_for

THREADS, LIMIT = 16, 5


@pytest.fixture(autouse=True)
def _settings(settings):
    settings.OUTGOING_ALLOWED_NETWORKS = ["203.0.113.0/24"]


def quota(name: str, limit: int = LIMIT) -> Pool:
    return create_pool(f"quota:{name}", PoolSpec(limit), team=None, actor=ACTOR)


def invite(team: Team | None = None, uses: int = 100) -> JoinToken:
    spec = JoinTokenSpec(
        JoinTerms("*", "", frozenset()), database_now() + timedelta(hours=1), uses, team=team
    )
    return create_join_token("fleet", spec, actor=ACTOR)[0]


def agent(name: str) -> Registration:
    return Registration(
        name=name,
        environment="prod",
        service_types=("vm",),
        cost=Cost.LOW,
        topic_name=f"dcm.agent.{name}",
        resources_available=None,
    )


def sink(name: str) -> None:
    principal = make_principal("admin")
    actor = Actor(principal.id, principal.name, "r")
    create_sink(SinkTerms(name, {"url": "https://203.0.113.7/hook"}), team=None, actor=actor)


def accepted(work: Callable[[int], int]) -> int:
    """Return how many of what all threads tried at once were accepted."""

    def one(number: int) -> int:
        close_old_connections()
        try:
            return work(number)
        except QuotaExceeded:
            return 0
        finally:
            connections.close_all()

    with ThreadPoolExecutor(THREADS) as threads:
        return sum(threads.map(one, range(THREADS)))


def join_all(token: JoinToken, names: Sequence[str]) -> int:
    """Join in one batch, and by themselves those that the batch leaves; return how many joined."""
    policy = liveness_policy()
    requests = [JoinRequest(bytes(token.digest), agent(name), "r") for name in names]
    results: list[JoinResult | None] = join_many(requests, policy)
    joined = sum(result is not None for result in results)
    for request, result in zip(requests, results, strict=True):
        if result is None:
            try:
                join(token, request.registration, request_id="r", policy=policy)
                joined += 1
            except QuotaExceeded:
                continue
    return joined


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("batch", [1, 2])
def test_as_many_agents_join_at_once_as_the_quota_allows(batch):
    """By themselves; and in batches, which are rolled back as a whole where they do not fit."""
    pool, token = quota("agents"), invite()
    joined = accepted(lambda n: join_all(token, [f"a{n}-{turn}" for turn in range(batch)]))
    assert joined == Agent.objects.count() == LIMIT
    assert JoinToken.objects.get().uses_left == 100 - LIMIT
    assert PoolUsage.objects.get(pool=pool).used == LIMIT


@pytest.mark.django_db(transaction=True)
def test_as_many_overrides_are_written_at_once_as_a_scope_may_have():
    make_project("ml")
    pool = quota("override-documents", 100)
    put_limit(
        pool, Scope(project="ml"), LimitSpec(LIMIT), precondition=Precondition(any_version=True), actor=ACTOR
    )

    def write(number: int) -> int:
        place = Scope("development", "ml", f"w{number}")
        put_override(Address("task_resource", place), {"limits": {"cpu": "1"}}, actor=ACTOR)
        return 1

    assert accepted(write) == Override.objects.count() == LIMIT


@pytest.mark.django_db(transaction=True)
def test_as_many_sinks_are_created_at_once_as_the_quota_allows():
    quota("sinks")

    def create(number: int) -> int:
        # As in a request with an Idempotency-Key, whose transaction is longer.
        with transaction.atomic():
            sink(f"s{number}")
            connection.cursor().execute("SELECT pg_sleep(0.01)")
        return 1

    assert accepted(create) == Sink.objects.count() == LIMIT


def own_statements(captured: CaptureQueriesContext) -> list[str]:
    """Return statements that do nothing but look for quotas."""
    return [sql for query in captured if (sql := str(query["sql"])).startswith('SELECT "pools_pool"')]


def test_without_quotas_joins_and_writes_make_no_statement_more(db):
    token = invite()
    make_project("ml")
    with CaptureQueriesContext(connection) as captured:
        assert join_many([JoinRequest(bytes(token.digest), agent("a1"), "r")], liveness_policy()) != [None]
        put_override(Address("task_resource", Scope()), {"limits": {"cpu": "1"}}, actor=ACTOR)
    assert own_statements(captured) == []
    quota("agents")
    with CaptureQueriesContext(connection) as captured:
        assert join_many([JoinRequest(bytes(token.digest), agent("a2"), "r")], liveness_policy()) != [None]
    assert len(own_statements(captured)) == 1


def test_a_quota_of_another_thing_or_team_refuses_nothing(db):
    Team.objects.create(slug="ml")
    quota("agents:ml", 0)
    quota("sinks", 0)
    quota("join-tokens", 9)
    token = invite()
    assert join_many([JoinRequest(bytes(token.digest), agent("a1"), "r")], liveness_policy()) != [None]


def test_files_are_not_refused(db, settings, tmp_path):
    quota("override-documents", 0)
    settings.OVERRIDES_SOURCE, settings.OVERRIDES_PATH = "file", str(tmp_path)
    (tmp_path / "all.yaml").write_text("kind: overrides\nspec:\n  taskResources: {limits: {cpu: '1'}}\n")
    assert synchronise() == "current"
    quotas.recount()
    assert (Override.objects.count(), PoolUsage.objects.get().used) == (1, 1)


def test_what_exists_when_a_quota_is_defined_counts(db):
    token = invite()
    join_many([JoinRequest(bytes(token.digest), agent("a1"), "r")], liveness_policy())
    pool = quota("agents", 1)
    assert PoolUsage.objects.get(pool=pool).used == 1
    with pytest.raises(QuotaExceeded):
        join(token, agent("a2"), request_id="r", policy=liveness_policy())
    change_pool(pool, PoolSpec(2), precondition=None, actor=ACTOR)
    assert join(token, agent("a2"), request_id="r", policy=liveness_policy()).created


def test_a_join_token_that_ends_makes_room(db):
    pool = quota("join-tokens", 1)
    token = invite()
    with pytest.raises(QuotaExceeded), transaction.atomic():
        invite()
    JoinToken.objects.filter(id=token.id).update(expires_at=Now())
    invite()
    assert PoolUsage.objects.get(pool=pool).used == 1


def usage(pool: Pool) -> dict[Scope, int]:
    return {row.scope: row.used for row in PoolUsage.objects.filter(pool=pool, used__gt=0)}


def test_the_recount_finds_what_went_in_any_way_at_every_wide_scope(db):
    make_project("ml")
    pool = quota("override-documents", 9)
    put_override(Address("task_resource", Scope("production")), {"limits": {"cpu": "1"}}, actor=ACTOR)
    for workflow in ("w1", "w2"):
        place = Scope("development", "ml", workflow)
        put_override(Address("task_resource", place), {"limits": {"cpu": "1"}}, actor=ACTOR)
    put_limit(
        pool,
        Scope("development", "ml", "w1"),
        LimitSpec(4),
        precondition=Precondition(any_version=True),
        actor=ACTOR,
    )
    quotas.recount()
    assert usage(pool) == {
        Scope(): 3,
        Scope("production"): 1,
        Scope("development"): 2,
        Scope(project="ml"): 2,
        Scope("development", "ml"): 2,
        Scope("development", "ml", "w1"): 1,
    }
    Override.objects.filter(workflow="w1").delete()
    assert drift.mend_drift() == 0
    quotas.recount()
    assert usage(pool) == {
        Scope(): 2,
        Scope("production"): 1,
        Scope("development"): 1,
        Scope(project="ml"): 1,
        Scope("development", "ml"): 1,
    }


def test_one_by_one_or_in_one_pass_the_counts_of_scopes_are_the_same(db, monkeypatch):
    make_project("ml")
    places = [
        Scope(),
        Scope("development"),
        Scope(project="ml"),
        Scope("development", "ml"),
        Scope("development", "ml", "w1"),
        Scope("development", "ml", "w1", "lp"),
        Scope("production", "ml", "w1"),
    ]
    for place in places:
        put_override(Address("task_resource", place), {"limits": {"cpu": "1"}}, actor=ACTOR)
    documents = quota_named("quota:override-documents")
    assert documents is not None
    singly = quotas.count_units(documents, places)
    monkeypatch.setattr(quotas, "_MOST_SINGLE", 0)
    at_once = quotas.count_units(documents, places)
    # What the ladder of each says.
    assert singly == at_once == {scope: sum(scope in place.ladder() for place in places) for scope in places}


@pytest.mark.parametrize("exists", [True, False])
def test_the_door_of_flytepropeller_makes_no_quota_and_leases_of_none(db, exists):
    if exists:
        quota("agents")
    caller = leases.authenticate(token_for("operator"))
    with pytest.raises(InvalidRequest, match="has no leases"):
        leases.acquire(caller, "quota:agents", "ex:shop:prod:f1-n0-0", default_capacity=0)
    assert (Pool.objects.count(), PoolLease.objects.count()) == (int(exists), 0)
