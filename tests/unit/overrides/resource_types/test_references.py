"""References between resource types, as definitions declare them."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from controlplane.errors import InvalidTypeDefinition
from controlplane.formats import strict_yaml
from overrides.resource_types.operators import define
from overrides.resource_types.references import reference_warnings
from tests.support.paths import ROOT

DEFINITION = strict_yaml.load((ROOT / "examples/resource-types/execution_queues.yaml").read_text())[
    "definition"
]
QUEUES = define(DEFINITION, version=1)
KNOWN = {"queues": [{"dynamic": "a", "attributes": ["gpu", "critical"]}, {"dynamic": "b"}]}


def warnings(tags: list[str], known: dict[str, Any]) -> list[tuple[str, str, str]]:
    found = reference_warnings([QUEUES], {"execution_queue": {"tags": tags}, "execution_queues": known})
    return [(name, error.pointer, error.message) for name, errors in found.items() for error in errors]


def test_a_tag_that_no_queue_has_is_a_warning_with_the_nearest():
    assert warnings(["gpu", "criticl"], KNOWN) == [
        (
            "execution_queue",
            "/tags/1",
            "'criticl' matches nothing in execution_queues, so it has no effect. Did you mean 'critical'?",
        )
    ]
    assert warnings(["gpu", "critical"], KNOWN) == []


def test_tags_of_the_type_itself_are_looked_at_too():
    ((name, pointer, _),) = warnings([], KNOWN | {"workflow_configs": [{"tags": ["none"]}]})
    assert (name, pointer) == ("execution_queues", "/workflow_configs/0/tags/0")


def test_without_queues_every_tag_may_be_right():
    assert warnings(["gpu"], {}) == []


def test_the_number_of_warnings_is_bounded():
    assert len(warnings([f"t{number}" for number in range(1000)], KNOWN)) == 50


@pytest.mark.parametrize(("member", "value"), [("to", "/queue/*"), ("path", "/workflow/*")])
def test_a_reference_to_what_the_schema_does_not_declare_is_refused(member, value):
    document = copy.deepcopy(DEFINITION)
    document["references"][1][member] = value
    with pytest.raises(InvalidTypeDefinition) as refused:
        define(document, version=1)
    assert refused.value.errors[0].pointer == f"/references/1/{member}"
