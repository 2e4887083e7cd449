"""Environments: the fleet guard, the lease and the configuration of the agents in each. Rows only."""

from __future__ import annotations

from django.db import models

from registry.environments.fleet_guard import GuardMode


class Environment(models.Model):
    """An environment with agents; an empty name means the whole fleet."""

    id = models.AutoField(primary_key=True)
    name = models.CharField(max_length=255, unique=True)
    guard_engaged_at = models.DateTimeField(null=True)
    guard_lifted_at = models.DateTimeField(null=True)
    guard_reason = models.CharField(max_length=255, db_default="")
    # Silent agents, and all agents, at the last sweep.
    guard_due_count = models.IntegerField(db_default=0)
    guard_agent_count = models.IntegerField(db_default=0)
    # Of the configuration of the data plane with this name (agent_configs/delivery/announce.py).
    configuration_etag = models.CharField(max_length=160, db_default="")
    # When an agent of the environment was last heard, and the end of the last silence (hearing.py).
    heard_at = models.DateTimeField(null=True)
    hearing_since = models.DateTimeField(null=True)
    # The lease of the environment's agents in seconds; NULL: LEASE_SECONDS.
    lease_seconds = models.IntegerField(null=True)
    # The mode that an operator set, while it is in force.
    guard_mode = models.CharField(max_length=8, db_default="")
    guard_mode_set_at = models.DateTimeField(null=True)
    guard_mode_until = models.DateTimeField(null=True)
    guard_mode_set_by = models.CharField(max_length=63, db_default="")

    class Meta:
        constraints = [
            models.CheckConstraint(
                name="environment_guard_mode_is_known",
                condition=models.Q(guard_mode__in=["", *(mode.value for mode in GuardMode)]),
            )
        ]

    def __str__(self) -> str:
        return self.name or "the whole fleet"
