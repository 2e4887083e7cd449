"""Tables of service providers and their state changes."""

from __future__ import annotations

from typing import Any

from django.db import models
from django.db.models.functions import Now

from controlplane.database.owned import OwnedQuerySet
from controlplane.identity.roles import Action
from registry.providers.health import Health
from registry.providers.registration import Kind


class ProviderQuerySet(OwnedQuerySet["Provider"]):
    team_path = "agent__team_id"
    read_action = Action.AGENT_READ


class ProviderChangeQuerySet(OwnedQuerySet["ProviderChange"]):
    team_path = "agent__team_id"
    read_action = Action.AGENT_READ


class Provider(models.Model):
    """A service provider: its registration, health and lease."""

    id = models.BigAutoField(primary_key=True)
    agent = models.ForeignKey("registry.Agent", on_delete=models.CASCADE, related_name="service_providers")
    # The id in the API: chosen by the provider, or a UUID.
    provider_id = models.CharField(max_length=63)
    name = models.CharField(max_length=255)
    service_type = models.CharField(max_length=63)
    endpoint = models.CharField(max_length=2000)
    schema_version = models.CharField(max_length=63)
    kind = models.CharField(max_length=8, choices=[(kind.value, kind.value) for kind in Kind])
    display_name = models.CharField(max_length=255, db_default="")
    operations: Any = models.JSONField(default=list)
    metadata: Any = models.JSONField(null=True)
    state = models.CharField(max_length=16, choices=[(health.value, health.value) for health in Health])
    state_reason = models.CharField(max_length=255)
    state_since = models.DateTimeField()
    # Consecutive probes that contradict the state (health.py).
    failures = models.SmallIntegerField(default=0)
    recoveries = models.SmallIntegerField(default=0)
    checked_at = models.DateTimeField(null=True)
    # From its own registration. While `vouched` is true, `Lease.vouched_at` can extend it.
    expires_at = models.DateTimeField()
    # True if the agent's last report names it: each heartbeat that repeats the report renews its lease.
    vouched = models.BooleanField(default=False)
    # False once the lease has expired: another provider can take the type.
    holds_type = models.BooleanField(default=True)
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    updated_at = models.DateTimeField(db_default=Now())

    objects = ProviderQuerySet.as_manager()

    class Meta:
        app_label = "registry"
        constraints = [
            models.UniqueConstraint(fields=["agent", "name"], name="provider_name_of_agent"),
            models.UniqueConstraint(fields=["agent", "provider_id"], name="provider_id_of_agent"),
            models.UniqueConstraint(
                fields=["agent", "service_type"],
                name="provider_serves_type_alone",
                condition=models.Q(holds_type=True),
            ),
            models.CheckConstraint(
                name="provider_state_is_known",
                condition=models.Q(state__in=[health.value for health in Health]),
            ),
        ]

    def __str__(self) -> str:
        return self.name


class ProviderChange(models.Model):
    """A state change of a provider with its reason. Kept after the provider is removed."""

    id = models.BigAutoField(primary_key=True)
    agent = models.ForeignKey("registry.Agent", on_delete=models.CASCADE, related_name="+", db_index=False)
    provider_id = models.CharField(max_length=63)
    name = models.CharField(max_length=255)
    service_type = models.CharField(max_length=63)
    # `old` is empty at the first registration, `new` at the removal.
    old = models.CharField(max_length=16, db_default="")
    new = models.CharField(max_length=16, db_default="")
    reason = models.CharField(max_length=255)
    actor = models.CharField(max_length=63)
    at = models.DateTimeField(db_default=Now())

    objects = ProviderChangeQuerySet.as_manager()

    class Meta:
        app_label = "registry"
        indexes = [models.Index(fields=["agent", "provider_id", "-id"], name="change_by_provider")]

    def __str__(self) -> str:
        return f"{self.name}: {self.old} -> {self.new}"
