"""Matchable attributes through FlyteAdmin's HTTP paths: formats, semantics, errors."""

from __future__ import annotations

from typing import Any

import pytest
from flyteidl.admin import matchable_resource_pb2 as flyte
from flyteidl.admin import project_attributes_pb2, project_domain_attributes_pb2, workflow_attributes_pb2

from controlplane.pools.pools import PoolSpec, create_pool
from controlplane.scopes import Scope
from overrides.models import Override
from tests.support.api_client import ACTOR, make_project, token_for
from tests.support.flyte_messages import CAMEL, EXAMPLES, PATHS, PROTOBUF, SNAKE, FlyteHttp, read, write

PD = PATHS["project_domain"]
WORKFLOW = PATHS["workflow"]
PROJECT = PATHS["project"]
UPDATES: dict[str, Any] = {
    "project": project_attributes_pb2.ProjectAttributesUpdateRequest,
    "project_domain": project_domain_attributes_pb2.ProjectDomainAttributesUpdateRequest,
    "workflow": workflow_attributes_pb2.WorkflowAttributesUpdateRequest,
}
ANSWERS: dict[str, Any] = {
    "project": project_attributes_pb2.ProjectAttributesGetResponse,
    "project_domain": project_domain_attributes_pb2.ProjectDomainAttributesGetResponse,
    "workflow": workflow_attributes_pb2.WorkflowAttributesGetResponse,
}


@pytest.fixture(autouse=True)
def _project(db):
    make_project()


@pytest.fixture
def flyte_http(db) -> FlyteHttp:
    return FlyteHttp(token_for("admin"))


def label(value: str) -> dict[str, Any]:
    return {"attributes": {"matching_attributes": {"execution_cluster_label": {"value": value}}}}


def plugins(*overrides: dict[str, Any]) -> dict[str, Any]:
    return {"attributes": {"matching_attributes": {"plugin_overrides": {"overrides": list(overrides)}}}}


# Formats.


@pytest.mark.parametrize("kind", EXAMPLES)
@pytest.mark.parametrize("level", PATHS)
@pytest.mark.parametrize("sends", [SNAKE, CAMEL, PROTOBUF])
def test_every_type_comes_back_equal_from_every_format(flyte_http, kind, level, sends):
    update = UPDATES[level]()
    update.attributes.matching_attributes.CopyFrom(EXAMPLES[kind])

    put = flyte_http.put(PATHS[level], write(update, sends), sends=sends)
    assert (put.status_code, put.content in (b"{}", b"")) == (200, True), put.content

    for accepts in (SNAKE, CAMEL, PROTOBUF):
        got = flyte_http.get(f"{PATHS[level]}?resource_type={kind}", accepts=accepts)
        answer = read(ANSWERS[level](), got, accepts)
        assert answer.attributes.matching_attributes == EXAMPLES[kind]
        assert answer.attributes.project == "flytesnacks"


def test_an_answer_can_be_sent_back_as_it_is(flyte_http):
    flyte_http.put(PD, write(_update(EXAMPLES["WORKFLOW_EXECUTION_CONFIG"]), SNAKE), sends=SNAKE)
    got = flyte_http.get(f"{PD}?resource_type=WORKFLOW_EXECUTION_CONFIG", accepts=SNAKE)

    assert flyte_http.put(PD, got.content, sends=SNAKE).status_code == 200
    again = flyte_http.get(f"{PD}?resource_type=WORKFLOW_EXECUTION_CONFIG", accepts=SNAKE)
    assert again.content == got.content


def _update(matching: Any) -> Any:
    update = UPDATES["project_domain"]()
    update.attributes.matching_attributes.CopyFrom(matching)
    return update


@pytest.mark.parametrize(
    ("sends", "accepts", "casing"),
    [
        ("", "", "camel"),
        ("", "*/*", "camel"),
        ("", "application/json", "snake"),
        ("", "application/json, text/plain, */*", "camel"),
        ("", "application/json; charset=utf-8", "camel"),
        ("application/json", "", "snake"),
        ("application/json; charset=utf-8", "*/*", "snake"),
        ("application/x-www-form-urlencoded", "*/*", "camel"),
        ("application/octet-stream", "application/json", "snake"),
        ("application/json", "application/octet-stream", "protobuf"),
        ("", "application/octet-stream", "protobuf"),
    ],
)
def test_the_marshaler_is_chosen_as_the_gateway_does(flyte_http, sends, accepts, casing):
    flyte_http.put(PD, write(_update(EXAMPLES["TASK_RESOURCE"]), SNAKE), sends=SNAKE)

    got = flyte_http.get(f"{PD}?resource_type=TASK_RESOURCE", sends=sends, accepts=accepts)

    if casing == "protobuf":
        assert got["Content-Type"] == PROTOBUF
        assert read(ANSWERS["project_domain"](), got, PROTOBUF).attributes.domain == "development"
        return
    assert got["Content-Type"] == "application/json"
    assert got["Grpc-Metadata-Content-Type"] == "application/grpc"
    assert ("matching_attributes" if casing == "snake" else "matchingAttributes") in got.json()["attributes"]


