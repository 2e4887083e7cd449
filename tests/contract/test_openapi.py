"""openapi.yaml as a contract: complete, honest, with examples that fit."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from django.urls import URLPattern, URLResolver, get_resolver
from jsonschema import Draft202012Validator

from controlplane.access.permissions import declared_action
from controlplane.api.endpoints import Endpoint
from tests.support.openapi import openapi_document

DOCUMENT: dict[str, Any] = openapi_document()
METHODS = ("get", "post", "put", "patch", "delete")
OPERATIONS = [
    pytest.param(path, method, operation, id=operation["operationId"])
    for path, methods in DOCUMENT["paths"].items()
    for method, operation in methods.items()
    if method in METHODS
]
# Served as they are, not as JSON operations: the description itself and its viewers.
UNDESCRIBED = {"api/v1/openapi.yaml", "api/v1/docs", "api/v1/redoc"}


def routes(patterns: list[URLPattern | URLResolver], prefix: str = "") -> list[tuple[str, Any]]:
    examples_found = []
    for pattern in patterns:
        path = prefix + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            examples_found += routes(pattern.url_patterns, path)
        else:
            examples_found.append((path, getattr(pattern.callback, "view_class", pattern.callback)))
    return examples_found


# Flyte's and DCM's paths have their own formats, and Flyte's its own description.
API_ROUTES = [
    (path, view) for path, view in routes(get_resolver().url_patterns) if path.startswith("api/v1/")
]


def contents(part: dict[str, Any]) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Each (schema, examples) of a request body or response."""
    return [(body["schema"], body.get("examples", {})) for body in part.get("content", {}).values()]


def validate(schema: dict[str, Any], value: Any) -> None:
    whole = {**schema, "components": DOCUMENT["components"]}
    Draft202012Validator(whole).validate(value)


def test_every_route_of_the_api_is_described_and_nothing_else_is():
    described = {path.strip("/").count("/") for path in DOCUMENT["paths"]}
    served = {path for path, _ in API_ROUTES} - UNDESCRIBED

    assert described
    assert len(served) == len(DOCUMENT["paths"])


@pytest.mark.parametrize(("path", "view"), API_ROUTES, ids=[path for path, _ in API_ROUTES])
def test_every_view_declares_the_action_of_each_of_its_methods(path, view):
    if path in UNDESCRIBED:
        return
    assert issubclass(view, Endpoint)
    methods = [method.upper() for method in METHODS if hasattr(view, method)]
    assert set(methods) == set(view.actions)
    assert all(declared_action(view(), method) for method in methods)


@pytest.mark.parametrize(("path", "method", "operation"), OPERATIONS)
def test_an_operation_says_what_it_is_and_what_it_needs(path, method, operation):
    assert operation["summary"]
    assert operation["description"]
    assert set(operation["tags"]) <= {tag["name"] for tag in DOCUMENT["tags"]}
    assert operation["x-required-permission"]
    assert {"400", "401", "403", "503"} <= set(operation["responses"])
    # Whole fleets may come at once.
    unlimited = {
        "agents_register",
        "agents_join",
        "agents_heartbeat",
        "agents_heartbeat_many",
        "agents_requests",
        "agents_answer",
        "pools_renew",
        "pools_release",
        "pools_release_token",
        "pools_lease_batch",
    }
    assert ("429" in operation["responses"]) is (operation["operationId"] not in unlimited)


@pytest.mark.parametrize(("path", "method", "operation"), OPERATIONS)
def test_request_and_answers_have_examples_that_fit_their_schemas(path, method, operation):
    parts = [operation["requestBody"]] if "requestBody" in operation else []
    parts += [answer for status, answer in operation["responses"].items() if status[0] == "2"]

    for part in parts:
        for schema, examples in contents(part):
            if schema.get("format") == "binary":
                continue
            assert examples, f"{operation['operationId']} has a body without an example"
            for example in examples.values():
                validate(schema, example["value"])


def test_operation_ids_are_read_aloud_well_and_never_repeat():
    ids = [operation.values[2]["operationId"] for operation in OPERATIONS]

    assert len(ids) == len(set(ids))
    assert all(operation_id.replace("_", "").isalpha() for operation_id in ids)


def test_no_schema_has_a_made_up_name():
    names = set(DOCUMENT["components"]["schemas"])

    assert not [name for name in names if any(char.isdigit() for char in name) or name.endswith("Enum")]


def test_no_schema_name_collides_with_a_constructor_of_another():
    """Go generators make a function NewX for each schema X, beside the types."""
    names = set(DOCUMENT["components"]["schemas"])

    assert [name for name in names if f"New{name}" in names] == []


