"""Overrides through HTTP: every verb at every shape, and what applies."""

import pytest

from controlplane.access.models import AuditRecord
from controlplane.events.models import Event
from controlplane.scopes import Level, Scope
from overrides.models import Override, OverrideVersion, RevisionCounter
from overrides.resource_types import BUILT_IN
from tests.support.api_client import Api, make_project, token_for

SHAPES = {
    "global": "",
    "domain": "?domain=development",
    "project": "?project=flytesnacks",
    "project_domain": "?project=flytesnacks&domain=development",
    "workflow": "?project=flytesnacks&domain=development&workflow=a.b.train",
    "launch_plan": "?project=flytesnacks&domain=development&workflow=a.b.train&launch_plan=nightly",
}
CPU_1 = {"attributes": {"defaults": {"cpu": "1"}}}
CPU_2 = {"attributes": {"defaults": {"cpu": "2"}}}


@pytest.fixture(autouse=True)
def _project(db):
    make_project()


EVERYWHERE = [
    (resource_type, level)
    for resource_type in BUILT_IN.values()
    for level in SHAPES
    if Level[level.upper()] in resource_type.levels
]


@pytest.mark.parametrize(
    ("resource_type", "level"), EVERYWHERE, ids=lambda value: getattr(value, "name", value)
)
def test_every_type_can_be_set_read_changed_and_removed_where_it_may_be_set(api, resource_type, level):
    path = f"overrides/{resource_type.name}{SHAPES[level]}"

    created = api.put(path, {"attributes": resource_type.example})
    read = api.get(path)
    replaced = api.put(path, {"attributes": {}}, If_Match=read["ETag"])
    patched = api.patch(path, {"attributes": resource_type.example})
    deleted = api.delete(path, If_Match=patched["ETag"])

    assert [created.status_code, read.status_code, replaced.status_code] == [201, 200, 200]
    assert read.json()["attributes"] == resource_type.example
    assert read.json()["scope"]["level"] == level
    assert (created["ETag"], replaced["ETag"], patched["ETag"]) == ('"v1"', '"v2"', '"v3"')
    assert patched.json()["attributes"] == resource_type.example
    assert deleted.status_code == 204
    assert api.get(path).status_code == 404


def test_replacing_without_the_version_is_refused_and_changes_nothing(api):
    api.put("overrides/task_resource", CPU_1)

    missing = api.put("overrides/task_resource", CPU_2)
    wrong = api.put("overrides/task_resource", CPU_2, If_Match='"v7"')
    weak = api.put("overrides/task_resource", CPU_2, If_Match='W/"v1"')
    again = api.put("overrides/task_resource", CPU_2, If_None_Match="*")
    undeleted = api.delete("overrides/task_resource")

    assert (missing.status_code, missing.json()["code"]) == (428, "version_required")
    assert (wrong.status_code, wrong.json()["code"]) == (412, "version_mismatch")
    assert wrong.json()["current"] == "v1"
    assert [weak.status_code, again.status_code, undeleted.status_code] == [412, 412, 428]
    assert api.get("overrides/task_resource").json()["attributes"] == CPU_1["attributes"]


def test_the_version_is_checked_before_the_attributes(api):
    api.put("overrides/task_resource", CPU_1)
    invalid = {"attributes": {"defaults": {"cpus": "2"}}}

    blind = api.put("overrides/task_resource", invalid)
    stale = api.put("overrides/task_resource", invalid, If_Match='"v7"')
    current = api.put("overrides/task_resource", invalid, If_Match='"v1"')

    assert [blind.status_code, stale.status_code, current.status_code] == [428, 412, 422]
    assert [error["pointer"] for error in current.json()["errors"]] == ["/attributes/defaults/cpus"]


def test_an_old_etag_never_matches_what_was_made_anew(api):
    old = api.put("overrides/task_resource", CPU_1)["ETag"]
    api.delete("overrides/task_resource", If_Match=old)
    new = api.put("overrides/task_resource", CPU_2)["ETag"]

    assert new != old
    assert api.delete("overrides/task_resource", If_Match=old).status_code == 412


def test_a_patch_takes_out_what_is_null_so_that_it_is_inherited_again(api):
    api.put("overrides/task_resource", CPU_1)
    api.put(
        "overrides/task_resource?project=flytesnacks", {"attributes": {"defaults": {"cpu": "8", "gpu": "1"}}}
    )

    api.patch("overrides/task_resource?project=flytesnacks", {"attributes": {"defaults": {"cpu": None}}})

    (answer,) = api.get("overrides/effective?project=flytesnacks").json()["items"]
    assert answer["attributes"] == {"defaults": {"cpu": "1", "gpu": "1"}}


def test_a_merge_patch_may_come_by_its_own_media_type(api):
    api.put("overrides/task_resource", CPU_1)

    answer = api.patch("overrides/task_resource", CPU_2, Content_Type="application/merge-patch+json")

    assert answer.json()["attributes"] == CPU_2["attributes"]


def test_patching_what_is_not_set_says_so(api):
    answer = api.patch("overrides/task_resource", CPU_1)

    assert (answer.status_code, answer.json()["code"]) == (404, "unknown_override")


