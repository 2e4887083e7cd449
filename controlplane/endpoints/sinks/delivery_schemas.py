"""API schemas of deliveries and their attempts."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from controlplane.api.pages import PageQuery
from controlplane.delivery.models import Delivery, DeliveryAttempt, DeliveryState
from controlplane.delivery.schedule import Result

RESULTS = [(result.value, result.value) for result in Result]
_SHOWN = (
    *("seq", "type", "key", "state", "reason", "attempt", "created_at", "first_tried_at", "settled_at"),
    *("last_status", "last_error", "response_ms"),
)
_ATTEMPT = ("number", "at", "result", "status", "milliseconds", "request_headers", "response", "error")


class DeliveryListQuery(PageQuery):
    state = serializers.ChoiceField(DeliveryState.choices, required=False, help_text="All if omitted.")


class DeliveryRead(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    sink_id = serializers.UUIDField()
    event_id = serializers.UUIDField(help_text="The `webhook-id`, equal for every attempt and replay.")
    seq = serializers.IntegerField()
    type = serializers.CharField()
    key = serializers.CharField(help_text="Deliveries with one key are sent one after the other.")
    is_replay = serializers.BooleanField()
    state = serializers.ChoiceField(DeliveryState.choices)
    reason = serializers.CharField(allow_blank=True, help_text="Why it was skipped.")
    attempt = serializers.IntegerField(help_text="How many attempts were made.")
    created_at = serializers.DateTimeField()
    first_tried_at = serializers.DateTimeField(allow_null=True)
    settled_at = serializers.DateTimeField(allow_null=True)
    last_status = serializers.IntegerField()
    last_error = serializers.CharField(allow_blank=True)
    response_ms = serializers.IntegerField(allow_null=True)


class AttemptRead(serializers.Serializer[Any]):
    number = serializers.IntegerField()
    at = serializers.DateTimeField()
    result = serializers.ChoiceField(RESULTS)
    status = serializers.IntegerField()
    milliseconds = serializers.IntegerField()
    request_headers = serializers.DictField(child=serializers.CharField())
    response = serializers.CharField(allow_blank=True, help_text="Its first 4 KiB.")
    error = serializers.CharField(allow_blank=True)


class DeliveryDetail(DeliveryRead):
    attempts = AttemptRead(many=True, help_text="Oldest first, kept for 7 days.")


class DeliveryPage(serializers.Serializer[Any]):
    items = DeliveryRead(many=True)
    next_cursor = serializers.CharField(allow_null=True)


def show_delivery(delivery: Delivery) -> dict[str, Any]:
    ids = {name: str(getattr(delivery, name)) for name in ("id", "sink_id", "event_id")}
    fields = {name: getattr(delivery, name) for name in _SHOWN}
    return {**ids, **fields, "is_replay": delivery.replay > 0}


def show_delivery_with_attempts(delivery: Delivery) -> dict[str, Any]:
    rows = DeliveryAttempt.objects.filter(delivery=delivery).order_by("id")
    return {**show_delivery(delivery), "attempts": [_show_attempt(row) for row in rows]}


def _show_attempt(row: DeliveryAttempt) -> dict[str, Any]:
    return {name: getattr(row, name) for name in _ATTEMPT}
