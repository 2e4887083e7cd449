"""API schemas of service providers: DCM's fields (environment-agents.md 2.4) and our additions."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from rest_framework import serializers

from controlplane.api.endpoints import MutationQuery, ReasonedQuery
from controlplane.api.fields import StrictSerializer, Text
from controlplane.api.pages import PageQuery
from controlplane.api.sort_keys import SortKeys
from controlplane.api.sorting import SortField
from controlplane.api.text_search import SearchField
from registry.api.heartbeats.schemas import PROVIDER_STATUSES, AnyCase
from registry.providers import leases
from registry.providers.health import Health
from registry.providers.models import Provider, ProviderChange
from registry.providers.registration import Kind, ProviderRegistration

KINDS = [(kind.value, kind.value) for kind in Kind]


class ProviderWrite(StrictSerializer):
    name = Text(max_length=255, trim_whitespace=True, help_text="Name of the provider, unique for the agent.")
    endpoint = Text(
        max_length=2000,
        help_text="Address at which the agent reaches the provider. The control plane never calls it.",
    )
    service_type = Text(
        max_length=63,
        trim_whitespace=True,
        help_text="Service type of the provider. One provider serves a type.",
    )
    schema_version = Text(max_length=63, help_text="Version of the schema, such as v1alpha1.")
    type = serializers.ChoiceField(choices=KINDS, required=False, default=Kind.EXTERNAL.value)
    display_name = Text(max_length=255, required=False, default="", allow_blank=True)
    operations = serializers.ListField(
        child=Text(max_length=63),
        required=False,
        max_length=50,
        help_text="Supported operations, such as create, delete and update.",
    )
    metadata = serializers.DictField(
        required=False,
        allow_null=True,
        default=None,
        help_text="Any metadata, such as region_code, zone and resources.",
    )
    status = AnyCase(
        choices=PROVIDER_STATUSES, required=False, help_text="Result of the agent's first probe."
    )


class ProviderQuery(MutationQuery):
    id = serializers.CharField(
        required=False, max_length=200, help_text="Id for a new provider. Default: a UUID."
    )


class RemovalQuery(ReasonedQuery):
    """Query parameters of a removal."""


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
    holds_service_type = serializers.BooleanField(help_text="False once the lease has expired.")
    lease_expires_at = serializers.DateTimeField(
        help_text="Renewed by registering again and by each heartbeat whose report names the provider."
    )
    last_check_time = serializers.DateTimeField(
        allow_null=True, help_text="When a report on the provider was last processed."
    )
    create_time = serializers.DateTimeField()
    update_time = serializers.DateTimeField()


class ProviderPage(serializers.Serializer[Any]):
    items = ProviderRead(many=True)
    next_cursor = serializers.CharField(allow_null=True)


class ProviderListQuery(PageQuery):
    status = serializers.ChoiceField(choices=PROVIDER_STATUSES, required=False, help_text="Filter by state.")
    q = SearchField("name", "display_name", "service_type", "endpoint")
    sort = SortField(
        SortKeys.of(
            "name",
            "service_type",
            status="state",
            status_since="state_since",
            create_time="created_at",
            tie_break="name",
        ),
        default="name",
    )


class ProviderChangeRead(serializers.Serializer[Any]):
    name = serializers.CharField()
    service_type = serializers.CharField()
    old_status = serializers.CharField(allow_blank=True, help_text="Empty for the first registration.")
    new_status = serializers.CharField(allow_blank=True, help_text="Empty for the removal.")
    reason = serializers.CharField()
    actor = serializers.CharField()
    at = serializers.DateTimeField()


class ProviderChangePage(serializers.Serializer[Any]):
    items = ProviderChangeRead(many=True)
    next_cursor = serializers.CharField(allow_null=True)


def registration_from(body: Mapping[str, Any]) -> ProviderRegistration:
    status = body.get("status")
    return ProviderRegistration(
        name=body["name"],
        endpoint=body["endpoint"],
        service_type=body["service_type"],
        schema_version=body["schema_version"],
        kind=Kind(body["type"]),
        display_name=body["display_name"],
        operations=tuple(body.get("operations", ())),
        metadata=body["metadata"],
        status=None if status is None else Health(status),
    )


def show_provider(provider: Provider, lease: timedelta) -> dict[str, Any]:
    """Return the API representation of a provider that is loaded with its agent's lease."""
    return {
        "id": provider.provider_id,
        "path": f"providers/{provider.provider_id}",
        "type": provider.kind,
        **{name: getattr(provider, name) for name in _STORED_FIELDS},
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


_STORED_FIELDS = (
    "name",
    "display_name",
    "endpoint",
    "service_type",
    "schema_version",
    "operations",
    "metadata",
)