def test_unset_members_are_told_as_upstream_tells_them(flyte_http):
    flyte_http.put(PD, write(_update(EXAMPLES["TASK_RESOURCE"]), SNAKE), sends=SNAKE)
    flyte_http.put(PD, {"attributes": {"matchingAttributes": {"workflowExecutionConfig": {}}}})

    assert flyte_http.get(f"{PD}?resource_type=0", accepts=SNAKE).json() == {
        "attributes": {
            "project": "flytesnacks",
            "domain": "development",
            "matching_attributes": {
                "task_resource_attributes": {
                    "defaults": {
                        "cpu": "1",
                        "gpu": "",
                        "memory": "150Mi",
                        "storage": "",
                        "ephemeral_storage": "1Gi",
                    },
                    "limits": {
                        "cpu": "2",
                        "gpu": "1",
                        "memory": "450Mi",
                        "storage": "10Gi",
                        "ephemeral_storage": "",
                    },
                }
            },
            "org": "",
        }
    }
    config = flyte_http.get(f"{PD}?resource_type=6", accepts=SNAKE).json()["attributes"]
    assert config["matching_attributes"]["workflow_execution_config"] == {
        "max_parallelism": 0,
        "security_context": None,
        "raw_output_data_config": None,
        "labels": None,
        "annotations": None,
        "interruptible": None,
        "overwrite_cache": False,
        "envs": None,
        "execution_env_assignments": [],
    }


def test_members_come_in_the_order_of_the_proto_file(flyte_http):
    flyte_http.put(PD, label("x"))

    names = list(flyte_http.get(f"{PD}?resource_type=3").json()["attributes"])

    assert names == ["project", "domain", "matchingAttributes", "org"]


@pytest.mark.parametrize(
    ("body", "sends", "message"),
    [
        (b'{"attributes": {"x": 1}}', SNAKE, 'proto: (line 1:17): unknown field "x"'),
        (
            b'{"attributes": {"matchingAttributes": {"executionClusterLabel": {}, "clusterAssignment": {}}}}',
            "",
            'proto: (line 1:69): error parsing "clusterAssignment", '
            "oneof flyteidl.admin.MatchingAttributes.target is already set",
        ),
        (b'{"attributes": ', "", "unexpected EOF"),
        (b'{"attributes": {}, "attributes": {}}', "", 'proto: (line 1:20): duplicate field "attributes"'),
        (b"[]", "", "proto: syntax error (line 1:1)"),
        (b"\xff", "", "invalid character '\u00ff' looking for beginning of value"),
        (b"[" * 100_000, "", "invalid character '[' exceeded max depth"),
        (b"\x0a\xff\xff", PROTOBUF, "proto: cannot parse invalid wire-format data"),
        (b"x" * (1024 * 1024 + 1), "", "The body can have at most 1048576 bytes"),
    ],
)
def test_a_body_that_cannot_be_read_is_400_with_code_3(flyte_http, body, sends, message):
    answer = flyte_http.put(PD, body, sends=sends, accepts=SNAKE)

    assert (answer.status_code, answer.json()["code"]) == (400, 3)
    assert answer.json()["message"].startswith(message)
    assert not Override.objects.exists()


