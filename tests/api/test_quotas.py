"""Quotas by HTTP: define them, meet them, and see them as pools."""

from __future__ import annotations

from typing import Any

import pytest

from controlplane.access.models import AuditRecord
from controlplane.access.teams.teams import create_team
from controlplane.delivery.models import Sink
from controlplane.events.models import Event
from controlplane.pools import quotas
from controlplane.pools.models import Pool, PoolLease
from overrides.models import Override
from registry.agents.models import Agent
from registry.dispatch.models import ResourceRow
from registry.joining.models import JoinToken
from tests.support.api_client import ACTOR, AGENT, Api, make_project, token_for

pytestmark = pytest.mark.django_db
TIER = {"attributes": {"attributes": {"tier": "1"}}}


@pytest.fixture(autouse=True)
def _settings(settings: Any) -> None:
    settings.OUTGOING_ALLOWED_NETWORKS = ["203.0.113.0/24"]


def set_quota(api: Api, name: str, capacity: int, **body: Any) -> None:
    etag = api.get(f"pools/quota:{name}").headers.get("ETag")
    headers = {"If-Match": etag} if etag else {}
    response = api.put(f"pools/quota:{name}", {"capacity": capacity, **body}, **headers)
    assert response.status_code in (200, 201), response.json()


def used(api: Api, name: str) -> int:
    return int(api.get(f"pools/quota:{name}").json()["used"])


def refused(response: Any) -> tuple[str, int, int]:
    """Return what a quota refused."""
    body = response.json()
    assert (response.status_code, body["code"]) == (409, "quota_exceeded"), body
    return body["quota"], body["limit"], body["used"]


def invite(api: Api, **body: Any) -> Any:
    return api.post("join-tokens", {"name": "fleet", "name_pattern": "a*", "uses": 9, **body})


def join(secret: str, name: str, **more: Any) -> Any:
    return Api(secret).post("agents:join", {**AGENT, "name": name, "topic_name": f"dcm.agent.{name}", **more})


def sink(api: Api, name: str, **body: Any) -> Any:
    return api.post("sinks", {"name": name, "config": {"url": "https://203.0.113.7/hook"}, **body})


def override(api: Api, project: str, domain: str = "development", **headers: str) -> Any:
    return api.put(f"overrides/cluster_resource?project={project}&domain={domain}", TIER, **headers)


def test_a_quota_is_defined_listed_and_explained_as_a_pool(api):
    set_quota(api, "agents", 5)
    pool = api.get("pools/quota:agents").json()
    assert (pool["kind"], pool["title"], pool["unit"], pool["lease_seconds"]) == (
        "quota",
        "Agents",
        "agent",
        0,
    )
    api.put("pools/warehouse", {"capacity": 1})
    names = {
        kind: [item["name"] for item in api.get(f"pools?kind={kind}").json()["items"]]
        for kind in ("pool", "quota")
    }
    assert names == {"pool": ["warehouse"], "quota": ["quota:agents"]}
    assert api.post("pools/quota:agents:explain", {"units": 5}).json()["would_be_granted"]
    assert not api.post("pools/quota:agents:explain", {"units": 6}).json()["would_be_granted"]


@pytest.mark.parametrize(
    ("name", "body", "pointer", "message"),
    [
        ("quota:agent", {}, "path:pool", "`quota:agents[:<team>]`"),
        ("quota:agents:nobody", {}, "path:pool", "no team 'nobody'"),
        ("quota:override-documents:ml", {}, "path:pool", "quota:override-documents"),
        ("quota:agents:ml", {"team": "ml"}, "/team", "belong to the platform"),
    ],
)
def test_a_name_that_is_no_quota_is_refused(api, name, body, pointer, message):
    create_team("ml", actor=ACTOR)
    response = api.put(f"pools/{name}", {"capacity": 1, **body})
    assert response.status_code == 400
    assert response.json()["errors"][0]["pointer"] == pointer
    assert message in response.json()["detail"]
    assert not Pool.objects.exists()


def test_only_who_may_write_pools_of_the_platform_sets_quotas(api):
    assert Api(token_for("editor")).put("pools/quota:agents", {"capacity": 0}).status_code == 403
    assert not Pool.objects.exists()


def test_nobody_leases_units_of_a_quota(api):
    set_quota(api, "agents", 5)
    single = api.post("pools/quota:agents/leases", {"token": "a"})
    batch = api.post("pools/quota:agents/leases:batch", {"operations": [{"acquire": {"token": "a"}}]})
    for response in (single, batch):
        assert (response.status_code, response.json()["errors"][0]["code"]) == (400, "is_quota")
        assert "has no leases" in response.json()["detail"]
    assert not PoolLease.objects.exists()


