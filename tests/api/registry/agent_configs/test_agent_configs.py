"""The API of agent configurations: who may do what, and what the answers are."""

from __future__ import annotations

import json

import pytest
from django.db.models.functions import Now

from controlplane.access import principals
from controlplane.events.models import Event
from controlplane.observability.metrics import exposition
from controlplane.scopes import Scope
from registry.agent_configs.models import AgentConfig
from registry.agent_configs.source_models import AgentConfigCluster
from tests.support.api_client import ACTOR, Api, make_principal, token_for

TEXT = """\
plugins:
  agent-service:
    agents:
      {team}-sensor:
        endpoint: {team}-sensor.svc.cluster.local:8000
        insecure: true
    supportedTaskTypes:
    - {task}
"""


def text(team: str = "acme", task: str = "") -> str:
    return TEXT.format(team=team, task=task or f"{team}_sensor")


def client(*roles: str) -> tuple[str, Api]:
    principal = make_principal(*roles)
    _, secret = principals.create_token(principal, name="test", expires_at=None, actor=ACTOR)
    return principal.name, Api(secret)


@pytest.fixture
def plane(api) -> str:
    assert api.put("data-planes/eu", {}).status_code == 201
    return "eu"


def published(api: Api, team: str = "acme", name: str = "agents", content: str = ""):
    return api.put(f"agent-configs/{team}/{name}", {"text": content or text(team)})


def test_a_document_is_published_read_changed_and_taken_away(api, plane):
    created = published(api)
    assert (created.status_code, created["ETag"]) == (201, '"v1"')
    (standing,) = created.json()["data_planes"]
    assert {condition["type"]: condition["status"] for condition in standing["conditions"]}[
        "Programmed"
    ] == "True"

    unconditional = published(api, content=text(task="other"))
    changed = api.put("agent-configs/acme/agents", {"text": text(task="other")}, If_Match='"v1"')
    stale = api.delete("agent-configs/acme/agents", If_Match='"v1"')
    gone = api.delete("agent-configs/acme/agents", If_Match='"v2"')

    assert [unconditional.status_code for unconditional in (unconditional, changed, stale, gone)] == [
        428,
        200,
        412,
        204,
    ]
    assert api.get("agent-configs/acme/agents").status_code == 404
    assert published(api)["ETag"] == '"v4"'


def test_yaml_is_taken_as_it_stands_and_every_mistake_has_a_place(api, plane):
    bad_text = text().replace("insecure: true", 'insecure: "yes"').replace("- acme_sensor", "- bad name")

    refused = api(
        "PUT", "agent-configs/acme/agents", bad_text.encode(), **{"Content-Type": "application/yaml"}
    )

    assert (refused.status_code, refused.json()["code"]) == (422, "invalid_agent_config")
    assert {(error["code"], error["line"]) for error in refused.json()["errors"]} == {
        ("SchemaViolation", 6),
        ("InvalidTaskType", 8),
    }
    fine = api("PUT", "agent-configs/acme/agents", text().encode(), **{"Content-Type": "application/yaml"})
    assert fine.json()["text"] == text()


def test_a_dry_run_tells_and_keeps_nothing(api, plane):
    answer = api.put("agent-configs/acme/agents?dry_run=true", {"text": text()})

    assert (answer.status_code, answer["Dry-Run"]) == (201, "true")
    assert not AgentConfig.objects.exists()
    assert "acme" not in api.get("data-planes/eu/config").content.decode()


def test_only_publishers_of_a_team_publish_for_it(api, plane):
    name, team = client("editor")
    _, stranger = client("editor")
    api.put("agent-config-teams/acme", {"publishers": [name]})

    assert published(team).status_code == 201
    assert published(stranger, name="mine").json()["code"] == "permission_denied"
    assert published(team, team="other").status_code == 403
    assert team.post("agent-config-grants", {"team": "acme", "pattern": "*"}).status_code == 403
    assert stranger.delete("agent-configs/acme/agents", If_Match="*").status_code == 403
    assert (
        stranger.post("agent-config-claims:release", {"team": "acme", "name": "acme_sensor"}).status_code
        == 403
    )


def test_another_organisation_sees_neither_documents_nor_names(api, plane):
    ours, us = client("editor")
    theirs, them = client("editor")
    api.put("agent-config-teams/acme", {"publishers": [ours], "organisation": "acme-inc"})
    api.put("agent-config-teams/rival", {"publishers": [theirs], "organisation": "rival-inc"})
    published(us)
    published(them, "rival", content=text("rival", "acme_sensor"))

    (standing,) = them.get("agent-configs/rival/agents").json()["data_planes"]
    (conflict,) = standing["conflicts"]
    assert (conflict["name"], conflict["winner_team"]) == ("acme_sensor", "")
    assert "acme/agents" not in json.dumps(standing)
    assert them.get("agent-configs/acme/agents").status_code == 404
    assert [agent_config["team"] for agent_config in them.get("agent-configs").json()["items"]] == ["rival"]
    assert them.get("agent-config-claims").json()["items"][0]["team"] == "rival"
    assert them.get("data-planes/eu").status_code == 403
    assert them.get("agent-config-bundles/eu/1").status_code == 403