@pytest.mark.parametrize(
    ("matching", "stored"),
    [
        ('{"workflowExecutionConfig": {"maxParallelism": "5"}}', {"max_parallelism": 5}),
        ('{"workflow_execution_config": {"max_parallelism": 5.0}}', {"max_parallelism": 5}),
        ('{"workflowExecutionConfig": {"interruptible": null, "labels": null}}', {}),
        ('{"executionClusterLabel": {"value": "x"}, "unknown": {"a": [1]}}', {"value": "x"}),
        (
            '{"pluginOverrides": {"overrides": [{"taskType": "a", "missingPluginBehavior": 1}]}}',
            {"overrides": [{"task_type": "a", "missing_plugin_behavior": "USE_DEFAULT"}]},
        ),
    ],
)
def test_what_protojson_forgives_is_forgiven(flyte_http, matching, stored):
    body = f'{{"attributes": {{"matchingAttributes": {matching}}}}} trailing'.encode()

    assert flyte_http.put(PD, body).status_code == 200
    assert Override.objects.get().attributes == stored


def test_keys_of_maps_are_sorted(flyte_http):
    pairs = {"z": "1", "b": "2", "a": "3"}
    body = {"attributes": {"matching_attributes": {"cluster_resource_attributes": {"attributes": pairs}}}}
    flyte_http.put(PD, body)

    got = flyte_http.get(f"{PD}?resource_type=1").content

    assert b'{"a":"3","b":"2","z":"1"}' in got


def test_ids_in_the_query_are_not_looked_at(flyte_http):
    flyte_http.put(PD, label("x"))

    got = flyte_http.get(f"{PD}?resource_type=3&project=other&project=another&domain=staging")

    assert got.json()["attributes"]["project"] == "flytesnacks"


def test_flytes_clients_are_not_asked_to_confirm(flyte_http, api, settings):
    settings.CONFIRM_ABOVE_SCOPES = 1

    assert flyte_http.put(PROJECT, label("x")).status_code == 200
    refused = api.put(
        "overrides/execution_cluster_label?project=flytesnacks", {"attributes": {"value": "y"}}, If_Match="*"
    )
    assert refused.json()["code"] == "confirmation_required"


def test_the_path_wins_over_the_body(flyte_http):
    body = label("x")
    body["attributes"] |= {"project": "other", "domain": "production", "org": "acme"}

    assert flyte_http.put(PD, body).status_code == 200
    assert Override.objects.get().project == "flytesnacks"
    assert flyte_http.get(f"{PD}?resource_type=3&org=acme&x=1").json()["attributes"]["org"] == ""


def test_the_resource_type_may_be_named_numbered_or_left_out(flyte_http):
    flyte_http.put(PD, label("x"))
    flyte_http.put(PD, write(_update(EXAMPLES["TASK_RESOURCE"]), SNAKE), sends=SNAKE)

    for query in ("resource_type=3", "resourceType=EXECUTION_CLUSTER_LABEL"):
        assert "executionClusterLabel" in str(flyte_http.get(f"{PD}?{query}").content)
    assert "taskResourceAttributes" in str(flyte_http.get(PD).content)


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("resource_type=44", 'parsing field "resource_type": "44" is not a valid value'),
        ("resource_type=nope", 'parsing field "resource_type": "nope" is not a valid value'),
        ("resource_type=0&resource_type=1", 'too many values for field "resource_type": 0, 1'),
    ],
)
def test_a_query_that_cannot_be_read_is_400(flyte_http, query, message):
    answer = flyte_http.get(f"{PD}?{query}")

    assert (answer.status_code, answer.json()) == (400, {"code": 3, "message": message, "details": []})


# What is read.


def test_a_workflow_reads_the_most_specific_row_whole_and_its_ids(flyte_http):
    path = f"{WORKFLOW}?resource_type=WORKFLOW_EXECUTION_CONFIG"
    for where, stated_attributes in ((PROJECT, {"max_parallelism": 3}), (PD, {"interruptible": True})):
        flyte_http.put(
            where, {"attributes": {"matching_attributes": {"workflow_execution_config": stated_attributes}}}
        )

    attributes = flyte_http.get(path, accepts=SNAKE).json()["attributes"]
    assert (attributes["project"], attributes["domain"], attributes["workflow"]) == (
        "flytesnacks",
        "development",
        "",
    )
    assert attributes["matching_attributes"]["workflow_execution_config"]["max_parallelism"] == 0

    flyte_http.delete(PD, {"resource_type": "WORKFLOW_EXECUTION_CONFIG"})
    attributes = flyte_http.get(path, accepts=SNAKE).json()["attributes"]
    assert (attributes["project"], attributes["domain"], attributes["workflow"]) == ("flytesnacks", "", "")

    flyte_http.put(WORKFLOW, {"attributes": {"matching_attributes": {"workflow_execution_config": {}}}})
    attributes = flyte_http.get(path, accepts=SNAKE).json()["attributes"]
    assert attributes["workflow"] == "core.basic.hello_world.my_wf"
    # An empty message hides what is above it.
    assert attributes["matching_attributes"]["workflow_execution_config"]["max_parallelism"] == 0


