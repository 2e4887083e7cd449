"""cpctl about who may do what, and what scopes and types there are, against a running server."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
import yaml

from controlplane.access.principals import create_token
from tests.e2e.test_cpctl_agents import CONFIG
from tests.support.api_client import ACTOR, AGENT, Api, make_principal
from tests.support.cpctl_in_process import CpctlInProcess
from tests.support.cpctl_runner import Cpctl

TYPE = {
    "name": "workflow_priority",
    "strategy": "merge",
    "schema": {
        "type": "object",
        "properties": {"priority": {"type": "integer"}},
        "additionalProperties": False,
    },
}
RAIL = {
    "scope": {"domain": "development"},
    "resource_type": "task_resource",
    "pointer": "/limits/cpu",
    "rule": {"maximum": "64"},
    "reason": "Ask for more.",
}


@pytest.fixture
def cpctl(live, tmp_path, monkeypatch) -> Iterator[CpctlInProcess]:
    ada = make_principal("admin", name="ada")
    _, token = create_token(ada, name="test", expires_at=None, actor=ACTOR)
    monkeypatch.chdir(tmp_path)
    with CpctlInProcess(tmp_path, live.url, token) as cpctl:
        yield cpctl


def done(cpctl: Cpctl, *arguments: str) -> str:
    ran = cpctl(*arguments, "--yes")
    assert ran.code == 0, ran.err
    return ran.out


def picked_lines(cpctl: Cpctl, line: str, picked: str) -> list[str]:
    ran = cpctl(*line.split(), "--jq", picked)
    assert ran.code == 0, ran.err
    return ran.out.splitlines()


def test_a_service_is_let_in_and_shut_out(cpctl):
    done(cpctl, "projects", "create", "ml", "--label", "team=ml")
    done(cpctl, "projects", "update", "ml", "--name", "Learning")
    done(cpctl, "domains", "create", "qa", "--name", "Quality")
    assert picked_lines(cpctl, "projects list", ".items[] | {id, name, labels}") == [
        '{"id":"ml","name":"Learning","labels":{"team":"ml"}}'
    ]
    assert "qa" in picked_lines(cpctl, "domains list", ".items[].id")

    done(cpctl, "principals", "create", "ci", "--kind", "service")
    assert cpctl("tokens", "create", "CI", "--principal", "ci").code == 2
    service = CpctlInProcess(
        cpctl.folder / "ci", cpctl.server, done(cpctl, "tokens", "create", "CI", "--principal", "ci").strip()
    )
    service.folder.mkdir()
    assert service("projects", "create", "other", "--yes").code == 4
    done(cpctl, "roles", "grant", "ci", "viewer", "-p", "ml")
    assert service("whoami").out.splitlines()[1:] == ["  viewer: project=ml"]

    (binding,) = picked_lines(cpctl, "roles list --principal ci", ".items[].id")
    done(cpctl, "roles", "revoke", binding)
    assert picked_lines(cpctl, "roles list --principal ci", ".items[]") == []
    done(cpctl, "principals", "disable", "ci")
    assert service("whoami").code == 4
    done(cpctl, "principals", "enable", "ci")
    assert service("whoami").code == 0
    (token,) = picked_lines(cpctl, "tokens list --principal ci", ".items[].id")
    done(cpctl, "tokens", "revoke", token)
    assert service("whoami").code == 4


def test_types_rails_and_overrides_are_made_changed_and_deleted(cpctl):
    (cpctl.folder / "type.yaml").write_text(yaml.safe_dump(TYPE))
    (cpctl.folder / "rail.json").write_text(json.dumps(RAIL))
    done(cpctl, "resource-types", "create", "-f", "type.yaml")
    (cpctl.folder / "type.yaml").write_text(yaml.safe_dump({**TYPE, "title": "Priority"}))
    done(cpctl, "resource-types", "update", "workflow_priority", "-f", "type.yaml", "-m", "A title")
    assert picked_lines(cpctl, "get type workflow_priority", ".title") == ["Priority"]
    done(cpctl, "guard-rails", "set", "cap", "-f", "rail.json")
    assert picked_lines(cpctl, "get guard-rails", ".items[].name") == ["cap"]

    Api(cpctl.token).put("overrides/workflow_priority", {"attributes": {"priority": 7}})
    compared = cpctl("overrides", "compare", "--from", "0")
    assert (compared.code, "+ /priority: 7" in compared.out) == (1, True)
    assert cpctl("resource-types", "delete", "workflow_priority", "--yes").code == 5
    assert cpctl("overrides", "delete", "workflow_priority").code == 2
    done(cpctl, "overrides", "delete", "workflow_priority", "-m", "Done")
    done(cpctl, "resource-types", "delete", "workflow_priority")
    done(cpctl, "guard-rails", "delete", "cap")
    assert picked_lines(cpctl, "get guard-rails", ".items[]") == []
    assert cpctl("guard-rails", "delete", "cap", "--yes").code == 3
    assert picked_lines(cpctl, "overrides source", ".source") == ["db"]
    assert cpctl("overrides", "confirm", "--yes").code == 2


def test_teams_grants_planes_and_quarantine(cpctl):
    group = ("agent-configs",)
    make_principal("viewer", name="bob")
    done(cpctl, *group, "planes", "set", "eu-1", "--release", "1.16.0")
    done(cpctl, *group, "planes", "set", "eu-1", "--dialect", "connector")
    plane = picked_lines(cpctl, "get plane eu-1", "{release, dialect}")
    assert plane == ['{"release":"1.16.0","dialect":"connector"}']
    done(cpctl, *group, "teams", "set", "acme", "--publisher", "ada", "--organisation", "Acme")
    done(cpctl, *group, "teams", "set", "acme", "--publisher", "bob")
    assert picked_lines(cpctl, "get team acme", "{organisation, publishers}") == [
        '{"organisation":"Acme","publishers":["bob"]}'
    ]
    done(cpctl, *group, "grants", "give", "acme", "acme_*")
    (grant,) = picked_lines(cpctl, "agent-configs grants list", ".items[].id")
    done(cpctl, *group, "grants", "withdraw", grant)
    assert picked_lines(cpctl, "agent-configs grants list", ".items | length") == ["0"]

    (cpctl.folder / "a.yaml").write_text(CONFIG)
    done(cpctl, *group, "publish", "acme/sensors", "-f", "a.yaml")
    assert "quarantined" in done(cpctl, *group, "quarantine", "acme/sensors", "-m", "It loops.")
    assert "It loops." in cpctl(*group, "get", "acme/sensors", "-o", "json").out
    assert "admitted" in done(cpctl, *group, "readmit", "acme/sensors")
    assert cpctl(*group, "sources", "list", "--jq", ".items").code == 0
    assert cpctl(*group, "sources", "confirm", "folder", "--yes").code == 2
    done(cpctl, *group, "planes", "remove", "eu-1")
    assert cpctl("get", "plane", "eu-1").code == 3


def test_providers_of_an_agent(cpctl):
    agent = Api(cpctl.token).post("agents", {**AGENT, "service_types": ["vm"]}).json()["agent_id"]
    vm = {
        "name": "kubevirt",
        "endpoint": "http://kubevirt:8081/vms",
        "service_type": "vm",
        "schema_version": "v1",
    }
    made = Api(cpctl.token).post(f"agents/{agent}/providers", vm)
    assert made.status_code == 201, made.content

    (provider,) = picked_lines(cpctl, "agents providers list a1", ".items[].id")
    assert picked_lines(cpctl, f"agents providers show a1 {provider}", ".service_type") == ["vm"]
    assert picked_lines(cpctl, f"agents providers history a1 {provider}", ".items[0].name") == ["kubevirt"]
    assert picked_lines(cpctl, "agents summary", ".states.ready") == ["1"]
    done(cpctl, "agents", "providers", "remove", "a1", provider)
    assert picked_lines(cpctl, "agents providers list a1", ".items[]") == []
