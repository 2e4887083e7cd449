"""API schema of a sink's settings, of all kinds."""

from __future__ import annotations

from rest_framework import serializers

from controlplane.api.fields import StrictSerializer, Text
from controlplane.delivery.kafka_sinks import MECHANISMS, PROTOCOLS

LARGE = [("reference", "reference"), ("whole", "whole")]
MODES = [("structured", "structured"), ("binary", "binary")]


class SinkConfigWrite(StrictSerializer):
    url = Text(
        required=False, max_length=2000, help_text="Of a webhook: its address, which begins with https://."
    )
    large = serializers.ChoiceField(
        LARGE,
        required=False,
        help_text="Of a webhook: how events above 20 kB are sent, as a reference (default) or whole.",
    )
    mode = serializers.ChoiceField(
        MODES,
        required=False,
        help_text="Of a webhook: where an event has its CloudEvents attributes, in the body (structured, by"
        " default) or in headers (binary).",
    )
    subject = Text(
        required=False, max_length=200, help_text="Of nats: how subjects begin; `cp.events` by default."
    )
    servers = serializers.ListField(
        child=Text(max_length=500),
        required=False,
        max_length=10,
        help_text="Of nats: other servers than this installation's, such as `tls://nats.example.com:4222`.",
    )
    user = Text(required=False, max_length=200, help_text="Of nats at other servers, and of kafka: the user.")
    topic = Text(required=False, max_length=255, help_text="Of kafka and pubsub: where events are sent.")
    brokers = serializers.ListField(
        child=Text(max_length=300),
        required=False,
        max_length=20,
        help_text="Of kafka: some of its brokers, such as `kafka-1.example.com:9092`.",
    )
    security_protocol = serializers.ChoiceField(
        PROTOCOLS,
        required=False,
        help_text="Of kafka: `SASL_SSL` with a user and `PLAINTEXT` without one, if omitted.",
    )
    sasl_mechanism = serializers.ChoiceField(
        MECHANISMS, required=False, help_text="Of kafka: `SCRAM-SHA-512` if omitted."
    )
    ca = Text(required=False, max_length=20_000, help_text="Of kafka: certificates of its authority, as PEM.")
    create_topic = serializers.BooleanField(
        required=False, help_text="Of kafka: whether a topic that is missing is created."
    )
    topic_arn = Text(
        required=False,
        max_length=400,
        help_text="Of sns: where events are sent, such as `arn:aws:sns:eu-central-1:123456789012:events`.",
    )
    region = Text(
        required=False, max_length=40, help_text="Of sns: the region of the topic; it may be omitted."
    )
    project = Text(required=False, max_length=100, help_text="Of pubsub: id of the topic's project.")
    endpoint = Text(
        required=False,
        max_length=500,
        help_text="Of sns and pubsub: another address than the cloud's own, which begins with https://.",
    )