def test_a_project_domain_does_not_see_a_workflows_row(flyte_http):
    flyte_http.put(WORKFLOW, label("x"))

    answer = flyte_http.get(f"{PD}?resource_type=3")

    assert (answer.status_code, answer.json()) == (
        404,
        {
            "code": 5,
            "message": "Resource [{Project:flytesnacks Domain:development Workflow: LaunchPlan: "
            "ResourceType:EXECUTION_CLUSTER_LABEL}] not found",
            "details": [],
        },
    )


def test_rows_at_levels_that_flyte_has_not_are_invisible_to_it(flyte_http, api):
    for query in ("", "?domain=development"):
        api.put(f"overrides/execution_cluster_label{query}", {"attributes": {"value": "ours"}})
    launch_plan = "?project=flytesnacks&domain=development&workflow=w&launch_plan=l"
    api.put(f"overrides/execution_cluster_label{launch_plan}", {"attributes": {"value": "plan"}})

    path = "workflow_attributes/flytesnacks/development/w?resource_type=3"
    assert flyte_http.get(path).status_code == 404
    assert flyte_http.get("matchable_attributes?resource_type=3").json() == {"configurations": []}


def test_a_projects_execution_config_is_filled_from_the_platform(flyte_http, settings, tmp_path):
    from overrides.loading.platform_defaults import platform_defaults

    file = tmp_path / "defaults.yaml"
    file.write_text(
        "kind: platformDefaults\nspec: {workflowExecutionConfig: {maxParallelism: 30, interruptible: true}}\n"
    )
    settings.PLATFORM_DEFAULTS_PATH = str(file)
    platform_defaults.cache_clear()
    try:
        path = f"{PROJECT}?resource_type=WORKFLOW_EXECUTION_CONFIG"
        bare = flyte_http.get(path, accepts=SNAKE).json()["attributes"]["matching_attributes"]
        assert bare["workflow_execution_config"]["max_parallelism"] == 30

        attributes = {"labels": {"values": {"team": "ml"}}, "interruptible": False}
        flyte_http.put(
            PROJECT, {"attributes": {"matching_attributes": {"workflow_execution_config": attributes}}}
        )
        filled = flyte_http.get(path, accepts=SNAKE).json()["attributes"]["matching_attributes"]
        config = filled["workflow_execution_config"]
        assert (config["max_parallelism"], config["interruptible"]) == (30, False)
        # Only the project's own read is filled; the list shows the row as it is.
        listed = flyte_http.get("matchable_attributes?resource_type=6", accepts=SNAKE).json()
        raw = listed["configurations"][0]["attributes"]["workflow_execution_config"]
        assert raw["max_parallelism"] == 0
        assert flyte_http.get(f"{PD}?resource_type=6").json()["attributes"]["domain"] == ""
    finally:
        platform_defaults.cache_clear()


def test_a_project_without_a_config_has_the_default_of_flyteadmins_code(flyte_http):
    answer = flyte_http.get(f"{PROJECT}?resource_type=6")

    assert answer.status_code == 200
    assert (
        answer.json()["attributes"]["matchingAttributes"]["workflowExecutionConfig"]["maxParallelism"] == 25
    )
    assert flyte_http.get(f"{PROJECT}?resource_type=0").status_code == 404


def test_the_list_has_the_most_specific_first(flyte_http):
    for path in (PROJECT, WORKFLOW, PD):
        flyte_http.put(path, label(path.split("_")[0]))

    rows = flyte_http.get("matchable_attributes?resource_type=3", accepts=SNAKE).json()["configurations"]

    assert rows[0] == {
        "attributes": {"execution_cluster_label": {"value": "workflow"}},
        "domain": "development",
        "project": "flytesnacks",
        "workflow": "core.basic.hello_world.my_wf",
        "launch_plan": "",
        "org": "",
    }
    assert [(row["domain"], row["workflow"]) for row in rows[1:]] == [("development", ""), ("", "")]


# What is written.


