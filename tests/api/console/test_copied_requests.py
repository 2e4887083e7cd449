"""Copied curl commands of changes: the API takes each as it was copied."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable
from html import unescape
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.test import Client

from controlplane.identity.roles import Role
from overrides.models import GuardRailRow, Project, TypeDefinition
from registry.dispatch.models import ResourceRow
from tests.api.registry.agent_configs.test_agent_configs import text
from tests.support.api_client import AGENT, Api, logged_in, make_principal, make_project, token_for

pytestmark = pytest.mark.django_db
_COPIED = re.compile(r'data-copy="([^"]*)" aria-label="Copy as curl"')
_ANY_COPY = r'data-copy="([^"]*)" aria-label="Copy as ([^"]*)"'
YAML = "application/yaml"
_SINK = {"name": "hook", "config": {"url": "https://203.0.113.7/hook"}}
_SLACK = {
    "name": "on call",
    "kind": "slack",
    "config": {"conversation": "#on-call"},
    "credentials": {"bot_token": "xoxb-secret", "signing_secret": "signing"},
}
_CLIENT = {"client_id": "ci", "grants": ["client_credentials"], "scopes": ["read"], "principal": "bot"}
_RAIL = {
    "name": "cpu-cap",
    "resource_type": "task_resource",
    "pointer": "/limits/cpu",
    "maximum": '"8"',
    "do": "preview",
}
_TYPE = """\
name: limits
title: Limits
meaning: Of one run.
strategy: merge
schema:
  type: object
  properties: {max_hours: {type: integer, description: Maximum duration in hours.}}
  additionalProperties: false
