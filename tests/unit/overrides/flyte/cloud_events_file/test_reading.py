"""Upstream's configuration of events as its guide prints it, and what people make of it."""

from __future__ import annotations

import pytest

from controlplane.access.flyte_auth.sections import InvalidConfiguration
from overrides.flyte.cloud_events_file.plans import SinkPlan
from overrides.flyte.cloud_events_file.reading import read

EVERY = ("flyte.*",)
ARN = "arn:aws:sns:us-east-2:123456:123-my-topic"
CLOUD_SNS = f"""
cloud_events.yaml: |
  cloudEvents:
    enable: true
    aws:
      region: us-east-2
    eventsPublisher:
      eventTypes:
      - all # or node, task, workflow
      topicName: {ARN}
    type: aws
"""
CLOUD_PUBSUB = """
cloud_events.yaml: |
  cloudEvents:
    enable: true
    gcp:
      projectId: my-project-id
    eventsPublisher:
      eventTypes:
      - all # or node, task, workflow
      topicName: my-topic
    type: gcp
"""
CLOUD_KAFKA = """
cloud_events.yaml: |
  cloudEvents:
    enable: true
    kafka:
      brokers: 127.0.0.1:9092
    eventsPublisher:
      eventTypes:
      - all
      topicName: myTopic
    type: kafka
"""
CLOUD_NATS = """
cloud_events.yaml: |
  cloudEvents:
    enable: true
    nats:
      servers:
      - nats://127.0.0.1:4222
    eventsPublisher:
      eventTypes:
      - all
      topicName: myTopic
    type: nats
"""
EXTERNAL_SNS = CLOUD_SNS.replace("cloud_events", "external_events").replace("cloudEvents", "externalEvents")
EXTERNAL_PUBSUB = CLOUD_PUBSUB.replace("cloud_events", "external_events").replace(
    "cloudEvents", "externalEvents"
)
CLOUD, EXTERNAL = ("flyte-cloud-events", "flyte-v1"), ("flyte-external-events", "flyte-external")
SNS = {"topic_arn": ARN, "region": "us-east-2"}
PUBSUB = {"project": "my-project-id", "topic": "my-topic"}


def plan(names: tuple[str, str], kind: str, config: object, **more: object) -> SinkPlan:
    return SinkPlan(names[0], kind, names[1], **{"types": EVERY, "config": config, **more})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (CLOUD_SNS, plan(CLOUD, "sns", SNS)),
        (CLOUD_PUBSUB, plan(CLOUD, "pubsub", PUBSUB)),
        (CLOUD_KAFKA, plan(CLOUD, "kafka", {"topic": "myTopic", "brokers": ["127.0.0.1:9092"]})),
        (CLOUD_NATS, plan(CLOUD, "nats", {"subject": "myTopic", "servers": ["nats://127.0.0.1:4222"]})),
        (EXTERNAL_SNS, plan(EXTERNAL, "sns", SNS)),
        (EXTERNAL_PUBSUB, plan(EXTERNAL, "pubsub", PUBSUB)),
    ],
)
@pytest.mark.parametrize("form", ["ConfigMap", "file", "values"])
def test_every_block_of_the_guide_in_every_place_where_it_can_be(text, expected, form):
    if form != "ConfigMap":
        text = "\n".join(text.splitlines()[2:])
    if form == "values":
        text = text.replace("cloudEvents", "cloud_events").replace("externalEvents", "external_events")

    result = read(text, "f.yaml")

    assert result.sinks == (expected,)
    as_a_list = ("f.yaml", "`kafka.brokers` is a text and is read as a list.")
    assert [warning for warning in result.warnings if as_a_list[1] not in warning] == []
    assert len(result.warnings) == (1 if text.count("brokers") else 0)


def test_a_warning_has_the_line_of_the_whole_file():
    (warning,) = read(CLOUD_KAFKA, "f.yaml").warnings

    assert warning.startswith("f.yaml, line 6: ")


# The region as the older guide and the chart have it, and two ways of indenting the block wrongly.
REGION = CLOUD_PUBSUB.replace("projectId: my-project-id", "region: us-east-2")
BESIDE = """
cloudEvents:
  enable: true
gcp:
  projectId: my-project-id
eventsPublisher:
  eventTypes: [all]
  topicName: my-topic
type: gcp
"""
FLAT = """
cloudEvents:
  enable: true
  gcp:
  projectId: my-project-id
  eventsPublisher:
  eventTypes: [all]
  topicName: my-topic
  type: gcp
"""


