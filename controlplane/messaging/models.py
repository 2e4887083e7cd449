"""Messages that leave, messages that arrived, and those that nobody could handle. Rows only."""

from __future__ import annotations

from typing import Any

from django.db import models
from django.db.models.functions import Now

from controlplane.ids import uuid7


class OutboxMessage(models.Model):
    """A message to send, kept until its answer arrives. Its id is the `Nats-Msg-Id`.

    A deliberate repetition is a new row with the same event id: JetStream drops a repeated message id.
    """

    position = models.BigAutoField(primary_key=True)
    id = models.UUIDField(default=uuid7, unique=True, editable=False)
    # "nats": relays send it. "https": the receiver fetches it.
    channel = models.CharField(max_length=8)
    # The subject of NATS.
    destination = models.CharField(max_length=512)
    # Messages with one key are sent in the order of their positions.
    order_key = models.CharField(max_length=255)
    event_id = models.CharField(max_length=255)
    event_type = models.CharField(max_length=255)
    source = models.CharField(max_length=255)
    data: Any = models.JSONField()
    # Of what stored it (W3C Trace Context); NULL without traces.
    traceparent = models.CharField(max_length=55, null=True)
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    sent_at = models.DateTimeField(null=True)
    # When its answer arrived, or when none is expected any more.
    settled_at = models.DateTimeField(null=True)
    attempts = models.IntegerField(db_default=0)
    last_error = models.CharField(max_length=255, db_default="")
    # Until then, the receiver that fetched it may answer before it is handed out again.
    leased_until = models.DateTimeField(null=True)

    class Meta:
        indexes = [
            models.Index(
                fields=["position"],
                name="outbox_unsent",
                condition=models.Q(sent_at__isnull=True, settled_at__isnull=True, channel="nats"),
            ),
            models.Index(
                fields=["order_key", "position"],
                name="outbox_unsettled",
                condition=models.Q(settled_at__isnull=True),
            ),
            models.Index(
                fields=["destination", "position"],
                name="outbox_to_fetch",
                condition=models.Q(settled_at__isnull=True, channel="https"),
            ),
            models.Index(
                fields=["settled_at"], name="outbox_settled", condition=models.Q(settled_at__isnull=False)
            ),
        ]

    def __str__(self) -> str:
        return f"{self.event_type} {self.event_id} to {self.destination}"


class InboxEntry(models.Model):
    """An event that has had its effect. source: its proven sender, or else the source that it names."""

    source = models.CharField(max_length=255)
    event_id = models.CharField(max_length=255)
    received_at = models.DateTimeField(db_default=Now(), db_index=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["source", "event_id"], name="inbox_takes_an_event_once")
        ]

    def __str__(self) -> str:
        return f"{self.event_id} from {self.source}"


class DeadLetter(models.Model):
    """A message that nobody could handle, with its payload."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    stream = models.CharField(max_length=255)
    consumer = models.CharField(max_length=255, db_default="")
    # Of the message in its stream.
    sequence = models.BigIntegerField()
    # When the stream was created: sequences start again in a new one.
    stream_created_at = models.DateTimeField(null=True)
    subject = models.CharField(max_length=512)
    headers: Any = models.JSONField(default=dict)
    payload = models.BinaryField()
    reason = models.CharField(max_length=255)
    deliveries = models.IntegerField(db_default=0)
    # The resource that the message names, and the team that owns it; empty and NULL if unknown.
    resource_id = models.CharField(max_length=63, db_default="")
    team_id = models.UUIDField(null=True)
    at = models.DateTimeField(db_default=Now(), db_index=True)
    # "open", "replayed" or "discarded".
    state = models.CharField(max_length=16, db_default="open")
    settled_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["stream", "consumer", "sequence", "stream_created_at"],
                name="dead_letter_once",
                nulls_distinct=False,
            )
        ]
        indexes = [models.Index(fields=["state", "id"], name="dead_letter_by_state")]

    def __str__(self) -> str:
        return f"{self.subject}: {self.reason}"


class StreamRecord(models.Model):
    """A stream as it was last seen. A later creation time means that NATS has lost its messages."""

    name = models.CharField(max_length=255, primary_key=True)
    created_at = models.DateTimeField(null=True)
    checked_at = models.DateTimeField(null=True)
    # What differs from the stream that is needed; empty: nothing.
    difference = models.CharField(max_length=500, db_default="")

    def __str__(self) -> str:
        return self.name
