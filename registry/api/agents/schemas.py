"""API schemas of agents: DCM's fields (environment-agents.md 2.1, 2.2) and our additions."""

from __future__ import annotations

import re
from datetime import datetime
from random import Random
from typing import Any

from rest_framework import serializers

from controlplane.api.endpoints import MutationQuery, ReasonedQuery
from controlplane.api.fields import StrictSerializer, Text, Whole
from overrides.resource_types.schemas import LABEL_VALUE, QUALIFIED_NAME
from registry.agents.chance import CHANCE
from registry.agents.clock_skew import skew_ms, with_clock
from registry.agents.instances import duplicate_condition
from registry.agents.liveness import LivenessPolicy, whole_seconds
from registry.agents.models import Agent, Lease
from registry.agents.states import LIVE, Cost, State
from registry.api.heartbeats.schemas import (
    CONFIGURATION_ETAG,
    INSTANCE,
    LEASE_SECONDS,
    PROVIDER_STATUSES,
    InstanceField,
)
from registry.dispatch.delivery.messaging_conditions import messaging_conditions
from registry.joining.registration import FACTS, LONGEST_TOPIC_NAME, TOPIC_NAME, Registration
from registry.providers.conditions import advertised
from registry.task_types.names import NAME as TASK_TYPE
from registry.task_types.names import TaskType

LEASE_SOURCES = [(source, source) for source in ("agent", "environment", "default")]
COSTS = [(cost.value, cost.value) for cost in Cost]
STATES = [(state.value, state.value) for state in State]
_MAX_LABELS = 64
_MAX_INTEGER = 2**63 - 1


class LabelsField(serializers.DictField):
    child = serializers.CharField(allow_blank=True, trim_whitespace=False, max_length=63)

    def to_internal_value(self, data: Any) -> Any:
        labels: dict[str, str] = super().to_internal_value(data)
        for name, value in labels.items():
            if not (re.fullmatch(QUALIFIED_NAME, name) and re.fullmatch(LABEL_VALUE, value)):
                raise serializers.ValidationError(
                    {name: f"{name!r}={value!r} is not a valid Kubernetes label."}, code="malformed"
                )
        if len(labels) > _MAX_LABELS:
            raise serializers.ValidationError(
                f"There are {len(labels)} labels. At most {_MAX_LABELS} are allowed.", code="too_many"
            )
        return labels


class AgentResourcesWrite(StrictSerializer):
    """Free resources of the agent's environment. Totals are strings with a unit, or plain counts."""

    total_cpu = Whole(required=False, min_value=0, max_value=_MAX_INTEGER)
    total_memory = Text(required=False, max_length=32, help_text="With a unit, such as 1TB.")
    total_storage = Text(required=False, max_length=32, help_text="With a unit, such as 2TB.")
    total_node = Whole(required=False, min_value=0, max_value=_MAX_INTEGER)


class AgentTaskTypeWrite(StrictSerializer):
    name = Text(max_length=128, help_text="Name of letters, digits and _ . : -, such as spark.")
    version = Text(max_length=63, required=False, default="", allow_blank=True)

    def validate_name(self, value: str) -> str:
        if not TASK_TYPE.fullmatch(value):
            raise serializers.ValidationError(
                "Use at most 128 letters, digits and _ . : -.", code="malformed"
            )
        return value


