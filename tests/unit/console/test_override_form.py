"""The form of an override: groups, labels, errors at their fields, and rows of names and values."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.overrides import forms, pairs
from console.overrides.field_groups import in_groups, label_of, with_errors
from controlplane.errors import FieldError, MalformedBody
from overrides.resource_types import BUILT_IN

CONFIG = BUILT_IN["workflow_execution_config"]
ENVS = CONFIG.schema["properties"]["envs"]["properties"]["values"]
LABELS = CONFIG.schema["properties"]["labels"]["properties"]["values"]

rows_of_pairs = st.lists(
    st.tuples(st.text(min_size=1, max_size=5), st.text(max_size=5)), max_size=5, unique_by=lambda row: row[0]
)
any_json = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=4)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.sampled_from(["groups", "labels", "title", "fields", "/a"]), inner, max_size=3),
    ),
    max_leaves=12,
)


@given(rows=rows_of_pairs, schema=st.sampled_from([ENVS, LABELS]))
def test_rows_mean_the_value_that_they_are_made_from(rows, schema):
    assert pairs.rows_of(schema, pairs.value_of(schema, rows)) == tuple(rows)


@given(value=any_json, schema=st.sampled_from([ENVS, LABELS]))
def test_values_of_another_shape_are_edited_as_yaml_or_lose_nothing(value, schema):
    rows = pairs.rows_of(schema, value)

    assert rows is None or pairs.value_of(schema, rows) == value


def test_a_tilde_removes_the_inherited_pair():
    assert pairs.value_of(LABELS, [("team", "~")]) == {"team": None}
    assert pairs.value_of(ENVS, [("LOG", "~")]) == [{"key": "LOG", "$remove": True}]


def test_empty_rows_are_left_out_and_mistakes_are_refused():
    assert pairs.value_of(LABELS, [("", ""), ("a", "")]) == {"a": ""}
    with pytest.raises(MalformedBody, match="has no name"):
        pairs.value_of(LABELS, [("", "x")])
    with pytest.raises(MalformedBody, match="set twice"):
        pairs.value_of(ENVS, [("a", "1"), ("a", "2")])


def test_inherited_pairs_are_shown_unless_a_row_replaces_them():
    inherited = {"envs": {"values": [{"key": "A", "value": "1"}, {"key": "B", "value": "2"}]}}
    own = {"envs": {"values": [{"key": "B", "value": "3"}]}}

    (field,) = [f for f in forms.fields_of(CONFIG.schema, own, inherited) if f.pointer == "/envs/values"]

    assert (field.kind, field.rows, field.inherited_pairs) == ("pairs", (("B", "3"),), ("A=1",))


def test_rows_that_are_all_removed_are_inherited_again():
    assert forms.with_pairs({"labels": {"values": {"a": "1"}}}, CONFIG.schema, "/labels/values", []) == {}


@given(hints=any_json, name=st.sampled_from(sorted(BUILT_IN)))
def test_every_field_is_in_exactly_one_group_whatever_the_hints(hints, name):
    fields = forms.fields_of(BUILT_IN[name].schema, {"envs": {}, "limits": {}, "security_context": {}}, {})
    hints = hints if isinstance(hints, dict) else {"groups": hints, "labels": hints}

    for chosen in (hints, BUILT_IN[name].hints):
        grouped = [field.pointer for group in in_groups(fields, chosen) for field in group.fields]
        assert sorted(grouped) == sorted(field.pointer for field in fields)


def test_limits_are_beside_defaults():
    schema, hints = BUILT_IN["task_resource"].schema, BUILT_IN["task_resource"].hints
    attributes = {"limits": {"cpu": "1"}, "defaults": {"cpu": "1"}}

    (group,) = in_groups(forms.fields_of(schema, attributes, {}), hints)

    labels = [field.label for field in group.fields]
    assert labels[:4] == ["CPU default", "CPU limit", "Memory default", "Memory limit"]


def test_labels_are_words_and_hints_win():
    assert label_of("/a/max_parallelism", {}) == "Max parallelism"
    assert label_of("/a", {"labels": {"/a": "Amount"}}) == "Amount"


def test_an_error_is_at_its_field():
    fields = forms.fields_of(CONFIG.schema, {"security_context": {"secrets": {}}}, {})
    errors = [
        FieldError("/attributes/security_context/secrets/0/key", "x", "key must be text.", hint="Quote it.")
    ]

    wrong = {field.pointer: field.error for field in with_errors(fields, errors) if field.error}

    assert wrong == {"/security_context/secrets": "key must be text. Quote it."}
