"""`cpctl explain schema`: what can be set, in words."""

from __future__ import annotations

import pytest

from cpctl.nearest_names import nearest
from cpctl.schemas import lines, paths, type_text, within

SCHEMA = {
    "type": "object",
    "required": ["limits"],
    "properties": {
        "limits": {
            "type": ["object", "null"],
            "description": "Upper bounds.",
            "properties": {"cpu": {"type": ["string", "null"], "maxLength": 64, "examples": ["500m", "2"]}},
        },
        "max_parallelism": {"type": "integer", "minimum": 0},
        "queues": {"type": "array", "items": {"type": "object", "properties": {"name": {"type": "string"}}}},
        "labels": {"type": "object", "additionalProperties": {"type": "string"}},
        "either": {"anyOf": [{"type": "string"}, {"type": "integer"}, {"type": "null"}]},
        "closed": {"type": "object", "additionalProperties": False},
    },
}


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ([], "object"),
        (["limits", "cpu"], "string"),
        (["maxParallelism"], "integer"),
        (["queues"], "list of object"),
        (["queues", "name"], "string"),
        (["labels"], "map of string"),
        (["labels", "any"], "string"),
        (["either"], "string or integer"),
        (["closed"], "object"),
    ],
)
def test_a_field_is_found_by_its_path(path, kind):
    assert type_text(within(SCHEMA, path)) == kind


@pytest.mark.parametrize("path", [["nope"], ["limits", "cpu", "x"], ["closed", "x"]])
def test_other_fields_are_not(path):
    assert within(SCHEMA, path) is None


def test_fields_have_their_type_limits_and_meaning():
    assert lines("t", within(SCHEMA, ["limits"])) == [
        "t: object",
        "  Upper bounds.",
        "",
        "Fields:",
        "  cpu: string",
        "      maximum length 64; such as 500m, 2",
    ]
    assert "  limits: object (required)" in lines("t", SCHEMA)
    assert lines("t", within(SCHEMA, ["labels"]))[-1] == "Any other name: string"


@pytest.mark.parametrize(
    ("misspelled", "suggestion"),
    [
        ("agnts", " Did you mean agents?"),
        ("guardrail", " Did you mean guard-rails?"),
        ("limits.cpuu", " Did you mean limits.cpu?"),
        ("zzz", ""),
        ("", ""),
    ],
)
def test_misspelled_names_get_a_suggestion(misspelled, suggestion):
    assert nearest(misspelled, ["agents", "guard-rails", "limits.cpu", "limits.gpu"]) == suggestion


def test_paths_name_every_field_at_any_depth():
    number = {"type": "integer"}
    schema = {
        "properties": {"a": {"properties": {"b": number}}, "c": {"items": {"properties": {"d": number}}}}
    }

    assert list(paths(schema)) == ["a", "a.b", "c", "c.d"]
