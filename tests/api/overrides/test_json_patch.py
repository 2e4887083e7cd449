"""JSON Patch of one override through HTTP."""

from __future__ import annotations

from typing import Any

import pytest

from controlplane.access.models import AuditRecord
from controlplane.events.models import Event
from controlplane.scopes import Scope
from overrides.models import Override
from tests.support.api_client import Api, make_project, token_for

PATH = "overrides/task_resource?project=flytesnacks"
PATCH = "application/json-patch+json"
ATTRIBUTES = {"defaults": {"cpu": "1", "memory": "1Gi"}}


@pytest.fixture(autouse=True)
def _override(api: Api) -> None:
    make_project()
    api.put(PATH, {"attributes": ATTRIBUTES})


def op(name: str, path: str, **more: Any) -> dict[str, Any]:
    return {"op": name, "path": path, **more}


def send(api: Api, *operations: Any, path: str = PATH, **headers: str) -> Any:
    return api.patch(path, list(operations), Content_Type=PATCH, **headers)


def trace() -> tuple[Any, ...]:
    return (Override.objects.get().version, AuditRecord.objects.count(), Event.objects.count())


RAISE = op("replace", "/attributes/defaults/memory", value="2Gi")


def test_a_patch_changes_what_it_names_in_one_version(api):
    before = trace()

    answer = send(
        api, RAISE, op("remove", "/attributes/defaults/cpu"), op("add", "/attributes/limits", value={})
    )

    assert (answer.status_code, answer["ETag"]) == (200, '"v2"')
    assert answer.json()["attributes"] == {"defaults": {"memory": "2Gi"}, "limits": {}}
    assert trace() == (2, before[1] + 1, before[2] + 1)


def test_a_patch_can_set_a_null_that_removes_what_is_inherited(api):
    answer = send(api, op("add", "/attributes/defaults/gpu", value=None))

    assert answer.json()["attributes"]["defaults"] == {"cpu": "1", "memory": "1Gi", "gpu": None}


@pytest.mark.parametrize(
    ("operations", "status", "code", "pointer"),
    [
        ([RAISE, op("test", "/attributes/defaults/cpu", value="9")], 409, "patch_failed", "/1/value"),
        ([RAISE, op("remove", "/attributes/limits/cpu")], 409, "patch_failed", "/1/path"),
        ([RAISE, op("add", "/version", value=1)], 400, "invalid_request", ""),
        ([RAISE, op("replace", "/attributes", value=[])], 422, "invalid_attributes", "/attributes"),
        ([RAISE, op("replace", "", value=[])], 400, "invalid_request", ""),
        (
            [RAISE, op("add", "/attributes/nothing", value=1)],
            422,
            "invalid_attributes",
            "/attributes/nothing",
        ),
        ([RAISE, op("increase", "/attributes")], 400, "invalid_request", "/1/op"),
    ],
)
def test_what_is_wrong_changes_nothing_and_says_where(api, operations, status, code, pointer):
    before = trace()

    answer = send(api, *operations)

    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert answer.json()["errors"][0]["pointer"] == pointer
    assert trace() == before


@pytest.mark.parametrize(
    "body",
    [
        b'[{"op": "add", "op": "remove", "path": "/attributes/defaults/cpu", "value": "2"}]',
        b'{"attributes": {}}',
        b"[",
        b"null",
    ],
    ids=["A.13", "object", "broken", "null"],
)
def test_a_body_that_is_no_patch_is_refused(api, body):
    before = trace()

    assert api.patch(PATH, body, Content_Type=PATCH).status_code == 400
    assert trace() == before


def test_a_patch_over_an_older_version_is_refused(api):
    send(api, RAISE)

    late = send(api, op("replace", "/attributes/defaults/cpu", value="2"), If_Match='"v1"')
    again = send(api, op("replace", "/attributes/defaults/cpu", value="2"), If_Match='"v2"')

    assert [late.status_code, again.status_code] == [412, 200]


def test_a_patch_that_changes_nothing_makes_no_version(api):
    before = trace()

    answer = send(api, op("test", "/attributes/defaults/cpu", value="1"))

    assert (answer.status_code, trace()) == (200, before)


def test_a_patch_where_nothing_is_set_is_not_found(api):
    answer = send(api, RAISE, path="overrides/task_resource?domain=staging")

    assert (answer.status_code, answer.json()["code"]) == (404, "unknown_override")


def test_a_dry_run_of_a_patch_keeps_nothing(api):
    before = trace()

    answer = send(api, RAISE, path=f"{PATH}&dry_run=true")

    assert answer.json()["attributes"]["defaults"]["memory"] == "2Gi"
    assert trace() == before


def test_a_patch_keeps_to_permissions_managers_and_rails(api):
    rail = {"name": "cap", "resource_type": "task_resource", "pointer": "/defaults/memory"}
    api.put("guard-rails/cap", {**rail, "rule": {"maximum": "1Gi"}})
    api.patch(f"{PATH}&managed_by=git", {"attributes": {"limits": {"cpu": "4"}}})
    elsewhere = Api(token_for("editor", scope=Scope(project="other")))

    assert send(elsewhere, RAISE).status_code == 403
    assert send(api, RAISE).json()["code"] == "guard_rail_broken"
    claimed = send(api, op("remove", "/attributes/limits/cpu"))
    assert (claimed.status_code, claimed.json()["code"]) == (409, "managed_elsewhere")


def test_a_member_in_both_casings_is_refused(api):
    api.put("overrides/workflow_execution_config", {"attributes": {"max_parallelism": 5}})

    path = "overrides/workflow_execution_config"
    answer = send(api, op("add", "/attributes/maxParallelism", value=6), path=path)

    assert (answer.status_code, answer.json()["errors"][0]["code"]) == (422, "given_twice")


@pytest.mark.parametrize("media", ["text/plain", "application/yaml", "application/xml"])
def test_an_unknown_type_of_patch_names_those_that_are_known(api, media):
    answer = api.patch(PATH, b"[]", Content_Type=media)

    assert answer.status_code == 415
    assert answer["Accept-Patch"] == (
        "application/json, application/merge-patch+json, application/json-patch+json"
    )


def test_other_resources_name_what_their_patch_takes(api):
    answer = api.patch("scopes/projects/flytesnacks", b"[]", Content_Type=PATCH)

    assert (answer.status_code, answer["Accept-Patch"]) == (
        415,
        "application/json, application/merge-patch+json",
    )
