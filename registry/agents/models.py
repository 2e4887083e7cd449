"""Agents, their leases and reports, and the sweep's record. Rows only."""

from __future__ import annotations

from typing import Any

from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.db.models.functions import Now

from controlplane.access.team_models import Team
from controlplane.ids import uuid7
from registry.agents.querysets import AgentQuerySet
from registry.agents.states import Cost, State


class Agent(models.Model):
    """A process in a target environment, as it registered."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    name = models.CharField(max_length=255, unique=True)
    environment = models.CharField(max_length=255, db_index=True)
    service_types: Any = models.JSONField(default=list)
    # Conditions of its types, derived from its providers' health (registry/providers/conditions.py).
    service_type_conditions: Any = models.JSONField(default=list, db_default=[])
    task_types: Any = models.JSONField(default=list, db_default=[])
    cost = models.CharField(max_length=16, choices=[(cost.value, cost.value) for cost in Cost])
    topic_name = models.CharField(max_length=255, unique=True)
    resources_available: Any = models.JSONField(null=True)
    state = models.CharField(
        max_length=16, choices=[(state.value, state.value) for state in State], default=State.READY.value
    )
    state_reason = models.CharField(max_length=255)
    state_since = models.DateTimeField(db_default=Now())
    # Retired by the sweep: one heartbeat restores it.
    retired_for_silence = models.BooleanField(default=False, db_default=False)
    # Retired by an operator: a DCM agent's restart must not restore it.
    dismissed = models.BooleanField(default=False, db_default=False)
    # Recent returns, and the start of the unbroken series of heartbeats (flap_damping.py).
    flap_penalty = models.FloatField(db_default=0)
    flapped_at = models.DateTimeField(null=True)
    steady_since = models.DateTimeField(null=True)
    labels: Any = models.JSONField(default=dict, db_default=models.Value({}, models.JSONField()))
    # Concurrent work; NULL if not reported.
    capacity = models.IntegerField(null=True)
    # Requested by an operator or by the agent; heartbeats do not end draining while it is set.
    drain_reason = models.CharField(max_length=255, blank=True, default="", db_default="")
    drain_until = models.DateTimeField(null=True)
    # No foreign key: an agent outlives the principal that registered it.
    registered_by = models.UUIDField(null=True)
    # The team that owns it; NULL: the platform. A trigger ends its permits when this changes.
    team = models.ForeignKey(Team, null=True, on_delete=models.PROTECT, related_name="+", db_index=False)
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    updated_at = models.DateTimeField(db_default=Now())

    objects = AgentQuerySet.as_manager()

    class Meta:
        constraints = [
            models.CheckConstraint(
                name="agent_state_is_known", condition=models.Q(state__in=[state.value for state in State])
            ),
            models.CheckConstraint(
                name="agent_cost_is_known", condition=models.Q(cost__in=[cost.value for cost in Cost])
            ),
        ]
        indexes = [
            models.Index(fields=["state", "name"], name="agent_by_state"),
            models.Index(fields=["environment", "name"], name="agent_by_environment"),
            models.Index(fields=["state_since", "name"], name="agent_by_since"),
            models.Index(fields=["created_at", "name"], name="agent_by_creation"),
            GinIndex(fields=["labels"], opclasses=["jsonb_path_ops"], name="agent_by_label"),
            GinIndex(fields=["service_types"], opclasses=["jsonb_path_ops"], name="agent_by_service"),
            GinIndex(fields=["name"], opclasses=["gin_trgm_ops"], name="agent_by_part_of_name"),
            models.Index(
                fields=["team", "name"], name="agent_by_team", condition=models.Q(team__isnull=False)
            ),
        ]

    def __str__(self) -> str:
        return self.name


class AgentTally(models.Model):
    """Changes of the number of agents in a state: triggers add rows, readers sum them, a task compacts."""

    environment = models.CharField(max_length=255)
    state = models.CharField(max_length=16)
    step = models.IntegerField()

    def __str__(self) -> str:
        return f"{self.step:+} {self.state} in {self.environment}"


class Lease(models.Model):
    """The time until which an agent counts as alive, and everything that a heartbeat reads.

    Rows are updated in place (HOT): no column that a heartbeat writes has an index.
    """

    agent = models.OneToOneField(Agent, on_delete=models.CASCADE, primary_key=True)
    renewed_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    # The agent's time, to show its clock skew; not used for decisions.
    reported_at = models.DateTimeField(null=True)
    consumer_lag = models.BigIntegerField(default=0)
    # The agent's state, copied by a trigger: heartbeat and sweep read one table.
    state = models.CharField(max_length=16, db_default=State.READY.value)
    environment = models.ForeignKey(
        "registry.Environment", null=True, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False
    )
    # Counts registrations: a different number reveals a duplicate to the agent.
    generation = models.IntegerField(db_default=1)
    # Set for this agent only; NULL: its environment's, or LEASE_SECONDS.
    lease_seconds = models.IntegerField(null=True)
    # The process that holds the name, and another one that requested it since (instances.py).
    instance_uuid = models.UUIDField(null=True)
    rival_uuid = models.UUIDField(null=True)
    rival_since = models.DateTimeField(null=True)
    rival_announced = models.BooleanField(default=False, db_default=False)
    # The token whose heartbeats need no further authentication (permits.py); a trigger clears it.
    token_digest = models.BinaryField(max_length=32, null=True)
    token_expires_at = models.DateTimeField(null=True)
    report_digest = models.BinaryField(max_length=16, null=True)
    # When a heartbeat last confirmed the report; NULL if it names no registered provider.
    vouched_at = models.DateTimeField(null=True)

    class Meta:
        indexes = [models.Index(fields=["token_digest"], name="lease_by_token")]

    @property
    def configuration_etag(self) -> str:
        """Return the ETag of the environment's configuration; empty without one."""
        return self.environment.configuration_etag if self.environment else ""

    @property
    def set_seconds(self) -> int | None:
        """Return the lease that is set for the agent or its environment; None if neither is."""
        if self.lease_seconds is None and self.environment is not None:
            return self.environment.lease_seconds
        return self.lease_seconds

    def __str__(self) -> str:
        return f"{self.agent_id} until {self.expires_at}"


class AgentReport(models.Model):
    """An agent's last report of itself and its providers. Written when it changes."""

    agent = models.OneToOneField(Agent, on_delete=models.CASCADE, primary_key=True, related_name="report")
    conditions: Any = models.JSONField(default=list)
    versions: Any = models.JSONField(default=dict)
    providers: Any = models.JSONField(default=list)
    changed_at = models.DateTimeField(db_default=Now())

    def __str__(self) -> str:
        return f"report of {self.agent_id}"


class SweepRecord(models.Model):
    """One row: when the last sweep ran, and since when sweeps have run without a gap."""

    id = models.SmallIntegerField(primary_key=True, default=1)
    last_sweep_at = models.DateTimeField(null=True)
    reachable_since = models.DateTimeField(null=True)
    # Live agents at the last sweep; the heartbeat interval depends on it.
    live_count = models.IntegerField(db_default=0)

    class Meta:
        constraints = [models.CheckConstraint(name="sweep_record_is_one_row", condition=models.Q(id=1))]

    def __str__(self) -> str:
        return f"since {self.reachable_since}"
