"""Declarative apply through HTTP, as JSON and as YAML: all or nothing, and nothing of anybody else's."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from controlplane.access.models import AuditRecord
from controlplane.events.models import Event
from controlplane.formats import strict_yaml
from controlplane.scopes import Level, Scope
from overrides.models import (
    Domain,
    GuardRailRow,
    Override,
    OverrideVersion,
    Project,
    Revision,
    RevisionCounter,
    ScopeHead,
    TypeDefinition,
)
from tests.support.api_client import Api, make_project, token_for

MEBIBYTE = 1024 * 1024
HERE = {"project": "flytesnacks", "domain": "development"}
YAML = "application/yaml"


def tasks(part: str = "defaults", /, *, cpu: str = "1", **scope: str) -> dict[str, Any]:
    return {"kind": "overrides", **scope, "spec": {"taskResources": {part: {"cpu": cpu}}}}


def spec(body: dict[str, Any], **scope: str) -> dict[str, Any]:
    return {"apiVersion": 1, "kind": "overrides", **scope, "spec": body}


class Applying:
    """Sends documents in one of the two forms."""

    def __init__(self, form: str, api: Api) -> None:
        self.form, self.api = form, api

    def __call__(self, *documents: Any, by: Api | None = None, **query: Any) -> Any:
        query = {"managed_by": "git", **query}
        key = {"Idempotency-Key": query.pop("key")} if "key" in query else {}
        path = "overrides:apply?" + "&".join(f"{name}={value}" for name, value in query.items())
        if self.form == "json":
            return (by or self.api).post(path, {"documents": list(documents)}, **key)
        body = strict_yaml.dump_all(documents).encode()
        return (by or self.api).post(path, body, Content_Type=YAML, **key)

    def confirmed(self, *documents: Any, **query: Any) -> Any:
        """Look at the plan, and confirm it if it asks for that."""
        confirm = self(*documents, **query, dry_run="true").json()["confirm"]
        return self(*documents, **query, **({"confirm": confirm} if confirm else {}))


@pytest.fixture(params=["json", "yaml"])
def apply(request: Any, api: Api) -> Applying:
    make_project()
    return Applying(request.param, api)


@pytest.fixture
def apply_json(api: Api) -> Applying:
    make_project()
    return Applying("json", api)


def everything() -> list[Any]:
    """All rows that an apply could write."""
    tables = (Override, OverrideVersion, Revision, RevisionCounter, ScopeHead, TypeDefinition, GuardRailRow)
    contents: list[Any] = [list(table.objects.order_by("pk").values()) for table in tables]
    return [*contents, *(project.objects.count() for project in (Project, Domain, AuditRecord, Event))]


def stored() -> dict[str, Any]:
    return {str(row): row.attributes for row in Override.objects.all()}


def pointers(answer: Any) -> list[str]:
    return [error["pointer"] for error in answer.json()["errors"]]


# What one call does.


def test_new_documents_are_created(apply):
    answer = apply(tasks(), tasks(cpu="2", **HERE))

    assert answer.status_code == 200
    assert answer.json()["summary"] == {"created": 2, "updated": 0, "deleted": 0, "unchanged": 0}
    assert stored() == {
        "task_resource at global": {"defaults": {"cpu": "1"}},
        "task_resource at project=flytesnacks domain=development": {"defaults": {"cpu": "2"}},
    }


def test_a_changed_document_is_updated_and_its_differences_are_told(apply):
    apply(tasks(cpu="1"))

    answer = apply(tasks(cpu="2")).json()

    (change,) = answer["changes"]
    assert (change["change"], change["version"]) == ("updated", 2)
    assert change["differences"] == [{"leaf": "/defaults/cpu", "before": "1", "after": "2"}]


@pytest.mark.parametrize(
    "attributes",
    [{"x": 1e16}, {"x": -0.0}, {"x": 1.5e300}, {"x": 1e-7}, {"x": 10**30}, {"x": [0.1, {"y": None}]}, {}],
    ids=str,
)
def test_the_same_again_is_unchanged_and_leaves_no_trace(apply, api, attributes):
    api.post("resource-types", {"name": "free", "strategy": "merge", "schema": {"type": "object"}})
    apply(spec({"free": attributes}))
    before = everything()

    answer = apply(spec({"free": attributes})).json()

    assert (answer["revision"], answer["summary"]["unchanged"], answer["changes"]) == (0, 1, [])
    assert everything() == before


def test_without_prune_what_is_not_named_any_more_stays(apply):
    apply(tasks(), tasks(**HERE))

    apply(tasks())

    assert len(stored()) == 2


def test_prune_deletes_what_the_manager_names_no_more(apply):
    apply(tasks(), tasks(**HERE))

    answer = apply(tasks(), prune="true").json()

    assert answer["summary"] == {"created": 0, "updated": 0, "deleted": 1, "unchanged": 1}
    assert stored().keys() == {"task_resource at global"}


def test_prune_reaches_only_below_the_scope_given(apply):
    scopes = [{}, {"domain": "development"}, {"project": "flytesnacks"}, HERE, {**HERE, "workflow": "w"}]
    apply(*(tasks(**scope) for scope in scopes))

    apply.confirmed(spec({}), prune="true", project="flytesnacks", domain="development")

    assert stored().keys() == {
        "task_resource at global",
        "task_resource at domain=development",
        "task_resource at project=flytesnacks",
    }


def label_projects(**labels: dict[str, str] | None) -> None:
    for project_id, of_project in labels.items():
        make_project(project_id)
        Project.objects.filter(id=project_id).update(labels=of_project)


@pytest.mark.parametrize(
    ("selector", "remaining"),
    [
        ("team%3Dml", {"global", "development", "web", "bare"}),
        ("team!%3Dml", {"global", "development", "ml"}),
        ("team%20in%20(ml,web)", {"global", "development", "bare"}),
        ("team%3Dml,tier%3Ddev", {"global", "development", "ml", "web", "bare"}),
    ],
)
def test_a_selector_limits_a_prune_to_projects_with_these_labels(apply, selector, remaining):
    label_projects(ml={"team": "ml"}, web={"team": "web", "tier": "dev"}, bare=None)
    apply(
        *(tasks(project=name) for name in ("ml", "web", "bare")),
        *(tasks(project=name, domain="staging", workflow="w") for name in ("ml", "web", "bare")),
        *(tasks(), tasks(domain="development")),
    )

    apply.confirmed(spec({}), prune="true", selector=selector)

    assert {row.project or row.domain or "global" for row in Override.objects.all()} == remaining


def test_labels_that_a_bundle_sets_count_for_its_prune(apply):
    label_projects(ml={"team": "web"})
    apply(tasks(project="ml"))

    renamed = {"kind": "project", "id": "ml", "labels": {"team": "ml"}}

    assert apply.confirmed(renamed, prune="true", selector="team%3Dml").json()["summary"]["deleted"] == 1


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ({"prune": "true", "selector": ","}, "required"),
        ({"prune": "true", "selector": ""}, "blank"),
        ({"prune": "true", "selector": "team%3D%3D%3D"}, "malformed"),
        ({"selector": "team%3Dml"}, "not_allowed"),
    ],
)
def test_a_selector_that_limits_nothing_is_refused(apply_json, query, code):
    apply_json(tasks())
    before = everything()

    answer = apply_json(spec({}), **query)

    assert (answer.status_code, answer.json()["errors"][0]["code"]) == (400, code)
    assert (answer.json()["errors"][0]["pointer"], everything()) == ("?selector", before)


def test_a_prune_by_labels_needs_the_right_to_the_whole_scope_and_confirmation(apply_json):
    label_projects(ml={"team": "ml"})
    apply_json(tasks(project="ml"), tasks())
    editor = Api(token_for("editor", scope=Scope(project="ml")))
    prune = {"prune": "true", "selector": "team%3Dml"}

    assert apply_json(spec({}), by=editor, **prune).status_code == 403
    assert apply_json(spec({}, project="ml"), by=editor, project="ml", **prune).status_code == 409
    asked = apply_json(spec({}), **prune)

    assert (asked.status_code, asked.json()["code"], asked.json()["removed"]) == (
        409,
        "confirmation_required",
        1,
    )


def test_prune_leaves_alone_what_others_and_nobody_manage(apply, api):
    apply(tasks(), managed_by="team")
    api.put("overrides/execution_queue", {"attributes": {"tags": ["a"]}})

    answer = apply(spec({}), prune="true").json()

    assert answer["summary"]["deleted"] == 0
    assert len(stored()) == 2


def test_prune_takes_only_its_own_values_out_of_what_is_shared(apply):
    apply(tasks("defaults"), managed_by="git")
    apply(tasks("limits"), managed_by="team")

    answer = apply.confirmed(spec({}), prune="true").json()

    assert answer["summary"]["updated"] == 1
    assert stored() == {"task_resource at global": {"limits": {"cpu": "1"}}}


def test_no_documents_and_prune_take_out_all_that_the_manager_set(apply_json):
    apply_json(tasks(), tasks(**HERE))

    assert apply_json.confirmed(prune="true").json()["summary"]["deleted"] == 2


@pytest.mark.parametrize(
    "documents",
    [
        [tasks(), tasks(cpu="2", **HERE)],
        [tasks(cpu="5")],
        [{"kind": "project", "id": "new"}, tasks(project="new")],
        [
            {
                "kind": "resourceType",
                "definition": {"name": "free", "strategy": "merge", "schema": {"type": "object"}},
            },
            spec({"free": {"a": 1}}),
        ],
        [{"kind": "guardRail", "name": "cap", "resource_type": "task_resource", "pointer": "/limits/cpu"}
         | {"rule": {"maximum": "9"}}],
    ],
    ids=["create", "update", "project", "type", "rail"],
)  # fmt: skip
def test_a_dry_run_keeps_nothing_and_plans_what_the_call_then_reports(apply, documents):
    apply(tasks(cpu="3"), tasks(domain="staging"))
    before = everything()

    planned = apply(*documents, prune="true", dry_run="true")
    before_apply = everything()
    done = apply.confirmed(*documents, prune="true")

    assert planned["Dry-Run"] == "true"
    assert before_apply == before
    assert (planned.status_code, planned.json()) == (done.status_code, done.json())
    assert everything() != before


@pytest.mark.parametrize("bad", [tasks(cpu="x"), tasks(project="nobody"), spec({"nothing": {}})], ids=str)
def test_a_dry_run_fails_as_the_call(apply, bad):
    planned, done = apply(bad, dry_run="true").json(), apply(bad).json()

    assert {**planned, "request_id": ""} == {**done, "request_id": ""}
    assert done["status"] >= 400


def test_all_changes_of_a_call_have_one_revision_message_and_request(apply):
    apply(tasks(), tasks(**HERE), change_message="Because")

    (revision,) = Revision.objects.all()
    assert (revision.revision, revision.changes, revision.change_message) == (1, 2, "Because")
    assert set(OverrideVersion.objects.values_list("revision", "change_message")) == {(1, "Because")}
    assert set(AuditRecord.objects.filter(object_type="override").values_list("reason", "request_id")) == {
        ("Because", revision.request_id)
    }


# Managers.


def test_two_managers_hold_different_values_of_one_override(apply):
    apply(tasks("defaults"), managed_by="git")
    apply(tasks("limits"), managed_by="team")

    assert Override.objects.get().owners == {"/defaults/cpu": ["git"], "/limits/cpu": ["team"]}


def test_a_value_that_both_want_stays_until_both_have_left_it_out(apply):
    apply(tasks(), managed_by="git")
    apply(tasks(), managed_by="team")

    apply(spec({"taskResources": {}}), managed_by="git")
    one_left = stored()
    apply.confirmed(spec({}), managed_by="team", prune="true")

    assert one_left == {"task_resource at global": {"defaults": {"cpu": "1"}}}
    assert stored() == {}


def test_what_another_manages_is_a_conflict_that_names_value_and_manager_and_changes_nothing(apply):
    apply(tasks(cpu="1"), managed_by="team")
    before = everything()

    answer = apply(tasks(cpu="7", **HERE), tasks(cpu="2"))

    assert (answer.status_code, answer.json()["code"]) == (409, "managed_elsewhere")
    (error,) = answer.json()["errors"]
    assert error["pointer"] == "/documents/1/spec/taskResources/defaults/cpu"
    assert (error["code"], error["message"]) == ("managed_elsewhere", "/defaults/cpu is managed by team.")
    assert everything() == before


def test_a_conflict_in_yaml_has_its_line(api):
    make_project()
    api.post("overrides:apply?managed_by=team", {"documents": [tasks(cpu="1")]})
    body = b"---\nspec: {}\n---\nspec:\n  taskResources:\n    defaults: {cpu: 2}\n"

    answer = api.post("overrides:apply?managed_by=git", body.replace(b"2", b"'2'"), Content_Type=YAML)

    (error,) = answer.json()["errors"]
    assert (error["line"], error["column"]) == (6, 21)


def test_force_takes_the_value_over(apply):
    apply(tasks(cpu="1"), managed_by="team")

    answer = apply(tasks(cpu="2"), force="true")

    assert answer.status_code == 200
    assert Override.objects.get().owners == {"/defaults/cpu": ["git"]}


def test_force_needs_the_admin_role_even_if_there_is_nothing_to_force(apply):
    editor = Api(token_for("editor"))

    plain, forced = apply(tasks(), by=editor), apply(tasks(), by=editor, force="true")

    assert (plain.status_code, forced.status_code) == (200, 403)
    assert forced.json()["code"] == "permission_denied"


def test_an_item_of_a_list_is_given_up_without_what_another_says_of_it(apply):
    plugin = {"pluginOverrides": {"overrides": [{"taskType": "spark", "pluginId": ["a"]}]}}
    more = [{"taskType": "spark", "missingPluginBehavior": "FAIL"}]
    apply(spec(plugin), managed_by="git")
    apply(spec({"pluginOverrides": {"overrides": more}}), managed_by="team")

    apply.confirmed(spec({}), managed_by="git", prune="true")

    assert stored() == {
        "plugin_override at global": {
            "overrides": [{"task_type": "spark", "missing_plugin_behavior": "FAIL"}]
        }
    }


# What is wrong.


def test_one_wrong_document_keeps_all_out_and_every_mistake_is_told(apply):
    before = everything()
    good = tasks(**HERE)
    bad = spec(
        {"taskResources": {"limit": {}, "limits": {"cpu": "x"}}, "executionQueueAttributes": {"tags": 1}}
    )
    low = spec({"taskResources": {"limits": {"cpu": "1"}, "defaults": {"cpu": "2"}}}, domain="staging")

    answer = apply(good, bad, low)

    assert (answer.status_code, answer.json()["code"]) == (422, "invalid_attributes")
    assert pointers(answer) == [
        "/documents/1/spec/taskResources/limit",
        "/documents/1/spec/taskResources/limits/cpu",
        "/documents/1/spec/executionQueueAttributes/tags",
        "/documents/2/spec/taskResources/limits/cpu",
    ]
    assert everything() == before


def test_every_document_that_cannot_be_read_is_told(apply):
    both = {"limits": {}, "maxParallelism": 1, "max_parallelism": 1}
    answer = apply(
        tasks(),
        spec({"nothing": {}, "neither": {}, "taskResources": 5}),
        spec({"workflowExecutionConfig": both}),
        {"kind": "overrides", "apiVersion": 2, "spec": {}},
        {"kind": "override", "spec": {}},
        {"spec": {}, "overrides": {}},
        {"spec": []},
    )

    assert answer.status_code == 400
    assert pointers(answer) == [
        "/documents/1/spec/nothing",
        "/documents/1/spec/neither",
        "/documents/1/spec/taskResources",
        "/documents/2/spec/workflowExecutionConfig/max_parallelism",
        "/documents/3/apiVersion",
        "/documents/4/kind",
        "/documents/5",
        "/documents/6/spec",
    ]


def test_every_document_whose_scope_cannot_be_read_is_told(apply):
    answer = apply(
        tasks(),
        tasks(domain="staging", workflow="w"),
        {"project": 5, "spec": {}},
        {"projct": "flytesnacks", "spec": {}},
        tasks(project=" flytesnacks"),
        "a text",
    )

    assert answer.status_code == 400
    places = [f"/documents/{rest}" for rest in ("1", "2/project", "3/projct", "4", "5")]
    assert pointers(answer) == places


def test_mistakes_in_yaml_have_line_and_column(api):
    make_project()
    body = "\n".join(
        [
            "# a comment",
            "kind: overrides",
            "spec:",
            "  taskResources: {limits: {cpu: 'ü', memory: y}}",
            "---",
            "- project: flytesnacks",
            "  overrides:",
            "    task_resources:",
            "      limit: {}",
        ]
    )

    answer = api.post(
        "overrides:apply", body.replace("task_resources", "task_resource").encode(), Content_Type=YAML
    )

    errors = [(error["pointer"], error["line"], error["column"]) for error in answer.json()["errors"]]
    assert errors == [
        ("/documents/0/spec/taskResources/limits/cpu", 4, 33),
        ("/documents/0/spec/taskResources/limits/memory", 4, 46),
        ("/documents/1/0/overrides/task_resource/limit", 9, 14),
    ]


def test_a_body_that_is_no_yaml_says_where(api):
    answer = api.post("overrides:apply", b"kind: overrides\nspec:\n\t- a\n", Content_Type=YAML)

    assert (answer.status_code, answer.json()["code"]) == (400, "malformed_body")
    assert (answer.json()["errors"][0]["line"], answer.json()["errors"][0]["column"]) == (3, 1)


def test_one_address_stated_twice_is_refused_and_both_places_are_named(apply):
    answer = apply(tasks(), tasks(**HERE), [{"overrides": {"task_resource": {}}}])

    assert answer.status_code == 400
    (error,) = answer.json()["errors"]
    assert (error["pointer"], error["code"]) == ("/documents/2/0/overrides/task_resource", "stated_twice")
    assert "/documents/0/spec/taskResources" in error["message"]


def test_a_type_in_both_spellings_within_one_document_is_refused(apply):
    answer = apply(spec({"taskResources": {}, "task_resource": {}}))

    assert [error["code"] for error in answer.json()["errors"]] == ["given_twice"]


@pytest.mark.parametrize(
    ("scope", "code"),
    [({"project": "flytesnack"}, "unknown_project"), ({"domain": "prod"}, "unknown_domain")],
)
def test_an_unknown_name_is_told_at_every_document_that_has_it_with_a_near_one(apply, scope, code):
    answer = apply(tasks(), tasks(**scope), spec({"executionQueueAttributes": {"tags": ["a"]}}, **scope))

    assert (answer.status_code, answer.json()["code"]) == (404, code)
    assert "Did you mean" in answer.json()["detail"]
    assert pointers(answer) == [
        "/documents/1/spec/taskResources",
        "/documents/2/spec/executionQueueAttributes",
    ]
    assert all(("line" in error) == (apply.form == "yaml") for error in answer.json()["errors"])


def test_a_type_may_be_set_only_at_its_levels(apply):
    deep = spec({"clusterResourceAttributes": {"attributes": {"a": "b"}}}, **HERE, workflow="w")

    answer = apply(tasks(), deep, spec({"taskResources": {"x": 1}}, domain="staging"))

    assert (answer.status_code, answer.json()["code"]) == (422, "level_not_allowed")
    assert pointers(answer) == [
        "/documents/1/spec/clusterResourceAttributes",
        "/documents/2/spec/taskResources/x",
    ]


def test_a_guard_rail_refuses_by_its_name(apply, api):
    api.put(
        "guard-rails/cap",
        {"name": "cap", "scope": {"domain": "production"}, "resource_type": "task_resource"}
        | {"pointer": "/limits/cpu", "rule": {"maximum": "4"}},
    )

    answer = apply(tasks("limits", cpu="9"), tasks("limits", cpu="9", domain="production"))

    assert (answer.status_code, answer.json()["code"]) == (422, "guard_rail_broken")
    (error,) = answer.json()["errors"]
    assert error["pointer"] == "/documents/1/spec/taskResources/limits/cpu"
    assert "'cap'" in error["message"]


@pytest.mark.parametrize(
    "query", ["managed_by=", f"managed_by={'m' * 64}", "confirm=-1", "confirm=x", "prun=true", "workflow=w"]
)
def test_terms_that_make_no_sense_are_refused(api, query):
    answer = api.post(f"overrides:apply?{query}", {"documents": []})

    assert answer.status_code in (400, 422)
    assert answer.json()["errors"][0]["pointer"].startswith("?")


# What scopes inherit.


def test_a_write_above_may_not_make_what_is_below_illegal(apply):
    apply(tasks("defaults", cpu="4", domain="production"), tasks("defaults", cpu="3", **HERE))
    before = everything()

    answer = apply(tasks("limits", cpu="2"))

    assert (answer.status_code, answer.json()["code"]) == (422, "inherited_conflict")
    assert answer.json()["scopes"] == [
        "domain=production",
        "project=flytesnacks domain=development",
        "project=flytesnacks domain=production",
    ]
    assert everything() == before


def test_a_write_below_may_not_contradict_what_it_inherits(apply):
    apply(tasks("limits", cpu="2"), tasks("defaults", cpu="1", project="flytesnacks"))

    answer = apply(tasks("defaults", cpu="3", **HERE, workflow="w"))

    assert answer.json()["scopes"] == ["project=flytesnacks domain=development workflow=w"]


def test_a_domain_and_a_project_meet_where_nothing_is_set(apply):
    apply(tasks("defaults", cpu="4", domain="production"))

    answer = apply(tasks("limits", cpu="2", project="flytesnacks"))

    assert answer.json()["scopes"] == ["project=flytesnacks domain=production"]


def test_both_halves_in_one_call_are_judged_together(apply):
    apply(tasks("limits", cpu="2"))

    raised = apply(tasks("limits", cpu="8"), tasks("defaults", cpu="6", **HERE))

    assert raised.status_code == 200


def test_what_pruning_uncovers_is_a_warning(apply, api):
    apply(tasks("limits", cpu="2"), managed_by="ops")
    apply(tasks("limits", cpu="8", **HERE))
    apply(tasks("defaults", cpu="6", **HERE, workflow="w"), managed_by="team")

    assert apply.confirmed(spec({}), prune="true").status_code == 200

    query = "project=flytesnacks&domain=development&workflow=w&resource_type=task_resource"
    (answer,) = api.get(f"overrides/effective?{query}").json()["items"]
    assert [(warning["pointer"], warning["code"]) for warning in answer["warnings"]] == [
        ("/limits/cpu", "limit_below_default")
    ]


def test_a_write_beside_a_deletion_is_still_refused(apply):
    """What the written row makes invalid is refused, whatever is deleted in the same call."""
    apply(tasks("limits", cpu="2"), managed_by="ops")
    apply(tasks("limits", cpu="8", **HERE))

    answer = apply(tasks("defaults", cpu="6", **HERE, workflow="w"), prune="true")

    assert (answer.status_code, answer.json()["code"]) == (422, "inherited_conflict")


def test_what_was_wrong_before_stands_in_nobodys_way(apply):
    apply(tasks("limits", cpu="2"), tasks("defaults", cpu="1", **HERE))
    Override.objects.filter(domain="development").update(attributes={"defaults": {"cpu": "9"}})

    answer = apply(spec({"taskResources": {"limits": {"cpu": "2", "memory": "1Gi"}}}))

    assert answer.status_code == 200


def test_a_rail_of_a_workflow_can_make_illegal_what_is_legal_around_it(apply, api):
    """There the rail keeps the higher limit out, and the default meets the lower one."""
    rail = {"scope": {**HERE, "workflow": "w"}, "resource_type": "task_resource", "pointer": "/limits/cpu"}
    api.put("guard-rails/cap", {"name": "cap", **rail, "rule": {"maximum": "4"}})
    apply(tasks("limits", cpu="2"), tasks("limits", cpu="8", **HERE))

    answer = apply(spec({"taskResources": {"limits": {"cpu": "8"}, "defaults": {"cpu": "6"}}}, **HERE))

    assert answer.json()["scopes"] == ["project=flytesnacks domain=development workflow=w"]


# Many scopes.


def test_a_change_of_many_scopes_wants_their_number(apply, settings):
    settings.CONFIRM_ABOVE_SCOPES = 3
    before = everything()

    answer = apply(tasks(project="flytesnacks"))

    assert (answer.status_code, answer.json()["code"]) == (409, "confirmation_required")
    # The project itself, and each of its three domains.
    assert answer.json()["affected"] == 4
    assert everything() == before


@pytest.mark.parametrize(("confirm", "status"), [(3, 409), (5, 409), (4, 200)])
def test_only_the_right_number_confirms(apply, settings, confirm, status):
    settings.CONFIRM_ABOVE_SCOPES = 3

    assert apply(tasks(project="flytesnacks"), confirm=confirm).status_code == status


def test_a_wrong_number_is_refused_even_where_none_is_wanted(apply):
    assert apply(tasks(project="flytesnacks"), confirm=4, dry_run="true").status_code == 200
    assert apply(tasks(project="flytesnacks"), confirm=2).status_code == 409


def test_as_many_scopes_as_allowed_need_no_number(apply, settings):
    settings.CONFIRM_ABOVE_SCOPES = 4

    assert apply(tasks(project="flytesnacks")).json()["affected_scopes"] == 4


def test_scopes_that_resolve_to_the_same_as_before_are_not_counted(apply, settings):
    apply(*(tasks(cpu="1", project="flytesnacks", domain=name) for name in ("development", "staging")))
    settings.CONFIRM_ABOVE_SCOPES = 2

    answer = apply(tasks(cpu="2", project="flytesnacks"))

    assert (answer.status_code, answer.json()["affected_scopes"]) == (200, 2)


def test_the_plan_says_what_changes_where_nobody_wrote(apply):
    apply(tasks(cpu="1"))

    effective = apply(tasks(cpu="2", project="flytesnacks")).json()["effective"]

    levels = {Level[source["scope"]["level"].upper()] for source in effective}
    assert levels == {Level.PROJECT, Level.PROJECT_DOMAIN}
    assert all(
        entry["differences"] == [{"leaf": "/defaults/cpu", "before": "1", "after": "2"}]
        for entry in effective
    )


# Who may.


def test_each_scope_must_be_the_callers_to_write(apply):
    editor = Api(token_for("editor", scope=Scope(project="flytesnacks")))

    own = apply(tasks(**HERE), by=editor)
    other_documents = apply(tasks(**HERE), tasks(domain="development"), by=editor)

    assert (own.status_code, other_documents.status_code) == (200, 403)


def test_prune_needs_the_right_to_the_whole_scope_that_it_reaches(apply):
    editor = Api(token_for("editor", scope=Scope(project="flytesnacks")))

    everywhere = apply(tasks(**HERE), by=editor, prune="true")
    own = apply(tasks(**HERE), by=editor, prune="true", project="flytesnacks")

    assert (everywhere.status_code, own.status_code) == (403, 200)


def test_a_viewer_may_not_apply_and_learns_nothing_of_what_is_wrong(apply):
    answer = apply(tasks(project="nobody"), by=Api(token_for("viewer")), dry_run="true")

    assert answer.status_code == 403


@pytest.mark.parametrize(
    ("document", "role"),
    [
        ({"kind": "project", "id": "new"}, "editor"),
        ({"kind": "domain", "id": "new"}, "editor"),
        ({"kind": "guardRail", "name": "x"}, "admin"),
        ({"kind": "resourceType", "definition": {}}, "admin"),
    ],
    ids=lambda value: value if isinstance(value, str) else value["kind"],
)
def test_documents_about_the_installation_need_a_role_for_all_of_it(apply_json, document, role):
    of_project = Api(token_for(role, scope=Scope(project="flytesnacks")))
    lesser = Api(token_for({"editor": "viewer", "admin": "editor"}[role]))

    assert apply_json(document, by=of_project).status_code == 403
    assert apply_json(document, by=lesser).status_code == 403
    assert apply_json(document, by=Api(token_for(role))).status_code != 403


# The same key twice.


def test_a_key_has_one_effect_and_is_answered_again(apply):
    first = apply(tasks(), key="one")
    apply(tasks(cpu="2"))

    again = apply(tasks(), key="one")

    assert again.json() == first.json()
    assert again["Idempotent-Replayed"] == "true"
    assert stored() == {"task_resource at global": {"defaults": {"cpu": "2"}}}


def test_a_key_does_not_serve_for_other_documents_or_terms(apply):
    apply(tasks(), key="one")

    assert apply(tasks(cpu="2"), key="one").status_code == 422
    assert apply(tasks(), key="one", prune="true").status_code == 422


def test_a_key_of_a_refused_call_can_be_used_again(apply):
    assert apply(tasks(cpu="x"), key="one").status_code == 422

    assert apply(tasks(), key="one").json()["summary"]["created"] == 1


# The forms in which documents come.

CONFIG_MAP = """
apiVersion: v1
kind: ConfigMap
metadata: {name: defaults, namespace: flyte}
data:
  defaults.yaml: |
    - project: flytesnacks
      domain: development
      workflow: MyExampleWorkflow
      overrides:
        taskResources:
          defaults: {cpu: "1", memory: "500Mi"}
          limits: {cpu: "3", memory: "2Gi", gpu: "4"}
    - project: flytesnacks
      domain: development
      overrides:
        workflowExecutionConfig:
          labels: {my-key: "my-value"}
          securityContext: {coreIdentity: {iamRole: "my_iam_role"}}
  more.yaml: |
    kind: project
    id: ml
    ---
    kind: overrides
    project: ml
    spec: {executionQueueAttributes: {tags: [a]}}
