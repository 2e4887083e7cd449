"""Requests as clients of FlyteAdmin were recorded to send them (flyte-attributes.md, 2.5 and 2.6)."""

from __future__ import annotations

from typing import Any

import pytest
from flyteidl.admin import project_attributes_pb2, project_domain_attributes_pb2, project_pb2
from google.protobuf import json_format

from overrides.flyte.messages import message_of
from overrides.importing.flytectl import read_file
from overrides.resource_types import BUILT_IN
from tests.support.api_client import make_project, token_for
from tests.support.flyte_messages import PATHS, PROTOBUF, SNAKE, FlyteHttp, read
from tests.unit.overrides.importing.test_flytectl import FILES, HEAD

PLUGINS = {
    "attributes": {
        "matching_attributes": {
            "plugin_overrides": {
                "overrides": [
                    {
                        "task_type": "python",
                        "plugin_id": ["a"],
                        "missing_plugin_behavior": "USE_DEFAULT",
                    }
                ]
            }
        }
    }
}
# What the generated Python client of v1.10.0 sends, in an order in which each has something to find.
RECORDED: list[tuple[str, str, Any, int, Any]] = [
    ("POST", "projects", {"project": {"id": "p", "name": "p"}}, 200, {}),
    ("PUT", "project_domain_attributes/p/development", PLUGINS, 200, {}),
    (
        "GET",
        "project_domain_attributes/p/development?resource_type=PLUGIN_OVERRIDE",
        None,
        200,
        {
            "attributes": {
                "project": "p",
                "domain": "development",
                **PLUGINS["attributes"],
                "org": "",
            }
        },
    ),
    ("GET", "project_domain_attributes/p/development?resource_type=TASK_RESOURCE", None, 404, None),
    ("GET", "project_domain_attributes/p/development", None, 404, None),
    (
        "GET",
        "workflow_attributes/p/development/core.basic.hello%2Fx%20y?resource_type=TASK_RESOURCE",
        None,
        404,
        {"code": 5, "message": "Not Found", "details": []},
    ),
    ("GET", "project_attributes/p?resource_type=WORKFLOW_EXECUTION_CONFIG", None, 200, None),
    (
        "GET",
        "matchable_attributes?resource_type=CLUSTER_RESOURCE",
        None,
        200,
        {"configurations": []},
    ),
    ("DELETE", "project_domain_attributes/p/development", {"resource_type": "PLUGIN_OVERRIDE"}, 200, {}),
    ("PUT", "projects/p", {"id": "p", "name": "foo"}, 200, {}),
    (
        "GET",
        "projects?limit=2&filters=eq%28project.name%2Cfoo%29%2Beq%28state%2C0%29"
        "&sort_by.key=name&sort_by.direction=ASCENDING",
        None,
        200,
        {
            "projects": [
                {
                    "id": "p",
                    "name": "foo",
                    "domains": [
                        {"id": name, "name": name} for name in ("development", "staging", "production")
                    ],
                    "description": "",
                    "labels": None,
                    "state": "ACTIVE",
                    "org": "",
                }
            ],
            "token": "",
        },
    ),
]


@pytest.fixture
def flyte_http(db) -> FlyteHttp:
    return FlyteHttp(token_for("admin"))


def test_the_generated_python_client(flyte_http):
    for method, path, body, status, expected in RECORDED:
        answer = flyte_http(method, path, b"" if body is None else body, sends=SNAKE, accepts=SNAKE)

        assert answer.status_code == status, (path, answer.content)
        assert expected is None or answer.json() == expected, path


def test_the_three_reads_of_flyteconsole(flyte_http):
    make_project()
    config = {"workflowExecutionConfig": {"maxParallelism": 9}}
    flyte_http.put("project_attributes/flytesnacks", {"attributes": {"matchingAttributes": config}})

    projects = read(project_pb2.Projects(), flyte_http.get("projects", accepts=PROTOBUF), PROTOBUF)
    of_project = flyte_http.get("project_attributes/flytesnacks?resource_type=6", accepts=PROTOBUF)
    of_domain = flyte_http.get(
        "project_domain_attributes/flytesnacks/development?resource_type=6", accepts=PROTOBUF
    )
    elsewhere = flyte_http.get("project_domain_attributes/flytesnacks/nope?resource_type=6", accepts=PROTOBUF)

    assert [project.id for project in projects.projects] == ["flytesnacks"]
    for message, answer in (
        (project_attributes_pb2.ProjectAttributesGetResponse(), of_project),
        (project_domain_attributes_pb2.ProjectDomainAttributesGetResponse(), of_domain),
    ):
        matching_attributes = read(message, answer, PROTOBUF).attributes.matching_attributes
        assert matching_attributes.workflow_execution_config.max_parallelism == 9
    assert (elsewhere.status_code, elsewhere["Content-Type"]) == (400, PROTOBUF)


def test_curl_as_in_flytes_guide(flyte_http):
    """The guide's cluster resource example: camelCase, no ids in the body, no Content-Type of JSON."""
    make_project()
    path = "project_domain_attributes/flytesnacks/development"
    form = "application/x-www-form-urlencoded"
    quota = {
        "clusterResourceAttributes": {"attributes": {"projectQuotaCpu": "1000", "projectQuotaMemory": "5Ti"}}
    }

    put = flyte_http.put(path, {"attributes": {"matchingAttributes": quota}}, sends=form, accepts="*/*")
    got = flyte_http.get(f"{path}?resource_type=CLUSTER_RESOURCE", accepts="*/*")
    listed = flyte_http.get("matchable_attributes?resource_type=1", accepts="*/*")

    assert put.json() == {}
    assert got.json()["attributes"]["matchingAttributes"] == quota
    assert listed.json()["configurations"][0]["attributes"] == quota


@pytest.mark.parametrize("kind", FILES)
def test_flytectls_example_files_apply_at_every_level(flyte_http, settings, kind):
    make_project()
    settings.FLYTE_STRICT_VALIDATION = True
    resource_type = BUILT_IN[kind]
    attributes = read_file(HEAD + FILES[kind], name="a.yaml").attributes

    for path in PATHS.values():
        update = project_attributes_pb2.ProjectAttributesUpdateRequest()
        update.attributes.matching_attributes.CopyFrom(message_of(resource_type, attributes))
        body = json_format.MessageToJson(update).encode()
        assert flyte_http.put(path, body).content == b"{}"
