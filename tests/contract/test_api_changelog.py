"""The changelog that is written from two descriptions of the API."""

from __future__ import annotations

import copy
from typing import Any

from tests.contract.api_changelog import changelog
from tests.contract.api_changes import RELEASED, load
from tests.support.openapi import openapi_document

OLD: dict[str, Any] = {
    "paths": {
        "/things": {
            "get": {
                "operationId": "things_list",
                "parameters": [{"name": "limit", "in": "query", "schema": {}}],
                "responses": {"200": {}},
            }
        }
    },
    "components": {
        "schemas": {
            "Thing": {"properties": {"name": {"type": "string"}}},
            "State": {"enum": ["on", "off"]},
        }
    },
}


def test_nothing_changed():
    assert changelog(OLD, OLD) == "The API has not changed.\n"


def test_everything_that_a_reader_of_the_changelog_wants_to_know():
    new = copy.deepcopy(OLD)
    things = new["paths"]["/things"]
    things["get"]["parameters"].append({"name": "q", "in": "query", "schema": {}})
    things["get"]["deprecated"] = True
    things["post"] = {"operationId": "things_create", "summary": "Create a thing", "responses": {}}
    new["components"]["schemas"]["Thing"]["properties"]["color"] = {}
    new["components"]["schemas"]["State"]["enum"].append("broken")

    assert changelog(OLD, new).splitlines() == [
        "### Added",
        "",
        "- `POST /things` (`things_create`): Create a thing",
        "- `things_list`: parameter `q`",
        "- `State`: value `broken`",
        "- `Thing.color`",
        "",
        "### Deprecated",
        "",
        "- `GET /things` (`things_list`)",
    ]
    assert "### May break clients\n\n- `things_create: is gone`" in changelog(new, OLD)


def test_it_reads_the_api_of_the_last_release_and_ours():
    assert changelog(load(RELEASED), openapi_document()).startswith("### Added\n")
