"""Guard rails, own types, batch and history in their main lines."""

from __future__ import annotations

import pytest

from controlplane.scopes import Scope
from overrides.loading.catalogue_cache import catalogue_of
from overrides.models import Domain, Override, TypeDefinition
from tests.support.api_client import Api, make_project, single_answers, token_for

WEC = "overrides/workflow_execution_config"
TYPE = {
    "name": "workflow_priority",
    "strategy": "merge",
    "defaults": {"priority": 50},
    "schema": {
        "type": "object",
        "required": ["priority"],
        "additionalProperties": False,
        "properties": {
            "priority": {"type": "integer", "minimum": 0, "maximum": 100},
            "tell": {"type": "array", "items": {"type": "string"}},
            "ceiling": {"type": "integer"},
        },
    },
    "merge": [{"path": "/tell", "rule": "append_unique"}, {"path": "/ceiling", "rule": "min"}],
}


def parallelism(number: int) -> dict:
    return {"attributes": {"max_parallelism": number}}


def rail(**rule: object) -> dict:
    return {
        "name": "cap",
        "scope": {"domain": "production"},
        "resource_type": "workflow_execution_config",
        "pointer": "/max_parallelism",
        "rule": rule,
    }


def effective(api: Api, query: str, name: str) -> dict:
    (answer,) = api.get(f"overrides/effective?resource_type={name}&{query}").json()["items"]
    return answer


@pytest.fixture(autouse=True)
def _project(db):
    make_project()


def test_a_write_that_breaks_a_rail_names_it_and_others_pass(api):
    api.put("guard-rails/cap", rail(maximum=100))

    inside = api.put(f"{WEC}?project=flytesnacks&domain=production", parallelism(101))
    allowed = api.put(f"{WEC}?project=flytesnacks&domain=production", parallelism(100))
    outside = api.put(f"{WEC}?project=flytesnacks&domain=staging", parallelism(101))

    assert (inside.status_code, inside.json()["code"]) == (422, "guard_rail_broken")
    assert "'cap' at domain=production" in inside.json()["detail"]
    assert [allowed.status_code, outside.status_code] == [201, 201]


def test_an_inherited_value_that_breaks_a_rail_does_not_apply_there_and_says_why(api):
    api.put(WEC, parallelism(25))
    api.put(f"{WEC}?project=flytesnacks", parallelism(500))
    refused = api.put("guard-rails/cap", rail(maximum=100))
    accepted = api.put("guard-rails/cap?accept_existing=true", rail(maximum=100))

    there = effective(api, "project=flytesnacks&domain=production", "workflow_execution_config")
    elsewhere = effective(api, "project=flytesnacks&domain=staging", "workflow_execution_config")

    assert (refused.status_code, refused.json()["code"], accepted.status_code) == (409, "still_in_use", 201)
    assert there["attributes"] == {"max_parallelism": 25}
    assert (there["refused"][0]["value"], there["refused"][0]["rail"]) == (500, "cap")
    assert elsewhere["attributes"] == {"max_parallelism": 500}
    api.delete("guard-rails/cap", If_Match='"v1"')
    assert effective(api, "project=flytesnacks&domain=production", "workflow_execution_config")[
        "attributes"
    ] == {"max_parallelism": 500}


def test_a_lock_keeps_more_specific_scopes_out(api):
    api.put("guard-rails/cap", rail(lock_below="project_domain"))

    above = api.put(f"{WEC}?project=flytesnacks&domain=production", parallelism(5))
    below = api.put(f"{WEC}?project=flytesnacks&domain=production&workflow=w", parallelism(5))

    assert [above.status_code, below.status_code] == [201, 422]


def test_only_an_administrator_of_the_scope_puts_up_rails(api):
    admin = Api(token_for("admin", scope=Scope(project="flytesnacks")))
    editor = Api(token_for("editor"))

    assert admin.put("guard-rails/cap", rail(maximum=1)).status_code == 403
    assert editor.put("guard-rails/cap", rail(maximum=1)).status_code == 403
    own = {**rail(maximum=1), "scope": {"project": "flytesnacks"}}
    assert admin.put("guard-rails/cap", own).status_code == 201
    assert admin.put("guard-rails/cap", rail(maximum=1), If_Match='"v1"').status_code == 403


