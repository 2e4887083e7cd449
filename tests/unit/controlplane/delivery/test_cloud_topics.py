"""Events as SNS and Pub/Sub get them, and what their answers mean."""

from __future__ import annotations

import base64
import json
from urllib.parse import parse_qs

import pytest

from controlplane.delivery import pubsub_sinks, sns_requests
from controlplane.delivery.cloudevents import Origin
from controlplane.delivery.flavours import Flavour
from controlplane.delivery.kinds import Message
from controlplane.delivery.pubsub_sinks import publication_of as to_pubsub
from controlplane.delivery.schedule import Answer, Result, result_of
from controlplane.delivery.sns_requests import publication_of as to_sns
from tests.support.cloud_topics import google_error, sns_error
from tests.unit.controlplane.delivery.events import logged_event
from tests.unit.overrides.flyte.flavours.test_golden import logged

TOPIC = "arn:aws:sns:eu-central-1:123456789012:events"
FIFO = f"{TOPIC}.fifo"
ORIGIN = Origin("https://cp.example.com")
EVENT = logged_event()


def message(key: str = "agent/eu-1", **more) -> Message:
    return Message(more.pop("event", EVENT), ORIGIN, key, EVENT.at, **more)


def test_sns_gets_a_structured_event_with_its_type_and_id():
    publication = to_sns(message(), TOPIC)

    event = json.loads(publication.body)
    assert (event["id"], event["data"]["environment"]) == (str(EVENT.id), "prod")
    form = {name: value[0] for name, value in parse_qs(publication.form(TOPIC).decode()).items()}
    assert form == {
        "Action": "Publish",
        "Version": "2010-03-31",
        "TopicArn": TOPIC,
        "Message": publication.body,
        "MessageAttributes.entry.1.Name": "ce-type",
        "MessageAttributes.entry.1.Value.DataType": "String",
        "MessageAttributes.entry.1.Value.StringValue": "dev.controlplane.agent.unavailable.v1",
        "MessageAttributes.entry.2.Name": "ce-id",
        "MessageAttributes.entry.2.Value.DataType": "String",
        "MessageAttributes.entry.2.Value.StringValue": str(EVENT.id),
    }


def test_the_size_counts_attributes_and_bytes():
    publication = to_sns(message(event=logged_event(data={"name": "größe"})), TOPIC)
    attributes = len("ce-typeStringdev.controlplane.agent.unavailable.v1") + len("ce-idString") + 36
    assert publication.size == len(publication.body.encode()) + attributes
    assert len(publication.body.encode()) == len(publication.body) + 2


def test_fifo_topics_get_the_key_and_the_id():
    assert to_sns(message(), FIFO).fifo == {
        "MessageGroupId": "agent/eu-1",
        "MessageDeduplicationId": str(EVENT.id),
    }


@pytest.mark.parametrize("key", ["agent/größe", "a b", "x" * 129, ""])
def test_every_key_is_a_group(key):
    group = to_sns(message(key), FIFO).fifo["MessageGroupId"]
    assert group.isascii()
    assert group.isprintable()
    assert " " not in group
    assert 0 < len(group) <= 128
    assert group != to_sns(message(f"{key}2"), FIFO).fifo["MessageGroupId"]


def test_sns_does_not_drop_replays_and_other_flavours():
    ids = [
        to_sns(one, FIFO).fifo["MessageDeduplicationId"]
        for one in (
            message(event=logged("task_running")),
            message(event=logged("task_running"), is_replay=True),
            message(event=logged("task_running"), flavour=Flavour.FLYTE_V1),
            message(event=logged("task_running"), flavour=Flavour.FLYTE_EXTERNAL),
        )
    ]
    assert len(set(ids)) == 4
    assert to_sns(message(is_replay=True), TOPIC).attributes["cp-replay"] == "true"


@pytest.mark.parametrize("flavour", [one for one in Flavour if one is not Flavour.NATIVE])
def test_flavours_are_sent_as_flyte_sends_them(flavour):
    one = message(event=logged("workflow_failed"), flavour=flavour)

    publication, published = to_sns(one, FIFO), to_pubsub(one)

    assert base64.b64decode(publication.body) == base64.b64decode(published["data"])
    assert (publication.attributes, bool(publication.fifo)) == ({}, True)
    assert published["attributes"] == {"key": publication.subject}
    assert 0 < len(publication.subject) < 100


def test_pubsub_gets_a_binary_event_with_its_ordering_key():
    published = to_pubsub(message(is_replay=True))

    assert json.loads(base64.b64decode(published["data"]))["environment"] == "prod"
    attributes = published["attributes"]
    assert attributes["content-type"] == "application/json"
    assert attributes["ce-id"] == str(EVENT.id)
    assert attributes["ce-type"] == "dev.controlplane.agent.unavailable.v1"
    assert attributes["cp-replay"] == "true"
    assert published["orderingKey"] == "agent/eu-1"


@pytest.mark.parametrize(("key", "ordering_key"), [(str(EVENT.id), None), ("", "/"), ("a/b", "a/b")])
def test_only_sinks_with_an_order_have_an_ordering_key(key, ordering_key):
    assert to_pubsub(message(key)).get("orderingKey") == ordering_key