def test_the_description_names_licence_contact_and_servers():
    assert DOCUMENT["info"]["license"]["name"]
    assert DOCUMENT["info"]["contact"]["name"]
    assert DOCUMENT["servers"][0]["url"] == "/"


@pytest.mark.parametrize(("path", "method", "operation"), OPERATIONS)
def test_an_operation_has_hints_for_generators(path, method, operation):
    names = {parameter["name"] for parameter in operation.get("parameters", ())}

    assert operation["x-idempotent"] in ("always", "with_key", "never")
    assert (operation["x-idempotent"] == "with_key") is (method == "post" and "Idempotency-Key" in names)
    # What no limit counts may still refuse too many that wait.
    assert operation["x-rate-class"] == ("caller" if "429" in operation["responses"] else "unlimited") or (
        operation["operationId"] == "pools_acquire"
    )
    pages = operation.get("x-pagination")
    assert bool(pages) is bool({"cursor", "before"} & names and "limit" in names)
    if pages:
        assert {pages["cursor_parameter"], pages["limit_parameter"]} <= names
        content = operation["responses"]["200"]["content"]["application/json"]["schema"]
        answer = DOCUMENT["components"]["schemas"][content["$ref"].rpartition("/")[2]]
        assert {pages["items"], pages["next_cursor"]} <= set(answer["properties"])


def test_what_sends_messages_is_not_repeated_without_a_key():
    hints = {
        operation.values[2]["operationId"]: operation.values[2]["x-idempotent"] for operation in OPERATIONS
    }

    assert {hints[name] for name in ("sinks_test", "notification_channels_test", "overrides_patch")} == {
        "never"
    }
    assert {hints[name] for name in ("overrides_effective_batch", "overrides_put")} == {"always"}
    assert hints["tokens_create"] == "with_key"


def test_enums_of_answers_are_open_and_those_of_requests_alone_are_not():
    schemas = DOCUMENT["components"]["schemas"]

    assert schemas["AgentState"]["x-extensible-enum"] == schemas["AgentState"]["enum"]
    assert "x-extensible-enum" not in schemas["JsonPatchOperationName"]


def test_tags_are_declared_once_used_and_described():
    declared = [tag["name"] for tag in DOCUMENT["tags"]]
    used = {tag for operation in OPERATIONS for tag in operation.values[2]["tags"]}

    assert len(declared) == len(set(declared))
    assert set(declared) == used
    assert all(tag["description"].endswith(".") for tag in DOCUMENT["tags"])
    assert all(len(operation.values[2]["tags"]) == 1 for operation in OPERATIONS)


def test_paths_are_plain_and_their_parameters_declared():
    """What spectral checks of paths: no trailing slash, no query, kebab-case, each parameter declared."""
    for path, method, operation in (item.values for item in OPERATIONS):
        plain = re.sub(r"\{[a-z_]+\}", "x", path)
        assert re.fullmatch(r"(/[a-z0-9.:-]+)+", plain.replace("canI", "can-i")), path
        in_path = {each["name"] for each in operation.get("parameters", ()) if each["in"] == "path"}
        assert in_path == set(re.findall(r"\{([a-z_]+)\}", path)), (method, path)


def test_parameters_are_described_and_never_repeated():
    for item in OPERATIONS:
        parameters = item.values[2].get("parameters", ())
        places = [(each["in"], each["name"]) for each in parameters]
        assert len(places) == len(set(places)), item.values[2]["operationId"]
        for each in parameters:
            assert each["in"] == "path" or each.get("description"), (item.id, each["name"])


def test_texts_are_sentences_without_markup():
    for item in OPERATIONS:
        operation = item.values[2]
        assert not operation["summary"].endswith("."), operation["summary"]
        assert operation["summary"][0].isupper()
        assert operation["description"].endswith((".", ":", "```")), operation["description"]
        assert "<script" not in operation["description"]


def test_every_component_is_used():
    text = json.dumps(DOCUMENT)
    for kind in ("schemas", "responses"):
        for name in DOCUMENT["components"][kind]:
            assert f'"#/components/{kind}/{name}"' in text, f"nothing refers to {kind}/{name}"


def test_every_default_is_a_value_that_the_schema_allows():
    for schema in DOCUMENT["components"]["schemas"].values():
        for member in schema.get("properties", {}).values():
            if "default" in member:
                validate(member, member["default"])
    for item in OPERATIONS:
        for parameter in item.values[2].get("parameters", []):
            if "default" in parameter["schema"]:
                validate(parameter["schema"], parameter["schema"]["default"])
