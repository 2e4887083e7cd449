"""Environments: the fleet guard, the lease and the configuration of the agents in each. Rows only."""

from __future__ import annotations

from django.db import models

from registry.environments.fleet_guard import Ruling


class Environment(models.Model):
    """An environment that agents named; the one with an empty name is the whole fleet."""

    id = models.AutoField(primary_key=True)
    name = models.CharField(max_length=255, unique=True)
    guard_engaged_at = models.DateTimeField(null=True)
    guard_lifted_at = models.DateTimeField(null=True)
    guard_reason = models.CharField(max_length=255, db_default="")
    # As the sweep counted last: agents that fall silent, among how many.
    guard_due_count = models.IntegerField(db_default=0)
    guard_agent_count = models.IntegerField(db_default=0)
    # Of the configuration that the data plane of this name is given (publishing/announcing.py).
    configuration_etag = models.CharField(max_length=160, db_default="")
    # When an agent of the environment was last heard, and since when there was no silence (hearing.py).
    heard_at = models.DateTimeField(null=True)
    hearing_since = models.DateTimeField(null=True)
    # The lease of the environment's agents in seconds; empty: LEASE_SECONDS.
    lease_seconds = models.IntegerField(null=True)
    # The operator's ruling, while it is in force.
    guard_mode = models.CharField(max_length=8, db_default="")
    guard_mode_set_at = models.DateTimeField(null=True)
    guard_mode_until = models.DateTimeField(null=True)
    guard_mode_set_by = models.CharField(max_length=63, db_default="")

    class Meta:
        constraints = [
            models.CheckConstraint(
                name="environment_guard_mode_is_known",
                condition=models.Q(guard_mode__in=["", *(one.value for one in Ruling)]),
            )
        ]

    def __str__(self) -> str:
        return self.name or "the whole fleet"