def test_agents_of_a_team_are_limited_and_those_of_others_are_not(api):
    create_team("ml", actor=ACTOR)
    set_quota(api, "agents:ml", 1)
    secret, other = invite(api, team="ml").json()["token"], invite(api).json()["token"]
    assert join(secret, "a1").status_code == 201
    assert refused(join(secret, "a2")) == ("quota:agents:ml", 1, 1)
    assert join(other, "a3").status_code == 201
    assert used(api, "agents:ml") == 1
    assert set(Agent.objects.values_list("name", flat=True)) == {"a1", "a3"}
    # Refused, the join has spent no use.
    assert JoinToken.objects.get(team__slug="ml").uses_left == 8


def test_a_removed_agent_makes_room_and_a_known_one_returns_without_room(api):
    set_quota(api, "agents", 1)
    secret = invite(api).json()["token"]
    joined = join(secret, "a1").json()
    set_quota(api, "agents", 0)
    own = Api(joined["token"]).post("agents", AGENT)
    assert own.status_code == 200, own.json()
    set_quota(api, "agents", 1)
    agent_id = joined["agent"]["agent_id"]
    assert api.post(f"agents/{agent_id}:retire", {}).status_code == 200
    assert api.delete(f"agents/{agent_id}").status_code == 204
    assert used(api, "agents") == 0
    assert join(secret, "a2").status_code == 201


def test_an_agent_that_registers_without_joining_counts_too(api):
    set_quota(api, "agents", 0)
    response = Api(token_for("agent")).post("agents", AGENT)
    assert refused(response) == ("quota:agents", 0, 0)
    assert not Agent.objects.exists()


def test_a_dcm_agent_is_refused_in_its_own_words(api, client, settings):
    settings.DCM_AGENTS = True
    set_quota(api, "agents", 0)
    refusal = client.post("/api/v1alpha1/agents", AGENT, content_type="application/json")
    assert (refusal.status_code, refusal.json()["type"]) == (409, "conflict")
    assert "quota:agents" in refusal.json()["detail"]
    assert not Agent.objects.exists()


def test_only_join_tokens_that_can_be_used_count(api):
    create_team("ml", actor=ACTOR)
    set_quota(api, "join-tokens:ml", 1)
    first = invite(api, team="ml").json()
    assert refused(invite(api, team="ml")) == ("quota:join-tokens:ml", 1, 1)
    assert invite(api).status_code == 201
    assert api.delete(f"join-tokens/{first['id']}").status_code == 204
    assert invite(api, team="ml", uses=1).status_code == 201


def test_sinks_of_a_team_are_limited(api):
    create_team("ml", actor=ACTOR)
    set_quota(api, "sinks:ml", 1)
    assert sink(api, "one", team="ml").status_code == 201
    assert refused(sink(api, "two", team="ml")) == ("quota:sinks:ml", 1, 1)
    assert sink(api, "three").status_code == 201
    assert Sink.objects.count() == 2
    assert AuditRecord.objects.filter(object_type="sink").count() == 2


def test_the_rate_of_webhooks_is_limited_also_when_a_sink_changes(api):
    set_quota(api, "webhook-rate", 60)
    created = sink(api, "one", per_second=40)
    assert refused(sink(api, "two", per_second=21)) == ("quota:webhook-rate", 60, 40)
    assert sink(api, "two", per_second=20).status_code == 201
    path, body = (
        f"sinks/{created.json()['id']}",
        {"name": "one", "config": {"url": "https://203.0.113.7/hook"}},
    )
    etag = created["ETag"]
    assert refused(api.put(path, {**body, "per_second": 41}, If_Match=etag)) == ("quota:webhook-rate", 60, 60)
    assert api.put(path, {**body, "per_second": 30}, If_Match=etag).status_code == 200
    assert used(api, "webhook-rate") == 50


def test_override_documents_are_limited_in_all_and_by_scope(api):
    make_project("ml"), make_project("data")
    set_quota(api, "override-documents", 3)
    etag = api.get("pools/quota:override-documents")["ETag"]
    limit = api.put("pools/quota:override-documents/limits?project=ml", {"cap": 1}, If_Match=etag)
    assert limit.status_code == 200, limit.json()
    created = override(api, "ml")
    assert created.status_code == 201
    assert refused(override(api, "ml", "staging")) == ("quota:override-documents", 1, 1)
    assert override(api, "data").status_code == 201
    assert override(api, "data", "staging").status_code == 201
    assert refused(override(api, "data", "production")) == ("quota:override-documents", 3, 3)
    # What exists can be replaced and deleted.
    assert override(api, "ml", If_Match=created["ETag"]).status_code == 200
    quotas.recount()
    usage = api.get("pools/quota:override-documents/usage?by=project").json()["items"]
    assert {item["scope"]["project"]: item["used"] for item in usage} == {"ml": 1, "data": 2}


def test_a_dry_run_is_answered_as_the_real_call(api):
    make_project("ml")
    set_quota(api, "override-documents", 0)
    path = "overrides/cluster_resource?project=ml&domain=development"
    real, dry = api.put(path, TIER), api.put(f"{path}&dry_run=true", TIER)
    assert refused(real) == refused(dry)
    set_quota(api, "join-tokens", 0)
    assert (
        refused(api.post("join-tokens?dry_run=true", {"name": "x", "name_pattern": "*"}))[0]
        == "quota:join-tokens"
    )
    assert not Override.objects.exists()


