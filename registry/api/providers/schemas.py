"""The shapes of service providers in the API: DCM's fields (environment-agents.md 2.4), and what we add."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from rest_framework import serializers

from controlplane.api.endpoints import MutationQuery, ReasonedQuery
from controlplane.api.fields import StrictSerializer, Text
from controlplane.api.pages import PageQuery
from registry.api.heartbeats.schemas import PROVIDER_STATUSES, AnyCase
from registry.providers import leases
from registry.providers.health import Health
from registry.providers.models import Provider, ProviderChange
from registry.providers.registration import Kind, ProviderRegistration

KINDS = [(one.value, one.value) for one in Kind]


class ProviderWrite(StrictSerializer):
    name = Text(max_length=255, trim_whitespace=True, help_text="Its natural key at the agent.")
    endpoint = Text(max_length=2000, help_text="Where the agent reaches it. We never call it.")
    service_type = Text(max_length=63, trim_whitespace=True, help_text="One provider serves a type.")
    schema_version = Text(max_length=63, help_text="Such as v1alpha1.")
    type = serializers.ChoiceField(choices=KINDS, required=False, default=Kind.EXTERNAL.value)
    display_name = Text(max_length=255, required=False, default="", allow_blank=True)
    operations = serializers.ListField(
        child=Text(max_length=63), required=False, max_length=50, help_text="create, delete, update."
    )
    metadata = serializers.DictField(
        required=False, allow_null=True, default=None, help_text="region_code, zone, resources and the like."
    )
    status = AnyCase(
        choices=PROVIDER_STATUSES, required=False, help_text="What the agent's first probe said."
    )


class ProviderQuery(MutationQuery):
    id = serializers.CharField(
        required=False, max_length=200, help_text="Its id, for a new one. Left out: a UUID."
    )


class RemovalQuery(ReasonedQuery):
    """What taking a provider away takes."""


class ProviderRead(serializers.Serializer[Any]):
    id = serializers.CharField()
    path = serializers.CharField()
    type = serializers.ChoiceField(choices=KINDS)
    name = serializers.CharField()
    display_name = serializers.CharField(allow_blank=True)
    endpoint = serializers.CharField()
    service_type = serializers.CharField()
    schema_version = serializers.CharField()
    operations = serializers.ListField(child=serializers.CharField())
    metadata = serializers.DictField(allow_null=True)
    status = serializers.ChoiceField(choices=PROVIDER_STATUSES)
    status_reason = serializers.CharField()
    status_since = serializers.DateTimeField()
    holds_service_type = serializers.BooleanField(help_text="False once its lease ran out.")
    lease_expires_at = serializers.DateTimeField(
        help_text="Renewed by registering again, and by each heartbeat whose report names it."
    )
    last_check_time = serializers.DateTimeField(
        allow_null=True, help_text="When a report of it was looked at."
    )
    create_time = serializers.DateTimeField()
    update_time = serializers.DateTimeField()


class ProviderPage(serializers.Serializer[Any]):
    items = ProviderRead(many=True)
    next_cursor = serializers.CharField(allow_null=True)


class ProviderListQuery(PageQuery):
    status = serializers.ChoiceField(
        choices=PROVIDER_STATUSES, required=False, help_text="Only in this state."
    )


class ProviderChangeRead(serializers.Serializer[Any]):
    name = serializers.CharField()
    service_type = serializers.CharField()
    old_status = serializers.CharField(allow_blank=True, help_text="Empty at its first registration.")
    new_status = serializers.CharField(allow_blank=True, help_text="Empty when it was taken away.")
    reason = serializers.CharField()
    actor = serializers.CharField()
    at = serializers.DateTimeField()


class ProviderChangePage(serializers.Serializer[Any]):
    items = ProviderChangeRead(many=True)
    next_cursor = serializers.CharField(allow_null=True)


def registration_of(said: Mapping[str, Any]) -> ProviderRegistration:
    status = said.get("status")
    return ProviderRegistration(
        name=said["name"],
        endpoint=said["endpoint"],
        service_type=said["service_type"],
        schema_version=said["schema_version"],
        kind=Kind(said["type"]),
        display_name=said["display_name"],
        operations=tuple(said.get("operations", ())),
        metadata=said["metadata"],
        status=None if status is None else Health(status),
    )


def show_provider(provider: Provider, lease: timedelta) -> dict[str, Any]:
    """A provider as the API shows it, loaded with its agent's lease."""
    return {
        "id": provider.provider_id,
        "path": f"providers/{provider.provider_id}",
        "type": provider.kind,
        **{name: getattr(provider, name) for name in _AS_STORED},
        "status": provider.state,
        "status_reason": provider.state_reason,
        "status_since": provider.state_since,
        "holds_service_type": provider.holds_type,
        "lease_expires_at": leases.end_of(provider, provider.agent.lease, lease),
        "last_check_time": provider.checked_at,
        "create_time": provider.created_at,
        "update_time": provider.updated_at,
    }


def show_change(change: ProviderChange) -> dict[str, Any]:
    return {
        "name": change.name,
        "service_type": change.service_type,
        "old_status": change.old,
        "new_status": change.new,
        "reason": change.reason,
        "actor": change.actor,
        "at": change.at,
    }


_AS_STORED = (
    "name",
    "display_name",
    "endpoint",
    "service_type",
    "schema_version",
    "operations",
    "metadata",
)