"""


@pytest.fixture
def api(settings: Any, db: None) -> Api:
    settings.OUTGOING_ALLOWED_NETWORKS = ["203.0.113.0/24"]
    make_project("ads")
    return Api(token_for("admin"))


@pytest.fixture
def browser() -> Client:
    return logged_in("jane", Role.ADMIN)


def curl_of(page: Any) -> str:
    (copied,) = _COPIED.findall(page.content.decode())
    return unescape(copied)


def send(api: Api, command: str) -> Any:
    """Send the request of a curl command, with the token of the client."""
    words = iter(shlex.split(command)[1:])
    method, headers, body, url = "GET", {}, None, ""
    for word in words:
        match word:
            case "-X":
                method = next(words)
            case "-H":
                name, _, value = next(words).partition(": ")
                headers[name] = value
            case "-d":
                body = json.loads(next(words))
            case _:
                url = word
    assert headers.pop("Authorization") == "Bearer $TOKEN"
    parts = urlsplit(url)
    path = f"{parts.path}?{parts.query}" if parts.query else parts.path
    return api(method, path, body, **headers)


def make_rule(api: Api) -> str:
    channel = api.post("notification-channels", _SLACK).json()["id"]
    rule = {"name": "agents", "when": {"types": ["agent.unavailable"]}, "to": [channel], "mode": "paged"}
    return f"/notification-rules/{api.post('notification-rules', rule).json()['id']}/delete"


def make_cluster(api: Api) -> str:
    make_principal(name="collector")
    body = {"principal": "collector", "namespaces": ["*"]}
    assert api.put("agent-config-clusters/eu", body).status_code == 201
    return "/agent-configs/clusters/eu/remove"


def make_client(api: Api) -> str:
    make_principal("viewer", name="bot")
    assert api.post("oauth-clients", {**_CLIENT, "default_scopes": ["read"]}).status_code == 201
    return "/oauth-clients/ci/delete"


def make_pool(api: Api) -> str:
    assert api.put("pools/gpu", {"capacity": 5}).status_code == 201
    return "/pools/gpu/delete"


def make_role(api: Api) -> str:
    assert api.post("roles", {"name": "janitor", "actions": ["agent.read"]}).status_code == 201
    return "/roles/janitor/delete"


def make_team(api: Api) -> str:
    assert api.post("teams", {"slug": "ml", "title": "ML"}).status_code == 201
    return "/teams/ml/delete"


def make_channel(api: Api) -> str:
    return f"/notification-channels/{api.post('notification-channels', _SLACK).json()['id']}/delete"


def make_sink(api: Api) -> str:
    return f"/sinks/{api.post('sinks', _SINK).json()['id']}/delete"


@pytest.mark.parametrize(
    "make",
    [make_pool, make_role, make_team, make_channel, make_sink, make_rule, make_client, make_cluster],
)
def test_a_copied_deletion_deletes(api: Api, browser: Client, make: Callable[[Api], str]) -> None:
    page = browser.get(make(api))
    assert page.status_code == 200, page.content[:300]
    answer = send(api, curl_of(page))
    assert answer.status_code in (200, 204), answer.content


def test_a_copied_change_of_a_project_changes_nothing_until_it_is_adapted(api: Api, browser: Client) -> None:
    before = Project.objects.values().get(id="ads")
    command = curl_of(browser.get("/projects/ads/edit"))
    answer = send(api, command)
    assert answer.status_code == 200, answer.content
    assert Project.objects.values().get(id="ads") == before
    send(api, command.replace('"description": ""', '"description": "Advertising"'))
    assert Project.objects.get(id="ads").description == "Advertising"


def test_a_previewed_override_is_copied_as_request_and_document(api: Api, browser: Client) -> None:
    form = {"do": "preview", "version": "0", "text": "limits: {cpu: '8'}"}
    page = browser.post("/overrides/task_resource/edit?project=ads", form).content.decode()
    copied = {name: unescape(content) for content, name in re.findall(_ANY_COPY, page)}
    assert send(api, copied["curl"]).status_code == 201
    command, _, document = copied["cpctl"].partition("\n")
    assert command == "cpctl apply -f - <<'END'"
    applied = api("POST", "overrides:apply", document.removesuffix("END").encode(), Content_Type=YAML)
    assert applied.json()["summary"]["unchanged"] == 1
    assert "Terraform" in copied


def test_a_copied_freeze_is_declared(api: Api, browser: Client) -> None:
    answer = send(api, curl_of(browser.get("/override-freezes:declare?project=ads")))
    assert answer.status_code == 201, answer.content
    assert answer.json()["scope"]["project"] == "ads"


def test_a_copied_change_of_a_sink_replaces_it(api: Api, browser: Client) -> None:
    sink = api.post("sinks", _SINK).json()
    form = browser.get(f"/sinks/{sink['id']}/edit").context["form"]
    page = browser.post(f"/sinks/{sink['id']}/edit", {**form, "name": "renamed", "preview": "1"})
    answer = send(api, curl_of(page))
    assert answer.status_code == 200, answer.content
    assert api.get(f"sinks/{sink['id']}").json()["name"] == "renamed"


def test_a_copied_guard_rail_is_created_then_replaced(api: Api, browser: Client) -> None:
    created = browser.post("/guard-rails:new", {**_RAIL, "version": "0"})
    assert send(api, curl_of(created)).status_code == 201
    page = browser.post("/guard-rails/cpu-cap/edit", {**_RAIL, "maximum": '"4"', "version": "1"})
    assert 'aria-label="Copy as Terraform"' in page.content.decode()
    answer = send(api, curl_of(page))
    assert answer.status_code == 200, answer.content
    assert GuardRailRow.objects.present().get().rule == {"maximum": "4"}


def test_a_copied_resource_type_is_created_then_replaced(api: Api, browser: Client) -> None:
    page = browser.post("/resource-types:new", {"text": _TYPE, "version": "0", "do": "check"})
    assert send(api, curl_of(page)).status_code == 201
    changed = _TYPE.replace("Of one run.", "Of a run.")
    page = browser.post("/resource-types/limits/edit", {"text": changed, "version": "1", "do": "check"})
    assert 'aria-label="Copy as Terraform"' in page.content.decode()
    assert send(api, curl_of(page)).status_code == 200
    assert TypeDefinition.objects.present().get().definition["meaning"] == "Of a run."
    assert send(api, curl_of(browser.get("/resource-types/limits"))).json()["name"] == "limits"


def test_a_copied_document_is_published_over_the_one_that_was_read(api: Api, browser: Client) -> None:
    api.put("data-planes/eu", {})
    api.put("agent-configs/acme/agents", {"text": text("acme")})
    form = {"team": "acme", "name": "agents", "text": text("acme"), "generation": "1", "check": "1"}
    answer = send(api, curl_of(browser.post("/agent-configs/try", form)))
    assert answer.status_code == 200, answer.content


def test_a_copied_request_of_a_resource_is_sent(api: Api, browser: Client) -> None:
    api.post("agents", AGENT)
    form = {"service_type": "vm", "id": "my-vm", "project": "ads", "spec": "cpu: 2", "preview": "1"}
    page = browser.post("/resources:new", form)
    assert "cpctl resources apply -f resource.yaml --id my-vm" in page.content.decode()
    answer = send(api, curl_of(page))
    assert answer.status_code in (201, 202), answer.content
    assert ResourceRow.objects.get().id == "my-vm"
