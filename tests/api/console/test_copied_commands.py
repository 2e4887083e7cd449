"""What pages copy works: Terraform makes requests that the API takes, and commands are commands of cpctl."""

from __future__ import annotations

import json
import re
import shlex
from html import unescape
from typing import Any

import click
import pytest
import typer
from django.test import Client

from controlplane.identity.roles import Role
from cpctl.main import app
from overrides.models import GuardRailRow, Override
from registry.agents.models import Agent
from tests.api.registry.agent_configs.test_agent_configs import text
from tests.support.api_client import AGENT, Api, logged_in, make_project, token_for
from tests.support.hcl import Block, Hcl
from tests.support.plugin_sets import release_plugins

pytestmark = pytest.mark.django_db
HERE = "project=ads&domain=production"
_COPIED = re.compile(r'data-copy="([^"]*)" aria-label="Copy as ([^"]*)"')


@pytest.fixture
def api() -> Api:
    make_project("ads")
    return Api(token_for("admin"))


@pytest.fixture
def browser() -> Client:
    return logged_in("jane", Role.ADMIN)


def copied(browser: Client, address: str) -> dict[str, str]:
    """Return the texts of a page's copy buttons by their names."""
    page = browser.get(address)
    assert page.status_code == 200, page.content[:300]
    return {name: unescape(content) for content, name in _COPIED.findall(page.content.decode())}


def resource_of(text: str) -> Block:
    (resource,) = (block for block in Hcl(text).blocks() if block.kind == "resource")
    return resource


def test_terraform_of_an_override_creates_updates_reads_and_destroys_it(api: Api, browser: Client) -> None:
    api.put(
        f"overrides/task_resource?{HERE}", {"attributes": {"defaults": {"cpu": "1"}, "limits": {"cpu": "2"}}}
    )
    resource = resource_of(copied(browser, f"/overrides/task_resource/edit?{HERE}")["Terraform"])
    api.delete(f"overrides/task_resource?{HERE}", If_Match="*")
    always = {"If_Match": "*"}
    paths = {name: str(resource.attributes[f"{name}_path"])[1:] for name in ("create", "read", "destroy")}
    body = json.loads(resource.attributes["data"])

    assert api.post(paths["create"], body, **always).status_code == 200
    assert api.get(paths["read"]).json()["attributes"]["limits"] == {"cpu": "2"}
    (document,) = body["documents"]
    del document["spec"]["taskResources"]["limits"]
    assert api.post(paths["create"], body, **always).status_code == 200
    assert api.get(paths["read"]).json()["attributes"] == {"defaults": {"cpu": "1"}}
    assert api.delete(paths["destroy"], **always).status_code == 204
    assert not Override.objects.exists()


def test_terraform_of_a_guard_rail(api: Api, browser: Client) -> None:
    at = {"name": "cpu-cap", "scope": {"domain": "production"}, "pointer": "/limits/cpu"}
    body = {**at, "resource_type": "task_resource"}
    made = api.put("guard-rails/cpu-cap", {**body, "rule": {"maximum": "8"}, "reason": "Costs ${more}"})
    assert made.status_code == 201, made.content
    resource = resource_of(copied(browser, "/guard-rails/cpu-cap")["Terraform"])
    destroy = str(resource.attributes["destroy_path"])[1:]

    applied = api.post(str(resource.attributes["create_path"])[1:], json.loads(resource.attributes["data"]))

    assert applied.status_code == 200, applied.content
    assert GuardRailRow.objects.get().reason == "Costs ${more}"
    assert api.delete(destroy, If_Match="*").status_code == 204


def parses(command: str) -> bool:
    """True if cpctl has this command with these options and arguments."""
    group: Any = typer.main.get_command(app)
    name, *words = shlex.split(command)
    context = group.make_context(name, list(words))
    while isinstance(context.command, click.Group):
        rest = [*context._protected_args, *context.args]
        found, chosen, rest = context.command.resolve_command(context, rest)
        context = chosen.make_context(found, rest, parent=context)
    return True


def test_every_copied_command_is_one_of_cpctl(api: Api, browser: Client) -> None:
    api.put("data-planes/eu", {})
    api.put("agent-configs/acme/agents", {"text": text("acme")})
    api.put("agent-configs/rival/agents", {"text": text("rival", "acme_sensor")})
    api.post("agents", AGENT)
    agent = Agent.objects.get().id
    release = release_plugins("bq", image="registry.example/bq:1.0")
    name = "kind=task_type&name=acme_sensor"
    addresses = (
        *("/environments", "/task-types", "/task-types/acme_sensor", "/fleet-guards"),
        *("/fleet-guards/overrule?environment=edge&ruling=engage", "/agents:drain?selector=team%3Dml"),
        *(
            "/agents:retire?environment=edge&state=silent",
            f"/agents/{agent}/drain",
            f"/agents/{agent}/retire",
        ),
        *(f"/agents/{agent}/transfer", f"/agents/{agent}/remove", "/agent-configs?team=acme&valid=false"),
        *("/agent-configs/documents/api/acme/agents", "/agent-configs/leave-out/api/acme/agents"),
        *("/agent-configs/let-in/api/acme/agents", "/agent-configs/planes", "/agent-configs/planes/eu"),
        *(
            "/agent-configs/planes/eu/1",
            "/agent-configs/planes/eu/approve",
            "/agent-configs/conflicts?team=rival",
        ),
        *(f"/agent-configs/conflicts/pin?{name}&team=acme", f"/agent-configs/conflicts/unpin?{name}"),
        f"/agent-configs/conflicts/hand-over?{name}&from_team=acme&to_team=rival",
        f"/agent-configs/give-up?{name}&team=acme",
        *("/plugins", "/plugins/bq", "/plugin-releases", "/plugin-releases:nodes", "/plugin-config"),
        *(f"/plugin-releases/{release.id}", "/plugin-releases:new", "/jobs", "/guard-rails"),
    )
    for address in addresses:
        texts = copied(browser, address)
        assert "cpctl" in texts, address
        assert parses(texts["cpctl"]), address
