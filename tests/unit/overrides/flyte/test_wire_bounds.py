"""What may be set can be sent: each built-in type accepts only what Flyte's messages can hold."""

from __future__ import annotations

import math
from typing import Any

import pytest
from flyteidl.admin import matchable_resource_pb2 as flyte
from hypothesis import given
from hypothesis import strategies as st

from overrides.flyte import messages, protojson
from overrides.resource_types import BUILT_IN
from tests.support.properties import examples

_texts = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=5)
_numbers = (
    st.integers(-(2**70), 2**70)
    | st.sampled_from([10**300, -(10**308), 10**400, 2**31 - 1, 2**31, 2**63, 2**64])
    | st.floats(allow_nan=False, allow_infinity=False)
)
_free = st.recursive(
    _texts | _numbers | st.booleans() | st.none(),
    lambda below: (
        st.lists(below, max_size=3) | st.dictionaries(_texts | st.just("$remove"), below, max_size=3)
    ),
    max_leaves=5,
)
_durations = st.builds(
    "{}{}s".format, st.integers(0, 10**13) | st.integers(0, 10**40), st.sampled_from(["", ".5"])
)
_deep: Any = {}
for _ in range(24):
    _deep = {"a": [_deep]} if _ % 2 else {"a": _deep}


def of_schema(schema: Any) -> st.SearchStrategy[Any]:
    """Values that mostly have the schema's shape; patterns, bounds and exclusions are not looked at."""
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    kinds = schema.get("type", "object")
    kind = kinds if isinstance(kinds, str) else kinds[0]
    match kind:
        case "object" if "properties" in schema:
            members = {name: of_schema(below) for name, below in schema["properties"].items()}
            values = st.fixed_dictionaries({}, optional=members)
        case "object" if "additionalProperties" in schema:
            values = st.dictionaries(
                _texts | st.just("a"), of_schema(schema["additionalProperties"]), max_size=2
            )
        case "object":
            values = st.dictionaries(_texts, _free, max_size=2) | st.just(_deep)
        case "array":
            values = st.lists(of_schema(schema["items"]), max_size=2)
        case "string" if "pattern" in schema:
            values = st.sampled_from(["1", "2Gi", "a", ""]) | _durations | st.from_regex(schema["pattern"])
        case "string":
            values = _texts
        case "boolean":
            values = st.booleans()
        case _:
            values = _numbers
    return values | st.none() if kind != kinds else values


_ATTRIBUTES = st.one_of(
    *(
        st.tuples(st.just(resource_type), of_schema(resource_type.schema))
        for resource_type in BUILT_IN.values()
        if resource_type.number is not None
    )
)


@examples(150, nightly=20_000)
@given(_ATTRIBUTES)
def test_what_a_built_in_type_accepts_flytes_message_can_hold(drawn):
    resource_type, attributes = drawn
    if resource_type.errors(attributes):
        return

    message = messages.message_of(resource_type, attributes)

    assert flyte.MatchingAttributes.FromString(message.SerializeToString()) == message
    assert protojson.dumps(message, camel=True)


@pytest.mark.parametrize("seconds", ["0", "30", "1.5", "315575999999.999999999", "315576000000"])
def test_a_duration_that_protobuf_can_hold_is_accepted(seconds):
    quality_of_service_specification = BUILT_IN["quality_of_service_specification"]
    attributes = {"spec": {"queueing_budget": f"{seconds}s"}}

    assert quality_of_service_specification.errors(attributes) == []
    assert messages.message_of(quality_of_service_specification, attributes)


@pytest.mark.parametrize("seconds", ["315576000001", "400000000000", "9" * 40, "1.1234567890", "-1", ""])
def test_a_longer_duration_is_refused(seconds):
    errors = BUILT_IN["quality_of_service_specification"].errors({"spec": {"queueing_budget": f"{seconds}s"}})

    assert [(error.pointer, error.code) for error in errors] == [
        ("/attributes/spec/queueing_budget", "malformed")
    ]


def test_an_execution_environment_has_one_description():
    assignment = {"execution_env": {"extant": {}, "spec": {}}}

    errors = BUILT_IN["workflow_execution_config"].errors({"execution_env_assignments": [assignment]})

    assert [error.pointer for error in errors] == ["/attributes/execution_env_assignments/0/execution_env"]
    assert errors[0].hint == "Set extant or spec, not both."


def test_what_protobuf_transports_and_json_cannot_hold_is_not_stored():
    too_long, not_a_number = flyte.MatchingAttributes(), flyte.MatchingAttributes()
    too_long.quality_of_service.spec.queueing_budget.seconds = 10**15
    environment = not_a_number.workflow_execution_config.execution_env_assignments.add().execution_env
    environment.spec.fields["a"].number_value = math.nan

    deep = flyte.MatchingAttributes()
    below = deep.workflow_execution_config.execution_env_assignments.add().execution_env.spec
    for _ in range(30):
        below = below.fields["a"].struct_value
    below.SetInParent()

    for message in (too_long, not_a_number, deep):
        with pytest.raises(messages.NotOnTheWire):
            messages.read_message(message)