def test_an_administrator_sees_who_won_a_conflict_between_organisations(api, plane):
    for team in ("acme", "rival"):
        api.put(f"agent-config-teams/{team}", {"publishers": [], "organisation": f"{team}-inc"})
    published(api)
    published(api, "rival", content=text("rival", "acme_sensor"))

    (document,) = api.get("agent-config-conflicts").json()["items"]
    (conflict,) = document["conflicts"]
    assert (conflict["winner_team"], conflict["winner_document"]) == ("acme", "api/acme/agents")
    assert "api/acme/agents of acme" in conflict["message"]
    (standing,) = api.get("agent-configs/rival/agents").json()["data_planes"]
    assert standing["conflicts"] == document["conflicts"]


def test_the_configuration_is_served_in_three_formats_with_etags(api, plane):
    published(api)

    yaml = api.get("data-planes/eu/config")
    assert "acme-sensor.svc.cluster.local:8000" in yaml.content.decode()
    assert api.get("data-planes/eu/config", If_None_Match=yaml["ETag"]).status_code == 304
    as_json = api.get("data-planes/eu/config?format=json")
    assert as_json.json()["plugins"]["agent-service"]["supportedTaskTypes"] == ["acme_sensor"]
    config_map = api.get("data-planes/eu/config?format=configmap").content.decode()
    assert 'name: "flyte-agent-service"' in config_map
    assert (
        len({yaml["ETag"], as_json["ETag"], api.get("data-planes/eu/config?format=configmap")["ETag"]}) == 3
    )


def test_only_its_own_principal_follows_a_data_plane(api):
    name, own = client("agent")
    _, other = client("agent")
    api.put("data-planes/eu", {"principal": name})

    assert own.get("data-planes/eu/config").status_code == 200
    assert other.get("data-planes/eu/config").status_code == 404
    assert other.post("data-planes/eu/acks", {"revision": 1, "status": "REJECTED"}).status_code == 404
    applied = own.post("data-planes/eu/acks", {"revision": 1, "status": "APPLIED"})
    assert (applied.json()["ack_state"], applied.json()["applied_revision"]) == ("APPLIED", 1)


def test_a_preview_tells_what_would_move_and_keeps_nothing(api, plane):
    published(api)
    events = Event.objects.count()
    items = [
        {"team": "acme", "name": "agents", "text": None},
        {"team": "sensors", "name": "agents", "text": text("sensors", "acme_sensor")},
    ]

    body = api.post("agent-configs:preview", {"items": items}).json()

    assert [document["verdict"] for document in body["documents"]] == ["deleted", "valid"]
    (outcome,) = body["data_planes"]
    assert "- agent acme-sensor" in outcome["changes"]
    assert any(change.startswith("> task type acme_sensor") for change in outcome["changes"])
    assert Event.objects.count() == events
    assert "acme-sensor" in api.get("data-planes/eu/config").content.decode()


def test_a_preview_tells_nothing_of_another_organisations_agents(api, plane, settings):
    ours, us = client("editor")
    theirs, them = client("editor")
    api.put("agent-config-teams/acme", {"publishers": [ours], "organisation": "acme-inc"})
    api.put("agent-config-teams/rival", {"publishers": [theirs], "organisation": "rival-inc"})
    settings.AGENT_CONFIGS_AT_ONCE = 0
    # It waits for the next look, so that every preview would tell it.
    published(us)
    shared = text("rival").replace("rival-sensor.svc", "acme-sensor.svc")
    items = [{"team": "rival", "name": "agents", "text": shared}]

    body = them.post("agent-configs:preview", {"items": items}).json()

    (outcome,) = body["data_planes"]
    assert outcome["changes"] == ["+ agent rival-sensor", "+ task type rival_sensor at rival-sensor"]
    (observation,) = outcome["documents"][0]["observations"]
    assert "another organisation's agent" in observation["message"]
    assert "acme" not in json.dumps(body).replace("acme-sensor.svc", "")
    assert "+ agent acme-sensor" in json.dumps(api.post("agent-configs:preview", {"items": items}).json())