def test_an_update_replaces_the_whole_message(flyte_http):
    flyte_http.put(PD, write(_update(EXAMPLES["TASK_RESOURCE"]), SNAKE), sends=SNAKE)
    body = {"attributes": {"matching_attributes": {"task_resource_attributes": {"limits": {"cpu": "9"}}}}}

    flyte_http.put(PD, body, sends=SNAKE)

    assert Override.objects.get().attributes == {"limits": {"cpu": "9"}}


@pytest.mark.parametrize("path", PATHS.values())
def test_plugin_overrides_merge_by_task_type_at_every_level(flyte_http, path):
    flyte_http.put(path, plugins({"task_type": "a", "plugin_id": ["1"]}, {"task_type": "b"}))
    flyte_http.put(path, plugins({"task_type": "c"}, {"task_type": "a", "plugin_id": ["2"]}))
    flyte_http.put(path, plugins())

    assert Override.objects.get().attributes == {
        "overrides": [{"task_type": "b"}, {"task_type": "c"}, {"task_type": "a", "plugin_id": ["2"]}]
    }


def test_a_plugin_override_of_a_project_domain_leaves_its_workflows_alone(flyte_http):
    flyte_http.put(WORKFLOW, plugins({"task_type": "a"}))
    flyte_http.put(PD, plugins({"task_type": "b"}))

    assert {row.workflow: row.attributes["overrides"][0]["task_type"] for row in Override.objects.all()} == {
        "": "b",
        "core.basic.hello_world.my_wf": "a",
    }


def test_delete_takes_the_type_from_the_body_and_one_row(flyte_http):
    for path in (PROJECT, PD, WORKFLOW):
        flyte_http.put(path, label("x"))

    # The query is not looked at; an unknown number deletes nothing; nothing to delete is no error.
    assert flyte_http.delete(f"{PD}?resource_type=3").status_code == 200
    assert flyte_http.delete(PD, {"resource_type": 44}).content == b"{}"
    assert flyte_http.delete(PD, {"resource_type": "CLUSTER_RESOURCE"}).content == b"{}"
    assert Override.objects.count() == 3

    assert flyte_http.delete(PROJECT, {"resource_type": "EXECUTION_CLUSTER_LABEL"}).content == b"{}"
    assert flyte_http.delete(PD, {"resourceType": 3}).content == b"{}"
    assert Override.objects.get().workflow == "core.basic.hello_world.my_wf"


def test_native_and_flyte_writes_see_each_other(flyte_http, api):
    here = "?project=flytesnacks&domain=development"
    flyte_http.put(PD, write(_update(EXAMPLES["TASK_RESOURCE"]), SNAKE), sends=SNAKE)
    native = api.get(f"overrides/task_resource{here}")
    assert native.json()["attributes"]["defaults"]["memory"] == "150Mi"

    api.put(
        f"overrides/task_resource{here}",
        {"attributes": {"defaults": {"cpu": None, "memory": "1Gi"}}},
        If_Match=native["ETag"],
    )

    attributes = flyte_http.get(f"{PD}?resource_type=0", accepts=SNAKE).json()["attributes"]
    spec = attributes["matching_attributes"]["task_resource_attributes"]
    assert (spec["defaults"]["cpu"], spec["defaults"]["memory"], spec["limits"]) == ("", "1Gi", None)


def test_what_only_native_resolution_knows_is_left_out_for_flyte(flyte_http, api):
    here = "?project=flytesnacks&domain=development"
    overrides_stated = [{"task_type": "a", "plugin_id": ["1"]}, {"task_type": "b", "$remove": True}]
    assert (
        api.put(
            f"overrides/plugin_override{here}", {"attributes": {"overrides": overrides_stated}}
        ).status_code
        == 201
    )

    attributes = flyte_http.get(f"{PD}?resource_type=PLUGIN_OVERRIDE", accepts=SNAKE).json()["attributes"]

    overrides = attributes["matching_attributes"]["plugin_overrides"]["overrides"]
    assert [override["task_type"] for override in overrides] == ["a"]
    # And a Flyte update of another task type keeps it for those who know it.
    flyte_http.put(PD, plugins({"task_type": "c"}))
    assert {"task_type": "b", "$remove": True} in Override.objects.get().attributes["overrides"]


def test_a_write_is_audited_and_announced(flyte_http, api):
    flyte_http.put(PD, label("x"), X_Request_ID="from-flyte")

    records = api.get("audit").json()["items"]
    assert ("override.created", "from-flyte") in [
        (record["action"], record["request_id"]) for record in records
    ]
    assert api.get("events").json()["items"][0]["type"].endswith("override.created")


