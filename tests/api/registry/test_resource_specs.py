"""Specs of resources under the schema and the guard rails of the resource type with the same name."""

from __future__ import annotations

from typing import Any

import pytest

from registry.dispatch.models import ResourceRow
from tests.support.api_client import Api, make_project

DATABASE = {
    "name": "database",
    "title": "Database",
    "meaning": "A database server.",
    "strategy": "merge",
    "schema": {
        "type": "object",
        "properties": {
            "engine": {"type": "string", "enum": ["postgres", "mysql"]},
            "disk_gb": {"type": "integer", "minimum": 1},
            "zones": {"type": "array", "items": {"type": "string"}},
        },
        "required": ["engine"],
        "additionalProperties": True,
    },
}
GOOD = {"engine": "postgres", "disk_gb": 10}


@pytest.fixture
def typed(api: Api) -> Api:
    answer = api.post("resource-types", DATABASE)
    assert answer.status_code == 201, answer.content
    return api


def put_rail(api: Api, name: str, pointer: str, project: str = "", **rule: Any) -> None:
    body = {"name": name, "resource_type": "database", "pointer": pointer, "rule": rule, "reason": "Costs."}
    answer = api.put(f"guard-rails/{name}", {**body, "scope": {"project": project}})
    assert answer.status_code == 201, answer.content


def request(api: Api, spec: Any, query: str = "", **fields: Any) -> Any:
    return api.post(f"resources{query}", {"service_type": "database", "spec": spec, **fields})


def errors_of(answer: Any) -> list[tuple[str, str]]:
    return [(error["pointer"], error["message"]) for error in answer.json()["errors"]]


def test_the_schema_of_the_type_applies(typed):
    assert request(typed, GOOD).status_code == 202

    answer = request(typed, {"engine": "oracle", "disk_gb": "10"})
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid_attributes")
    assert answer.json()["detail"].startswith("The spec is not valid for the resource type database: ")
    assert [pointer for pointer, _ in errors_of(answer)] == ["/spec/disk_gb", "/spec/engine"]
    # Unlike an override, a spec is complete.
    for spec in ({"disk_gb": 10}, {"engine": None}):
        answer = request(typed, spec)
        assert (answer.status_code, answer.json()["code"]) == (422, "invalid_attributes"), spec


def test_a_service_type_without_a_type_of_that_name_takes_any_object(typed):
    assert typed.post("resources", {"service_type": "databases", "spec": {"engine": 1}}).status_code == 202


def test_guard_rails_in_force_at_the_scope_apply(typed):
    for project in ("shop", "bank"):
        make_project(project)
    put_rail(typed, "small", "/disk_gb", project="shop", maximum=100)
    large = {**GOOD, "disk_gb": 500}

    for query in ("", "?dry_run=true"):
        answer = request(typed, large, query, project="shop", domain="production")
        message = "The guard rail 'small' at project=shop refuses /disk_gb: the maximum is 100."
        assert (answer.status_code, answer.json()["code"]) == (422, "guard_rail_broken")
        assert (answer.json()["detail"], errors_of(answer)) == (message, [("/spec/disk_gb", message)])
        assert answer.json()["errors"][0]["hint"] == "Costs."
    assert not ResourceRow.objects.exists()
    assert request(typed, large, project="bank").status_code == 202
    assert request(typed, large).status_code == 202
    assert request(typed, GOOD, project="shop").status_code == 202


def test_another_spelling_of_a_field_does_not_avoid_its_guard_rail(typed):
    put_rail(typed, "small", "/disk_gb", maximum=100)

    answer = request(typed, {"engine": "mysql", "diskGb": 500})
    assert (answer.status_code, answer.json()["code"]) == (422, "guard_rail_broken")


def test_items_of_lists_and_locks_are_guarded(typed):
    make_project("shop")
    put_rail(typed, "near", "/zones", allowed=["eu-1", "eu-2"])
    put_rail(typed, "fixed", "/engine", project="shop", lock_below="project")

    answer = request(typed, {**GOOD, "zones": ["eu-1", "us-1"]})
    assert errors_of(answer)[0][1].endswith("allowed values are eu-1, eu-2.")
    assert request(typed, GOOD, project="shop").status_code == 202
    answer = request(typed, GOOD, project="shop", domain="staging")
    assert errors_of(answer)[0][1].endswith("it is locked below the level project.")


def test_a_later_guard_rail_leaves_resources_alone(typed):
    assert request(typed, {**GOOD, "disk_gb": 500}, "?id=db").status_code == 202

    put_rail(typed, "small", "/disk_gb", maximum=100)
    assert typed.post("resources/db:retry").status_code == 202
    assert typed.get("resources/db").json()["spec"]["disk_gb"] == 500


def test_a_spec_is_stored_as_it_was_sent(api):
    spec = {"camelCase": {"snake_case": 1.50, "null": None, "big": 12345678901234567890, "text": "ü\n"}}

    created = api.post("resources?id=x", {"service_type": "vm", "spec": spec})
    assert (created.status_code, created.json()["spec"], api.get("resources/x").json()["spec"]) == (
        202,
        spec,
        spec,
    )
