"""API schemas of resources."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from django.core.validators import RegexValidator
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from controlplane.api.endpoints import ReasonedQuery
from controlplane.api.fields import Query, StrictSerializer, Text, WordsField
from controlplane.api.pages import PageQuery
from controlplane.api.scans import NOTE
from controlplane.api.scopes import ScopeWrite
from controlplane.api.sorting import SortField
from controlplane.api.text_search import SearchField
from controlplane.errors import InvalidRequest, InvalidScope
from controlplane.formats import label_selectors as selectors
from controlplane.scopes import SEGMENTS, Scope
from registry.api.agents.schemas import LabelsField
from registry.dispatch.lifecycle.states import Goal, ResourceState
from registry.dispatch.models import ResourceRow
from registry.dispatch.resources.search import SORT_KEYS

STATES = [(state.value, state.value) for state in ResourceState]
GOALS = [(goal.value, goal.value) for goal in Goal]
MAX_SPEC_BYTES = 256 * 1024
_MAX_WAIT_SECONDS = 60
ID_PATTERN = r"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$"
# It is part of the subject of its statuses in NATS, where a dot separates, and * and > match anything.
SERVICE_TYPE_PATTERN = r"^[A-Za-z0-9]([A-Za-z0-9_-]{0,61}[A-Za-z0-9])?$"
SERVICE_TYPE_MESSAGE = (
    "A service type must have 1 to 63 letters, digits, _ and -, and must not begin or end with _ or -."
)
_ID_MESSAGE = "An id must have 1 to 63 characters of a-z, 0-9 and -, and must not begin or end with -."


@extend_schema_field({"type": "object", "additionalProperties": True})
class SpecField(serializers.Field[Any, Any, Any, Any]):
    """A JSON object of limited size."""

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        if not isinstance(data, dict):
            raise serializers.ValidationError("This must be an object.", code="wrong_type")
        size = len(json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode())
        if size > MAX_SPEC_BYTES:
            raise serializers.ValidationError(
                f"The spec has {size} bytes as JSON, and at most {MAX_SPEC_BYTES} are allowed. Store large "
                "content elsewhere, and put its address into the spec.",
                code="too_large",
            )
        return data

    def to_representation(self, value: Any) -> Any:
        return value


class PlacementWrite(StrictSerializer):
    environment = Text(max_length=255, required=False, help_text="Only agents of this environment.")
    agent = Text(max_length=255, required=False, help_text="Only the agent with this name.")
    selector = Text(
        max_length=2000,
        required=False,
        help_text="Only agents whose labels match, such as `region in (eu,us),!old`.",
    )

    def validate_selector(self, value: str) -> str:
        try:
            selectors.parse(value)
        except InvalidRequest as error:
            raise serializers.ValidationError(error.detail, code="malformed") from error
        return value


class ResourceRequestWrite(ScopeWrite):
    """A request of a resource, without its spec."""

    service_type = Text(
        trim_whitespace=True,
        validators=[RegexValidator(SERVICE_TYPE_PATTERN, SERVICE_TYPE_MESSAGE)],
        help_text="What to create, such as vm or container.",
    )
    team = Text(
        max_length=63,
        required=False,
        allow_null=True,
        default=None,
        help_text="Name of the team that owns the resource. Default: the only team that your roles are "
        "limited to, otherwise the platform. Agents of a team get only resources of that team.",
    )
    labels = LabelsField(
        required=False, default=dict, help_text="Labels in Kubernetes syntax, for use in selectors."
    )
    placement = PlacementWrite(required=False, default=dict, help_text="Which agents can get the resource.")


class ResourceWrite(ResourceRequestWrite):
    spec = SpecField(
        help_text=(
            f"What the provider gets: any object of at most {MAX_SPEC_BYTES // 1024} KiB. If there is a "
            "resource type with the name of the service type, its schema and its guard rails apply. Do not "
            "put secrets into a spec: everybody who can read the resource can read it."
        )
    )


class ResourcePlacementRead(serializers.Serializer[Any]):
    environment = serializers.CharField(required=False)
    agent = serializers.CharField(required=False)
    selector = serializers.CharField(required=False)


class ResourceRead(serializers.Serializer[Any]):
    id = serializers.CharField()
    service_type = serializers.CharField()
    spec = serializers.DictField()
    project = serializers.CharField()
    domain = serializers.CharField()
    workflow = serializers.CharField()
    launch_plan = serializers.CharField()
    team = serializers.CharField(
        allow_null=True, help_text="Name of the team that owns the resource; null for the platform."
    )
    labels = serializers.DictField(child=serializers.CharField())
    placement = ResourcePlacementRead(help_text="Which agents can get the resource.")
    goal = serializers.ChoiceField(choices=GOALS, help_text="What was last requested.")
    state = serializers.ChoiceField(choices=STATES)
    state_since = serializers.DateTimeField()
    reason = serializers.CharField(help_text="Why the resource is in this state.")
    agent = serializers.CharField(allow_null=True, help_text="Name of its last agent.")
    agent_id = serializers.UUIDField(allow_null=True)
    epoch = serializers.IntegerField(help_text="Number of its last assignment to an agent; 0 before any.")
    status = serializers.CharField(help_text="Last status that its provider reported.")
    output = serializers.DictField(allow_null=True, help_text="Last output of its provider.")
    created_by = serializers.CharField()
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()
    deleted_at = serializers.DateTimeField(allow_null=True)
    version = serializers.IntegerField(help_text="Rises with each change; the number in the ETag.")


class ResourcePage(serializers.Serializer[Any]):
    items = ResourceRead(many=True)
    next_cursor = serializers.CharField(allow_null=True)


class ResourceListQuery(PageQuery):
    repeatable = frozenset({"state"})

    state = WordsField(
        ResourceState,
        kind="a state",
        required=False,
        help_text="Filter by states, repeated or separated by commas: " + ", ".join(ResourceState) + ".",
    )
    service_type = serializers.CharField(required=False, help_text="Filter by service type.")
    project = serializers.CharField(required=False, help_text="Filter by project.")
    domain = serializers.CharField(required=False, help_text="Filter by domain.")
    agent = serializers.CharField(required=False, help_text="Filter by the name of the last agent.")
    team = serializers.CharField(required=False, help_text="Filter by the team that owns the resources.")
    selector = serializers.CharField(
        required=False,
        default="",
        allow_blank=True,
        help_text="Label selector as in Kubernetes: app=web,tier!=dev,region in (eu,us),!old.",
    )
    q = SearchField("id", "service_type", "reason", "created_by", agent="agent_name", note=NOTE)
    sort = SortField(SORT_KEYS, default="id")
    show_deleted = serializers.BooleanField(
        required=False, default=False, help_text="Include deleted resources, until their records expire."
    )


class ResourceCreationQuery(ReasonedQuery):
    id = serializers.RegexField(
        ID_PATTERN,
        required=False,
        error_messages={"invalid": _ID_MESSAGE},
        help_text="Id of the resource. Default: a UUID.",
    )


class ResourceGetQuery(Query):
    wait = serializers.IntegerField(
        required=False,
        default=0,
        min_value=0,
        max_value=_MAX_WAIT_SECONDS,
        help_text="With `If-None-Match`: seconds to wait for another state.",
    )


class ResourceDeletionQuery(ReasonedQuery):
    force = serializers.BooleanField(
        required=False,
        default=False,
        help_text="Mark the resource as deleted without an answer of its agent. Requires `dispatch.operate`.",
    )


class ResourceRetryQuery(ReasonedQuery):
    force = serializers.BooleanField(
        required=False,
        default=False,
        help_text="Give up deletions that failed, instead of sending them again. Requires "
        "`dispatch.operate`.",
    )


def scope_in(body: dict[str, Any]) -> Scope:
    """Return the scope in a body. Raises InvalidScope, with pointers into the body."""
    try:
        return Scope(**{name: body[name] for name in SEGMENTS})
    except InvalidScope as error:
        error.errors = tuple(
            replace(field_error, pointer=f"/{field_error.pointer.removeprefix('?')}")
            for field_error in error.errors
        )
        raise


def show_resource(row: ResourceRow) -> dict[str, Any]:
    return {
        **{name: getattr(row, name) for name in _STORED_FIELDS},
        "team": row.team.slug if row.team else None,
        "placement": row.constraints,
        "agent": row.agent_name or None,
        "agent_id": str(row.agent_id) if row.agent_id else None,
    }


_COMPUTED = {"team", "placement", "agent", "agent_id"}
_STORED_FIELDS = tuple(name for name in ResourceRead().get_fields() if name not in _COMPUTED)
