"""The table of names that administrators pinned to teams."""

from __future__ import annotations

from django.db import models
from django.db.models.functions import Now

from controlplane.ids import uuid7
from registry.agent_configs.models import KINDS, NAME_LENGTH


class PinQuerySet(models.QuerySet["AgentConfigPin"]):
    """Pins of names."""

    def in_effect(self) -> PinQuerySet:
        """Return the pins that have not expired."""
        return self.filter(models.Q(until=None) | models.Q(until__gt=Now()))


class AgentConfigPin(models.Model):
    """An administrator's decision that a team has a name. until: NULL if it never expires."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    kind = models.CharField(max_length=16, choices=KINDS)
    name = models.CharField(max_length=128)
    team = models.CharField(max_length=NAME_LENGTH)
    reason = models.CharField(max_length=500, blank=True, default="", db_default="")
    until = models.DateTimeField(null=True)
    created_at = models.DateTimeField(db_default=Now())
    created_by = models.CharField(max_length=63)

    objects = PinQuerySet.as_manager()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["kind", "name"], name="agent_config_pin_is_unique")]

    def __str__(self) -> str:
        return f"{self.kind} {self.name} is pinned to {self.team}"