def test_setting_the_same_again_makes_no_version_no_event_and_no_audit_row(api):
    etag = api.put("overrides/task_resource", CPU_1)["ETag"]
    before = (Event.objects.count(), AuditRecord.objects.count(), RevisionCounter.objects.get().revision)

    answer = api.put("overrides/task_resource", CPU_1, If_Match=etag)

    assert (answer.status_code, answer["ETag"]) == (200, etag)
    after = (Event.objects.count(), AuditRecord.objects.count(), RevisionCounter.objects.get().revision)
    assert after == before


def test_every_change_leaves_a_version_an_audit_row_and_an_event(api):
    api.put("overrides/task_resource?change_message=Because", CPU_1, X_Request_ID="first")
    api.put("overrides/task_resource", CPU_2, If_Match='"v1"')
    api.delete("overrides/task_resource?change_message=Gone", If_Match='"v2"')

    versions = OverrideVersion.objects.order_by("version")
    assert [version.attributes for version in versions] == [CPU_1["attributes"], CPU_2["attributes"], None]
    assert [version.revision for version in versions] == [1, 2, 3]
    events = Event.objects.filter(object_type="override").order_by("position")
    assert [event.type for event in events] == ["override.created", "override.updated", "override.deleted"]
    first, second, last = AuditRecord.objects.filter(object_type="override").order_by("id")
    assert (first.before, first.request_id, first.reason) == (None, "first", "Because")
    assert second.before["attributes"] == CPU_1["attributes"]
    assert second.after["attributes"] == CPU_2["attributes"]
    assert (last.after, last.reason) == (None, "Gone")


def test_the_events_of_a_change_carry_before_and_after(api):
    api.put("overrides/task_resource?domain=production", CPU_1)
    api.put("overrides/task_resource?domain=production", CPU_2, If_Match='"v1"')
    api.delete("overrides/task_resource?domain=production", If_Match='"v2"')

    listed = [event for event in api.get("events").json()["items"] if event["object_type"] == "override"]
    events = sorted(listed, key=lambda event: event["seq"])

    attributes, two = CPU_1["attributes"], CPU_2["attributes"]
    assert [(event["data"]["before"], event["data"]["after"]) for event in events] == [
        (None, attributes),
        (attributes, two),
        (two, None),
    ]
    assert [event["data"]["truncated"] for event in events] == [False] * 3
    assert api.get(events[1]["data"]["version_url"]).json()["attributes"] == two


def test_an_event_of_a_large_change_points_at_the_version_instead(api):
    large = {"attributes": {f"k{number}": "v" * 90 for number in range(100)}}
    api.put("overrides/cluster_resource?project=flytesnacks", {"attributes": large})

    (event,) = [event for event in api.get("events").json()["items"] if event["object_type"] == "override"]

    assert event["data"]["truncated"] is True
    assert (event["data"]["before"], event["data"]["after"]) == (None, None)
    assert api.get(event["data"]["version_url"]).json()["attributes"] == large


def test_before_and_after_are_for_those_who_may_read_the_override(api):
    make_project("other")
    for project in ("flytesnacks", "other"):
        api.put(f"overrides/task_resource?project={project}", CPU_1)
    stranger = Api(token_for("viewer", scope=Scope(project="other")))

    events = [event for event in stranger.get("events").json()["items"] if event["object_type"] == "override"]

    assert [event["scope"]["project"] for event in events] == ["other"]


@pytest.mark.parametrize("method", ["put", "patch", "delete"])
def test_a_dry_run_answers_as_the_real_call_and_keeps_nothing(api, method):
    api.put("overrides/task_resource", CPU_1)
    rows = (Event.objects.count(), AuditRecord.objects.count())
    body = () if method == "delete" else (CPU_2,)

    answer = getattr(api, method)("overrides/task_resource?dry_run=true", *body, If_Match='"v1"')

    assert answer.status_code == (204 if method == "delete" else 200)
    assert answer["Dry-Run"] == "true"
    if body:
        assert answer.json()["attributes"] == CPU_2["attributes"]
    assert Override.objects.get().attributes == CPU_1["attributes"]
    assert (Event.objects.count(), AuditRecord.objects.count()) == rows


def test_a_dry_run_fails_as_the_real_call(api):
    assert api.put("overrides/task_resource?dry_run=true", {"attributes": {"x": 1}}).status_code == 422


def test_every_leaf_of_the_answer_names_its_source_and_what_it_shadows(api):
    api.put("overrides/task_resource", {"attributes": {"defaults": {"cpu": "500m", "memory": "200Mi"}}})
    path = "overrides/task_resource?project=flytesnacks&domain=development"
    api.put(path, CPU_1)

    answer = api.get("overrides/effective?project=flytesnacks&domain=development&workflow=train").json()

    (item,) = answer["items"]
    leaves = {leaf["pointer"]: leaf for leaf in item["leaves"]}
    assert item["attributes"] == {"defaults": {"cpu": "1", "memory": "200Mi"}}
    assert leaves["/defaults/cpu"]["source"]["scope"]["level"] == "project_domain"
    assert leaves["/defaults/cpu"]["source"]["version"] == 1
    assert leaves["/defaults/cpu"]["source"]["changed_by"].startswith("admin-")
    (shadowed,) = leaves["/defaults/cpu"]["shadowed"]
    assert (shadowed["value"], shadowed["source"]["scope"]["level"]) == ("500m", "global")
    assert leaves["/defaults/memory"]["source"]["scope"]["level"] == "global"