"""


def test_the_config_map_of_the_rfc_is_understood(apply):
    answer = apply(strict_yaml.load(CONFIG_MAP))

    assert answer.status_code == 200, answer.json()
    assert stored() == {
        "task_resource at project=flytesnacks domain=development workflow=MyExampleWorkflow": {
            "defaults": {"cpu": "1", "memory": "500Mi"},
            "limits": {"cpu": "3", "memory": "2Gi", "gpu": "4"},
        },
        "workflow_execution_config at project=flytesnacks domain=development": {
            "labels": {"values": {"my-key": "my-value"}},
            "security_context": {"run_as": {"iam_role": "my_iam_role"}},
        },
        "execution_queue at project=ml": {"tags": ["a"]},
    }


# As section "Write Experience" of RFC 3749 prints it: `apiVersion` and `data` are indented below `metadata`.
RFC_CONFIG_MAP = """
kind: ConfigMap
metadata:
  name: defaults
  namespace: flyte
  apiVersion: v1
  data:
    defaults.yaml: |
      # MyExampleWorkflow overrides
      - project: flytesnacks
        domain: development
        workflow: MyExampleWorkflow
        overrides:
          taskResources:
            defaults:
              cpu: "1"
              memory: "500Mi"
            limits:
              cpu: "3"
              memory: "2Gi"
              gpu: "4"
      # Flytesnacks/development level overrides
      - project: flytesnacks
        domain: development
        overrides:
          workflowExecutionConfig:
            labels:
              my-key: "my-value"
            securityContext:
              coreIdentity:
                iamRole: "my_iam_role"