def test_an_own_type_works_at_once_with_its_rules_and_defaults(api):
    assert api.post("resource-types", TYPE).status_code == 201
    api.put("overrides/workflow_priority", {"attributes": {"tell": ["ops"], "ceiling": 5}})
    api.put(
        "overrides/workflow_priority?project=flytesnacks",
        {"attributes": {"tell": ["ml", "ops"], "ceiling": 9, "priority": 90}},
    )

    answer = effective(api, "project=flytesnacks", "workflow_priority")

    assert answer["attributes"] == {"priority": 90, "tell": ["ops", "ml"], "ceiling": 5}
    by_pointer = {leaf["pointer"]: leaf for leaf in answer["leaves"]}
    assert by_pointer["/ceiling"]["source"]["scope"]["level"] == "global"
    assert by_pointer["/ceiling"]["shadowed"][0]["because"] == "not_the_least"
    assert by_pointer["/priority"]["shadowed"][0]["source"]["kind"] == "platform_default"


def test_a_definition_that_stored_documents_would_not_fit_is_refused_with_them(api):
    api.post("resource-types", TYPE)
    api.put("overrides/workflow_priority?project=flytesnacks", {"attributes": {"priority": 90}})
    lower = {**TYPE["schema"]["properties"], "priority": {"type": "integer", "maximum": 80}}
    changed = {**TYPE, "schema": {**TYPE["schema"], "properties": lower}}
    harmless = {**TYPE, "title": "Priority"}

    refused = api.put("resource-types/workflow_priority", changed, If_Match='"v1"')
    accepted = api.put("resource-types/workflow_priority", harmless, If_Match='"v1"')
    in_use = api.delete("resource-types/workflow_priority", If_Match='"v2"')

    assert (refused.status_code, refused.json()["code"]) == (409, "still_in_use")
    assert "project=flytesnacks" in refused.json()["detail"]
    assert (accepted.status_code, in_use.status_code) == (200, 409)


def test_a_dry_run_of_a_type_leaves_nothing_behind_not_even_in_memory(api):
    other = {**TYPE, "defaults": {"priority": 1}}

    api.post("resource-types?dry_run=true", TYPE)
    assert api.get("resource-types/workflow_priority").status_code == 404
    api.post("resource-types", other)

    assert effective(api, "", "workflow_priority")["attributes"] == {"priority": 1}


def test_a_batch_answers_as_single_questions_do_with_one_query_for_all(api, django_assert_num_queries):
    api.put(WEC, parallelism(1))
    api.put(f"{WEC}?project=flytesnacks", parallelism(2))
    scopes = [{}, {"project": "flytesnacks"}, {"project": "flytesnacks", "domain": "staging"}, {}] * 250

    with django_assert_num_queries(2):
        batch = api.post("overrides/effective:batch", {"scopes": scopes}).json()

    single = [
        api.get(f"overrides/effective?{query}").json()
        for query in ("", "project=flytesnacks", "project=flytesnacks&domain=staging", "")
    ]
    assert single_answers(batch) == single * 250
    assert api.post("overrides/effective:batch", {"scopes": [{}] * 1001}).status_code == 400


def test_every_read_can_look_back(api):
    api.put(WEC, parallelism(1))
    then = {
        path: api.get(path).json()
        for path in (
            "overrides/effective",
            "overrides/document",
            "overrides",
            "overrides/export?format=documents",
        )
        if "export" not in path
    }
    api.put(WEC, parallelism(2), If_Match='"v1"')
    api.delete(WEC, If_Match='"v2"')

    for path in ("overrides/effective", "overrides/document"):
        assert api.get(f"{path}?as_of=1").json() == then[path]
    (past,) = api.get("overrides?as_of=1").json()["items"]
    assert past["attributes"] == then["overrides"]["items"][0]["attributes"]
    assert api.get(f"{WEC}?as_of=2").json()["attributes"] == {"max_parallelism": 2}
    assert api.get(f"{WEC}?as_of=3").status_code == 404
    assert api.get(f"{WEC}?as_of=4").status_code == 400


