"""Import from a FlyteAdmin that answers over real HTTP, and from flytectl's files."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from django.core.management import CommandError, call_command

from overrides.importing.flyteadmin import read_flyteadmin
from overrides.models import Override, Project
from tests.support.api_client import Api, make_project, token_for

SCOPE = {"project": "flytesnacks", "domain": "development", "workflow": "", "launch_plan": "", "org": ""}
# As FlyteAdmin writes them: snake_case with all zero values, one row of each type.
ROWS: dict[int, list[dict[str, Any]]] = {
    0: [
        {
            **SCOPE,
            "attributes": {
                "task_resource_attributes": {
                    "defaults": {
                        "cpu": "1",
                        "gpu": "",
                        "memory": "150Mi",
                        "storage": "",
                        "ephemeral_storage": "",
                    },
                    "limits": {
                        "cpu": "2",
                        "gpu": "",
                        "memory": "450Mi",
                        "storage": "",
                        "ephemeral_storage": "",
                    },
                }
            },
        },
        {
            **SCOPE,
            "workflow": "w",
            "attributes": {"taskResourceAttributes": {"limits": {"ephemeralStorage": "1Gi"}}},
        },
    ],
    1: [
        {
            **SCOPE,
            "attributes": {"cluster_resource_attributes": {"attributes": {"projectQuotaCpu": "10", "e": ""}}},
        }
    ],
    2: [{**SCOPE, "attributes": {"execution_queue_attributes": {"tags": ["critical"]}}}],
    3: [{**SCOPE, "attributes": {"execution_cluster_label": {"value": "eu"}}}],
    4: [{**SCOPE, "attributes": {"quality_of_service": {"spec": {"queueing_budget": "30s"}}}}],
    5: [
        {
            **SCOPE,
            "attributes": {
                "plugin_overrides": {
                    "overrides": [{"task_type": "spark", "plugin_id": ["a"], "missing_plugin_behavior": 1}]
                }
            },
        }
    ],
    6: [
        {
            **SCOPE,
            "attributes": {
                "workflowExecutionConfig": {
                    "maxParallelism": 5,
                    "interruptible": False,
                    "overwriteCache": False,
                    "labels": {"values": {"team": "ml"}},
                    "securityContext": {"runAs": {"k8sServiceAccount": "demo", "iamRole": ""}},
                    "someNewField": {"a": 1},
                }
            },
        }
    ],
    7: [{**SCOPE, "attributes": {"cluster_assignment": {"cluster_pool_name": "gpu"}}}],
}
EXPECTED = {
    "task_resource": {"defaults": {"cpu": "1", "memory": "150Mi"}, "limits": {"cpu": "2", "memory": "450Mi"}},
    "cluster_resource": {"attributes": {"projectQuotaCpu": "10", "e": ""}},
    "execution_queue": {"tags": ["critical"]},
    "execution_cluster_label": {"value": "eu"},
    "quality_of_service_specification": {"spec": {"queueing_budget": "30s"}},
    "plugin_override": {
        "overrides": [{"task_type": "spark", "plugin_id": ["a"], "missing_plugin_behavior": "USE_DEFAULT"}]
    },
    "workflow_execution_config": {
        "max_parallelism": 5,
        "interruptible": False,
        "labels": {"values": {"team": "ml"}},
        "security_context": {"run_as": {"k8s_service_account": "demo"}},
    },
    "cluster_assignment": {"cluster_pool_name": "gpu"},
}


class FlyteAdmin(BaseHTTPRequestHandler):
    """Answers as FlyteAdmin does; `trouble` makes it misbehave."""

    trouble = ""
    authorizations: list[str] = []

    def do_GET(self) -> None:
        parts, query = urlsplit(self.path), parse_qs(urlsplit(self.path).query)
        self.authorizations.append(self.headers.get("Authorization", ""))
        if self.trouble == "redirect":
            self.send_response(302)
            self.send_header("Location", "http://169.254.169.254/latest/meta-data")
            self.end_headers()
        elif self.trouble == "html":
            self._send(b"<html>login</html>")
        elif self.trouble == "huge":
            self._send(b'{"projects": "' + b"x" * (17 * 1024 * 1024) + b'"}')
        elif self.trouble == "401":
            self._send(b"{}", 401)
        elif parts.path == "/api/v1/projects":
            self._send(json.dumps(self._projects(query.get("token", [""])[0])).encode())
        else:
            rows = ROWS[int(query["resource_type"][0])]
            self._send(json.dumps({"configurations": rows}).encode())

    def _projects(self, token: str) -> dict[str, Any]:
        domains = [{"id": "development", "name": "development"}, {"id": "qa", "name": "Quality"}]
        if not token:
            return {"projects": [{"id": "flytesnacks", "name": "Snacks", "domains": domains}], "token": "1"}
        return {"projects": [{"id": "old", "name": "Old", "state": "ARCHIVED"}], "token": ""}

    def _send(self, body: bytes, status: int = 200) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        """Quiet."""


@pytest.fixture
def flyteadmin(settings):
    settings.OUTGOING_ALLOWED_NETWORKS = ["127.0.0.0/8"]
    FlyteAdmin.trouble, FlyteAdmin.authorizations = "", []
    server = ThreadingHTTPServer(("127.0.0.1", 0), FlyteAdmin)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_every_type_is_read_in_either_casing_without_zero_values(flyteadmin):
    findings = read_flyteadmin(flyteadmin)

    at_domain = [statement for statement in findings.statements if not statement.address.scope.workflow]
    assert {row.address.resource_type: row.attributes for row in at_domain} == EXPECTED
    (of_workflow,) = [statement for statement in findings.statements if statement.address.scope.workflow]
    assert of_workflow.attributes == {"limits": {"ephemeral_storage": "1Gi"}}
    assert findings.problems == []


def test_pages_of_projects_are_followed_and_archived_ones_left_out(flyteadmin):
    findings = read_flyteadmin(flyteadmin, token="secret-token")

    assert findings.projects == {"flytesnacks": "Snacks"}
    assert findings.domains == {"development": "development", "qa": "Quality"}
    assert ("project old", "The project is archived.") in [
        (skip.place, skip.reason) for skip in findings.skipped
    ]
    assert set(FlyteAdmin.authorizations) == {"Bearer secret-token"}


def test_a_field_that_we_do_not_know_is_told_and_left_out(flyteadmin):
    findings = read_flyteadmin(flyteadmin)

    assert any("/someNewField" in skip.reason for skip in findings.skipped)


def test_the_command_imports_everything_and_a_second_time_nothing(flyteadmin, db, capsys):
    call_command("import_overrides", "flyteadmin", flyteadmin, "--create-projects")
    first = capsys.readouterr().out
    call_command("import_overrides", "flyteadmin", flyteadmin)
    second = capsys.readouterr().out

    assert "Imported: 9 created" in first
    assert "created   project flytesnacks" in first
    assert "0 created, 0 updated, 0 deleted, 9 unchanged" in second
    assert {
        override.resource_type: override.attributes for override in Override.objects.filter(workflow="")
    } == EXPECTED


def test_a_dry_run_changes_nothing(flyteadmin, db, capsys):
    call_command("import_overrides", "flyteadmin", flyteadmin, "--create-projects", "--dry-run")

    assert "Would be: 9 created" in capsys.readouterr().out
    assert (Override.objects.count(), Project.objects.count()) == (0, 0)


def test_names_that_are_missing_are_told(flyteadmin, db):
    with pytest.raises(CommandError, match="Not registered here: project flytesnacks") as raised:
        call_command("import_overrides", "flyteadmin", flyteadmin)

    assert raised.value.returncode == 1


@pytest.mark.parametrize(
    ("trouble", "words"),
    [
        ("redirect", "responded with 302"),
        ("html", "cannot be read"),
        ("huge", "more than"),
        ("401", "responded with 401"),
    ],
)
def test_trouble_on_the_other_side_is_told_and_changes_nothing(flyteadmin, db, trouble, words):
    FlyteAdmin.trouble = trouble

    with pytest.raises(CommandError, match=words) as raised:
        call_command("import_overrides", "flyteadmin", flyteadmin)

    assert raised.value.returncode == 2


def test_the_api_does_not_ask_addresses_within_our_networks(flyteadmin, api, settings):
    settings.OUTGOING_ALLOWED_NETWORKS = []

    answer = api.post("overrides:import", {"flyteadmin": {"url": flyteadmin}})

    assert answer.json()["errors"], answer.json()
    assert (answer.status_code, answer.json()["errors"][0]["code"]) == (400, "address_refused")
    assert FlyteAdmin.authorizations == []


def test_the_api_imports_and_never_tells_the_token(flyteadmin, api, caplog):
    FlyteAdmin.trouble = "401"
    body = {"flyteadmin": {"url": flyteadmin, "token": "very-secret"}, "create_projects": True}

    refused = api.post("overrides:import", body)
    FlyteAdmin.trouble = ""
    done = api.post("overrides:import", body)

    assert (refused.status_code, refused.json()["code"]) == (422, "remote_failed")
    assert done.json()["plan"]["summary"]["created"] == 9
    assert "very-secret" not in refused.content.decode() + done.content.decode() + caplog.text


def test_the_api_imports_files_with_line_and_column_of_what_is_wrong(api):
    make_project()
    head = "project: flytesnacks\ndomain: development\n"
    good = {"flytectl_files": {"a.yaml": head + "tags: [a]\n"}, "manager": "git"}
    bad = {"flytectl_files": {"a.yaml": head + "tags: [a]\n", "b.yaml": head + "tag: [a]\n"}}

    refused = api.post("overrides:import", bad)
    planned = api.post("overrides:import?dry_run=true", good)
    assert Override.objects.count() == 0
    done = api.post("overrides:import", good)

    assert refused.status_code == 400
    assert refused.json()["errors"][0]["line"] == 3
    assert planned.json()["plan"]["summary"] == done.json()["plan"]["summary"]
    assert Override.objects.get().owners == {"/tags": ["git"]}


@pytest.mark.parametrize("body", [{}, {"flytectl_files": {}, "flyteadmin": {"url": "http://x"}}])
def test_one_source_must_be_named(api, body):
    assert api.post("overrides:import", body).status_code == 400


def test_an_import_needs_the_right_to_write_everywhere(db):
    from controlplane.scopes import Scope

    editor = Api(token_for("editor", scope=Scope(project="flytesnacks")))

    assert editor.post("overrides:import", {"flytectl_files": {}}).status_code == 403


def test_folders_of_files_are_read_by_the_command(db, tmp_path, capsys):
    make_project()
    (tmp_path / "sub").mkdir()
    text = "project: flytesnacks\ndomain: development\nvalue: eu\n"
    (tmp_path / "sub" / "label.yaml").write_text(text)

    call_command("import_overrides", "flytectl-files", str(tmp_path), "--manager", "git")

    assert (
        "created   execution_cluster_label at project=flytesnacks domain=development"
        in capsys.readouterr().out
    )