@pytest.mark.parametrize(
    ("text", "project", "warnings"),
    [
        (REGION, "", ("gcp.region", "`gcp.projectId` is missing")),
        (REGION.replace("my-topic", "projects/p/topics/my-topic"), "p", ("gcp.region",)),
        (BESIDE, "my-project-id", ("`type` is beside", "`gcp` is beside", "`eventsPublisher` is beside")),
        (FLAT, "my-project-id", ("`gcp.projectId`", "`eventsPublisher.topicName`", "eventTypes")),
    ],
)
def test_the_block_of_pubsub_as_it_is_found_in_the_wild(text, project, warnings):
    result = read(text, "f.yaml")

    assert result.sinks == (plan(CLOUD, "pubsub", {"project": project, "topic": "my-topic"}),)
    for part in warnings:
        assert any(part in warning for warning in result.warnings), result.warnings
    assert len(result.warnings) == len(warnings)


def cloud(member: str, publisher: str = "{eventTypes: [all], topicName: t}") -> str:
    return f"cloudEvents: {{enable: true, eventsPublisher: {publisher}, {member}}}"


def test_security_of_kafka():
    sasl = "saslConfig: {enabled: true, user: u, passwordPath: /p, mechanism: SCRAM-SHA-512, handshake: true}"
    result = read(
        cloud(f"type: kafka, kafka: {{brokers: [a, b], {sasl}, tlsConfig: {{enabled: true}}}}"), "f"
    )

    (sink,) = result.sinks
    assert sink.config == {
        "topic": "t",
        "brokers": ["a", "b"],
        "security_protocol": "SASL_SSL",
        "sasl_mechanism": "SCRAM-SHA-512",
        "user": "u",
    }
    assert (sink.credentials, sink.credential_files) == ({}, {"password": "/p"})
    assert "warn" not in str(result.warnings)


def test_credentials_of_nats_are_no_settings():
    text = cloud(
        "type: nats, nats: {servers: [n], userAuthentication: {enabled: true, user: u, password: p}}"
    )
    (sink,) = read(text, "f").sinks
    assert (sink.config["user"], sink.credentials) == ("u", {"password": "p"})
    assert "'p'" not in repr(sink)
    (sink,) = read(cloud("type: nats, nats: {tokenAuthentication: {enabled: true, token: x}}"), "f").sinks
    assert sink.credentials == {"token": "x"}


@pytest.mark.parametrize(
    ("publisher", "types", "warning"),
    [
        ("{eventTypes: [workflow, task], topicName: t}", ("flyte.workflow_event", "flyte.task_event"), ""),
        ("{eventTypes: ['*'], topicName: t}", EVERY, ""),
        ("{eventTypes: [node, jobs], topicName: t}", ("flyte.node_event",), "'jobs' is unknown"),
        ("{topicName: t}", (), "names no event types"),
    ],
)
def test_types_of_events(publisher, types, warning):
    result = read(cloud("type: nats, nats: {servers: [n]}", publisher), "f")

    assert [sink.types for sink in result.sinks] == ([types] if types else [])
    assert len(result.warnings) == bool(warning)
    assert warning in str(result.warnings)


def test_version_2_sends_all_types_as_upstream_does():
    result = read(cloud("type: nats, cloudEventVersion: v2", "{eventTypes: [node], topicName: t}"), "f")

    assert [(sink.flavour, sink.types) for sink in result.sinks] == [("flyte-v2", EVERY)]
    assert "`eventTypes` has no effect" in result.warnings[0]


@pytest.mark.parametrize(
    ("text", "warning"),
    [
        ("cloudEvents: {enable: false, type: aws}", ""),
        (cloud("type: local"), "'local' sends nothing"),
        (cloud("type: rabbit"), "'rabbit' sends nothing"),
        ("externalEvents: {enable: true, type: kafka}", "'kafka' sends nothing"),
        ("storage: {}", "neither"),
        ("{}", "neither"),
    ],
)
def test_what_sends_nothing(text, warning):
    result = read(text, "f")

    assert result.sinks == ()
    assert warning in str(result.warnings)


@pytest.mark.parametrize(
    "text",
    ["cloudEvents: [", "cloudEvents: 5", "cloudEvents: {enable: maybe}", "a.yaml: 'x: ['", "- 1\n- 2: ["],
)
def test_mistakes_are_refused_with_the_file(text):
    with pytest.raises(InvalidConfiguration, match=r"f\.yaml"):
        read(text, "f.yaml")


def test_keys_that_nobody_knows_are_warnings():
    assert "`cloudEvents.tpye` is unknown" in read(cloud("type: nats, tpye: x"), "f").warnings[0]