# What is refused.


@pytest.mark.parametrize(
    ("path", "body", "message"),
    [
        (
            "project_domain_attributes/nope/development",
            label("x"),
            "failed to validate that project [nope] and domain [development] are registered, "
            "err: [project [nope] not found]",
        ),
        (
            "project_attributes/nope",
            label("x"),
            "failed to validate that project [nope] is registered, err: [project [nope] not found]",
        ),
        ("project_domain_attributes/flytesnacks/nope", label("x"), "domain [nope] is unrecognized by system"),
        ("workflow_attributes/flytesnacks/development/", label("x"), "missing name"),
        (PD, b"", "missing matching_attributes"),
        (PD, {}, "missing matching_attributes"),
        (
            PD,
            {"attributes": {"matching_attributes": {}}},
            "Unrecognized matching attributes type for request flytesnacks-development",
        ),
        (
            PROJECT,
            {"attributes": {"matching_attributes": {}}},
            "Unrecognized matching attributes type for request flytesnacks",
        ),
        (
            "workflow_attributes/flytesnacks/development/w",
            {"attributes": {"matching_attributes": {}}},
            "Unrecognized matching attributes type for request flytesnacks-development-w",
        ),
    ],
)
def test_updates_are_refused_in_upstreams_words(flyte_http, path, body, message):
    answer = flyte_http.put(path, body)

    assert (answer.status_code, answer.json()) == (400, {"code": 3, "message": message, "details": []})
    assert not Override.objects.exists()


@pytest.mark.parametrize(
    ("method", "path", "message"),
    [
        ("GET", "project_attributes/nope", "failed to validate that project [nope] exists, err:"),
        ("DELETE", "project_attributes/nope", "failed to validate that project [nope] is registered, err:"),
        ("GET", "project_domain_attributes/flytesnacks/nope", "domain [nope] is unrecognized by system"),
        ("GET", "workflow_attributes/flytesnacks/development/", "missing name"),
    ],
)
def test_reads_and_deletions_are_refused_in_upstreams_words(flyte_http, method, path, message):
    answer = flyte_http(method, path)

    assert (answer.status_code, answer.json()["code"]) == (400, 3)
    assert answer.json()["message"].startswith(message)


def test_an_archived_project_is_read_at_project_level_only(flyte_http, api):
    flyte_http.put(PROJECT, label("x"))
    api.patch("scopes/projects/flytesnacks", {"state": "archived"})
    detail = {"@type": "type.googleapis.com/flyteidl.admin.InactiveProject", "id": "flytesnacks"}
    detail["org"] = ""

    refused = flyte_http.get(f"{PD}?resource_type=3")
    assert (refused.status_code, refused.json()) == (
        400,
        {"code": 3, "message": "project [flytesnacks] is not active", "details": [detail]},
    )
    assert flyte_http.put(PROJECT, label("y")).json()["details"] == []
    assert flyte_http.delete(PROJECT, {"resource_type": 3}).status_code == 400
    assert flyte_http.get(f"{PROJECT}?resource_type=3").status_code == 200


@pytest.mark.parametrize(
    ("method", "path", "status", "code", "message"),
    [
        ("GET", "workflow_attributes/flytesnacks/development/a%2Fb", 404, 5, "Not Found"),
        ("GET", "project_attributes", 404, 5, "Not Found"),
        ("POST", PD, 501, 12, "Method Not Allowed"),
        ("PATCH", PD, 501, 12, "Method Not Allowed"),
        ("PUT", "matchable_attributes", 501, 12, "Method Not Allowed"),
    ],
)
def test_paths_and_methods_that_are_not_there(flyte_http, method, path, status, code, message):
    answer = flyte_http(method, path)

    assert (answer.status_code, answer.json()) == (status, {"code": code, "message": message, "details": []})


def test_a_form_may_override_its_method(flyte_http):
    flyte_http.put(PD, label("x"))
    form = "application/x-www-form-urlencoded"

    answer = flyte_http("POST", f"{PD}?resource_type=3", sends=form, X_HTTP_Method_Override="GET")

    assert answer.status_code == 200
    assert flyte_http("POST", PD, sends=SNAKE, X_HTTP_Method_Override="GET").status_code == 501
    flyte_http("PUT", PD, label("y"), sends=form, X_HTTP_Method_Override="GET")
    assert Override.objects.get().attributes == {"value": "y"}


