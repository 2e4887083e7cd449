"""The shapes of agents in the API: DCM's fields (environment-agents.md 2.1, 2.2), and what we add."""

from __future__ import annotations

import random
from typing import Any

from rest_framework import serializers

from controlplane.api.endpoints import MutationQuery
from controlplane.api.fields import StrictSerializer, Text, Whole
from controlplane.api.pages import PageQuery
from registry.agents.api.heartbeat_shapes import PROVIDER_STATUSES
from registry.agents.liveness import LivenessPolicy
from registry.agents.registration import TOPIC_NAME, Cost
from registry.agents.states import LIVE, State
from registry.models import Agent
from registry.providers.conditions import advertised
from registry.task_types.names import NAME as TASK_TYPE

COSTS = [(one.value, one.value) for one in Cost]
STATES = [(one.value, one.value) for one in State]
_MAX_LAG = 2**63 - 1
_chance = random.Random()  # noqa: S311  (jitter is no secret)


class ResourcesWrite(StrictSerializer):
    """What the agent's environment has left. Totals are strings with a unit, or plain numbers of things."""

    total_cpu = Whole(required=False, min_value=0, max_value=_MAX_LAG)
    total_memory = Text(required=False, max_length=32, help_text="Such as 1TB.")
    total_storage = Text(required=False, max_length=32, help_text="Such as 2TB.")
    total_node = Whole(required=False, min_value=0, max_value=_MAX_LAG)


class TaskTypeWrite(StrictSerializer):
    name = Text(max_length=128, help_text="Letters, digits and _ . : -, such as spark.")
    version = Text(max_length=63, required=False, default="", allow_blank=True)

    def validate_name(self, value: str) -> str:
        if not TASK_TYPE.fullmatch(value):
            raise serializers.ValidationError("Letters, digits and _ . : -, at most 128.", code="malformed")
        return value


class RegistrationWrite(StrictSerializer):
    name = Text(max_length=255, help_text="The agent's natural key.")
    environment = Text(max_length=255, help_text="Free words, such as prod-eu-west-1.")
    service_types = serializers.ListField(
        child=Text(max_length=63),
        allow_empty=True,
        max_length=100,
        help_text="What it can provide.",
    )
    cost = serializers.ChoiceField(choices=COSTS)
    topic_name = Text(max_length=239, help_text="`dcm.agent.` and letters, digits, _ or -.")
    resources_available = ResourcesWrite(required=False, allow_null=True, default=None)
    task_types = serializers.ListField(
        child=TaskTypeWrite(), required=False, max_length=1000, help_text="That it serves, with versions."
    )

    def validate_topic_name(self, value: str) -> str:
        if not TOPIC_NAME.fullmatch(value):
            raise serializers.ValidationError(
                "It must be dcm.agent. and then letters, digits, _ or -: no wildcard, no further dot.",
                code="malformed",
            )
        return value


class AgentTaskTypeRead(serializers.Serializer[Any]):
    name = serializers.CharField()
    version = serializers.CharField(allow_blank=True)


class TypeConditionRead(serializers.Serializer[Any]):
    service_type = serializers.CharField()
    status = serializers.ChoiceField(choices=PROVIDER_STATUSES)
    provider = serializers.CharField()
    reason = serializers.CharField()
    since = serializers.DateTimeField()


class AgentRead(serializers.Serializer[Any]):
    agent_id = serializers.UUIDField()
    name = serializers.CharField()
    environment = serializers.CharField()
    service_types = serializers.ListField(child=serializers.CharField())
    advertised_service_types = serializers.ListField(
        child=serializers.CharField(), help_text="Without those whose provider is unavailable."
    )
    service_type_conditions = TypeConditionRead(
        many=True, help_text="Of the types that have, or had, a registered provider."
    )
    task_types = AgentTaskTypeRead(many=True)
    cost = serializers.ChoiceField(choices=COSTS)
    topic_name = serializers.CharField()
    resources_available = serializers.DictField(allow_null=True)
    health_status = serializers.ChoiceField(choices=STATES)
    state_reason = serializers.CharField()
    state_since = serializers.DateTimeField()
    late = serializers.BooleanField(
        help_text="More than 1.5 intervals without a heartbeat, lease still good."
    )
    last_heartbeat = serializers.DateTimeField(help_text="Our clock, at receipt.")
    lease_expires_at = serializers.DateTimeField()
    consumer_lag = serializers.IntegerField()
    clock_skew_ms = serializers.IntegerField(
        allow_null=True,
        help_text="The agent's clock less ours at its last heartbeat, travel time included.",
    )
    heartbeat_interval = serializers.IntegerField(help_text="Seconds between heartbeats.")
    next_heartbeat_in_seconds = serializers.FloatField(help_text="The interval with jitter: beat again then.")
    generation = serializers.IntegerField(help_text="Counts registrations under this name.")
    configuration_etag = serializers.CharField(help_text="Of the agent's configuration; empty without one.")
    conditions = serializers.ListField(
        child=serializers.DictField(), help_text="As the agent said last, beside a heartbeat."
    )
    versions = serializers.DictField(child=serializers.CharField())
    providers = serializers.ListField(
        child=serializers.DictField(), help_text="Health of its service providers."
    )
    create_time = serializers.DateTimeField()
    update_time = serializers.DateTimeField()


class AgentPage(serializers.Serializer[Any]):
    items = AgentRead(many=True)
    next_cursor = serializers.CharField(allow_null=True)


class AgentListQuery(PageQuery):
    health_status = serializers.ChoiceField(
        choices=STATES,
        required=False,
        help_text="Only in this state.",
    )
    environment = serializers.CharField(required=False, help_text="Only of this environment.")
    service_type = serializers.CharField(required=False, help_text="Only those that advertise this.")


class RegistrationQuery(MutationQuery):
    """What a registration takes."""


def show_agent(agent: Agent, policy: LivenessPolicy) -> dict[str, Any]:
    """An agent as the API shows it; `agent` comes from `AgentQuerySet.shown`."""
    lease, report = agent.lease, getattr(agent, "report", None)
    late = agent.state in LIVE and policy.is_late(lease.renewed_at, now=agent.now)  # type: ignore[attr-defined]
    skew = None
    if lease.reported_at is not None:
        skew = round((lease.reported_at - lease.renewed_at).total_seconds() * 1000)
    return {
        "agent_id": str(agent.id),
        **{name: getattr(agent, name) for name in _AS_STORED},
        "advertised_service_types": advertised(agent.service_types, agent.service_type_conditions),
        "health_status": agent.state,
        "late": late,
        "last_heartbeat": lease.renewed_at,
        "lease_expires_at": lease.expires_at,
        "consumer_lag": lease.consumer_lag,
        "clock_skew_ms": skew,
        "heartbeat_interval": int(policy.interval.total_seconds()),
        "next_heartbeat_in_seconds": policy.next_interval(_chance),
        "generation": lease.generation,
        "configuration_etag": lease.configuration_etag,
        "conditions": report.conditions if report else [],
        "versions": report.versions if report else {},
        "providers": report.providers if report else [],
        "create_time": agent.created_at,
        "update_time": agent.updated_at,
    }


_AS_STORED = (
    "name",
    "environment",
    "service_types",
    "service_type_conditions",
    "task_types",
    "cost",
    "topic_name",
    "resources_available",
    "state_reason",
    "state_since",
)
