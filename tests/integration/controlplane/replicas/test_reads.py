"""Reads from a real standby: its staleness is stated, own changes are seen, and it may fail at any moment."""

from __future__ import annotations

import time
from typing import Any

import pytest
from django.db import connection, connections, transaction
from django.http import HttpRequest
from rest_framework.response import Response

from controlplane.access.models import RoleBinding
from controlplane.api.replica_reads import read_with_staleness
from controlplane.identity.callers import ANONYMOUS_READER
from controlplane.identity.roles import Role
from controlplane.replicas.asking import PAUSE
from controlplane.replicas.choice import Outcome
from controlplane.replicas.metrics import READS
from controlplane.replicas.reading import REPLICA, is_on_replica
from controlplane.replicas.signed_positions import read_signed
from tests.support.api_client import AGENT, Api, logged_in, token_for
from tests.support.standby import Standby
from tests.support.waiting import until

# The alias exists before the tests' own fixtures look at it: its fixture has a wider scope.
pytestmark = [
    pytest.mark.usefixtures("standby"),
    pytest.mark.django_db(transaction=True, databases=["default", REPLICA]),
]
STALENESS, POSITION = "X-Controlplane-Staleness", "X-Controlplane-Position"


def count_of(outcome: Outcome) -> float:
    return READS.labels(outcome.value)._value.get()


def from_replica(api: Api, path: str = "agents", **headers: str) -> Any:
    """Read until the answer is the replica's."""
    return until(lambda: (got := api.get(path, **headers)).has_header(STALENESS) and got, 60)


def names(response: Any) -> list[str]:
    assert response.status_code == 200, response.content
    return [item["name"] for item in response.json()["items"]]


def register(api: Api, name: str) -> Any:
    response = api.post("agents", {**AGENT, "name": name, "topic_name": f"dcm.agent.{name}"})
    assert response.status_code == 201, response.content
    return response


def test_a_list_comes_from_the_replica_and_says_how_old_it_is(replica: Standby, api: Api):
    register(api, "a1")
    before = count_of(Outcome.REPLICA)
    got = from_replica(api)
    assert 0 <= float(got[STALENESS]) <= 5
    assert int(got["Age"]) >= float(got[STALENESS])
    assert count_of(Outcome.REPLICA) == before + 1
    assert until(lambda: names(from_replica(api)) == ["a1"])


def test_only_what_may_be_stale_is_read_there(replica: Standby, api: Api):
    agent = register(api, "a1")["Location"]
    from_replica(api)
    for path in (agent, "me", "tokens", "overrides/effective?project=x", "pools"):
        assert not api.get(path).has_header(STALENESS), path


def test_a_change_is_seen_with_its_position_and_others_may_wait(replica: Standby, api: Api):
    register(api, "a1")
    until(lambda: names(from_replica(api)) == ["a1"])
    replica.pause()
    try:
        changed = register(api, "a2")
        assert read_signed(changed[POSITION]).lsn > 0
        behind = count_of(Outcome.BEHIND)
        began = time.monotonic()
        own = api.get("agents", **{POSITION: changed[POSITION]})
        assert time.monotonic() - began < 2
        assert (names(own), own.has_header(STALENESS)) == (["a1", "a2"], False)
        assert count_of(Outcome.BEHIND) == behind + 1
        others = api.get("agents")
        assert (names(others), others.has_header(STALENESS)) == (["a1"], True)
    finally:
        replica.resume()
    later = from_replica(api, **{POSITION: changed[POSITION]})
    assert names(later) == ["a1", "a2"]


def test_a_replica_that_falls_behind_is_left_when_the_bound_is_reached(replica: Standby, api: Api):
    register(api, "a1")
    until(lambda: names(from_replica(api)) == ["a1"])
    replica.pause()
    try:
        register(api, "a2")
        changed_at = time.monotonic()
        while (asked_at := time.monotonic()) - changed_at < 1.5:
            got = api.get("agents", Cache_Control="max-stale=1")
            if got.has_header(STALENESS):
                assert float(got[STALENESS]) <= 1
                assert float(got[STALENESS]) >= asked_at - changed_at, "It is older than it says."
            else:
                assert names(got) == ["a1", "a2"]
        assert not got.has_header(STALENESS)
    finally:
        replica.resume()


@pytest.mark.parametrize(
    "headers",
    [
        {POSITION: "1/0/0"},
        {POSITION: "nonsense"},
        {"Cache_Control": "no-cache"},
        {"Cache_Control": "max-stale=x"},
    ],
)
def test_what_cannot_be_read_means_the_primary(replica: Standby, api: Api, headers: dict[str, str]):
    from_replica(api)
    newest = count_of(Outcome.NEWEST)
    got = api.get("agents", **headers)
    assert (got.status_code, got.has_header(STALENESS)) == (200, False)
    assert count_of(Outcome.NEWEST) == newest + 1


