"""Schemas of requests that agents fetch, and of their answers."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import OpenApiExample
from rest_framework import serializers

from controlplane.api.fields import Query, Text
from controlplane.endpoints.events.schemas import MAX_WAIT_SECONDS

_MOST_REQUESTS = 100
_LONGEST = 255


class FetchQuery(Query):
    wait = serializers.IntegerField(
        required=False,
        default=0,
        min_value=0,
        max_value=MAX_WAIT_SECONDS,
        help_text="Seconds to wait for a request if there is none (long poll).",
    )
    max = serializers.IntegerField(
        required=False,
        default=10,
        min_value=1,
        max_value=_MOST_REQUESTS,
        help_text="The highest number of requests to return.",
    )
    restarted = serializers.BooleanField(
        required=False,
        default=False,
        help_text="Set it in the first call of a process: leases of an earlier process end.",
    )


class FetchedRequestRead(serializers.Serializer[Any]):
    message_id = serializers.UUIDField(
        help_text="Of this copy of the request. Put it into the data of the answer."
    )
    event = serializers.DictField(help_text="The CloudEvent, exactly as it is sent by NATS.")


class FetchedRequestsRead(serializers.Serializer[Any]):
    items = FetchedRequestRead(many=True)
    lease_seconds = serializers.IntegerField(
        help_text="A request without an answer is handed out again after this time."
    )


# Unlike elsewhere, unknown members are ignored: CloudEvents can have extensions.
class AnswerWrite(serializers.Serializer[Any]):
    specversion = Text(required=False, max_length=8, help_text="1.0")
    id = Text(max_length=_LONGEST, help_text="Unique for each event: a repeated one changes nothing.")
    source = Text(max_length=_LONGEST, help_text="For example dcm/agents/alpha.")  # type: ignore[assignment]  # DRF takes it out
    type = Text(max_length=_LONGEST, help_text="For example dcm.agent.creation-acknowledged.")
    traceparent = Text(
        required=False,
        allow_blank=True,
        max_length=_LONGEST,
        help_text="That of the request, if it had one: its trace goes on with the answer.",
    )
    data = serializers.DictField(  # type: ignore[assignment]  # DRF takes it out
        help_text="With resource_id, or for a status with id."
    )


class AnswerRead(serializers.Serializer[Any]):
    applied = serializers.BooleanField(help_text="False if the event was applied before.")


_SPEC = {"resource_id": "web-1", "service_type": "container", "epoch": 1, "spec": {"image": "nginx"}}
_REQUEST = {
    "specversion": "1.0",
    "id": "web-1",
    "type": "dcm.request.create",
    "source": "dcm/control-plane",
    "subject": "dcm.agent.alpha",
    "datacontenttype": "application/json",
    "time": "2026-11-21T09:30:00Z",
    "data": {**_SPEC, "request_id": "7f0c"},
}
_MESSAGE_ID = "019a9f5e-7c00-7000-8000-000000000041"
_ANSWER = {
    "specversion": "1.0",
    "id": "019a9f5e-7c00-7000-8000-000000000042",
    "source": "dcm/agents/alpha",
    "type": "dcm.agent.creation-acknowledged",
    "data": {"resource_id": "web-1", "epoch": 1, "message_id": _MESSAGE_ID, "status": "PROVISIONING"},
}
_STATUS = {
    **_ANSWER,
    "id": "019a9f5e-7c00-7000-8000-000000000043",
    "type": "dcm.status.container",
    "data": {"id": "web-1", "epoch": 1, "status": "RUNNING", "message": "", "output_spec": {"port": 8080}},
}
FETCHED = [
    OpenApiExample(
        "A request",
        value={"items": [{"message_id": _MESSAGE_ID, "event": _REQUEST}], "lease_seconds": 120},
        response_only=True,
    )
]
ANSWERED = [
    OpenApiExample("An answer", value=_ANSWER, request_only=True),
    OpenApiExample("A status", value=_STATUS, request_only=True),
    OpenApiExample("Applied", value={"applied": True}, response_only=True, status_codes=["202"]),
]
