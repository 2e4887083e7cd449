"""Logins of agents at NATS, and the connections made with them. Rows only."""

from __future__ import annotations

from django.db import models
from django.db.models.functions import Now

from controlplane.ids import uuid7


class NatsLogin(models.Model):
    """The password of an agent at NATS. A new one replaces it."""

    agent = models.OneToOneField(
        "registry.Agent", on_delete=models.CASCADE, primary_key=True, related_name="nats_login"
    )
    # Another one with each password: connections made with a former one end.
    serial = models.UUIDField(default=uuid7)
    digest = models.BinaryField(max_length=32, unique=True)
    hint = models.CharField(max_length=16)
    # The principal of the agent when it was issued: after a take-over, a new password is needed.
    principal_id = models.UUIDField(null=True)
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    # When its consumers were last created.
    prepared_at = models.DateTimeField(null=True)

    class Meta:
        app_label = "registry"

    def __str__(self) -> str:
        return f"{self.hint} of {self.agent_id}"


class NatsSession(models.Model):
    """A connection that was accepted. It may have ended since; it ends at `expires_at` at the latest."""

    id = models.BigAutoField(primary_key=True)
    server_id = models.CharField(max_length=63)
    client_id = models.BigIntegerField()
    # No foreign key: it is ended after its agent is removed.
    agent_id = models.UUIDField()
    serial = models.UUIDField()
    # The permissions depend on it.
    topic = models.CharField(max_length=255)
    expires_at = models.DateTimeField(db_index=True)
    # When NATS was last asked to end it.
    tried_at = models.DateTimeField(null=True)

    class Meta:
        app_label = "registry"
        constraints = [
            models.UniqueConstraint(fields=["server_id", "client_id"], name="nats_session_of_client")
        ]

    def __str__(self) -> str:
        return f"{self.client_id} at {self.server_id}"
