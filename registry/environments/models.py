"""Environments: the fleet guard, the lease and the configuration of the agents in each. Rows only."""

from __future__ import annotations

from django.db import models

from registry.environments.fleet_guard import Ruling


class FleetGuard(models.Model):
    """One row for each environment that agents named, and one with an empty name for the whole fleet."""

    id = models.AutoField(primary_key=True)
    environment = models.CharField(max_length=255, unique=True)
    engaged_at = models.DateTimeField(null=True)
    lifted_at = models.DateTimeField(null=True)
    reason = models.CharField(max_length=255, db_default="")
    # As the sweep counted last: agents that fall silent, among how many.
    due_count = models.IntegerField(db_default=0)
    agent_count = models.IntegerField(db_default=0)
    # Of the configuration that the data plane of this name is given (publishing/announcing.py).
    configuration_etag = models.CharField(max_length=160, db_default="")
    # When an agent of the environment was last heard, and since when there was no silence (hearing.py).
    heard_at = models.DateTimeField(null=True)
    hearing_since = models.DateTimeField(null=True)
    # The lease of the environment's agents in seconds; empty: LEASE_SECONDS.
    lease_seconds = models.IntegerField(null=True)
    # The operator's ruling, while it is in force.
    ruling = models.CharField(max_length=8, db_default="")
    ruled_at = models.DateTimeField(null=True)
    ruling_until = models.DateTimeField(null=True)
    ruling_by = models.CharField(max_length=63, db_default="")

    class Meta:
        constraints = [
            models.CheckConstraint(
                name="fleet_guard_ruling_is_known",
                condition=models.Q(ruling__in=["", *(one.value for one in Ruling)]),
            )
        ]

    def __str__(self) -> str:
        return self.environment or "the whole fleet"
