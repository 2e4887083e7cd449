"""The shapes of heartbeats: what an agent says, and what it is told."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

from rest_framework import serializers

from controlplane.api.fields import Instant, StrictSerializer, Text, Whole
from registry.agents.liveness import LivenessPolicy, whole_seconds
from registry.agents.states import State
from registry.heartbeats.record import Heartbeat
from registry.heartbeats.renew import Renewal
from registry.heartbeats.reports import PARTS, Report, digest_of

MOST_HEARTBEATS = 1000
LEASE_SECONDS = "How long the agent counts as alive after a heartbeat."
_MAX_LAG = 2**63 - 1
_MOST_PARTS = 100
CONFIGURATION_ETAG = (
    "Of the YAML that the data plane is given which has the name of the agent's environment; empty without"
    " one."
)
CONDITION_STATUSES = [(status, status) for status in ("true", "false", "unknown")]
PROVIDER_STATUSES = [(status, status) for status in ("ready", "unhealthy", "unavailable")]
_chance = random.Random()  # noqa: S311  (jitter is no secret)


class AnyCase(serializers.ChoiceField):
    """A word in any case; lower case is kept."""

    def to_internal_value(self, data: Any) -> Any:
        return super().to_internal_value(data.lower() if isinstance(data, str) else data)


class InstanceField(serializers.UUIDField):
    """A UUID as text, not as a number."""

    def to_internal_value(self, data: Any) -> Any:
        if not isinstance(data, str):
            self.fail("invalid", value=data)
        return super().to_internal_value(data)


INSTANCE = "Made anew by each process of the agent at its start. It tells two processes with one name apart."


# Unlike elsewhere unknown members are ignored: a newer agent must live with an older server.
class ConditionWrite(serializers.Serializer[Any]):
    type = Text(max_length=63, help_text="Such as DiskPressure.")
    status = AnyCase(choices=CONDITION_STATUSES)
    reason = Text(required=False, max_length=255)
    message = Text(required=False, max_length=1000, lines=True)


class ProviderHealthWrite(serializers.Serializer[Any]):
    name = Text(max_length=255)
    service_type = Text(max_length=63)
    status = AnyCase(choices=PROVIDER_STATUSES)
    probes = Whole(
        required=False, min_value=1, max_value=1000, help_text="How many in a row said so; 1 if left out."
    )
    message = Text(required=False, max_length=1000, lines=True)


class HeartbeatWrite(serializers.Serializer[Any]):
    timestamp = Instant(help_text="The agent's clock (RFC 3339). Shown as skew; nothing is judged by it.")
    consumer_lag = Whole(min_value=0, max_value=_MAX_LAG, help_text="Unread and unacknowledged messages.")
    conditions = serializers.ListField(
        child=ConditionWrite(), required=False, max_length=_MOST_PARTS, help_text="Replaces those of before."
    )
    versions = serializers.DictField(
        child=Text(max_length=100), required=False, help_text="Of the agent and its parts, by name."
    )
    providers = serializers.ListField(
        child=ProviderHealthWrite(),
        required=False,
        max_length=_MOST_PARTS,
        help_text="Health of its service providers.",
    )

    instance_uuid = InstanceField(required=False, allow_null=True, help_text=INSTANCE)

    def validate_versions(self, value: dict[str, str]) -> dict[str, str]:
        if len(value) > _MOST_PARTS or any(len(name) > 63 for name in value):
            raise serializers.ValidationError(
                f"{_MOST_PARTS} versions at most, with names of 63 characters at most.", code="too_many"
            )
        return value


class HeartbeatBatchEntry(HeartbeatWrite):
    agent_id = InstanceField()


class UnjudgedList(serializers.ListField):
    """Objects as they were sent: each is judged by itself."""

    def run_child_validation(self, data: Any) -> Any:
        return data


class HeartbeatBatchWrite(StrictSerializer):
    items = UnjudgedList(
        child=HeartbeatBatchEntry(),
        max_length=MOST_HEARTBEATS,
        help_text=f"{MOST_HEARTBEATS} at most, each of another agent. Each is taken or refused by itself.",
    )


class HeartbeatRead(serializers.Serializer[Any]):
    agent_id = serializers.UUIDField()
    health_status = serializers.CharField()
    last_heartbeat = serializers.DateTimeField(help_text="Our clock, at receipt.")
    lease_expires_at = serializers.DateTimeField()
    lease_seconds = serializers.IntegerField(help_text=LEASE_SECONDS)
    heartbeat_interval = serializers.IntegerField(
        help_text="Seconds between heartbeats. Longer in a large fleet."
    )
    next_heartbeat_in_seconds = serializers.FloatField(help_text="The interval with jitter: beat again then.")
    generation = serializers.IntegerField(
        help_text="Counts registrations. Another number than at yours: somebody else has your name."
    )
    directives = serializers.ListField(
        child=serializers.CharField(),
        help_text="What the agent is asked to do: `drain`, or `wait` for approval.",
    )
    configuration_etag = serializers.CharField(help_text=CONFIGURATION_ETAG)


class HeartbeatBatchResult(serializers.Serializer[Any]):
    agent_id = serializers.CharField(allow_blank=True, help_text="As it was sent; empty if that is no text.")
    status = serializers.IntegerField(help_text="As the answer to this heartbeat alone would have.")
    code = serializers.CharField(allow_null=True, help_text="Of the error; null if it was taken.")
    detail = serializers.CharField(allow_null=True)
    errors = serializers.ListField(  # type: ignore[assignment]  # a field; DRF takes it off the class
        child=serializers.DictField(), help_text="What is invalid in this heartbeat, with pointers into it."
    )
    heartbeat = HeartbeatRead(allow_null=True)


class HeartbeatBatchRead(serializers.Serializer[Any]):
    items = HeartbeatBatchResult(many=True, help_text="In the order in which they were sent.")


_DIRECTIVES = {State.DRAINING.value: ["drain"], State.REGISTERED.value: ["wait"]}


def parsed(shape: type[serializers.Serializer[Any]], body: Any) -> dict[str, Any]:
    """Return what is valid. Raises DRF's ValidationError with all that is not."""
    read = shape(data=body)
    read.is_valid(raise_exception=True)
    return dict(read.validated_data)


def heartbeat_of(said: Mapping[str, Any], sent: Any) -> Heartbeat:
    """said: validated; sent: as it came, by which reports are told apart."""
    digest = digest_of(sent)
    parts = {name: said[name] for name in PARTS if name in said}
    report = Report(parts, digest) if digest else None
    return Heartbeat(said["timestamp"], said["consumer_lag"], report, said.get("instance_uuid"))


def show_heartbeat(renewal: Renewal, policy: LivenessPolicy) -> dict[str, Any]:
    return {
        "agent_id": str(renewal.agent_id),
        "health_status": renewal.state,
        "last_heartbeat": renewal.renewed_at,
        "lease_expires_at": renewal.expires_at,
        "lease_seconds": whole_seconds(renewal.expires_at - renewal.renewed_at),
        "heartbeat_interval": int(policy.interval.total_seconds()),
        "next_heartbeat_in_seconds": policy.next_interval(_chance),
        "generation": renewal.generation,
        "directives": _DIRECTIVES.get(renewal.state, []),
        "configuration_etag": renewal.configuration_etag,
    }