"""


def test_the_config_map_is_read_as_the_rfc_prints_it_with_data_below_metadata(apply):
    answer = apply(strict_yaml.load(RFC_CONFIG_MAP))

    assert answer.status_code == 200, answer.json()
    assert answer.json()["summary"]["created"] == 2
    assert len(stored()) == 2


def test_the_ellipses_of_the_rfc_are_refused_with_their_place(apply):
    printed = RFC_CONFIG_MAP.replace('gpu: "4"\n', 'gpu: "4"\n            ...    \n')

    answer = apply(strict_yaml.load(printed))

    assert (answer.status_code, pointers(answer)) == (
        400,
        ["/documents/0/metadata/data/defaults.yaml"],
    )
    assert stored() == {}


@pytest.mark.parametrize(
    ("document", "pointer"),
    [
        ({"kind": "overrides", **HERE}, "/documents/0/spec"),
        ({"apiVersion": 1, "kind": "overrides"}, "/documents/0/spec"),
        ({"kind": "ConfigMap", "metadata": {"name": "defaults"}}, "/documents/0/data"),
        ({"kind": "ConfigMap", "data": None}, "/documents/0/data"),
        ({"kind": "ConfigMap", "data": {"a.yaml": "domain: development"}}, "/documents/0/data/a.yaml/spec"),
    ],
)
def test_a_document_that_would_set_nothing_by_accident_is_refused(apply, document, pointer):
    answer = apply(document)

    assert (answer.status_code, pointers(answer)) == (400, [pointer])
    assert "nothing" in answer.json()["detail"]


def test_a_list_of_entries_is_understood(apply):
    answer = apply([{"overrides": {"taskResources": {}}}, {**HERE, "overrides": {"taskResources": {}}}])

    assert answer.json()["summary"]["created"] == 2


def test_a_mistake_in_a_file_of_a_config_map_names_the_file(apply):
    answer = apply({"kind": "ConfigMap", "data": {"a/b.yaml": "spec: {taskResources: {x: 1}}"}})

    assert pointers(answer) == ["/documents/0/data/a~1b.yaml/spec/taskResources/x"]


@pytest.mark.parametrize(
    ("data", "pointer"),
    [
        ({"a.yaml": "a: ["}, "/documents/0/data/a.yaml"),
        ({"a.yaml": {"kind": "overrides"}}, "/documents/0/data"),
        ([], "/documents/0/data"),
        ({"a.yaml": "kind: ConfigMap"}, "/documents/0/data/a.yaml"),
    ],
)
def test_a_config_map_that_cannot_be_read_is_refused(apply, data, pointer):
    answer = apply({"kind": "ConfigMap", "data": data} if data else {"kind": "ConfigMap", "data": 5})

    assert (answer.status_code, pointers(answer)) == (400, [pointer])


@pytest.mark.parametrize("inherited", [{"inherited": True, "source": "global", "defaults": {"cpu": "1"}}])
def test_what_a_document_marks_as_inherited_is_not_set(apply, inherited):
    answer = apply(spec({"taskResources": inherited, "pluginOverrides": {}}, **HERE))

    assert answer.json()["summary"]["created"] == 1
    assert stored() == {"plugin_override at project=flytesnacks domain=development": {}}


INSTALLATION = [
    spec({"priority": {"level": 3}}, project="ml", domain="canary"),
    {
        "kind": "guardRail",
        "name": "cap",
        "scope": {"domain": "canary"},
        "resource_type": "priority",
        "pointer": "/level",
        "rule": {"maximum": 5},
    },
    {
        "kind": "resourceType",
        "definition": {
            "name": "priority",
            "strategy": "merge",
            "schema": {"type": "object", "properties": {"level": {"type": "integer"}}},
        },
    },
    {"kind": "project", "id": "ml", "name": "Machine learning", "description": "One\nTwo"},
    {"kind": "domain", "id": "canary"},
]


def test_what_overrides_need_is_made_first_whatever_the_order(apply):
    answer = apply(*INSTALLATION).json()

    assert answer["installation"] == [
        {"kind": "domain", "name": "canary", "change": "created"},
        {"kind": "project", "name": "ml", "change": "created"},
        {"kind": "resourceType", "name": "priority", "change": "created"},
        {"kind": "guardRail", "name": "cap", "change": "created"},
    ]
    assert answer["summary"]["created"] == 1
    assert Project.objects.get(id="ml").description == "One\nTwo"


def test_the_installation_applied_again_is_unchanged(apply):
    apply(*INSTALLATION)
    before = everything()

    answer = apply(*INSTALLATION).json()

    assert answer["installation"] == []
    assert everything() == before


def test_types_and_rails_are_brought_up_to_date(apply):
    apply(*INSTALLATION)
    rail = {**INSTALLATION[1], "rule": {"maximum": 9}}
    definition = {**INSTALLATION[2]["definition"], "title": "How soon"}

    answer = apply(rail, {"kind": "resourceType", "definition": definition}).json()

    assert [document["change"] for document in answer["installation"]] == ["updated", "updated"]


def test_a_wrong_override_takes_the_project_back_that_came_with_it(apply):
    before = everything()

    answer = apply({"kind": "project", "id": "ml"}, tasks(cpu="x", project="ml"))

    assert (answer.status_code, pointers(answer)) == (
        422,
        ["/documents/1/spec/taskResources/defaults/cpu"],
    )
    assert everything() == before


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        ({"kind": "project"}, ["/documents/0/id"]),
        ({"kind": "project", "id": 5}, ["/documents/0/id"]),
        ({"kind": "project", "id": "A"}, ["/documents/0/id"]),
        ({"kind": "project", "id": "p" * 64}, ["/documents/0/id"]),
        ({"kind": "project", "id": "x", "name": "n" * 65}, ["/documents/0/name"]),
        ({"kind": "project", "id": "x", "description": "d" * 301}, ["/documents/0/description"]),
        ({"kind": "domain", "id": "x", "name": "a\tb"}, ["/documents/0/name"]),
        ({"kind": "domain", "id": "x", "nam": "a", "x": 1}, ["/documents/0/nam", "/documents/0/x"]),
        ({"kind": "resourceType"}, ["/documents/0/definition"]),
        ({"kind": "resourceType", "definition": {"name": "x"}}, ["/documents/0/definition"] * 2),
        (
            {"kind": "resourceType", "definition": {"name": "X", "strategy": "merge", "schema": {}}},
            [f"/documents/0/definition/{text}" for text in ("document_key", "name", "schema/type")],
        ),
        ({"kind": "guardRail", "name": "X"}, ["/documents/0"] * 3 + ["/documents/0/name"]),
    ],
    ids=str,
)
def test_a_wrong_document_about_the_installation_says_where(apply, document, expected):
    answer = apply(document)

    assert answer.status_code in (400, 422), answer.json()
    assert sorted(pointers(answer)) == expected
    if apply.form == "yaml":
        assert all(error["line"] for error in answer.json()["errors"])


# Limits.


def of_size(size: int, form: str) -> bytes:
    start, end = (b'{"documents": [', b"]}") if form == "json" else (b"spec: {}\n", b"\n")
    return start + b" " * (size - len(start) - len(end)) + end


@pytest.mark.parametrize("form", ["application/json", YAML, "text/yaml"])
def test_eight_mebibytes_are_taken_and_not_a_byte_more(api, form):
    kind = "json" if form.endswith("json") else "yaml"

    fits = api.post("overrides:apply", of_size(8 * MEBIBYTE, kind), Content_Type=form)
    exceeds = api.post("overrides:apply", of_size(8 * MEBIBYTE + 1, kind), Content_Type=form)

    assert fits.status_code == 200
    assert (exceeds.status_code, exceeds.json()["code"]) == (413, "body_too_large")


@pytest.mark.parametrize(
    "body",
    [b"[" * 1_000_000, b'{"documents": [' * 40, b'{"a": ' * 1_000_000, b"- " * 1_000_000],
    ids=["lists", "bundles", "objects", "dashes"],
)
@pytest.mark.parametrize("form", ["application/json", YAML])
def test_a_hostile_depth_is_refused(api, body, form):
    answer = api.post("overrides:apply", body, Content_Type=form)

    assert (answer.status_code, answer.json()["code"]) == (400, "malformed_body")


def test_bytes_that_are_not_utf_8_are_refused(api):
    answer = api.post("overrides:apply", b"kind: \xff\xfe", Content_Type=YAML)

    assert (answer.status_code, answer.json()["code"]) == (400, "malformed_body")


@pytest.mark.parametrize("body", [b"---\na\n" * 20_001, b"- {}\n" * 20_001], ids=["stream", "list"])
def test_more_documents_than_a_call_may_have_are_refused(api, body):
    answer = api.post("overrides:apply", body, Content_Type=YAML)

    assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (400, "/documents")


def many(count: int, *, cpu: str) -> list[dict[str, Any]]:
    return [tasks(cpu=cpu, **HERE, workflow=f"w{number}") for number in range(count)]


def queries_of(call: Any) -> int:
    with CaptureQueriesContext(connection) as captured:
        assert call().status_code == 200
    return len(captured)


def costs(apply_json: Any, count: int) -> dict[str, int]:
    """The queries of each kind of apply, one after the other on the same documents."""
    first, second, third = (many(count, cpu=cpu) for cpu in "123")
    team = {"managed_by": f"team-{count}", "force": "true"}
    other = {"managed_by": f"other-{count}", "force": "true"}
    spent = {
        "create": queries_of(lambda: apply_json(*first, **team)),
        "unchanged": queries_of(lambda: apply_json(*first, **team, prune="true")),
        "update": queries_of(lambda: apply_json(*second, **team, prune="true")),
        "conflict": queries_of(lambda: apply_json(*third, **other)),
    }
    other["confirm"] = apply_json(**other, prune="true", dry_run="true").json()["confirm"]
    return {**spent, "prune": queries_of(lambda: apply_json(**other, prune="true"))}


def test_two_thousand_documents_cost_no_more_queries_than_ten(apply_json, settings):
    settings.CONFIRM_ABOVE_SCOPES = 0
    costs(apply_json, 1)  # Fills the caches.

    few, two_thousand = costs(apply_json, 10), costs(apply_json, 2000)

    assert two_thousand == few
    assert max(two_thousand.values()) < 40


def test_a_plan_lists_a_thousand_changes_and_counts_them_all(apply_json, settings):
    settings.CONFIRM_ABOVE_SCOPES = 0

    answer = apply_json(*many(1100, cpu="1")).json()

    assert (len(answer["changes"]), len(answer["effective"])) == (1000, 100)
    assert (answer["summary"]["created"], answer["affected_scopes"]) == (1100, 1100)


def test_one_answer_has_the_errors_of_all_documents_of_whatever_kind(apply):
    """An unknown type, a misspelled field, a wrong value and no spec; nothing about the last document."""
    answer = apply(
        spec({"taskResorces": {}, "taskResources": {"limits": {"cpuu": "1"}}}),
        spec({"taskResources": {"limits": {"cpu": "many"}}}, **HERE),
        {"kind": "overrides", "project": "flytesnacks"},
        tasks(domain="staging"),
    )

    assert answer.status_code == 400
    assert sorted(pointers(answer)) == [
        "/documents/0/spec/taskResorces",
        "/documents/0/spec/taskResources/limits/cpuu",
        "/documents/1/spec/taskResources/limits/cpu",
        "/documents/2/spec",
    ]
    assert stored() == {}
