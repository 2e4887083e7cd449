"""Apply, documents and export in their main lines: what a pipeline does all day."""

from __future__ import annotations

import io
import itertools
import tarfile

import pytest
from django.db import connection

from controlplane.access.models import AuditRecord
from controlplane.events.models import Event
from controlplane.formats import strict_yaml
from controlplane.scopes import Scope
from overrides.models import Domain, Override, OverrideVersion, Project, Revision, RevisionCounter
from tests.support.api_client import Api, make_project, token_for

CPU = "/defaults/cpu"
DOMAINS = ("development", "staging", "production")


def document(cpu: str = "1", **scope: str) -> dict:
    return {"kind": "overrides", **scope, "spec": {"taskResources": {"defaults": {"cpu": cpu}}}}


def apply(api: Api, *documents: object, **query: object):
    query_text = "&".join(f"{name}={value}" for name, value in query.items())
    return api.post(f"overrides:apply?{query_text}", {"documents": list(documents)})


def counts() -> tuple[int, ...]:
    models = (Override, OverrideVersion, Revision, AuditRecord, Event)
    return (*(model.objects.count() for model in models), RevisionCounter.objects.get().revision)


@pytest.fixture(autouse=True)
def _project(db):
    make_project()


def test_documents_are_created_changed_left_alone_and_pruned(api):
    first, two = document("1"), document("2", project="flytesnacks")

    created = apply(api, first, two, managed_by="git").json()
    again = apply(api, first, two, managed_by="git").json()
    changed = apply(api, document("3"), managed_by="git", prune="true").json()

    assert created["summary"] == {"created": 2, "updated": 0, "deleted": 0, "unchanged": 0}
    assert again["summary"]["unchanged"] == 2
    assert again["revision"] == 0
    assert changed["summary"] == {"created": 0, "updated": 1, "deleted": 1, "unchanged": 0}
    assert changed["changes"][0]["differences"] == [{"leaf": CPU, "before": "1", "after": "3"}]
    assert Override.objects.get().attributes == {"defaults": {"cpu": "3"}}


def test_all_of_a_call_share_one_revision(api):
    apply(api, document(), document(project="flytesnacks"), managed_by="git")

    assert RevisionCounter.objects.get().revision == 1
    assert set(OverrideVersion.objects.values_list("revision", flat=True)) == {1}
    assert Revision.objects.get().changes == 2


def test_a_dry_run_plans_what_the_call_then_does_and_keeps_nothing(api):
    before = counts()

    planned = apply(api, document(project="flytesnacks"), managed_by="git", dry_run="true").json()
    before_apply = counts()
    done = apply(api, document(project="flytesnacks"), managed_by="git").json()

    assert before_apply == before
    assert planned == done
    # The project itself, and each of its three domains.
    assert done["affected_scopes"] == 4


def test_one_bad_document_keeps_all_out_and_every_mistake_is_told(api):
    bad = {"kind": "overrides", "spec": {"taskResources": {"limits": {"cpu": "x"}, "limit": {}}}}
    before = counts()

    answer = apply(api, document(project="flytesnacks"), bad, managed_by="git")

    assert answer.status_code == 422
    assert [error["pointer"] for error in answer.json()["errors"]] == [
        "/documents/1/spec/taskResources/limit",
        "/documents/1/spec/taskResources/limits/cpu",
    ]
    assert counts() == before


def test_a_mistake_in_yaml_has_its_line(api):
    body = b"kind: overrides\nspec:\n  taskResources:\n    limits:\n      cpu: x\n"

    answer = api.post("overrides:apply", body, Content_Type="application/yaml")

    (error,) = answer.json()["errors"]
    assert (error["line"], error["column"]) == (5, 12)


def test_what_another_manages_is_refused_by_name_unless_forced_by_right(api):
    apply(api, document("1"), managed_by="git")
    editor = Api(token_for("editor"))

    refused = apply(api, document("2"), managed_by="team")
    not_allowed = apply(editor, document("2"), managed_by="team", force="true")
    forced = apply(api, document("2"), managed_by="team", force="true")

    assert (refused.status_code, refused.json()["code"]) == (409, "managed_elsewhere")
    assert refused.json()["errors"][0]["message"] == f"{CPU} is managed by git."
    assert (not_allowed.status_code, forced.status_code) == (403, 200)
    assert Override.objects.get().owners == {CPU: ["team"]}


def test_what_was_applied_by_hand_can_be_changed_in_any_other_way(api):
    address = "overrides/task_resource?project=flytesnacks"
    apply(api, document("1", project="flytesnacks"))

    by_put = api.put(address, {"attributes": {"defaults": {"cpu": "2"}}}, If_Match='"v1"')
    again = apply(api, document("1", project="flytesnacks")).json()
    by_git = apply(api, document("3", project="flytesnacks"), managed_by="git")

    assert (by_put.status_code, again["summary"]["updated"], by_git.status_code) == (200, 1, 200)
    assert apply(api, document("4", project="flytesnacks")).json()["code"] == "managed_elsewhere"


