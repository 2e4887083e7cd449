"""Nobody's client breaks without being told: openapi.yaml against that of the last release."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from tests.contract.api_changes import RELEASED, ROOT, breaks, contract_only, load, unannounced

DOCUMENT = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 10},
        "state": {"type": "string", "enum": ["on", "off"]},
        "description": {"type": "string", "description": "For people."},
        "example": {},
        "parts": {"type": "array", "items": {"$ref": "#/components/schemas/Thing"}},
    },
    "required": ["name"],
}
JSON = {"application/json": {"schema": {"$ref": "#/components/schemas/Thing"}}}
OLD: dict[str, Any] = {
    "paths": {
        "/things": {
            "post": {
                "operationId": "things_create",
                "parameters": [{"name": "dry_run", "in": "query", "schema": {"type": "boolean"}}],
                "requestBody": {"content": JSON},
                "responses": {"201": {"content": JSON}, "404": {"content": JSON}},
            }
        }
    },
    "components": {"schemas": {"Thing": DOCUMENT}},
}


def changed(*path: Any, to: Any) -> dict[str, Any]:
    """The description with one place changed; None takes it out."""
    new = copy.deepcopy(OLD)
    place = new
    for step in path[:-1]:
        place = place[step]
    if to is None:
        del place[path[-1]]
    else:
        place[path[-1]] = to
    return new


OPERATION = ("paths", "/things", "post")
FIELDS = ("components", "schemas", "Thing", "properties")


@pytest.mark.parametrize(
    ("new", "expected"),
    [
        (changed("paths", "/things", to=None), ["things_create: is gone"]),
        (changed(*OPERATION, "operationId", to="make_thing"), ["things_create: is called make_thing"]),
        (changed(*OPERATION, "parameters", to=[]), ["things_create: parameter dry_run is gone"]),
        (
            changed(*OPERATION, "parameters", 0, "schema", "type", to="integer"),
            ["things_create dry_run: is integer, was boolean"],
        ),
        (
            changed(*OPERATION, "parameters", 0, "required", to=True),
            ["things_create: parameter dry_run is required"],
        ),
        (changed(*OPERATION, "requestBody", "required", to=True), ["things_create request: is required"]),
        (
            changed(*OPERATION, "requestBody", "content", to={}),
            ["things_create request: application/json is gone"],
        ),
        (changed(*OPERATION, "responses", "201", to=None), ["things_create 201: is gone"]),
        (changed(*FIELDS, "state", to=None), ["Thing.state: is gone"]),
        (changed(*FIELDS, "name", "maxLength", to=9), ["Thing.name: maxLength is 9, was 10"]),
        (changed(*FIELDS, "state", "enum", to=["on"]), ["Thing.state: no longer takes off"]),
        (
            changed(*FIELDS, "name", "type", to=["string", "null"]),
            ["Thing.name: is null or string, was string"],
        ),
        (changed("components", "schemas", "Thing", "required", to=[]), ["Thing.name: may be absent"]),
        (
            changed("components", "schemas", "Thing", "required", to=["name", "state"]),
            ["Thing.state: is required"],
        ),
    ],
)
def test_what_may_break_a_client_is_found(new, expected):
    assert breaks(OLD, new) == expected


@pytest.mark.parametrize(
    "new",
    [
        OLD,
        changed("paths", "/others", to={"get": OLD["paths"]["/things"]["post"]}),
        changed(*OPERATION, "responses", "404", to=None),
        changed(*OPERATION, "responses", "409", to={}),
        changed(*FIELDS, "colour", to={"type": "string"}),
        changed(*FIELDS, "state", "enum", to=["on", "off", "late"]),
        changed(*FIELDS, "state", "enum", to=None),
        changed(*FIELDS, "name", "maxLength", to=11),
        changed(*FIELDS, "name", "description", to="Other words."),
        changed(*OPERATION, "summary", to="Other words."),
    ],
)
def test_what_cannot_break_one_is_not(new):
    assert breaks(OLD, new) == []


def test_a_whole_number_is_a_number():
    counted = changed(*FIELDS, "name", to={"type": "integer"})
    measured = changed(*FIELDS, "name", to={"type": "number"})

    # Who sends may send more, who reads may meet more.
    assert breaks(counted, measured) == ["Thing.name: is integer or number, was integer"]
    assert breaks(measured, counted) == ["Thing.name: is integer, was integer or number"]


def test_a_fragment_announces_exactly_what_it_quotes():
    changes = ["Thing.state: is gone", "Thing.name: is gone"]

    assert unannounced(changes, "- `Thing.state: is gone`, because nobody knew it.") == [
        "Thing.name: is gone"
    ]


def test_words_are_left_out_and_fields_of_their_names_are_not():
    properties = contract_only(OLD)["components"]["schemas"]["Thing"]["properties"]

    assert (properties["description"], properties["example"]) == ({"type": "string"}, {})


def test_every_break_since_the_last_release_is_announced():
    changes = breaks(load(RELEASED), load(ROOT / "openapi.yaml"))
    fragments = "\n".join(path.read_text() for path in sorted(RELEASED.parent.glob("*.md")))

    assert unannounced(changes, fragments) == [], (
        "This may break clients. Undo it, or quote each line in backticks in changes/<what>.md, and say why."
    )
