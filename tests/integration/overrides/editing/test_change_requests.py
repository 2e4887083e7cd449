"""Change requests that meet: real threads, real commits; exactly one of them happens."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import UUID

import pytest
from django.db import connection, connections, transaction

from controlplane.access.models import Principal, PrincipalKind, RoleBinding
from controlplane.errors import ApprovalRequired, ControlplaneError
from controlplane.events.models import Event
from controlplane.identity.actors import Actor
from controlplane.scopes import Scope
from overrides.approval_models import ChangeRequest
from overrides.approvals.changes import create_policy
from overrides.approvals.decisions import Bypass, Consent
from overrides.change_requests.decisions import Reviewer, Way
from overrides.change_requests.planning import RequestedChange
from overrides.change_requests.publishing import publish_request
from overrides.change_requests.requests import Proposal, open_request, withdraw_request
from overrides.change_requests.review import approve_request
from overrides.editing.commit import CommitOptions
from overrides.editing.writes import WriteOptions, put_override
from overrides.models import Override, OverrideVersion
from overrides.resolution.addresses import Address
from tests.support.api_client import ACTOR
from tests.support.waiting import until

pytestmark = pytest.mark.django_db(transaction=True)
WEC = Address("workflow_execution_config", Scope())
THREADS = 4


def person(name: str) -> tuple[Reviewer, Actor]:
    principal = Principal.objects.create(name=name, kind=PrincipalKind.PERSON)
    RoleBinding.objects.create(principal=principal, role="admin")
    return Reviewer(principal.id, name, True, frozenset({principal.id})), Actor(principal.id, name)


def open_one(author: Actor, approvals: int = 1) -> ChangeRequest:
    create_policy(Scope(), approvals=approvals, reason="", actor=ACTOR)
    change = RequestedChange(WEC, Way.ATTRIBUTES, {"max_parallelism": 8})
    return open_request(Proposal(change, frozenset({author.principal_id} - {None})), actor=author)


def bypassing(parallelism: int) -> None:
    bypass = CommitOptions(consent=Consent(bypass=Bypass("Fire", (Scope(),))))
    put_override(
        WEC, {"max_parallelism": parallelism}, actor=ACTOR, options=WriteOptions(commit_options=bypass)
    )


def together(*calls: Callable[[], Any]) -> list[str]:
    """Run the calls at once, each in a thread; return "done" or the code of the error of each."""
    ready = threading.Barrier(len(calls))

    def run(call: Callable[[], Any]) -> str:
        try:
            ready.wait()
            call()
        except ControlplaneError as error:
            return error.code
        finally:
            connections.close_all()
        return "done"

    with ThreadPoolExecutor(len(calls)) as pool:
        return [future.result() for future in [pool.submit(run, call) for call in calls]]


def someone_waits() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted)")
        return bool(cursor.fetchone()[0])


def approve(row: ChangeRequest, by: tuple[Reviewer, Actor]) -> ChangeRequest:
    return approve_request(row.id, row.digest, reviewer=by[0], actor=by[1])


def state(request_id: UUID) -> str:
    return ChangeRequest.objects.get(id=request_id).state


def test_a_request_that_is_published_by_many_at_once_is_published_once(transactional_db):
    _, ada = person("ada")
    row = open_one(ada)
    approve(row, person("grace"))

    outcomes = together(*[lambda: publish_request(row.id, actor=ada, options=CommitOptions())] * THREADS)

    assert sorted(outcomes) == sorted(["done", *["conflict"] * (THREADS - 1)])
    assert OverrideVersion.objects.count() == 1
    assert Event.objects.filter(type="change_request.published").count() == 1


def test_two_approvals_at_once_both_count_and_nobody_counts_twice(transactional_db):
    row = open_one(person("ada")[1], approvals=2)
    grace, alan = person("grace"), person("alan")

    outcomes = together(lambda: approve(row, grace), lambda: approve(row, alan), lambda: approve(row, grace))

    assert sorted(outcomes) == ["done", "done", "not_independent"]
    row.refresh_from_db()
    assert (row.state, row.approvals.count()) == ("approved", 2)


def test_an_approval_that_waits_for_a_change_of_its_base_is_refused(transactional_db):
    row, grace = open_one(person("ada")[1]), person("grace")

    def late() -> str:
        try:
            approve(row, grace)
        except ControlplaneError as error:
            return error.code
        finally:
            connections.close_all()
        return "done"

    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            bypassing(5)
            result = pool.submit(late)
            until(lambda: result.done() or someone_waits(), seconds=60)
        outcome = result.result()

    assert (outcome, state(row.id), row.approvals.count()) == ("plan_drifted", "open", 0)


def test_a_publication_and_a_change_of_its_base_are_one_after_the_other(transactional_db):
    _, ada = person("ada")
    row = open_one(ada)
    approve(row, person("grace"))

    published, changed = together(
        lambda: publish_request(row.id, actor=ada, options=CommitOptions()), lambda: bypassing(5)
    )

    assert changed == "done"
    # Either the change came first and the plan drifted, or it replaced what was published.
    assert published in ("done", "plan_drifted")
    assert OverrideVersion.objects.count() == (2 if published == "done" else 1)
    assert Override.objects.get().attributes == {"max_parallelism": 5}


def test_a_withdrawal_and_a_publication_exclude_each_other(transactional_db):
    _, ada = person("ada")
    row = open_one(ada)
    approve(row, person("grace"))

    outcomes = together(
        lambda: publish_request(row.id, actor=ada, options=CommitOptions()),
        lambda: withdraw_request(row.id, actor=ada),
    )

    assert sorted(outcomes) == ["conflict", "done"]
    assert (state(row.id) == "published") is Override.objects.exists()


def test_a_write_that_waits_for_a_policy_is_held_by_it(transactional_db):
    def write() -> str:
        try:
            put_override(WEC, {"max_parallelism": 5}, actor=ACTOR)
        except ApprovalRequired:
            return "held"
        finally:
            connections.close_all()
        return "written"

    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            create_policy(Scope(), approvals=1, reason="", actor=ACTOR)
            result = pool.submit(write)
            until(lambda: result.done() or someone_waits(), seconds=60)
        outcome = result.result()

    assert (outcome, Override.objects.exists()) == ("held", False)
