"""The eight built-in types, and what each refuses."""

import pytest

from controlplane.errors import InvalidAttributes, UnknownResourceType
from overrides.resource_types import BUILT_IN
from overrides.resource_types.catalogue import Catalogue

get_type = Catalogue(BUILT_IN).get


def test_there_are_flytes_eight_types_in_the_order_of_its_enum():
    assert [resource_type.number for resource_type in BUILT_IN.values()] == list(range(8))
    assert len({resource_type.document_key for resource_type in BUILT_IN.values()}) == 8


@pytest.mark.parametrize("resource_type", BUILT_IN.values(), ids=lambda resource_type: resource_type.name)
def test_the_example_of_a_type_is_legal_and_so_is_nothing_at_all(resource_type):
    assert resource_type.example
    resource_type.check(resource_type.example)
    resource_type.check({})


@pytest.mark.parametrize("resource_type", BUILT_IN.values(), ids=lambda resource_type: resource_type.name)
def test_every_member_may_be_null_and_no_other_may_be_added(resource_type):
    resource_type.check(dict.fromkeys(list(resource_type.schema["properties"])[:1]))

    with pytest.raises(InvalidAttributes):
        resource_type.check({"surprise": 1})


@pytest.mark.parametrize(
    ("name", "attributes", "pointer", "code"),
    [
        ("task_resource", {"limits": {"cpu": "1 Gi"}}, "/attributes/limits/cpu", "malformed"),
        ("task_resource", {"limits": {"cpu": "-1"}}, "/attributes/limits/cpu", "malformed"),
        ("task_resource", {"limits": {"cpu": "NaN"}}, "/attributes/limits/cpu", "malformed"),
        ("task_resource", {"limits": {"cpu": 1}}, "/attributes/limits/cpu", "wrong_type"),
        ("task_resource", {"limit": {}}, "/attributes/limit", "unknown_field"),
        ("workflow_execution_config", {"max_parallelism": -1}, "/attributes/max_parallelism", "minimum"),
        ("quality_of_service_specification", {"tier": "TOP"}, "/attributes/tier", "not_allowed"),
        (
            "quality_of_service_specification",
            {"tier": "HIGH", "spec": {"queueing_budget": "30s"}},
            "/attributes",
            "maxProperties",
        ),
        ("plugin_override", {"overrides": [{"plugin_id": ["a"]}]}, "/attributes/overrides/0", "required"),
        (
            "plugin_override",
            {"overrides": [{"task_type": "a"}, {"task_type": "a"}]},
            "/attributes/overrides/1/task_type",
            "repeated_name",
        ),
        ("cluster_resource", {"attributes": {"a": 1}}, "/attributes/attributes/a", "wrong_type"),
    ],
)
def test_a_mistake_is_found_where_it_is(name, attributes, pointer, code):
    with pytest.raises(InvalidAttributes) as raised:
        get_type(name).check(attributes)

    assert [(error.pointer, error.code) for error in raised.value.errors] == [(pointer, code)]


def test_all_mistakes_are_told_at_once():
    with pytest.raises(InvalidAttributes) as raised:
        get_type("task_resource").check({"limit": {}, "default": {}, "limits": {"cpu": 1, "memroy": "1"}})

    assert len(raised.value.errors) == 4
    assert "Did you mean 'memory'?" in [e.message for e in raised.value.errors][-1]


def test_an_unknown_type_names_the_nearest():
    with pytest.raises(UnknownResourceType, match="task_resource"):
        get_type("TASK_RESOURCES")