class AgentRegistrationWrite(StrictSerializer):
    name = Text(max_length=255, help_text="Unique name of the agent.")
    environment = Text(max_length=255, help_text="Name of the environment, such as prod-eu-west-1.")
    service_types = serializers.ListField(
        child=Text(max_length=63),
        allow_empty=True,
        max_length=100,
        help_text="Service types that the agent can provide.",
    )
    cost = serializers.ChoiceField(choices=COSTS)
    topic_name = Text(
        max_length=LONGEST_TOPIC_NAME, help_text="`dcm.agent.` followed by letters, digits, _ or -."
    )
    resources_available = AgentResourcesWrite(required=False, allow_null=True, default=None)
    labels = LabelsField(
        required=False, default=dict, help_text="Labels in Kubernetes syntax, for use in selectors."
    )
    capacity = Whole(
        required=False,
        allow_null=True,
        default=None,
        min_value=0,
        max_value=2**31 - 1,
        help_text="Maximum number of concurrent work items.",
    )
    task_types = serializers.ListField(
        child=AgentTaskTypeWrite(),
        required=False,
        max_length=1000,
        help_text="Task types that the agent serves, with versions.",
    )

    instance_uuid = InstanceField(required=False, allow_null=True, default=None, help_text=INSTANCE)

    def validate_topic_name(self, value: str) -> str:
        if not TOPIC_NAME.fullmatch(value):
            raise serializers.ValidationError(
                "Use dcm.agent. followed by letters, digits, _ or -, without wildcards or further dots.",
                code="malformed",
            )
        return value


class OwnedRegistrationWrite(AgentRegistrationWrite):
    team = Text(
        max_length=63,
        required=False,
        allow_null=True,
        default=None,
        help_text="Name of the team that owns a new agent. Default: the only team that your roles are "
        "limited to, otherwise the platform.",
    )


class AgentTransferWrite(StrictSerializer):
    team = Text(max_length=63, allow_null=True, help_text="Name of the new owner; null for the platform.")


class AgentTaskTypeRead(serializers.Serializer[Any]):
    name = serializers.CharField()
    version = serializers.CharField(allow_blank=True)


class ServiceTypeCondition(serializers.Serializer[Any]):
    service_type = serializers.CharField()
    status = serializers.ChoiceField(choices=PROVIDER_STATUSES)
    provider = serializers.CharField()
    reason = serializers.CharField()
    since = serializers.DateTimeField()


class AgentRead(serializers.Serializer[Any]):
    agent_id = serializers.UUIDField()
    name = serializers.CharField()
    team = serializers.CharField(
        allow_null=True, help_text="Name of the team that owns the agent; null for the platform."
    )
    environment = serializers.CharField()
    service_types = serializers.ListField(child=serializers.CharField())
    advertised_service_types = serializers.ListField(
        child=serializers.CharField(), help_text="Service types without those whose provider is unavailable."
    )
    service_type_conditions = ServiceTypeCondition(
        many=True, help_text="Conditions of the service types that have or had a registered provider."
    )
    task_types = AgentTaskTypeRead(many=True)
    cost = serializers.ChoiceField(choices=COSTS)
    topic_name = serializers.CharField()
    resources_available = serializers.DictField(allow_null=True)
    labels = serializers.DictField(child=serializers.CharField())
    capacity = serializers.IntegerField(allow_null=True)
    drain_reason = serializers.CharField(
        help_text="Empty unless the agent drains, or will drain once it is back."
    )
    drain_until = serializers.DateTimeField(allow_null=True)
    health_status = serializers.ChoiceField(choices=STATES)
    state_reason = serializers.CharField()
    state_since = serializers.DateTimeField()
    late = serializers.BooleanField(
        help_text="True after 1.5 intervals without a heartbeat while the lease is valid."
    )
    last_heartbeat = serializers.DateTimeField(help_text="Time of receipt by the control plane's clock.")
    lease_expires_at = serializers.DateTimeField()
    lease_seconds = serializers.IntegerField(help_text=LEASE_SECONDS)
    lease_set_for = serializers.ChoiceField(
        choices=LEASE_SOURCES,
        help_text="Where the lease is set: on the agent, on its environment, or by default.",
    )
    consumer_lag = serializers.IntegerField()
    clock_skew_ms = serializers.IntegerField(
        allow_null=True,
        help_text="The agent's clock minus the control plane's at its last heartbeat, with network latency.",
    )
    heartbeat_interval = serializers.IntegerField(help_text="Seconds between heartbeats.")
    next_heartbeat_in_seconds = serializers.FloatField(
        help_text="Interval with jitter: when to send the next heartbeat."
    )
    generation = serializers.IntegerField(help_text="Number of registrations under this name.")
    configuration_etag = serializers.CharField(help_text=CONFIGURATION_ETAG)
    conditions = serializers.ListField(
        child=serializers.DictField(),
        help_text="Conditions from the agent's last report, and our own: ClockSynced.",
    )
    versions = serializers.DictField(child=serializers.CharField())
    providers = serializers.ListField(
        child=serializers.DictField(), help_text="Health of the agent's service providers."
    )
    create_time = serializers.DateTimeField()
    update_time = serializers.DateTimeField()