def test_errors_are_protobuf_for_those_who_want_protobuf(flyte_http):
    from google.rpc.status_pb2 import Status

    answer = flyte_http.get(f"{PD}?resource_type=3", accepts=PROTOBUF)

    assert answer.status_code == 404
    assert Status.FromString(answer.content).code == 5


# Who may.


def test_without_a_token_nothing_is_told_and_the_answer_says_how(db):
    answer = FlyteHttp().get(f"{PD}?resource_type=3")

    assert (answer.status_code, answer.json()["code"]) == (401, 16)
    assert "Bearer" in answer["WWW-Authenticate"]


def test_flytes_own_header_carries_a_token_too(db):
    token = token_for("viewer")

    answer = FlyteHttp().get(f"{PROJECT}?resource_type=6", flyte_authorization=f"Bearer {token}")

    assert answer.status_code == 200


def test_anonymous_readers_read_and_do_not_write(db, settings):
    settings.ANONYMOUS_READ = True

    assert FlyteHttp().get(f"{PROJECT}?resource_type=6").status_code == 200
    assert FlyteHttp().put(PD, label("x")).status_code == 401


def test_roles_hold_at_their_scope(db):
    editor = FlyteHttp(token_for("editor", scope=Scope(project="flytesnacks", domain="development")))
    make_project("other")

    assert editor.put(PD, label("x")).status_code == 200
    refused = editor.put("project_domain_attributes/other/development", label("x"))
    assert (refused.status_code, refused.json()["code"]) == (403, 7)
    assert editor.put(PROJECT, label("x")).status_code == 403
    admin = FlyteHttp(token_for("admin"))
    admin.put("project_domain_attributes/other/development", label("x"))
    assert len(editor.get("matchable_attributes?resource_type=3").json()["configurations"]) == 1
    assert len(admin.get("matchable_attributes?resource_type=3").json()["configurations"]) == 2


# What we check beyond upstream.


def test_what_is_wrong_with_attributes_is_told_in_full(flyte_http):
    spec = {"defaults": {"cpu": "lots", "memory": "1Gx"}}
    body = {"attributes": {"matching_attributes": {"task_resource_attributes": spec}}}

    answer = flyte_http.put(PD, body)

    assert (answer.status_code, answer.json()["code"]) == (400, 3)
    assert "/defaults/cpu" in answer.json()["message"]
    assert "/defaults/memory" in answer.json()["message"]
    assert not Override.objects.exists()


def test_upstreams_leniency_is_a_setting_and_guard_rails_hold_all_the_same(flyte_http, api, settings):
    settings.FLYTE_STRICT_VALIDATION = False
    spec = {"defaults": {"cpu": "lots"}}
    body = {"attributes": {"matching_attributes": {"task_resource_attributes": spec}}}

    assert flyte_http.put(PD, body).status_code == 200
    assert Override.objects.get().attributes == spec

    rail = {"name": "labels", "resource_type": "execution_cluster_label", "pointer": "/value"}
    rail |= {"scope": {"domain": "development"}, "rule": {"allowed": ["a", "b"]}}
    assert api.put("guard-rails/labels", rail).status_code == 201
    refused = flyte_http.put(PD, label("x"))
    assert (refused.status_code, "'labels'" in refused.json()["message"]) == (400, True)
    assert flyte_http.put(PD, label("a")).status_code == 200


def _tasks(part: str, cpu: str) -> dict[str, Any]:
    return {"attributes": {"matching_attributes": {"task_resource_attributes": {part: {"cpu": cpu}}}}}


def test_a_row_is_checked_by_itself_and_not_against_what_it_inherits(flyte_http, api):
    flyte_http.put(PROJECT, _tasks("limits", "2"))

    assert flyte_http.put(WORKFLOW, _tasks("defaults", "4")).status_code == 200
    assert flyte_http.put(PD, _tasks("limits", "1")).status_code == 200
    # Uncovers the project's limit again.
    assert flyte_http.delete(PD, {"resource_type": "TASK_RESOURCE"}).status_code == 200

    query = "project=flytesnacks&domain=development&workflow=core.basic.hello_world.my_wf"
    (answer,) = api.get(f"overrides/effective?{query}&resource_type=task_resource").json()["items"]
    (warning,) = answer["warnings"]
    assert (warning["pointer"], warning["code"]) == ("/limits/cpu", "limit_below_default")
    assert "4" in warning["message"]
    assert "limits.cpu" in warning["hint"]


