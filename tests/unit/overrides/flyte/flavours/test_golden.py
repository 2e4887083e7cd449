"""Flavours against messages of FlyteAdmin 1.16.8 itself.

golden/ was made by golden_test.go.txt: FlyteAdmin's publishers and CloudEvents' Go SDK wrote it from
requests/. Their execution had the labels, principal and launch plan below.
"""

from __future__ import annotations

import base64
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory, timestamp_pb2

from controlplane.delivery.flavours import Flavour, ForeignMessage, Transport, wire_message
from controlplane.delivery.logged_event import LoggedEvent
from controlplane.scopes import Scope
from overrides.executions.phases import Subject
from overrides.flyte.events.reports import REQUESTS
from overrides.flyte.flavours.encoders import encode

FOLDER = Path(__file__).parent
NAMES = sorted(path.stem for path in (FOLDER / "requests").glob("*.json"))
CPID = UUID("019a9f5e-7c00-7000-8000-000000000021")
LAUNCH_PLAN = {
    "resourceType": "LAUNCH_PLAN",
    "project": "flytesnacks",
    "domain": "development",
    "name": "core.wf",
    "version": "v1",
}
# Its source is no URI, so that Go's SDK leaves it out.
CLOUD_EVENTS = [
    (name, flavour)
    for name in NAMES
    for flavour in (Flavour.FLYTE_V1, Flavour.FLYTE_V2)
    if (name, flavour) != ("workflow_odd", Flavour.FLYTE_V2)
]


def request_of(name: str) -> Any:
    request = REQUESTS[Subject(name.partition("_")[0])]()
    return json_format.Parse((FOLDER / f"requests/{name}.json").read_text(), request)


def logged(name: str) -> LoggedEvent:
    data = {
        "labels": {"team": "ml", "a": "1"},
        "principal": "propeller",
        "launch_plan": LAUNCH_PLAN,
        "message": json_format.MessageToDict(request_of(name)),
    }
    return LoggedEvent(
        id=CPID,
        seq=1,
        type=f"flyte.{name.partition('_')[0]}_event",
        at=datetime(2026, 11, 23, tzinfo=UTC),
        object_type="flyte_execution",
        object_id="x",
        scope=Scope(),
        team="",
        team_id=None,
        actor="propeller",
        request_id="",
        data=data,
    )


def golden(name: str, flavour: Flavour) -> Any:
    return json.loads((FOLDER / f"golden/{name}.json").read_text())[flavour]


def ours(name: str, flavour: Flavour) -> ForeignMessage:
    """The message without what is ours alone."""
    message = encode(flavour, logged(name))
    if not message.attributes:
        return message
    attributes = dict(message.attributes)
    assert attributes.pop("cpid") == str(CPID)
    return ForeignMessage(message.name, attributes, message.data, message.is_text)


def known_to_us(value: bytes) -> bytes:
    """Without the interface of the workflow, which no event tells."""
    return value.replace(b'"outputInterface":{},', b"")


@pytest.mark.parametrize(("name", "flavour"), CLOUD_EVENTS)
def test_kafka_gets_the_same_headers_key_and_bytes(name, flavour):
    wire = wire_message(ours(name, flavour), Transport.KAFKA)

    theirs = golden(name, flavour)
    assert wire.headers == theirs["kafka_headers"]
    assert wire.body == known_to_us(theirs["kafka_value"].encode())
    # FlyteAdmin's sender sets the key itself.
    assert wire.key == theirs["kafka_headers"]["ce_id"]


@pytest.mark.parametrize(("name", "flavour"), CLOUD_EVENTS)
@pytest.mark.parametrize("transport", [Transport.NATS, Transport.WEBHOOK])
def test_structured_json_is_the_same_to_the_byte(name, flavour, transport):
    wire = wire_message(ours(name, flavour), transport)

    theirs = golden(name, flavour)
    # Our own member, since base64 hides what we leave out.
    data = base64.b64encode(known_to_us(theirs["kafka_value"].encode())).decode()
    expected = json.loads(theirs["structured"])
    assert wire.body.decode() == theirs["structured"].replace(expected["data_base64"], data)