def test_a_loser_is_told_who_has_the_name_and_why_and_hand_over_moves_it(api, plane):
    published(api)
    lost = published(api, "sensors", content=text("sensors", "acme_sensor")).json()

    (conflict,) = lost["data_planes"][0]["conflicts"]
    assert (conflict["winner_team"], conflict["because"]) == ("acme", "established")
    listed = api.get("agent-config-conflicts").json()["items"]
    assert [(entry["team"], entry["document"]) for entry in listed] == [("sensors", "agents")]
    early = {"name": "acme_sensor", "from_team": "acme", "to_team": "nobody"}
    assert api.post("agent-config-claims:transfer", early).status_code == 400
    order = {"name": "acme_sensor", "from_team": "acme", "to_team": "sensors"}
    assert api.post("agent-config-claims:transfer", order).status_code == 204
    agent_config_claims = api.get("agent-config-claims?kind=task_type&name=acme_sensor").json()["items"]
    assert {
        agent_config_claim["team"]: agent_config_claim["established"]
        for agent_config_claim in agent_config_claims
    } == {"acme": False, "sensors": True}


def test_bundles_can_be_listed_read_and_compared(api, plane):
    published(api)
    published(api, "beta")

    listed = api.get("agent-config-bundles?data_plane=eu").json()["items"]
    assert [revision["revision"] for revision in listed] == [3, 2, 1]
    assert api.get("agent-config-bundles/eu/3").json()["inputs"] == [
        "api/acme/agents generation 1",
        "api/beta/agents generation 1",
    ]
    changes = api.get("agent-config-bundles/eu/2/diff/3").json()["changes"]
    assert changes == ["+ agent beta-sensor", "+ task type beta_sensor at beta-sensor"]
    assert api.get("agent-config-bundles/eu/9").json()["code"] == "unknown_bundle"


def test_metrics_tell_of_documents_conflicts_and_bundles(api, plane):
    published(api)
    published(api, "sensors", content=text("sensors", "acme_sensor"))

    metrics = api.get("/metrics").content.decode()

    assert 'agentcfg_documents{state="valid"} 2.0' in metrics
    assert 'agentcfg_conflicts{kind="task_type"} 1.0' in metrics
    assert 'agentcfg_bundle_revision{data_plane="eu"} 2.0' in metrics
    assert 'agentcfg_validation_requests_total{source="api",verdict="valid"}' in metrics


def config_map(name: str = "flyteplugins-agentservice-acme", content: str = "") -> dict:
    metadata = {"name": name, "namespace": "acme", "uid": "x", "managedFields": []}
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": metadata,
        "data": {"a.yaml": content or text()},
    }


def admit(api: Api, operation: str = "CREATE", **request) -> dict:
    review = {"uid": "u1", "operation": operation, "namespace": "acme", **request}
    body = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": review}
    answer = api.post("agent-configs:admit?timeout=3s", body)
    assert (answer.status_code, answer.json()["response"]["uid"]) == (200, "u1")
    return answer.json()["response"]


def test_the_webhook_allows_what_is_valid_and_what_is_not_its_business(api, plane):
    assert admit(api, object=config_map())["allowed"]
    assert admit(api, object={"metadata": {"name": "other"}, "data": {"x": "["}})["allowed"]
    assert admit(api, "DELETE", name="other", oldObject=None)["allowed"]


def test_the_webhook_denies_with_every_cause(api, plane):
    bad = text().replace("acme_sensor", "spark").replace("insecure: true", "insecure: 1")

    denied = admit(api, object=config_map(content=bad))

    assert not denied["allowed"]
    assert denied["status"]["code"] == 422
    assert {cause["reason"] for cause in denied["status"]["details"]["causes"]} == {
        "ReservedTaskType",
        "SchemaViolation",
    }


def test_the_webhook_denies_new_conflicts_and_never_old_ones_or_deletions(api, plane, settings):
    published(api, "first", content=text("first", "acme_sensor"))

    assert not admit(api, object=config_map())["allowed"]
    assert admit(api, "UPDATE", object=config_map(), oldObject=config_map())["allowed"]
    gone = admit(api, "DELETE", name="flyteplugins-agentservice-acme", oldObject=config_map())
    assert gone["allowed"]
    assert gone["warnings"] == ["Task type acme_sensor loses its agent acme-sensor."]
    settings.AGENT_CONFIGS_ADMISSION = "warn"
    warned = admit(api, object=config_map())
    assert warned["allowed"]
    assert "acme_sensor" in warned["warnings"][0]