def test_an_apply_above_the_quota_changes_nothing(api):
    make_project("ml")
    set_quota(api, "override-documents", 1)
    documents = [
        {
            "kind": "overrides",
            "project": "ml",
            "domain": domain,
            "spec": {"taskResources": {"limits": {"cpu": "1"}}},
        }
        for domain in ("development", "staging")
    ]
    answer = api.post("overrides:apply?managed_by=ci", {"documents": documents})
    assert refused(answer) == ("quota:override-documents", 1, 0)
    assert answer.json()["requested"] == 2
    assert refused(api.post("overrides:apply?managed_by=ci&dry_run=true", {"documents": documents}))
    assert not Override.objects.exists()
    assert api.post("overrides:apply?managed_by=ci", {"documents": documents[:1]}).status_code == 200


def test_requests_in_flight_are_limited_by_environment_and_scope(api):
    make_project("ml")
    set_quota(api, "resource-requests:prod", 1)
    set_quota(api, "resource-requests", 3)
    body = {"service_type": "vm", "spec": {}, "placement": {"environment": "prod"}}
    first = api.post("resources", body)
    assert first.status_code in (201, 202), first.json()
    assert refused(api.post("resources", body)) == ("quota:resource-requests:prod", 1, 1)
    elsewhere = {**body, "placement": {"environment": "dev"}}
    assert api.post("resources", elsewhere).status_code in (201, 202)
    assert ResourceRow.objects.count() == 2
    assert api.post(f"resources/{first.json()['id']}:cancel").status_code in (200, 202)
    assert api.post("resources", body).status_code in (201, 202)
    again = api.post(f"resources/{first.json()['id']}:retry")
    assert refused(again) == ("quota:resource-requests:prod", 1, 1)


def test_a_lower_limit_deletes_nothing_and_a_quota_is_deleted_without_force(api):
    set_quota(api, "agents", 2)
    secret = invite(api).json()["token"]
    for name in ("a1", "a2"):
        assert join(secret, name).status_code == 201
    set_quota(api, "agents", 1)
    pool = api.get("pools/quota:agents")
    assert (pool.json()["used"], pool.json()["over_capacity"]) == (2, True)
    assert Agent.objects.count() == 2
    assert api.delete("pools/quota:agents", If_Match=pool["ETag"]).status_code == 204
    assert join(secret, "a3").status_code == 201


def test_a_closed_quota_refuses_what_is_new(api):
    set_quota(api, "agents", 5, is_open=False)
    response = join(invite(api).json()["token"], "a1")
    assert refused(response)[0] == "quota:agents"
    assert "is closed" in response.json()["detail"]


def test_limits_of_scopes_are_for_things_that_have_scopes(api):
    set_quota(api, "agents", 5)
    etag = api.get("pools/quota:agents")["ETag"]
    response = api.put("pools/quota:agents/limits?project=ml", {"cap": 1}, If_Match=etag)
    assert (response.status_code, response.json()["errors"][0]["code"]) == (400, "no_scopes")
    assert "quota:agents:<team>" in response.json()["detail"]


def test_explain_shows_the_quotas_of_the_namespace(api):
    make_project("ml")
    api.put("pools/gpu", {"capacity": 4})
    quota = {"attributes": {"attributes": {"projectQuotaCpu": "100", "projectQuotaMemory": "1Ti"}}}
    own = {"attributes": {"attributes": {"projectQuotaCpu": "20"}}}
    assert api.put("overrides/cluster_resource?project=ml", quota).status_code == 201
    assert api.put("overrides/cluster_resource?project=ml&domain=production", own).status_code == 201
    place = {"project": "ml", "domain": "production"}
    shown = api.post("pools/gpu:explain", {"scope": place}).json()["namespace_quotas"]
    assert [(item["name"], item["value"], item["scope"]["level"]) for item in shown] == [
        ("projectQuotaCpu", "20", "project_domain"),
        ("projectQuotaMemory", "1Ti", "project"),
    ]
    below = {**place, "workflow": "train"}
    assert api.post("pools/gpu:explain", {"scope": below}).json()["namespace_quotas"] == shown
    for scope in ({}, {"project": "ml"}, {"project": "nobody", "domain": "production"}):
        assert api.post("pools/gpu:explain", {"scope": scope}).json()["namespace_quotas"] == []


def test_a_count_that_is_behind_is_no_drift(api):
    set_quota(api, "agents", 5)
    join(invite(api).json()["token"], "a1")
    Agent.objects.all().delete()
    assert api.get("pools").json()["items"][0]["used"] == 1
    quotas.recount()
    assert api.get("pools").json()["items"][0]["used"] == 0
    assert not Event.objects.filter(type="pool.mended").exists()