def test_the_answer_can_be_narrowed_to_one_type(api):
    api.put("overrides/task_resource", CPU_1)
    api.put("overrides/cluster_assignment", {"attributes": {"cluster_pool_name": "a"}})

    answer = api.get("overrides/effective?resource_type=cluster_assignment").json()

    assert [item["resource_type"] for item in answer["items"]] == ["cluster_assignment"]


def test_the_etag_of_an_answer_changes_exactly_when_an_input_does(api):
    api.put("overrides/task_resource", CPU_1)
    first = api.get("overrides/effective?project=flytesnacks")

    api.put("overrides/task_resource?domain=staging", CPU_2)
    unrelated = api.get("overrides/effective?project=flytesnacks", If_None_Match=first["ETag"])
    api.put("overrides/task_resource?project=flytesnacks", CPU_2)
    changed = api.get("overrides/effective?project=flytesnacks", If_None_Match=first["ETag"])

    assert (unrelated.status_code, unrelated.content) == (304, b"")
    assert changed.status_code == 200
    assert changed["ETag"] != first["ETag"]


def test_the_effective_answer_costs_the_same_with_one_layer_or_six(api, django_assert_num_queries):
    path = f"overrides/effective{SHAPES['launch_plan']}"
    api.put("overrides/task_resource", CPU_1)
    with django_assert_num_queries(2):  # token with its roles, all layers of all types
        api.get(path)
    for shape in list(SHAPES.values())[1:]:
        api.put(f"overrides/task_resource{shape}", CPU_2)

    with django_assert_num_queries(2):
        answer = api.get(path).json()

    assert len(answer["items"][0]["leaves"][0]["shadowed"]) == 5


def test_a_list_shows_what_is_set_and_can_be_filtered(api):
    for shape in SHAPES.values():
        api.put(f"overrides/task_resource{shape}", CPU_1)
    api.put("overrides/execution_queue", {"attributes": {"tags": ["a"]}})

    def levels(query):
        return sorted(
            override["scope"]["level"] for override in api.get(f"overrides?{query}").json()["items"]
        )

    assert len(levels("")) == 7
    assert levels("resource_type=execution_queue") == ["global"]
    assert levels("level=domain") == ["domain"]
    assert levels("level=workflow") == ["workflow"]
    assert levels("project=flytesnacks&level=project") == ["project"]
    assert levels("workflow=a.b.train") == ["launch_plan", "workflow"]


def test_an_editor_of_a_project_writes_there_and_nowhere_else():
    editor = Api(token_for("editor", scope=Scope(project="flytesnacks")))

    assert editor.put("overrides/task_resource?project=flytesnacks", CPU_1).status_code == 201
    assert editor.put("overrides/task_resource", CPU_1).status_code == 403
    assert editor.get("overrides/task_resource?domain=staging").status_code == 403
    assert editor.get("overrides/effective?project=flytesnacks").status_code == 200


def test_a_list_shows_only_what_the_caller_may_read(api):
    make_project("billing")
    for shape in ("", "?project=flytesnacks", "?project=billing", SHAPES["workflow"]):
        api.put(f"overrides/task_resource{shape}", CPU_1)
    viewer = Api(token_for("viewer", scope=Scope(project="flytesnacks")))

    overrides = viewer.get("overrides").json()["items"]

    assert {override["scope"]["project"] for override in overrides} == {"flytesnacks"}
    assert len(overrides) == 2
    assert Api(token_for("agent")).get("overrides").status_code == 403


def test_a_preview_answers_the_plan_and_keeps_nothing(api):
    url = "overrides/task_resource"
    api.put(f"{url}?project=flytesnacks", {"attributes": {"limits": {"cpu": "2"}}})

    body = {"attributes": {"limits": {"cpu": "3"}}}
    blind = api.post(f"{url}:preview?project=flytesnacks", body)
    changed = api.post(f"{url}:preview?project=flytesnacks", body, If_Match='"v1"').json()
    removed = api.post(f"{url}:preview?project=flytesnacks", {}, If_Match='"v1"').json()
    wrong = api.post(f"{url}:preview?project=flytesnacks", {"attributes": {"limit": 1}}, If_Match='"v1"')
    outdated = api.post(f"{url}:preview?project=flytesnacks", body, If_Match='"v7"')

    assert (blind.json()["changes"], wrong.status_code, outdated.status_code) == (
        changed["changes"],
        422,
        412,
    )
    assert changed["changes"][0]["differences"] == [{"leaf": "/limits/cpu", "before": "2", "after": "3"}]
    assert changed["affected_scopes"] == 4, "the project, and the project in each of three domains"
    assert removed["summary"]["deleted"] == 1
    assert api.get(f"{url}?project=flytesnacks").json()["version"] == 1