def test_history_tells_who_when_why_and_what_differs(api):
    api.put(
        f"{WEC}?change_message=First",
        {"attributes": {"max_parallelism": 1, "interruptible": True}},
        X_Request_ID="r1",
    )
    api.patch(f"{WEC}?change_message=Faster&managed_by=git", parallelism(9))

    versions = api.get(f"{WEC}/versions").json()["items"]
    diff = api.get(f"{WEC}/versions/1/diff/2").json()["differences"]
    blame = {leaf["pointer"]: leaf for leaf in api.get(f"{WEC}/blame").json()["items"]}
    (between,) = api.get("overrides/diff?from=1&to=2").json()["items"]
    revisions = api.get("overrides/revisions").json()["items"]

    assert [(version["version"], version["change_message"]) for version in versions] == [
        (2, "Faster"),
        (1, "First"),
    ]
    assert versions[1]["request_id"] == "r1"
    assert diff == [{"leaf": "/max_parallelism", "before": 1, "after": 9}]
    assert (blame["/interruptible"]["version"], blame["/max_parallelism"]["version"]) == (1, 2)
    assert (blame["/interruptible"]["managers"], blame["/max_parallelism"]["managers"]) == ([], ["git"])
    assert between["differences"] == diff
    assert [revision["change_message"] for revision in revisions] == ["Faster", "First"]


def test_going_back_makes_a_new_version_and_can_be_looked_at_first(api):
    api.put(WEC, parallelism(1))
    api.patch(WEC, parallelism(2))

    planned = api.post(f"{WEC}:rollback?dry_run=true", {"to_version": 1}).json()
    assert Override.objects.get().attributes == {"max_parallelism": 2}
    done = api.post(f"{WEC}:rollback", {"to_version": 1}).json()

    assert planned == done
    assert (Override.objects.get().version, Override.objects.get().attributes) == (3, {"max_parallelism": 1})
    assert api.post(f"{WEC}:rollback", {"to_version": 7}).status_code == 404


def test_a_whole_scope_goes_back_to_a_revision_and_no_other(api):
    api.put(f"{WEC}?project=flytesnacks", parallelism(1))
    api.put("overrides/execution_queue?project=flytesnacks", {"attributes": {"tags": ["a"]}})
    api.put(WEC, parallelism(7))

    plan = api.post("overrides:rollback?project=flytesnacks", {"to_revision": 0}).json()

    assert plan["summary"]["deleted"] == 2
    assert Override.objects.get().attributes == {"max_parallelism": 7}


def test_revisions_show_only_what_the_caller_may_read(api):
    api.put(WEC, parallelism(1))
    api.put(f"{WEC}?project=flytesnacks", parallelism(2))
    viewer = Api(token_for("viewer", scope=Scope(project="flytesnacks")))

    assert [revision["revision"] for revision in viewer.get("overrides/revisions").json()["items"]] == [2]
    assert viewer.get("overrides/revisions/1").status_code == 404
    assert viewer.get("overrides/diff?from=0").status_code == 403
    assert viewer.get("overrides/export").status_code == 403


def test_flytes_answer_takes_the_most_specific_row_whole(api):
    api.put("overrides/task_resource?project=flytesnacks", {"attributes": {"defaults": {"memory": "1Gi"}}})
    api.put(
        "overrides/task_resource?project=flytesnacks&domain=staging",
        {"attributes": {"defaults": {"cpu": "1"}}},
    )
    query = "project=flytesnacks&domain=staging"

    native = effective(api, query, "task_resource")
    flyte = effective(api, f"{query}&strategy=flyte", "task_resource")

    assert native["attributes"] == {"defaults": {"memory": "1Gi", "cpu": "1"}}
    assert flyte["attributes"] == {"defaults": {"cpu": "1"}}


def test_both_casings_are_understood_and_one_member_in_both_is_refused(api):
    camel = api.put(WEC, {"attributes": {"maxParallelism": 3}})
    both = api.put(f"{WEC}?domain=staging", {"attributes": {"maxParallelism": 3, "max_parallelism": 3}})

    assert camel.json()["attributes"] == {"max_parallelism": 3}
    assert (both.status_code, both.json()["errors"][0]["code"]) == (422, "given_twice")