@pytest.mark.parametrize(
    ("role", "scope", "status"),
    [
        ("admission", Scope(), 200),
        ("admin", Scope(), 200),
        # Webhooks were set up with these before there was a role for them.
        ("viewer", Scope(), 200),
        ("editor", Scope(), 200),
        ("admission", Scope(project="ads"), 403),
        ("viewer", Scope(project="ads"), 403),
        ("agent", Scope(), 403),
    ],
)
def test_who_may_ask_as_the_webhook(plane, role, scope, status):
    expected = {
        "kind": "AdmissionReview",
        "request": {"uid": "u1", "operation": "CREATE", "object": config_map()},
    }

    assert Api(token_for(role, scope=scope)).post("agent-configs:admit", expected).status_code == status


def test_the_webhook_may_ask_and_nothing_else(plane):
    webhook = Api(token_for("admission"))

    refused = ("agent-configs", "data-planes", "overrides", "agents", "events", "audit", "tokens?principal=x")

    assert {webhook.get(path).status_code for path in refused} == {403}
    assert webhook.post("me:can-i", {"action": "agent_config.admit"}).json()["allowed"]


def test_the_webhook_knows_what_is_served_of_a_document_that_is_to_blame(api, plane):
    """Its latest generation says nothing of the name that its older one has."""
    published(api, "first", content=text("first", "taken"))
    api.post("data-planes/eu/acks", {"revision": 2, "status": "APPLIED"})
    api.put("agent-configs/first/agents", {"text": text("first", "other")}, If_Match='"v1"')
    api.post("data-planes/eu/acks", {"revision": 3, "status": "REJECTED"})
    assert "- taken" in api.get("data-planes/eu/config").content.decode().replace('"', "")

    denied = admit(api, object=config_map(content=text(task="taken")))

    assert [cause["reason"] for cause in denied["status"]["details"]["causes"]] == ["TaskTypeConflict"]


def test_the_webhook_counts_nothing_of_a_dry_run(api, plane):
    def counted() -> list[str]:
        lines = api.get("/metrics").content.decode().splitlines()
        return [line for line in lines if "admission" in line and not line.startswith("#")]

    admit(api, object=config_map())
    before = counted()

    admit(api, object=config_map(), dryRun=True)
    assert counted() == before
    admit(api, "UPDATE", object=config_map(), oldObject=config_map())
    assert counted() != before


def test_the_webhook_knows_a_name_that_is_still_to_be_generated(api, plane):
    made = config_map()
    made["metadata"] = {"generateName": "flyteplugins-agentservice-acme-", "namespace": "acme"}

    assert admit(api, object=made, name="")["allowed"]
    made["data"] = {"a.yaml": "plugins: ["}
    assert not admit(api, object=made, name="")["allowed"]


def test_the_state_of_sources_is_shown_and_their_problems_to_administrators_alone(api, settings):
    settings.AGENT_CONFIGS_KUBERNETES_NAMESPACES = ["acme"]
    AgentConfigCluster.objects.filter(id=1).update(
        is_synced=False, problems=["namespace acme: forbidden"], pending={"digest": "d", "documents": ["x"]}
    )
    _, viewer = client("viewer")

    folder, cluster = api.get("agent-config-sources").json()["items"]
    agent_config_source = viewer.get("agent-config-sources").json()["items"][1]

    assert (folder["source"], folder["state"]) == ("folder", "off")
    assert (cluster["state"], cluster["problems"]) == ("failing", ["namespace acme: forbidden"])
    assert cluster["pending"] == {"digest": "d", "documents": ["x"]}
    assert (
        agent_config_source["state"],
        agent_config_source["problem_count"],
        agent_config_source["problems"],
    ) == ("failing", 1, [])
    assert agent_config_source["pending"] == {"digest": "d", "documents": []}


def test_an_administrator_lets_go_what_is_gone_from_a_source_and_nobody_else(api):
    AgentConfigCluster.objects.filter(id=1).update(pending={"digest": "d", "documents": ["x"]})
    _, editor = client("editor")
    expected = {"source": "kubernetes", "digest": "d"}

    assert editor.post("agent-config-sources:confirm", expected).status_code == 403
    assert api.post("agent-config-sources:confirm", {**expected, "digest": "other"}).status_code == 404
    assert AgentConfigCluster.objects.get().confirmed_digest == ""
    assert api.post("agent-config-sources:confirm", expected).status_code == 200

    assert AgentConfigCluster.objects.get().confirmed_digest == "d"
    assert Event.objects.filter(type="agent_config_cluster.confirmed").count() == 1


def test_figures_of_sources_are_scraped(db):
    AgentConfigCluster.objects.filter(id=1).update(
        is_synced=False, checked_at=Now(), loaded_at=Now(), counts={"lists": 3}
    )

    text = exposition().text.decode()

    assert 'agentcfg_source_synced{source="kubernetes"} 0.0' in text
    assert 'agentcfg_source_last_sync_timestamp{source="kubernetes"}' in text
    assert 'agentcfg_cluster_watch{count="lists"} 3.0' in text