def test_the_id_of_our_log_is_an_extension():
    wire = wire_message(encode(Flavour.FLYTE_V1, logged("task_running")), Transport.NATS)

    assert json.loads(wire.body)["cpid"] == str(CPID)


def cloudevent_class() -> Any:
    """The message io.cloudevents.v1.CloudEvent, by its published field numbers."""
    file = descriptor_pb2.FileDescriptorProto(
        name="cloudevents_of_tests.proto", package="io.cloudevents.v1", syntax="proto3"
    )
    file.dependency.append("google/protobuf/timestamp.proto")
    value = file.message_type.add(name="CloudEventAttributeValue")
    value.field.add(name="ce_string", number=3, type=9, label=1)
    value.field.add(name="ce_timestamp", number=7, type=11, label=1, type_name=".google.protobuf.Timestamp")
    event = file.message_type.add(name="CloudEvent")
    for number, name in enumerate(("id", "source", "spec_version", "type"), 1):
        event.field.add(name=name, number=number, type=9, label=1)
    entry = event.nested_type.add(name="AttributesEntry")
    entry.options.map_entry = True
    entry.field.add(name="key", number=1, type=9, label=1)
    entry.field.add(
        name="value", number=2, type=11, label=1, type_name=".io.cloudevents.v1.CloudEventAttributeValue"
    )
    event.field.add(
        name="attributes",
        number=5,
        type=11,
        label=3,
        type_name=".io.cloudevents.v1.CloudEvent.AttributesEntry",
    )
    event.field.add(name="binary_data", number=6, type=12, label=1)
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(timestamp_pb2.DESCRIPTOR.serialized_pb)
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("io.cloudevents.v1.CloudEvent"))


@pytest.mark.parametrize(("name", "flavour"), CLOUD_EVENTS)
def test_topics_get_the_same_protobuf_event(name, flavour):
    kind = cloudevent_class()
    theirs = golden(name, flavour)
    expected = kind.FromString(base64.b64decode(theirs["protobuf"]))
    expected.binary_data = known_to_us(expected.binary_data)

    to_sns = wire_message(ours(name, flavour), Transport.SNS)
    to_pubsub = wire_message(ours(name, flavour), Transport.PUBSUB)

    assert kind.FromString(to_pubsub.body) == expected
    assert to_pubsub.headers == {"key": theirs["protobuf_key"]}
    assert (base64.b64decode(to_sns.body), to_sns.key) == (to_pubsub.body, theirs["protobuf_key"])


@pytest.mark.parametrize("name", NAMES)
def test_plain_messages_are_the_same_apart_from_the_order_of_fields(name):
    theirs = golden(name, Flavour.FLYTE_EXTERNAL)
    content = base64.b64decode(theirs["protobuf"])

    message = ours(name, Flavour.FLYTE_EXTERNAL)

    # Go writes members of a oneof last, Python by their numbers.
    assert (message.name, len(message.data)) == (theirs["key"], len(content))
    assert type(request_of(name)).FromString(message.data) == type(request_of(name)).FromString(content)
    assert wire_message(message, Transport.PUBSUB).body == message.data
    assert wire_message(message, Transport.WEBHOOK).headers["content-type"].endswith(f'"{theirs["key"]}"')


def test_as_the_guide_prints_it():
    event = json.loads(wire_message(ours("workflow_failed", Flavour.FLYTE_DOCS), Transport.NATS).body)

    assert request_of("workflow_failed") == type(request_of("workflow_failed")).FromString(
        base64.b64decode(event.pop("data"))
    )
    assert event == {
        "specversion": "1.0",
        "id": 'project:"flytesnacks" domain:"development" name:"a7xq2m4".FAILED',
        "source": "https://github.com/flyteorg/flyteadmin",
        "type": "com.flyte.resource.workflow",
        "subject": "admin_event_pb2.WorkflowExecutionEventRequest",
        "time": "2026-11-23T09:30:00.12Z",
        "jsonschemaurl": "https://github.com/flyteorg/flyteidl/blob/master/jsonschema/workflow_execution.json",
    }