def test_attributes_that_are_too_long_for_pubsub_are_in_the_body():
    event = logged_event(object_id=200 * "ü")
    published = to_pubsub(message(f"agent/{1000 * 'ü'}", event=event))

    assert published["attributes"] == {"content-type": "application/cloudevents+json"}
    body = json.loads(base64.b64decode(published["data"]))
    assert (body["id"], body["data"]["environment"]) == (str(EVENT.id), "prod")
    assert len(published["orderingKey"]) == 64
    assert published["orderingKey"] != to_pubsub(message(f"agent/{1001 * 'ü'}"))["orderingKey"]


def answer(status: int) -> Answer:
    return Answer(result_of(status), status)


@pytest.mark.parametrize(
    ("status", "code", "result", "part"),
    [
        (404, "NotFound", Result.TOPIC_MISSING, f"SNS has no topic {TOPIC}."),
        (403, "AuthorizationError", Result.CLIENT_ERROR, "AuthorizationError: x & y."),
        (400, "InvalidParameter", Result.CLIENT_ERROR, "InvalidParameter"),
        (400, "KMSAccessDenied", Result.CLIENT_ERROR, "KMSAccessDenied"),
        (400, "Throttling", Result.OUTAGE, "Throttling"),
        (400, "KMSThrottling", Result.OUTAGE, "KMSThrottling"),
        (429, "SlowDown", Result.OUTAGE, "SlowDown"),
        (500, "InternalError", Result.OUTAGE, "InternalError"),
        (403, "ExpiredToken", Result.OUTAGE, "does not accept the relay's credentials (ExpiredToken)"),
    ],
)
def test_errors_of_sns(status, code, result, part):
    response = sns_error(status, code).body.decode()
    meant = sns_requests.answer_of(answer(status), response, TOPIC)
    assert meant.result is result
    assert part in meant.error
    assert sns_requests.is_not_accepted(response) == (code == "ExpiredToken")


def test_headers_that_sns_repeats_are_not_shown():
    canonical = "The Canonical String should have been: x-amz-security-token:hidden"
    response = sns_error(403, "SignatureDoesNotMatch", canonical).body.decode()
    meant = sns_requests.answer_of(answer(403), response, TOPIC)
    assert (meant.result, "hidden" in meant.error) == (Result.OUTAGE, False)


@pytest.mark.parametrize(
    ("status", "name", "result", "part"),
    [
        (404, "NOT_FOUND", Result.TOPIC_MISSING, "Pub/Sub has no topic projects/p/topics/t."),
        (403, "PERMISSION_DENIED", Result.CLIENT_ERROR, "PERMISSION_DENIED: x."),
        (400, "INVALID_ARGUMENT", Result.CLIENT_ERROR, "INVALID_ARGUMENT"),
        (401, "UNAUTHENTICATED", Result.OUTAGE, "does not accept the relay's credentials"),
        (429, "RESOURCE_EXHAUSTED", Result.OUTAGE, "RESOURCE_EXHAUSTED"),
        (503, "UNAVAILABLE", Result.OUTAGE, "UNAVAILABLE"),
        (499, "ABORTED", Result.OUTAGE, "ABORTED"),
    ],
)
def test_errors_of_pubsub(status, name, result, part):
    body = google_error(status, name).body
    meant = pubsub_sinks.answer_of(answer(status), body, "projects/p/topics/t")
    assert meant.result is result
    assert part in meant.error


def test_an_error_can_be_stored_whatever_it_has():
    body = google_error(400, "INVALID_ARGUMENT", "a\0b").body
    assert "a\N{REPLACEMENT CHARACTER}b" in pubsub_sinks.answer_of(answer(400), body, "t").error
    response = sns_error(400, "InvalidParameter", "a&#0;b").body.decode()
    assert "\0" not in sns_requests.answer_of(answer(400), response, TOPIC).error


@pytest.mark.parametrize("body", [b"", b"<html>", b"\xff", b"[]", b'{"messageIds": []}'])
def test_what_does_not_confirm_is_an_outage_and_no_delivery(body):
    for meant in (
        pubsub_sinks.answer_of(answer(200), body, "t"),
        sns_requests.answer_of(answer(200), body.decode(errors="replace"), TOPIC),
    ):
        assert (meant.result, meant.error) == (Result.OUTAGE, "The endpoint did not confirm the event.")


@pytest.mark.parametrize(
    ("given", "result"),
    [
        (Answer(Result.CONNECTION, error="e"), Result.OUTAGE),
        (Answer(Result.TIMEOUT, error="e"), Result.OUTAGE),
        (Answer(Result.TLS, error="e"), Result.OUTAGE),
        (Answer(Result.SERVER_ERROR, 502, error="e"), Result.OUTAGE),
        (Answer(Result.CLIENT_ERROR, 404, error="e"), Result.CLIENT_ERROR),
        (Answer(Result.ADDRESS_REFUSED, error="e"), Result.ADDRESS_REFUSED),
        (Answer(Result.REDIRECT, 302, error="e"), Result.REDIRECT),
    ],
)
def test_answers_of_what_lies_between_keep_their_error(given, result):
    for meant in (
        pubsub_sinks.answer_of(given, b"<html>", "t"),
        sns_requests.answer_of(given, "<html>", TOPIC),
    ):
        assert (meant.result, meant.error) == (result, "e")
