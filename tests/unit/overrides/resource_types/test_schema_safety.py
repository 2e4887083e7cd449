"""Schemas of operators: whatever is defined, no value makes validation slow, and no definition breaks it."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controlplane.errors import InvalidTypeDefinition
from controlplane.formats.json_schema import compile_schema
from controlplane.formats.wildcards import matches
from overrides.resolution.merging import Strategy
from overrides.resource_types import BUILT_IN
from overrides.resource_types.operators import define, restore
from overrides.resource_types.shape import check_shape
from overrides.resource_types.sizes import MAX_TEXT_CHARACTERS, MAX_VALUES
from tests.support.hostile_patterns import CATASTROPHIC
from tests.support.properties import examples


def definition(properties: dict[str, Any], **more: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties, **more}
    return {"name": "own", "strategy": "merge", "schema": schema}


def refusals(document: dict[str, Any]) -> dict[str, str]:
    """Pointer and code of each error."""
    with pytest.raises(InvalidTypeDefinition) as raised:
        define(document, version=1)
    return {error.pointer: error.code for error in raised.value.errors}


@pytest.mark.parametrize(("pattern", "value"), CATASTROPHIC)
@pytest.mark.parametrize("strategy", list(Strategy))
def test_no_pattern_makes_a_value_slow(pattern, value, strategy):
    own = define(
        {**definition({"?": {"pattern": pattern}}, patternProperties={pattern: {"type": "null"}})}
        | {"strategy": strategy.value},
        version=1,
    )

    began = time.monotonic()
    errors = own.errors({"?": value, value: 1})

    assert [error.pointer for error in errors] == ["/attributes/?"]
    assert time.monotonic() - began < 20  # A backtracking engine would need years.


@pytest.mark.parametrize(
    "pattern", [r"a\Z", r"(?P<x>a)(?P=x)", r"(?=a)b", r"(?<!x)a", r"(a)\1", "[a", "(a{100}){100}", "(?>a)b"]
)
def test_a_pattern_that_needs_another_engine_is_refused_where_it_is(pattern):
    inner = {"type": "object", "properties": {"b": {"pattern": pattern}}}

    assert refusals(definition({"a": inner})) == {"/schema/properties/a/properties/b/pattern": "malformed"}
    assert refusals(definition({}, patternProperties={pattern: {}})) == {
        f"/schema/patternProperties/{pattern}": "malformed"
    }


def test_words_of_schemas_are_data_where_no_schema_stands():
    own = define(
        definition(
            {"pattern": {"const": {"pattern": "[a", "$ref": "#/nowhere"}}, "$ref": {"type": "string"}}
        ),
        version=1,
    )

    assert own.errors({"pattern": {"pattern": "[a", "$ref": "#/nowhere"}, "$ref": "x"}) == []


def test_a_reference_to_nothing_is_refused_where_it_is():
    assert refusals(definition({"a": {"items": {"$ref": "#/$defs/none"}}})) == {
        "/schema/properties/a/items/$ref": "unknown_reference"
    }
    assert refusals(definition({"a": {"$ref": "https://example.com/schema"}})) == {
        "/schema/properties/a/$ref": "remote_reference"
    }


def test_references_that_would_take_for_ever_are_refused():
    doubling = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(40)}
    of_children = {"node": {"anyOf": [{"properties": {"child": {"$ref": "#/$defs/node"}}}] * 2}}
    endless = {"a": {"$ref": "#/$defs/b"}, "b": {"anyOf": [{"$ref": "#/$defs/a"}]}}
    long = {f"d{n}": {"not": {"$ref": f"#/$defs/d{n + 1}"}} for n in range(900)}

    for first, definitions, code in [
        ("d0", {**doubling, "d40": {"type": "string"}}, "too_intricate"),
        ("node", of_children, "too_intricate"),
        ("a", endless, "endless_reference"),
        ("d0", {**long, "d900": True}, "endless_reference"),
    ]:
        document = definition({"a": {"$ref": f"#/$defs/{first}"}}, **{"$defs": definitions})
        assert refusals(document) == {"/schema": code}


def test_a_tree_may_refer_to_itself():
    node = {
        "type": "object",
        "properties": {"name": {"type": "string"}, "children": {"items": {"$ref": "#/$defs/node"}}},
    }
    own = define(definition({"root": {"$ref": "#/$defs/node"}}, **{"$defs": {"node": node}}), version=1)

    errors = own.errors({"root": {"children": [{"children": [{"name": 5}]}]}})

    assert [error.pointer for error in errors] == ["/attributes/root/children/0/children/0/name"]


def test_every_mistake_of_a_schema_is_told():
    document = definition({"a": {"type": "text"}, "b": {"minimum": "1"}, "c": 7})

    assert refusals(document) == {
        "/schema/properties/a/type": "not_allowed",
        "/schema/properties/b/minimum": "wrong_type",
        "/schema/properties/c": "wrong_type",
    }


@pytest.mark.parametrize("resource_type", BUILT_IN.values(), ids=lambda resource_type: resource_type.name)
def test_the_schema_of_a_built_in_type_compiles(resource_type):
    compile_schema(resource_type.schema)


def test_a_stored_type_that_does_not_compile_any_more_can_be_read_and_says_why_nothing_can_be_set():
    own = restore(definition({"a": {"pattern": r"a\Z"}}), version=1)

    assert own.show({"a": "x"}) == {"a": "x"}
    assert [error.code for error in own.errors({"a": "x"})] == ["unusable_schema"]


def test_a_dollar_is_the_end_of_the_text():
    own = define(definition({"a": {"pattern": "^a$"}}), version=1)

    assert own.errors({"a": "a"}) == []
    assert [error.code for error in own.errors({"a": "a\n"})] == ["malformed"]


def test_what_is_too_large_is_told_without_looking_closer():
    own = define(definition({}), version=1)
    long = {"a": ["x" * (MAX_TEXT_CHARACTERS + 1)], "b": "x" * MAX_TEXT_CHARACTERS}

    assert [(error.pointer, error.code) for error in own.errors(long)] == [("/attributes/a/0", "too_long")]
    assert [error.code for error in own.errors({"x" * (MAX_TEXT_CHARACTERS + 1): 1})] == ["too_long"]
    assert [error.code for error in own.errors({"a": [1] * MAX_VALUES})] == ["too_large"]
    assert [error.code for error in own.errors({"a": 10**400})] == ["out_of_range"]
    assert own.errors({"a": 10**300, "b": -(2**64)}) == []


def test_much_text_for_large_patterns_is_refused():
    own = define(definition({"a": {"pattern": "(a|b)*a(a|b){1000}c"}}), version=1)

    errors = own.errors({"a": ["ab" * 20_000] * 10})

    assert [error.code for error in errors] == ["too_large"]
    assert own.errors({"a": "ab" * 1000})[0].code == "malformed"


_names = st.sampled_from(["a", "b", "some_name", "someName", "key", "$ref", "pattern", "items"])
_values = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=3),
    lambda below: st.lists(below, max_size=3) | st.dictionaries(_names, below, max_size=3),
    max_leaves=6,
)
_schemas = st.recursive(
    st.booleans()
    | st.sampled_from(
        [
            {"type": "string"},
            {"type": ["integer", "null"]},
            {"const": 1},
            {"enum": [True, "a", None]},
            {"pattern": "^a"},
            {"$ref": "#/$defs/a"},
            {"$ref": "#/$defs/a/items"},
            {"maximum": 3},
        ]
    ),
    lambda below: st.fixed_dictionaries(
        {},
        optional={
            "type": st.sampled_from(["object", "array"]),
            "properties": st.dictionaries(_names, below, max_size=3),
            "patternProperties": st.dictionaries(st.sampled_from(["^a", "b$"]), below, max_size=2),
            "additionalProperties": below,
            "propertyNames": below,
            "items": below,
            "anyOf": st.lists(below, min_size=1, max_size=3),
            "oneOf": st.lists(below, min_size=1, max_size=3),
            "not": below,
            "required": st.lists(_names, max_size=2, unique=True),
            "unevaluatedProperties": below,
            "prefixItems": st.lists(below, min_size=1, max_size=2),
            "contains": below,
        },
    ),
    max_leaves=8,
)
_rules = st.lists(
    st.fixed_dictionaries(
        {
            "path": st.sampled_from(["/a", "/a/b", "/some_name", "/a/*", "/"]),
            "rule": st.sampled_from(["merge_by_key", "append_unique", "min", "replace"]),
        },
        optional={"key": _names},
    ),
    max_size=2,
)


@examples(60, nightly=20_000)
@given(st.dictionaries(_names, _schemas, max_size=3), _schemas, _rules, st.lists(_values, max_size=3))
def test_a_definition_is_refused_or_works_for_every_value(properties, shared, rules, values):
    document = definition(properties, **{"$defs": {"a": shared}}) | {"merge": rules}
    try:
        own = define(check_shape(document), version=1)
    except InvalidTypeDefinition:
        return
    validator = compile_schema(own.schema)
    for value in values:
        attributes = {"a": value, "b": value}
        errors = own.errors(attributes, "")
        if not validator.is_valid(attributes):
            assert errors
        assert all(error.pointer == "" or error.pointer.startswith("/") for error in errors)
        dumps = json.dumps([[error.message, error.hint] for error in errors])
        assert not any(word in dumps for word in ("True", "False", "None"))


@pytest.mark.parametrize(
    ("pattern", "name", "expected"),
    [
        ("*", "", True),
        ("a*a", "a", False),
        ("a*b*c", "a-b-b-c", True),
        ("a*bc*c", "abc", False),
        ("*b", "abab", True),
        ("", "", True),
        ("", "a", False),
        ("*a" * 30 + "b", "a" * 63, False),
    ],
)
def test_a_star_stands_for_any_characters(pattern, name, expected):
    assert matches(pattern, name) is expected