def test_an_export_applied_again_changes_nothing_whoever_set_the_values(api):
    apply(api, document("1", project="flytesnacks"), managed_by="git")
    api.put("overrides/task_resource", {"attributes": {"limits": {"cpu": "8"}}}, If_None_Match="*")
    apply(api, {"kind": "overrides", "spec": {"workflowExecutionConfig": {"maxParallelism": 10}}})
    before = counts()

    export = api.get("overrides/export", Accept="application/yaml").content
    again = api("POST", "overrides:apply", export, Content_Type="application/yaml").json()

    assert (again["summary"]["updated"], again["summary"]["created"], again["revision"]) == (0, 0, 0)
    assert counts() == before


def test_two_managers_share_one_override_and_each_takes_out_only_its_own(api):
    own_document = {"kind": "overrides", "spec": {"taskResources": {"limits": {"cpu": "4"}}}}
    apply(api, document("1"), managed_by="git")
    apply(api, own_document, managed_by="team")

    apply(api, {"kind": "overrides", "spec": {"taskResources": {}}}, managed_by="git")

    assert Override.objects.get().attributes == {"limits": {"cpu": "4"}}


@pytest.mark.parametrize("write", ["put", "patch", "delete"])
def test_a_single_write_respects_managers_too(api, write):
    apply(api, document("1"), managed_by="git")
    body = {"attributes": {"defaults": {"cpu": "9"}}}
    call = {
        "put": lambda query: api.put(f"overrides/task_resource{query}", body, If_Match='"v1"'),
        "patch": lambda query: api.patch(f"overrides/task_resource{query}", body),
        "delete": lambda query: api.delete(f"overrides/task_resource{query}", If_Match='"v1"'),
    }[write]

    refused, forced = call(""), call("?force=true")

    assert (refused.status_code, refused.json()["code"]) == (409, "managed_elsewhere")
    assert forced.status_code in (200, 204)


def test_many_affected_scopes_want_their_number_confirmed(api, settings):
    settings.CONFIRM_ABOVE_SCOPES = 3

    first_plan = apply(api, document(project="flytesnacks"), managed_by="git")
    wrong = apply(api, document(project="flytesnacks"), managed_by="git", confirm=3)
    right = apply(api, document(project="flytesnacks"), managed_by="git", confirm=4)

    assert (first_plan.status_code, first_plan.json()["code"], first_plan.json()["affected"]) == (
        409,
        "confirmation_required",
        4,
    )
    assert (wrong.status_code, right.status_code) == (409, 200)


def test_limits_below_inherited_defaults_are_refused_from_above_and_from_below(api):
    apply(api, document("4", domain="production"), managed_by="git")
    low = {"attributes": {"limits": {"cpu": "2"}}}

    below = api.put("overrides/task_resource?project=flytesnacks&domain=production", low)
    # Nothing is set at the project in production, but there the two meet.
    crossing = api.put("overrides/task_resource?project=flytesnacks", low)
    elsewhere = api.put("overrides/task_resource?project=flytesnacks&domain=staging", low)

    assert (below.status_code, below.json()["code"]) == (422, "inherited_conflict")
    assert crossing.json()["scopes"] == ["project=flytesnacks domain=production"]
    assert elsewhere.status_code == 201


def test_an_address_that_is_stated_twice_is_refused(api):
    answer = apply(api, document("1"), document("2"))

    assert (answer.status_code, answer.json()["errors"][0]["code"]) == (400, "stated_twice")


def test_each_scope_must_be_the_callers_to_write(api):
    editor = Api(token_for("editor", scope=Scope(project="flytesnacks")))

    own = apply(editor, document(project="flytesnacks"), managed_by="git")
    other_documents = apply(editor, document(project="flytesnacks"), document(), managed_by="git")
    pruning = apply(editor, document(project="flytesnacks"), managed_by="git", prune="true")

    assert [own.status_code, other_documents.status_code, pruning.status_code] == [200, 403, 403]


def test_the_order_of_documents_does_not_matter(api):
    documents = [
        document(str(n), project="flytesnacks", domain=domain) for n, domain in enumerate(DOMAINS, 1)
    ]
    documents.append(document("9"))

    plans = [apply(api, *order, dry_run="true").json() for order in itertools.permutations(documents)]

    def summary_of(plan: dict) -> list[str]:
        return sorted(map(str, plan["changes"] + plan["effective"]))

    assert all(summary_of(plan) == summary_of(plans[0]) for plan in plans)