def test_permissions_are_never_stale(replica: Standby, api: Api):
    token = token_for("viewer")
    viewer = Api(token)
    from_replica(viewer)
    replica.pause()
    try:
        RoleBinding.objects.filter(role=Role.VIEWER.value).delete()
        assert viewer.get("agents").status_code == 403
    finally:
        replica.resume()


def test_events_that_nobody_has_numbered_are_numbered_on_the_primary(replica: Standby, api: Api):
    from_replica(api)
    agent = register(api, "a1")["Location"]
    position = {POSITION: register(api, "a2")[POSITION]}
    got = api.get("events", **position)
    assert agent.rpartition("/")[2] in {event["object_id"] for event in got.json()["items"]}
    until(lambda: api.get("events").has_header(STALENESS))
    last = api.get("events").json()["next_after"]
    replica.pause()
    try:
        register(api, "a3")
        ahead = api.get("events", Cache_Control="no-cache").json()["next_after"]
        assert ahead > last
        followed = api.get(f"events?after={ahead}")
        assert followed.status_code == 200, "The replica does not know this number yet."
    finally:
        replica.resume()


def test_an_error_is_never_that_of_a_replica(replica: Standby, api: Api):
    from_replica(api)
    refused = count_of(Outcome.REFUSED)
    got = api.get("agents?environmnt=prod")
    assert (got.status_code, got.json()["code"]) == (400, "invalid_request")
    assert count_of(Outcome.REFUSED) == refused + 1


def test_a_browser_keeps_the_position_of_its_change(replica: Standby, api: Api):
    from_replica(api)
    browser = logged_in("grace", Role.ADMIN)
    replica.pause()
    try:
        body = {**AGENT, "name": "b1", "topic_name": "dcm.agent.b1"}
        made = browser.post("/api/v1/agents", body, content_type="application/json")
        assert made.status_code == 201, made.content
        assert made.cookies["cp-position"]["httponly"]
        own = browser.get("/api/v1/agents")
        assert (names(own), own.has_header(STALENESS)) == (["b1"], False)
    finally:
        replica.resume()


def test_a_page_may_be_stale_and_what_its_events_load_is_not(replica: Standby, api: Api):
    from_replica(api)
    browser = logged_in("grace", Role.ADMIN)
    page = until(lambda: (got := browser.get("/agents")).has_header(STALENESS) and got, 60)
    assert page.status_code == 200
    part = browser.get("/agents", headers={"HX-Request": "true"})
    assert (part.status_code, part.has_header(STALENESS)) == (200, False)


def test_a_dry_run_has_no_position(replica: Standby, api: Api):
    body = {**AGENT, "name": "a1"}
    assert not api.post("agents?dry_run=true", body).has_header(POSITION)


def test_a_statement_that_recovery_cancels_runs_again_on_the_primary(replica: Standby, api: Api):
    from_replica(api)
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE in_the_way (id int)")
    until(lambda: replica_has("in_the_way"))
    ran_on = []

    def read() -> Response:
        ran_on.append(is_on_replica())
        if is_on_replica():
            with transaction.atomic(using=REPLICA), connections[REPLICA].cursor() as cursor:
                cursor.execute("SELECT count(*) FROM in_the_way")
                with connection.cursor() as primary:
                    primary.execute("DROP TABLE in_the_way")
                cursor.execute("SELECT pg_sleep(4)")
        return Response({"items": []})

    conflicts = count_of(Outcome.CONFLICT)
    response = read_with_staleness(read, 5.0, HttpRequest(), ANONYMOUS_READER)
    assert ran_on[-2:] == [True, False]
    assert not response.has_header(STALENESS)
    assert count_of(Outcome.CONFLICT) == conflicts + 1
    assert from_replica(api).status_code == 200


def replica_has(table: str) -> bool:
    with connections[REPLICA].cursor() as cursor:
        cursor.execute("SELECT to_regclass(%s) IS NOT NULL", [table])
        return bool(cursor.fetchone()[0])


def test_a_replica_that_is_killed_is_not_missed(replica: Standby, api: Api):
    register(api, "a1")
    until(lambda: names(from_replica(api)) == ["a1"])
    replica.kill()
    try:
        for _ in range(20):
            got = api.get("agents")
            assert (names(got), got.has_header(STALENESS)) == (["a1"], False)
        assert count_of(Outcome.AWAY) >= 19
    finally:
        replica.start()
    # The next try, without waiting for the end of the pause.
    PAUSE.succeed()
    assert names(from_replica(api)) == ["a1"]
