"""Pools, limits and leases by HTTP."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest

from controlplane.access.models import AuditRecord
from controlplane.events.models import Event
from controlplane.pools.models import Pool, PoolLease, PoolUsage
from controlplane.scopes import Scope
from tests.support.api_client import Api, token_for

pytestmark = pytest.mark.django_db
ML = {"project": "ml", "domain": "prod"}
QUERY = "?project=ml&domain=prod"


def create(api: Api, name: str = "snowflake", capacity: int = 2, **body: Any) -> Any:
    response = api.put(f"pools/{name}", {"capacity": capacity, **body})
    assert response.status_code == 201, response.json()
    return response


def acquire(api: Api, token: str, pool: str = "snowflake", **body: Any) -> Any:
    return api.post(f"pools/{pool}/leases", {"token": token, "scope": ML, **body})


def member(*roles: str, project: str = "ml") -> Api:
    return Api(token_for(*roles, scope=Scope(project=project)))


def test_a_pool_is_created_read_changed_and_deleted(api):
    created = create(api, title="Connections", labels={"tier": "1"})
    assert created["Location"] == "/api/v1/pools/snowflake"
    pool = created.json()
    assert (pool["used"], pool["waiting"], pool["over_capacity"]) == (0, 0, False)
    read = api.get("pools/snowflake")
    assert read.json() == pool == api.get("pools").json()["items"][0]
    assert api.get("pools/snowflake", If_None_Match=read["ETag"]).status_code == 304

    changed = api.put("pools/snowflake", {"capacity": 3}, If_Match=read["ETag"])
    assert (changed.status_code, changed.json()["capacity"], changed.json()["title"]) == (200, 3, "")
    assert api.put("pools/snowflake", {"capacity": 4}).status_code == 428
    assert api.put("pools/snowflake", {"capacity": 4}, If_Match=read["ETag"]).status_code == 412

    assert api.delete("pools/snowflake", If_Match=changed["ETag"]).status_code == 204
    assert api.get("pools/snowflake").json()["code"] == "unknown_pool"
    assert list(Event.objects.filter(type__startswith="pool.").order_by("position").values_list("type")) == [
        ("pool.created",),
        ("pool.changed",),
        ("pool.removed",),
    ]
    assert AuditRecord.objects.filter(object_type="pool").count() == 3


@pytest.mark.parametrize("name", ["Snowflake", "-a", "a:", "a b", "x" * 256, "agents:explain"])
def test_a_name_that_no_pool_can_have_is_refused(api, name):
    response = api.put(f"pools/{name.replace(' ', '%20')}", {"capacity": 1})
    assert response.status_code in (400, 405)
    assert not Pool.objects.exists()


def test_names_with_colons_are_names(api):
    create(api, "agent-service:default")
    assert api.get("pools/agent-service:default").json()["name"] == "agent-service:default"
    assert api.post("pools/agent-service:default:explain", {}).json()["would_be_granted"]


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({}, "/capacity"),
        ({"capacity": -1}, "/capacity"),
        ({"capacity": "2"}, "/capacity"),
        ({"capacity": 1, "grant_mode": "random"}, "/grant_mode"),
        ({"capacity": 1, "lease_seconds": -5}, "/lease_seconds"),
        ({"capacity": 1, "size": 3}, "/size"),
    ],
)
def test_a_bad_pool_is_refused_and_changes_nothing(api, body, pointer):
    response = api.put("pools/snowflake", body)
    assert response.status_code == 400
    assert [error["pointer"] for error in response.json()["errors"]] == [pointer]
    assert not Pool.objects.exists()


def test_units_are_leased_renewed_and_released(api):
    create(api)
    granted = acquire(api, "report", attributes={"job": "7"})
    assert granted.status_code == 201
    lease = granted.json()
    assert (lease["state"], lease["epoch"], lease["units"], lease["limited_by"]) == ("granted", 1, 1, [])
    path = f"pools/snowflake/leases/{lease['id']}"
    again = acquire(api, "report")
    assert (again.status_code, again.json()["id"], again.json()["epoch"]) == (200, lease["id"], 1)
    assert again.json()["attributes"] == {"job": "7"}
    assert api.get(path).json()["holder"] == lease["holder"]

    renewed = api.post(f"{path}:renew", {"epoch": 1, "lease_seconds": 600})
    assert renewed.status_code == 200
    assert renewed.json()["expires_at"] > lease["expires_at"]
    lost = api.post(f"{path}:renew", {"epoch": 7})
    assert (lost.status_code, lost.json()["code"]) == (409, "lease_lost")

    assert api.delete(f"{path}?epoch=7").status_code == 204
    assert api.get("pools/snowflake").json()["used"] == 1
    for _ in range(2):
        assert api.delete(path).status_code == 204
    assert api.get("pools/snowflake").json()["used"] == 0
    assert api.get(path).json()["state"] == "released"
    assert not Event.objects.filter(type="pool.granted").exists()


def test_a_full_pool_refuses_and_says_why_and_when_to_return(api):
    create(api, capacity=1)
    acquire(api, "first")
    refused = acquire(api, "second")
    problem = refused.json()
    assert (refused.status_code, problem["code"]) == (429, "pool_exhausted")
    assert int(refused["Retry-After"]) >= 1
    assert problem["detail"].startswith(
        "The pool snowflake has no units for this request. 1 of 1 units are in use."
    )
    (limit,) = problem["limits"]
    assert (limit["reason"], limit["scope"]["level"], limit["cap"], limit["used"]) == (
        "capacity",
        "global",
        1,
        1,
    )
    assert PoolLease.objects.count() == 1


def test_a_queued_request_has_a_place_and_gets_the_next_unit(api):
    create(api, capacity=1)
    first = acquire(api, "first").json()
    queued = acquire(api, "second", queue=True)
    assert queued.status_code == 202
    waiting = queued.json()
    assert (waiting["state"], waiting["position"], waiting["estimate_seconds"]) == ("waiting", 1, None)
    assert waiting["limited_by"][0]["reason"] == "capacity"
    assert acquire(api, "third", queue=True).json()["position"] == 2
    assert api.get(f"pools/snowflake/leases/{waiting['id']}").json()["position"] == 1
    api.delete(f"pools/snowflake/leases/{first['id']}")
    repeated = acquire(api, "second", queue=True)
    assert (repeated.status_code, repeated.json()["epoch"]) == (200, 2)
    assert acquire(api, "third", queue=True).json()["position"] == 1


def test_another_number_of_units_is_a_conflict(api):
    create(api)
    acquire(api, "first")
    response = acquire(api, "first", units=2)
    assert (response.status_code, response.json()["code"]) == (409, "token_in_use")


def test_more_units_than_a_lease_may_have_are_refused(api):
    create(api, max_units_per_lease=1)
    response = acquire(api, "first", units=2)
    assert response.status_code == 400
    assert response.json()["errors"][0]["pointer"] == "/units"


def test_a_token_is_released_without_its_id(api):
    create(api)
    acquire(api, "first")
    for _ in range(2):
        assert api.post("pools/snowflake/leases:release", {"token": "first", "scope": ML}).status_code == 204
    assert api.get("pools/snowflake").json()["used"] == 0


def test_a_dry_run_leases_and_releases_nothing(api):
    create(api)
    dry = api.post("pools/snowflake/leases?dry_run=true", {"token": "first"})
    assert (dry.status_code, dry["Dry-Run"]) == (201, "true")
    assert not PoolLease.objects.exists()
    lease = acquire(api, "first").json()
    assert api.delete(f"pools/snowflake/leases/{lease['id']}?dry_run=true").status_code == 204
    assert api.get("pools/snowflake").json()["used"] == 1


def test_a_dry_run_renews_and_releases_by_token_nothing(api):
    create(api)
    lease = acquire(api, "first").json()
    path = f"pools/snowflake/leases/{lease['id']}"
    dry = api.post(f"{path}:renew?dry_run=true", {"epoch": 1, "lease_seconds": 900})
    assert (dry.status_code, dry["Dry-Run"]) == (200, "true")
    assert api.get(path).json()["expires_at"] == lease["expires_at"]
    dry = api.post("pools/snowflake/leases:release?dry_run=true", {"token": "first", "scope": ML})
    assert (dry.status_code, dry["Dry-Run"]) == (204, "true")
    assert api.get(path).json()["state"] == "granted"


def test_texts_that_look_like_json_are_texts(api):
    create(api, title="{not JSON", unit='{"a": 1}', labels={"a": "{b"})
    assert acquire(api, "first").status_code == 201
    pool = api.get("pools/snowflake").json()
    assert (pool["title"], pool["unit"], pool["labels"]) == ("{not JSON", '{"a": 1}', {"a": "{b"})


def test_places_are_counted_within_each_project(api):
    create(api, capacity=0)
    for token in ("a", "b"):
        acquire(api, token, queue=True)
    other = api.post("pools/snowflake/leases", {"token": "a", "scope": {"project": "data"}, "queue": True})
    assert other.json()["position"] == 1
    assert acquire(api, "c", queue=True, priority=5).json()["position"] == 1
    assert acquire(api, "b", queue=True).json()["position"] == 3


def test_a_batch_has_a_result_for_each_operation(api):
    create(api, capacity=2)
    first = acquire(api, "first").json()
    unknown = str(uuid4())
    response = api.post(
        "pools/snowflake/leases:batch",
        {
            "operations": [
                {"acquire": {"token": "a", "scope": ML}},
                {"acquire": {"token": "b", "scope": ML, "units": 2}},
                {"acquire": {"token": "c", "scope": ML, "units": 2, "queue": True}},
                {"release": {"lease": first["id"]}},
                {"renew": {"lease": unknown, "epoch": 1}},
            ]
        },
    )
    results = response.json()["results"]
    assert [result["status"] for result in results] == [201, 429, 202, 204, 404]
    assert results[1]["limits"][0]["reason"] == "capacity"
    assert results[4]["code"] == "unknown_lease"
    assert api.get("pools/snowflake").json()["used"] == 1


def test_a_bad_batch_changes_nothing(api):
    create(api)
    response = api.post(
        "pools/snowflake/leases:batch",
        {
            "operations": [
                {"acquire": {"token": "a"}},
                {"acquire": {"token": "b"}, "release": {"lease": str(uuid4())}},
            ]
        },
    )
    assert response.status_code == 400
    assert response.json()["errors"][0]["pointer"] == "/operations/1"
    assert not PoolLease.objects.exists()


def test_a_cap_of_a_scope_holds_below_it_and_is_explained(api):
    pool = create(api, capacity=10)
    limit = api.put("pools/snowflake/limits?project=ml", {"cap": 1}, If_Match=pool["ETag"])
    assert (limit.status_code, limit.json()["cap"], limit["ETag"]) == (200, 1, '"v2"')
    acquire(api, "first")
    refused = acquire(api, "second").json()
    assert refused["limits"][0]["scope"]["level"] == "project"
    assert "project=ml uses 1 of the 1 units of its cap." in refused["detail"]
    explanation = api.post("pools/snowflake:explain", {"scope": ML, "units": 1}).json()
    assert not explanation["would_be_granted"]
    assert [rung["leaves_room"] for rung in explanation["ladder"]] == [True, True, False, True]
    assert explanation["holders"] == [
        {"scope": {**explanation["ladder"][2]["scope"]}, "used": 1, "waiting": 0}
    ]
    assert api.get("pools/snowflake/limits").json()["items"][0]["used"] == 1
    assert api.delete("pools/snowflake/limits?project=ml", If_Match=limit["ETag"]).status_code == 204
    gone = api.delete("pools/snowflake/limits?project=ml", If_Match='"v3"')
    assert gone.json()["code"] == "unknown_pool_limit"
    assert acquire(api, "second").status_code == 201


@pytest.mark.parametrize(
    ("query", "body", "code"),
    [
        ("?project=ml&domain=prod", {"guaranteed": 1}, "wrong_level"),
        ("?project=ml", {"guaranteed": 2, "cap": 1}, "above_cap"),
        ("?project=ml", {"guaranteed": 11}, "above_capacity"),
        ("?project=ml", {"weight": 0}, "min_value"),
    ],
)
def test_a_limit_that_cannot_be_kept_is_refused(api, query, body, code):
    pool = create(api, capacity=10)
    response = api.put(f"pools/snowflake/limits{query}", body, If_Match=pool["ETag"])
    assert response.status_code == 400
    assert response.json()["errors"][0]["code"] == code
    assert api.get("pools/snowflake/limits").json()["items"] == []


def test_capacity_does_not_fall_below_what_is_guaranteed(api):
    pool = create(api, capacity=10)
    limit = api.put("pools/snowflake/limits?project=ml", {"guaranteed": 4}, If_Match=pool["ETag"])
    response = api.put("pools/snowflake", {"capacity": 3}, If_Match=limit["ETag"])
    assert response.json()["errors"][0]["code"] == "below_guarantees"


def test_a_lower_capacity_ends_no_lease_and_a_higher_one_serves_the_queue(api):
    pool = create(api, capacity=2)
    acquire(api, "a"), acquire(api, "b")
    preview = api.put("pools/snowflake?dry_run=true", {"capacity": 1}, If_Match=pool["ETag"]).json()
    assert preview["over_capacity"]
    assert not api.get("pools/snowflake").json()["over_capacity"]
    lower = api.put("pools/snowflake", {"capacity": 1}, If_Match=pool["ETag"])
    assert (lower.json()["over_capacity"], lower.json()["used"]) == (True, 2)
    waiting = acquire(api, "c", queue=True).json()
    api.put("pools/snowflake", {"capacity": 3}, If_Match=lower["ETag"])
    assert api.get(f"pools/snowflake/leases/{waiting['id']}").json()["state"] == "granted"
    assert Event.objects.filter(type="pool.granted").count() == 1


def test_another_level_of_fairness_keeps_the_queue(api):
    pool = create(api, capacity=0)
    acquire(api, "a", queue=True)
    response = api.put("pools/snowflake", {"capacity": 1, "fair_level": "global"}, If_Match=pool["ETag"])
    assert (response.json()["used"], response.json()["waiting"]) == (1, 0)


def test_a_pool_with_leases_is_deleted_by_force_alone(api):
    pool = create(api)
    acquire(api, "a")
    refused = api.delete("pools/snowflake", If_Match=pool["ETag"])
    assert (refused.status_code, refused.json()["code"]) == (409, "still_in_use")
    dry = api.delete("pools/snowflake?dry_run=true", If_Match=pool["ETag"])
    assert (dry.status_code, Pool.objects.count()) == (204, 1)
    assert api.delete("pools/snowflake?force=true", If_Match=pool["ETag"]).status_code == 204
    assert not PoolLease.objects.exists()
    assert not PoolUsage.objects.exists()


def test_an_operator_revokes_a_lease_with_a_reason(api):
    create(api, capacity=1)
    lease = acquire(api, "a").json()
    waiting = acquire(api, "b", queue=True).json()
    path = f"pools/snowflake/leases/{lease['id']}:revoke?change_message=stuck"
    assert api.post(f"{path}&dry_run=true").json()["state"] == "revoked"
    assert api.get(f"pools/snowflake/leases/{lease['id']}").json()["state"] == "granted"
    assert api.post(path).json()["state"] == "revoked"
    assert api.get(f"pools/snowflake/leases/{waiting['id']}").json()["state"] == "granted"
    assert AuditRecord.objects.get(action="pool.revoked").reason == "stuck"
    assert api.post(path).json()["code"] == "lease_lost"
    renewal = api.post(f"pools/snowflake/leases/{lease['id']}:renew", {"epoch": 1})
    assert renewal.json()["code"] == "lease_lost"


def test_usage_is_listed_by_level(api):
    create(api, capacity=5)
    acquire(api, "a", units=2)
    api.post("pools/snowflake/leases", {"token": "b", "scope": {"project": "data"}})
    usage = api.get("pools/snowflake/usage?by=project").json()["items"]
    assert [(row["scope"]["project"], row["used"]) for row in usage] == [("ml", 2), ("data", 1)]
    assert len(api.get("pools/snowflake/usage?by=project_domain").json()["items"]) == 1


def test_leases_are_listed_by_state_and_scope_and_age(api):
    create(api, capacity=5)
    first, second = acquire(api, "a").json(), acquire(api, "b").json()
    api.delete(f"pools/snowflake/leases/{first['id']}")

    def ids(query: str) -> list[str]:
        return [lease["id"] for lease in api.get(f"pools/snowflake/leases{query}").json()["items"]]

    assert ids("") == [second["id"], first["id"]]
    assert ids("?order=oldest") == [first["id"], second["id"]]
    assert ids("?state=granted") == [second["id"]]
    assert ids("?project=data") == []
    assert ids("?project=ml") == [second["id"], first["id"]]


def test_a_member_of_a_project_leases_for_it_alone(api):
    create(api)
    editor = member("editor")
    assert acquire(editor, "a").status_code == 201
    other = editor.post("pools/snowflake/leases", {"token": "a", "scope": {"project": "data"}})
    assert other.status_code == 403
    assert acquire(member("viewer"), "b").status_code == 403
    assert editor.put("pools/snowflake", {"capacity": 9}, If_Match='"v1"').status_code == 403


def test_leases_of_other_projects_do_not_exist(api):
    create(api, capacity=1)
    lease = acquire(api, "a").json()
    outsider = member("editor", project="data")
    path = f"pools/snowflake/leases/{lease['id']}"
    assert outsider.get("pools/snowflake/leases").json()["items"] == []
    assert outsider.get("pools/snowflake/usage").json()["items"] == []
    assert outsider.get(path).json()["code"] == "unknown_lease"
    assert outsider.post(f"{path}:renew", {"epoch": 1}).json()["code"] == "lease_lost"
    assert outsider.delete(path).status_code == 204
    assert PoolLease.objects.get().state == "granted"
    assert outsider.post("pools/snowflake:explain", {"scope": ML}).status_code == 403
    refused = outsider.post("pools/snowflake/leases", {"token": "a", "scope": {"project": "data"}}).json()
    assert [limit["scope"]["level"] for limit in refused["limits"]] == ["global"]


def test_a_pool_of_a_team_is_for_the_team(api):
    api.post("teams", {"slug": "ml-team", "title": "ML"})
    create(api, team="ml-team")
    assert api.get("pools/snowflake").json()["team"] == "ml-team"
    assert create(api, "shared").json()["team"] is None
    editor = member("editor")
    assert [pool["name"] for pool in editor.get("pools").json()["items"]] == ["shared"]
    assert acquire(editor, "a").json()["code"] == "unknown_pool"
    assert acquire(editor, "a", pool="shared").status_code == 201


def test_a_pool_without_a_queue_never_queues(api):
    create(api, capacity=0, grant_mode="free")
    response = acquire(api, "a", queue=True)
    assert (response.status_code, response.json()["code"]) == (429, "pool_exhausted")


def test_an_unknown_pool_is_named(api):
    response = acquire(api, "a", pool="teradata")
    assert response.status_code == 404
    assert response.json()["detail"].startswith("There is no pool 'teradata'.")


def test_an_agent_changes_its_own_leases_alone(api):
    create(api, capacity=9)
    first, second = Api(token_for("agent")), Api(token_for("agent"))
    lease = acquire(first, "a").json()
    path = f"pools/snowflake/leases/{lease['id']}"
    assert acquire(second, "a").json()["code"] == "token_in_use"
    batch = second.post(
        "pools/snowflake/leases:batch", {"operations": [{"acquire": {"token": "a", "scope": ML}}]}
    )
    assert batch.json()["results"][0]["code"] == "token_in_use"
    assert second.post(f"{path}:renew", {"epoch": 1}).json()["code"] == "lease_lost"
    second.post("pools/snowflake/leases:release", {"token": "a", "scope": ML})
    second.delete(path)
    assert second.get("pools/snowflake/leases").status_code == 403
    assert first.post(f"{path}:renew", {"epoch": 1}).status_code == 200
    assert first.delete(path).status_code == 204
    assert api.get("pools/snowflake").json()["used"] == 0


def test_an_operator_ends_leases_of_others(api):
    create(api, capacity=9)
    first, second = (acquire(Api(token_for("agent")), token).json() for token in ("a", "b"))
    operator = Api(token_for("operator"))
    assert operator.post(f"pools/snowflake/leases/{first['id']}:revoke").json()["state"] == "revoked"
    assert operator.delete(f"pools/snowflake/leases/{second['id']}").status_code == 204
    assert api.get("pools/snowflake").json()["used"] == 0
