"""What a data plane is served, and what people read, while a gate holds a change."""

from __future__ import annotations

import pytest

from controlplane.access.models import Principal
from registry.agent_configs.part_models import AgentConfigPart
from registry.agent_configs.reconcile import reconcile
from tests.api.registry.agent_configs.test_agent_configs import client, published, text
from tests.integration.registry.agent_configs.publishing.test_team_parts import crowd


@pytest.fixture
def plane(api) -> str:
    assert api.put("data-planes/eu", {}).status_code == 201
    return "eu"


@pytest.fixture
def held_digest(api, plane) -> str:
    """A team whose removal waits; returns its digest."""
    published(api, content=crowd("acme", 6))
    api.put("agent-configs/acme/agents", {"text": crowd("acme", 1)}, If_Match='"v1"')
    return AgentConfigPart.objects.get(team="acme").held["digest"]


@pytest.mark.parametrize("format_", ["yaml", "json", "configmap"])
def test_a_data_plane_is_served_the_last_good_while_a_gate_holds_the_replacement(api, plane, format_):
    published(api, content=crowd("acme", 6))
    path = f"data-planes/eu/config?format={format_}"
    before = api.get(path)

    for number, count in enumerate((1, 2, 0), start=1):
        if count:
            api.put("agent-configs/acme/agents", {"text": crowd("acme", count)}, If_Match=f'"v{number}"')
        else:
            assert api.delete("agent-configs/acme/agents", If_Match=f'"v{number}"').status_code == 204
        after = api.get(path)
        assert (after.content, after["ETag"]) == (before.content, before["ETag"])
        assert after["X-Config-Revision"] == before["X-Config-Revision"]
        assert after["Repr-Digest"] == before["Repr-Digest"]
        assert api.get(path, If_None_Match=before["ETag"]).status_code == 304
    assert "acme-agents-5" in after.content.decode()


def test_a_data_plane_is_served_the_last_good_while_the_whole_is_held(api, plane):
    for team in ("acme", "beta", "gamma", "delta"):
        published(api, team=team)
    before = api.get("data-planes/eu/config")
    api.put("data-planes/eu", {"teams": ["acme"]}, If_Match='"v1"')

    after = api.get("data-planes/eu/config")

    body = api.get("data-planes/eu").json()
    assert [gate["gate"] for gate in body["held"]] == ["removes_too_much", "removes_too_much"]
    assert (after.content, after["ETag"]) == (before.content, before["ETag"])
    acked = api.post("data-planes/eu/acks", {"revision": body["active_revision"], "status": "APPLIED"})
    assert acked.json()["applied_revision"] == body["active_revision"]


def test_a_new_data_plane_gets_everything_but_what_is_over_a_quota(api, settings):
    settings.AGENT_CONFIGS_TEAM_AGENTS = 3
    published(api, content=crowd("acme", 6))
    published(api, team="beta")

    api.put("data-planes/us", {})

    body = api.get("data-planes/us/config").content.decode()
    assert ("beta-sensor" in body, "acme" in body) == (True, False)


def test_what_waits_is_listed_with_its_reason_and_let_go_by_its_digest(api, held_digest):
    (part,) = api.get("agent-config-parts?held=true").json()["items"]
    assert api.get("data-planes/eu").json()["held_teams"] == ["acme"]
    assert api.get("data-planes").json()["items"][0]["held_teams"] == ["acme"]
    assert (part["team"], part["held_digest"]) == ("acme", held_digest)
    assert "5 of 6 agents would be removed" in part["held"][0]["message"]
    assert part["held_changes"].count("- agent acme-agents-5") == 1
    assert part["held_since"]
    assert api.get("agent-config-parts?team=beta").json()["items"] == []

    assert api.post("data-planes/eu:approve", {"digest": held_digest}).status_code == 200

    assert api.get("agent-config-parts?held=true").json()["items"] == []
    assert "acme-agents-5" not in api.get("data-planes/eu/config").content.decode()


def test_a_team_of_another_organisation_reads_nothing_of_what_waits(api, held_digest):
    name, stranger = client("editor")
    _, author = client("editor")
    author_name = Principal.objects.order_by("-id").values_list("name", flat=True).first()
    api.put("agent-config-teams/acme", {"organisation": "a", "publishers": [author_name]})
    api.put("agent-config-teams/other", {"organisation": "b", "publishers": [name]})

    assert stranger.get("agent-config-parts").json()["items"] == []
    assert stranger.post("data-planes/eu:approve", {"digest": held_digest}).status_code == 403
    (part,) = author.get("agent-config-parts?held=true").json()["items"]
    assert part["team"] == "acme"
    conditions = author.get("agent-configs/acme/agents").json()["data_planes"][0]["conditions"]
    assert {condition["type"]: condition["reason"] for condition in conditions}["Programmed"] == "Held"


def test_a_large_configuration_is_refused_as_a_config_map_and_served_as_yaml(api, plane, settings):
    settings.AGENT_CONFIGS_AT_ONCE = 0
    settings.AGENT_CONFIGS_TEAM_BYTES = 4 << 20
    many = "".join(f"    - task.{number:04}.{'x' * 100}\n" for number in range(990))
    for team in ("acme", "beta", "gamma", "delta", "epsilon"):
        documents_text = text(team).replace(f"    - {team}_sensor\n", many.replace("task", team))
        assert published(api, team=team, content=documents_text).status_code == 201
    reconcile()

    refused = api.get("data-planes/eu/config?format=configmap")
    assert (refused.status_code, refused.json()["code"]) == (409, "limit_reached")
    assert "format=yaml" in refused.json()["detail"]
    assert len(api.get("data-planes/eu/config").content) > 1 << 20


def test_a_team_in_a_loop_is_told_to_wait(api, plane, settings):
    settings.AGENT_CONFIGS_TEAM_CHANGES = 1
    published(api)

    refused = api.put("agent-configs/acme/agents", {"text": text(task="other")}, If_Match='"v1"')

    assert (refused.status_code, refused.json()["code"]) == (429, "too_many_attempts")
    assert refused.json()["retry_after"] > 0
    assert published(api, team="beta").status_code == 201
