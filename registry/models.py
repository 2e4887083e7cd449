"""Agents and their leases. What changes with every heartbeat lies in a narrow table of its own."""

from __future__ import annotations

from typing import Any

from django.db import models
from django.db.models.functions import Now

from controlplane.ids import uuid7
from registry.agents.querysets import AgentQuerySet
from registry.agents.registration import Cost
from registry.agents.states import State


class Agent(models.Model):
    """A process in a target environment, as it described itself."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    name = models.CharField(max_length=255, unique=True)
    environment = models.CharField(max_length=255, db_index=True)
    service_types: Any = models.JSONField(default=list)
    cost = models.CharField(max_length=16, choices=[(one.value, one.value) for one in Cost])
    topic_name = models.CharField(max_length=255, unique=True)
    resources_available: Any = models.JSONField(null=True)
    state = models.CharField(
        max_length=16, choices=[(one.value, one.value) for one in State], default=State.READY.value
    )
    state_reason = models.CharField(max_length=255)
    state_since = models.DateTimeField(db_default=Now())
    # No key: an agent outlives the principal that registered it.
    registered_by = models.UUIDField(null=True)
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    updated_at = models.DateTimeField(db_default=Now())

    objects = AgentQuerySet.as_manager()

    class Meta:
        constraints = [
            models.CheckConstraint(name="agent_state_is_known", condition=models.Q(state__in=list(State))),
            models.CheckConstraint(name="agent_cost_is_known", condition=models.Q(cost__in=list(Cost))),
        ]
        indexes = [models.Index(fields=["state", "name"], name="agent_by_state")]

    def __str__(self) -> str:
        return self.name


class Lease(models.Model):
    """Until when we take an agent for alive.

    Rows are updated in place (HOT), so no time has an index but BRIN (migration 0002).
    """

    agent = models.OneToOneField(Agent, on_delete=models.CASCADE, primary_key=True)
    renewed_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    # What the agent's clock said, to show its skew; nothing is decided by it.
    reported_at = models.DateTimeField(null=True)
    consumer_lag = models.BigIntegerField(default=0)

    def __str__(self) -> str:
        return f"{self.agent_id} until {self.expires_at}"


class SweepRecord(models.Model):
    """One row: when the last sweep ran, and since when sweeps have run without a gap."""

    id = models.SmallIntegerField(primary_key=True, default=1)
    last_sweep_at = models.DateTimeField(null=True)
    reachable_since = models.DateTimeField(null=True)

    class Meta:
        constraints = [models.CheckConstraint(name="sweep_record_is_one_row", condition=models.Q(id=1))]

    def __str__(self) -> str:
        return f"since {self.reachable_since}"