def test_a_row_at_a_level_where_nothing_reads_it_is_a_warning(flyte_http, api):
    """flytectl has an example file of it."""
    body = {
        "attributes": {"matching_attributes": {"cluster_resource_attributes": {"attributes": {"a": "b"}}}}
    }
    flyte_http.put(WORKFLOW, body)

    query = "project=flytesnacks&domain=development&workflow=core.basic.hello_world.my_wf"
    (answer,) = api.get(f"overrides/effective?{query}&resource_type=cluster_resource").json()["items"]
    (warning,) = answer["warnings"]
    assert (warning["pointer"], warning["code"]) == ("", "level_not_allowed")


def test_a_row_that_contradicts_itself_is_refused_by_strict_validation(flyte_http):
    spec = {"defaults": {"cpu": "4"}, "limits": {"cpu": "2"}}
    body = {"attributes": {"matching_attributes": {"task_resource_attributes": spec}}}

    answer = flyte_http.put(PD, body)

    assert (answer.status_code, answer.json()["code"]) == (400, 3)
    assert not Override.objects.exists()


def test_a_native_deletion_is_not_refused_for_what_it_uncovers(flyte_http, api):
    here = "?project=flytesnacks&domain=development"
    api.put("overrides/task_resource?project=flytesnacks", {"attributes": {"limits": {"cpu": "2"}}})
    api.put(f"overrides/task_resource{here}", {"attributes": {"limits": {"cpu": "8"}}})
    below = f"overrides/task_resource{here}&workflow=w"
    assert api.put(below, {"attributes": {"defaults": {"cpu": "6"}}}).status_code == 201

    assert api.delete(f"overrides/task_resource{here}", If_Match="*").status_code == 204


def test_a_field_that_somebody_manages_is_not_overwritten(flyte_http, api):
    here = "?project=flytesnacks&domain=development&managed_by=git"
    api.put(f"overrides/execution_cluster_label{here}", {"attributes": {"value": "a"}})

    answer = flyte_http.put(PD, label("b"))

    assert (answer.status_code, answer.json()["code"]) == (400, 9)
    assert "git" in answer.json()["message"]


def test_the_list_knows_no_other_types(flyte_http):
    answer = flyte_http.get("matchable_attributes?resource_type=44")

    assert answer.json()["message"] == 'parsing field "resource_type": "44" is not a valid value'
    assert list(flyte.MatchableResource.keys()) == list(EXAMPLES)


# Rows that Flyte's messages cannot hold.


def test_a_stored_row_that_flyte_cannot_hold_hides_no_other(flyte_http):
    long = {"spec": {"queueing_budget": "9" * 40 + "s"}}
    for domain, attributes in [("development", long), ("staging", {"tier": "HIGH"})]:
        Override.objects.create(
            resource_type="quality_of_service_specification",
            project="flytesnacks",
            domain=domain,
            attributes=attributes,
            version=1,
            revision=1,
            changed_by="an-earlier-version",
        )

    listed = flyte_http.get("matchable_attributes?resource_type=4", accepts=SNAKE)
    alone = flyte_http.get(f"{PD}?resource_type=4", accepts=SNAKE)

    assert listed.status_code == 200
    assert [row["domain"] for row in listed.json()["configurations"]] == ["staging"]
    assert (alone.status_code, alone.json()["code"]) == (500, 13)
    assert "set them again" in alone.json()["message"]


def test_a_duration_that_json_cannot_hold_is_an_invalid_argument(flyte_http):
    update = UPDATES["project_domain"]()
    update.attributes.project, update.attributes.domain = "flytesnacks", "development"
    matching = update.attributes.matching_attributes
    matching.quality_of_service.spec.queueing_budget.seconds = 10**15

    answer = flyte_http.put(PD, write(update, PROTOBUF), sends=PROTOBUF, accepts=SNAKE)

    assert (answer.status_code, answer.json()["code"]) == (400, 3)
    assert not Override.objects.exists()


def test_a_full_quota_is_told_in_flytes_words(flyte_http):
    create_pool("quota:override-documents", PoolSpec(0), team=None, actor=ACTOR)
    refused = flyte_http.put(PD, label("x"))
    assert (refused.status_code, refused.json()["code"]) == (429, 8)
    assert "exceed the quota quota:override-documents" in refused.json()["message"]
    assert not Override.objects.exists()