def test_an_apply_costs_as_many_queries_for_ten_documents_as_for_a_thousand(
    api, django_assert_max_num_queries
):
    many = [document("1", project="flytesnacks", domain="development", workflow=f"w{n}") for n in range(1000)]

    with django_assert_max_num_queries(40):
        assert apply(api, *many, managed_by="git").json()["summary"]["created"] == 1000


def test_the_document_of_a_scope_marks_what_it_inherits(api):
    apply(api, document("1"), managed_by="git")
    api.put("overrides/workflow_execution_config?project=flytesnacks", {"attributes": {"max_parallelism": 5}})

    body = api.get("overrides/document?project=flytesnacks").json()

    assert body["spec"]["taskResources"] == {
        "inherited": True,
        "source": "global",
        "defaults": {"cpu": "1"},
    }
    assert body["spec"]["workflowExecutionConfig"] == {"maxParallelism": 5}
    assert body["status"]["version"] == 2


def test_a_document_that_is_put_back_changes_nothing_and_a_stale_one_is_refused(api):
    api.put("overrides/task_resource?project=flytesnacks", {"attributes": {"limits": {"cpu": "5"}}})
    read = api.get("overrides/document?project=flytesnacks", Accept="application/yaml")
    before = counts()
    path = "overrides/document?project=flytesnacks"

    same = api.put(path, read.content, Content_Type="application/yaml", If_Match=read["ETag"])
    before_apply = counts()
    missing = api.put(path, read.content, Content_Type="application/yaml")
    apply(api, document("1"))
    stale = api.put(path, read.content, Content_Type="application/yaml", If_Match=read["ETag"])

    assert (same.status_code, before_apply) == (200, before)
    assert (missing.status_code, stale.status_code) == (428, 412)


def test_putting_a_document_removes_what_it_leaves_out(api):
    api.put("overrides/task_resource?project=flytesnacks", {"attributes": {"limits": {"cpu": "5"}}})
    body = {"kind": "overrides", "spec": {"executionQueueAttributes": {"tags": ["a"]}}}

    answer = api.put("overrides/document?project=flytesnacks", body, If_Match='"v1"')

    assert answer.status_code == 200
    assert list(Override.objects.values_list("resource_type", flat=True)) == ["execution_queue"]


TYPE = {
    "name": "workflow_priority",
    "strategy": "merge",
    "schema": {"type": "object", "properties": {"priority": {"type": "integer"}}},
}
RAIL = {
    "name": "cap",
    "scope": {"domain": "production"},
    "resource_type": "task_resource",
    "pointer": "/limits/cpu",
    "rule": {"maximum": "64"},
}


def fill(api: Api) -> None:
    api.post("resource-types", TYPE)
    api.put("guard-rails/cap", RAIL)
    for path in ("", "?project=flytesnacks", "?project=flytesnacks&domain=staging&workflow=.%2F%C3%A9%20b"):
        api.put(f"overrides/task_resource{path}", {"attributes": {"limits": {"cpu": "1", "gpu": None}}})
        api.put(f"overrides/workflow_priority{path}", {"attributes": {"priority": 3}})
        api.put(
            f"overrides/workflow_execution_config{path}", {"attributes": {"labels": {"values": {"a_b": "c"}}}}
        )


def empty() -> None:
    names = [model._meta.db_table for model in (Override, OverrideVersion, Project, Domain)] + [
        "overrides_typedefinition",
        "overrides_guardrailrow",
        "overrides_scopehead",
        "overrides_revision",
    ]
    with connection.cursor() as cursor:
        for name in names:
            cursor.execute(f"DELETE FROM {name}")


@pytest.mark.parametrize("layout", ["configmap", "documents"])
def test_an_export_applied_to_an_empty_installation_exports_the_same_bytes(api, layout):
    fill(api)
    exported = api.get(f"overrides/export?format={layout}").content
    empty()

    answer = api.post("overrides:apply?managed_by=git", exported, Content_Type="application/yaml")

    assert answer.status_code == 200, answer.json()
    assert api.get(f"overrides/export?format={layout}").content == exported
    assert exported.index(b"taskResources") < exported.index(b"workflowExecutionConfig")
    assert exported.index(b"cpu: '1'") < exported.index(b"gpu: null")
    assert Override.objects.count() == 9


def test_a_folder_is_a_tar_of_plain_names_with_the_same_documents(api):
    fill(api)

    tar = api.get("overrides/export?format=folder").content
    with tarfile.open(fileobj=io.BytesIO(tar)) as archive:
        names = archive.getnames()
        documents = [
            document
            for name in names
            for document in strict_yaml.load_all(archive.extractfile(name).read().decode())
        ]

    assert all(not name.startswith("/") and ".." not in name.split("/") for name in names)
    assert (
        documents
        == api.get("overrides/export?format=documents", Accept="application/json").json()["documents"]
    )