def test_a_level_where_a_type_has_no_effect_is_refused_with_the_reason(api):
    answer = api.put(
        "overrides/cluster_resource?project=flytesnacks&domain=staging&workflow=w", {"attributes": {}}
    )

    assert (answer.status_code, answer.json()["code"]) == (422, "level_not_allowed")
    assert "namespaces" in answer.json()["detail"]


def test_the_etag_of_an_answer_changes_exactly_when_an_input_changes(api):
    path = "overrides/effective?project=flytesnacks&domain=production"
    api.put(f"{WEC}?project=flytesnacks", parallelism(5))
    first = api.get(path)["ETag"]

    api.put(f"{WEC}?domain=staging", parallelism(6))
    api.put("guard-rails/other", {**rail(maximum=900), "name": "other", "scope": {"domain": "staging"}})
    api.post("resource-types", TYPE | {"defaults": {}})
    unrelated = api.get(path)["ETag"]
    api.put("guard-rails/cap", rail(maximum=900))
    governed = api.get(path)["ETag"]
    api.delete("guard-rails/cap", If_Match='"v1"')
    free = api.get(path)["ETag"]
    api.put(WEC, parallelism(7))
    inherited = api.get(path)["ETag"]

    assert unrelated == first == free
    assert len({first, governed, inherited}) == 3
    assert api.get(path, If_None_Match=inherited).status_code == 304
    assert api.get(path, If_None_Match=first).status_code == 200


def test_a_type_with_defaults_changes_the_etag_of_every_answer(api):
    first = api.get("overrides/effective")["ETag"]
    api.post("resource-types", TYPE)
    second = api.get("overrides/effective")["ETag"]
    api.put("resource-types/workflow_priority", TYPE | {"defaults": {"priority": 1}}, If_Match='"v1"')
    third = api.get("overrides/effective")["ETag"]

    assert len({first, second, third}) == 3


NESTED = {
    "name": "nested",
    "strategy": "merge",
    "schema": {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "cpu": {"type": "string", "pattern": "^[0-9]+m?$"},
            "pool": {
                "type": "object",
                "additionalProperties": False,
                "properties": {
                    "size": {"type": "integer", "minimum": 1},
                    "kind": {"enum": ["spot", True]},
                    "labels": {"type": "object", "additionalProperties": {"type": "string"}},
                    "nodes": {
                        "type": "array",
                        "items": {"anyOf": [{"type": "string"}, {"$ref": "#/$defs/node"}]},
                    },
                },
            },
        },
        "$defs": {
            "node": {
                "type": "object",
                "required": ["name"],
                "properties": {"name": {"type": "string"}, "spare": {"type": "boolean"}},
            }
        },
    },
}


def test_every_mistake_in_an_own_types_document_has_its_pointer(api):
    api.post("resource-types", NESTED)
    pool = {
        "size": 0,
        "kind": False,
        "labels": {"a": None, "b": 1},
        "nodes": ["a", {"spare": "no"}, 5],
        "coulor": {"a": True},
    }

    refused = api.put("overrides/nested", {"attributes": {"cpu": 1, "pool": pool, "poool": {}}})

    assert (refused.status_code, refused.json()["code"]) == (422, "invalid_attributes")
    errors = {error["pointer"]: error for error in refused.json()["errors"]}
    assert {pointer: error["code"] for pointer, error in errors.items()} == {
        "/attributes/cpu": "wrong_type",
        "/attributes/pool/coulor": "unknown_field",
        "/attributes/pool/kind": "not_allowed",
        "/attributes/pool/labels/b": "wrong_type",
        "/attributes/pool/nodes/1/spare": "wrong_type",
        "/attributes/pool/nodes/2": "wrong_type",
        "/attributes/pool/size": "minimum",
        "/attributes/poool": "unknown_field",
    }
    assert (errors["/attributes/cpu"]["message"], errors["/attributes/cpu"]["hint"]) == (
        "cpu must be a string, not 1.",
        'Quote it: "1".',
    )
    assert errors["/attributes/pool/kind"]["message"] == "kind cannot be false. Use one of spot, true."
    assert errors["/attributes/pool/nodes/2"]["message"] == "Item 2 must be a string or an object, not 5."
    assert not Override.objects.exists()