class AgentPage(serializers.Serializer[Any]):
    items = AgentRead(many=True)
    next_cursor = serializers.CharField(allow_null=True)


class RegistrationQuery(MutationQuery):
    """Query parameters of a registration."""


class RemovalQuery(ReasonedQuery):
    force = serializers.BooleanField(
        required=False,
        default=False,
        help_text="Remove the agent in any state, also if it still has resources.",
    )


class DeregistrationQuery(ReasonedQuery):
    force = serializers.BooleanField(
        required=False, default=False, help_text="Deregister the agent although it still has resources."
    )


def registration_from(body: dict[str, Any]) -> Registration:
    resources = body["resources_available"]
    return Registration(
        name=body["name"],
        environment=body["environment"],
        service_types=tuple(dict.fromkeys(body["service_types"])),
        cost=Cost(body["cost"]),
        topic_name=body["topic_name"],
        resources_available=None if resources is None else dict(resources),
        labels=dict(body["labels"]),
        capacity=body["capacity"],
        task_types=tuple(TaskType(**row) for row in body.get("task_types", ())),
        instance_uuid=body.get("instance_uuid"),
    )


def show_agent(agent: Agent, policy: LivenessPolicy, chance: Random = CHANCE) -> dict[str, Any]:
    """Return the API representation of an agent from `AgentQuerySet.shown`."""
    lease, report = agent.lease, getattr(agent, "report", None)
    now: datetime = agent.now  # type: ignore[attr-defined]  # annotated
    late = agent.state in LIVE and policy.is_late(lease.renewed_at, now=now, lease_seconds=lease.set_seconds)
    skew = skew_ms(lease.reported_at, lease.renewed_at)
    return {
        "agent_id": str(agent.id),
        **{name: getattr(agent, name) for name in _STORED_FIELDS},
        "team": agent.team.slug if agent.team else None,
        "advertised_service_types": advertised(agent.service_types, agent.service_type_conditions),
        "health_status": agent.state,
        "late": late,
        "last_heartbeat": lease.renewed_at,
        "lease_expires_at": lease.expires_at,
        "lease_seconds": whole_seconds(policy.granted(lease.set_seconds)),
        "lease_set_for": _lease_source(lease),
        "consumer_lag": lease.consumer_lag,
        "clock_skew_ms": skew,
        "heartbeat_interval": int(policy.interval.total_seconds()),
        "next_heartbeat_in_seconds": policy.next_interval(chance),
        "generation": lease.generation,
        "configuration_etag": lease.configuration_etag,
        "conditions": [
            *with_clock(report.conditions if report else [], skew),
            *duplicate_condition(lease.rival_since, announced=lease.rival_announced, now=now),
            *messaging_conditions(getattr(agent, "messaging", None)),
        ],
        "versions": report.versions if report else {},
        "providers": report.providers if report else [],
        "create_time": agent.created_at,
        "update_time": agent.updated_at,
    }


_STORED_FIELDS = (
    *FACTS,
    "service_type_conditions",
    "drain_reason",
    "drain_until",
    "state_reason",
    "state_since",
)


def _lease_source(lease: Lease) -> str:
    if lease.lease_seconds is not None:
        return "agent"
    return "default" if lease.set_seconds is None else "environment"