def test_a_number_for_a_quantity_is_to_be_quoted_in_yaml_too(api):
    document = b"kind: overrides\nproject: flytesnacks\nspec:\n  taskResources:\n    limits:\n      cpu: 1\n"

    refused = api("POST", "overrides:apply", document, Content_Type="application/yaml")

    (error,) = refused.json()["errors"]
    assert (error["hint"], error["line"], error["column"]) == ('Quote it: "1".', 6, 12)


def test_a_stored_type_that_no_longer_compiles_breaks_nothing_else(api):
    """It was defined when patterns ran on an engine that knew more words."""
    api.post("resource-types", TYPE)
    api.put("overrides/workflow_priority", {"attributes": {"priority": 7}})
    row = TypeDefinition.objects.get(name="workflow_priority")
    row.definition["schema"]["properties"]["code"] = {"type": "string", "pattern": r"^a(?=b)\Z"}
    row.save()
    catalogue_of.cache_clear()

    everything = api.get("overrides/effective?project=flytesnacks&domain=production")
    refused = api.put("overrides/workflow_priority?project=flytesnacks", {"attributes": {"priority": 8}})
    other = api.put(WEC, parallelism(3))
    corrected = api.put("resource-types/workflow_priority", TYPE, If_Match='"v1"')

    assert everything.status_code == 200
    (own,) = [item for item in everything.json()["items"] if item["resource_type"] == "workflow_priority"]
    assert own["attributes"] == {"priority": 7}
    assert (refused.status_code, refused.json()["errors"][0]["code"]) == (422, "unusable_schema")
    assert (other.status_code, corrected.status_code) == (201, 200)
    assert api.get("resource-types").status_code == 200


def test_a_stored_definition_that_cannot_be_read_hides_only_its_own_type(api):
    api.post("resource-types", TYPE)
    api.put("overrides/workflow_priority", {"attributes": {"priority": 7}})
    api.put(WEC, parallelism(3))
    TypeDefinition.objects.update(definition={"name": "workflow_priority", "schema": 5})
    catalogue_of.cache_clear()

    everything = api.get("overrides/effective?project=flytesnacks&domain=production")
    listed = api.get("overrides")
    types = {resource_type["name"] for resource_type in api.get("resource-types").json()["items"]}
    corrected = api.put("resource-types/workflow_priority", TYPE, If_Match='"v1"')

    assert (everything.status_code, listed.status_code) == (200, 200)
    assert "workflow_execution_config" in types
    assert "workflow_priority" not in types
    assert corrected.status_code == 200
    assert effective(api, "project=flytesnacks", "workflow_priority")["attributes"]["priority"] == 7


@pytest.mark.parametrize(
    ("schema", "pointer", "code"),
    [
        ({"properties": {"a": {"pattern": r"a\Z"}}}, "/schema/properties/a/pattern", "malformed"),
        ({"properties": {"a": {"$ref": "#/$defs/none"}}}, "/schema/properties/a/$ref", "unknown_reference"),
        ({"patternProperties": {"(?=a)": {}}}, "/schema/patternProperties/(?=a)", "malformed"),
    ],
)
def test_a_schema_that_cannot_be_compiled_is_refused_at_definition(api, schema, pointer, code):
    refused = api.post(
        "resource-types", {"name": "own", "strategy": "merge", "schema": {"type": "object", **schema}}
    )

    assert (refused.status_code, refused.json()["code"]) == (422, "invalid_type_definition")
    assert [(error["pointer"], error["code"]) for error in refused.json()["errors"]] == [(pointer, code)]
    assert api.get("resource-types/own").status_code == 404


@pytest.mark.parametrize("path", ["overrides/effective", "overrides", "overrides/export", "guard-rails"])
def test_a_time_before_the_installation_is_refused_with_its_beginning(api, path):
    Domain.objects.update(created_at="2026-03-01T10:00:00Z")

    before = api.get(f"{path}?as_of=2026-03-01T09:59:59Z")
    unchanged = api.get(f"{path}?as_of=2026-03-01T10:00:01Z")

    assert (before.status_code, unchanged.status_code) == (400, 200)
    (error,) = before.json()["errors"]
    assert (error["pointer"], error["code"]) == ("?as_of", "before_beginning")
    assert "2026-03-01T10:00:00.000Z" in error["message"]
