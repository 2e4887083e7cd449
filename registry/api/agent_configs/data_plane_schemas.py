"""Schemas of data planes and bundles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rest_framework import serializers

from controlplane.api.fields import Query, StrictSerializer, Text, Whole
from controlplane.api.pages import PageQuery
from controlplane.api.sort_keys import SortKeys
from controlplane.api.sorting import SortField
from controlplane.api.text_search import SearchField
from controlplane.endpoints.events.schemas import MAX_WAIT_SECONDS
from controlplane.identity.callers import Caller
from overrides.api.schemas import AnyJSONField
from registry.agent_configs.bundles.conditions import AckState
from registry.agent_configs.delivery.data_planes import Format, show_spec
from registry.agent_configs.models import DIALECTS, AgentConfigBundle, DataPlane
from registry.agent_configs.publishing.hidden_teams import hidden_teams, shows_contents
from registry.api.agent_configs.document_schemas import GateHold

FORMATS = [(format.value, format.value) for format in Format]
ACK_STATES = [(ack_state.value, ack_state.value) for ack_state in AckState]
_MOST = 1000
_HIDDEN = "Administrators of all teams can see it."


class ConfigMapName(StrictSerializer):
    name = Text(required=False, max_length=253)
    namespace = Text(required=False, max_length=63)


class DataPlaneWrite(StrictSerializer):
    team = Text(
        required=False,
        allow_null=True,
        max_length=63,
        help_text="The team that owns the data plane; null for the platform. Default: unchanged.",
    )
    dialect = serializers.ChoiceField(
        choices=DIALECTS,
        required=False,
        default="agent",
        help_text="The configuration section that Flyte reads.",
    )
    release = Text(
        required=False, default="1.16.0", max_length=32, help_text="Flyte's release, such as 1.15.3."
    )
    enabled_plugins = serializers.ListField(
        child=Text(max_length=63),
        required=False,
        default=list,
        max_length=_MOST,
        help_text="Plugins enabled in propeller; empty means all.",
    )
    platform = serializers.DictField(
        child=AnyJSONField(),
        required=False,
        default=dict,
        help_text="Settings that teams cannot change, such as `defaultAgent`, by Flyte's names.",
    )
    placeholders = serializers.ListField(
        child=Text(max_length=128),
        required=False,
        default=list,
        max_length=_MOST,
        help_text="Task types to configure while none is claimed.",
    )
    teams = serializers.ListField(
        child=Text(max_length=63),
        required=False,
        default=list,
        max_length=_MOST,
        help_text="Patterns of teams whose documents the data plane gets; empty means all.",
    )
    principal = Text(
        required=False,
        default="",
        allow_blank=True,
        max_length=63,
        help_text="The principal that reads and acknowledges the configuration.",
    )
    stage = Whole(
        required=False,
        default=0,
        min_value=0,
        max_value=100,
        help_text="A change waits until data planes of lower stages have applied it.",
    )
    config_map = ConfigMapName(
        required=False, default=dict, help_text="Name and namespace for `format=configmap`."
    )


class DataPlaneRead(serializers.Serializer[Any]):
    name = serializers.CharField()
    team = serializers.CharField(allow_null=True, help_text="The owner; null for the platform.")
    dialect = serializers.ChoiceField(choices=DIALECTS)
    release = serializers.CharField()
    enabled_plugins = serializers.ListField(child=serializers.CharField())
    platform = serializers.DictField(child=AnyJSONField())
    placeholders = serializers.ListField(child=serializers.CharField())
    teams = serializers.ListField(child=serializers.CharField())
    principal = serializers.CharField()
    stage = serializers.IntegerField()
    config_map = serializers.DictField(child=serializers.CharField())
    version = serializers.IntegerField()
    active_revision = serializers.IntegerField(help_text="The revision that is served; 0 is none.")
    applied_revision = serializers.IntegerField(
        help_text="The revision that the data plane reported as applied."
    )
    latest_revision = serializers.IntegerField()
    activated_at = serializers.DateTimeField(allow_null=True)
    ack_state = serializers.CharField(
        help_text="The last acknowledgement; empty until the active revision is acknowledged."
    )
    acked_at = serializers.DateTimeField(allow_null=True)
    ack_errors = serializers.ListField(child=serializers.DictField(child=serializers.CharField()))
    searching = serializers.BooleanField(help_text="Whether the search for a faulty document is running.")
    held_digest = serializers.CharField(help_text="Digest of the held bundle; empty if none is held.")
    held = GateHold(many=True)
    held_changes = serializers.ListField(child=serializers.CharField())
    held_teams = serializers.ListField(
        child=serializers.CharField(),
        help_text="Teams with a held change; `agent-config-parts` has the reasons.",
    )


class DataPlaneListQuery(PageQuery):
    q = SearchField("name", "release", "principal")
    sort = SortField(SortKeys.of("name", "dialect", "release", tie_break="name"), default="name")


class DataPlanePage(serializers.Serializer[Any]):
    items = DataPlaneRead(many=True)
    next_cursor = serializers.CharField(allow_null=True)


class ConfigQuery(Query):
    format = serializers.ChoiceField(
        choices=FORMATS, required=False, default="yaml", help_text="Format of the document."
    )
    wait = serializers.IntegerField(
        required=False,
        default=0,
        min_value=0,
        max_value=MAX_WAIT_SECONDS,
        help_text="With `If-None-Match`: seconds to wait for a change (long poll).",
    )


class AckErrorWrite(StrictSerializer):
    message = Text(max_length=1000, lines=True)
    path = Text(required=False, default="", allow_blank=True, max_length=1000, help_text="JSON Pointer.")
    document = Text(
        required=False, default="", allow_blank=True, max_length=400, help_text="`source/team/name`."
    )


class AckWrite(StrictSerializer):
    revision = Whole(min_value=1, max_value=2**31 - 1)
    sha256 = Text(required=False, default="", allow_blank=True, max_length=64)
    status = serializers.ChoiceField(choices=ACK_STATES)
    errors = serializers.ListField(  # type: ignore[assignment]  # DRF takes it out of the class
        child=AckErrorWrite(), required=False, default=list, max_length=100
    )


class ApprovalWrite(StrictSerializer):
    digest = Text(max_length=64, help_text="`held_digest` of the data plane or of a team part.")

    class Meta:
        ref_name = "BundleApproval"


class BundleSummary(serializers.Serializer[Any]):
    data_plane = serializers.CharField()
    revision = serializers.IntegerField()
    parent = serializers.IntegerField(  # type: ignore[assignment]  # as above
        help_text="The previously active revision; 0 is none."
    )
    digest = serializers.CharField(help_text="SHA-256 of the document's canonical JSON.")
    changes = serializers.ListField(child=serializers.CharField())
    created_at = serializers.DateTimeField()
    created_by = serializers.CharField()


class BundleRead(BundleSummary):
    text = serializers.CharField(help_text="The document as it is served.")
    inputs = serializers.ListField(child=serializers.CharField(), help_text="Documents in the bundle.")
    dropped = serializers.ListField(child=serializers.CharField(), help_text="Rejected claims.")

    class Meta:
        ref_name = "AgentConfigBundle"


class BundlePage(serializers.Serializer[Any]):
    items = BundleSummary(many=True)
    next_cursor = serializers.CharField(allow_null=True)

    class Meta:
        ref_name = "AgentConfigBundlePage"


class BundleListQuery(PageQuery):
    data_plane = serializers.CharField(required=False, help_text="Only bundles of this data plane.")


class BundleDifferenceRead(serializers.Serializer[Any]):
    changes = serializers.ListField(child=serializers.CharField(), help_text="One line per change.")
    restarts = serializers.ListField(
        child=serializers.CharField(), help_text="Settings that propeller reads only at startup."
    )


def show_plane_to(caller: Caller, plane: DataPlane, held_teams: Sequence[str]) -> dict[str, Any]:
    """Show a data plane without what its bundles say of teams that the caller does not see."""
    shown, hidden = show_plane(plane, held_teams), hidden_teams(caller)
    if shows_contents(plane, hidden):
        return shown
    held = [{"gate": hold["gate"], "message": _HIDDEN} for hold in shown["held"]]
    errors = [{**error, "message": _HIDDEN, "path": "", "document": ""} for error in shown["ack_errors"]]
    visible = [team for team in held_teams if team not in hidden]
    return {**shown, "held": held, "held_changes": [], "held_teams": visible, "ack_errors": errors}


def show_plane(plane: DataPlane, held_teams: Sequence[str]) -> dict[str, Any]:
    hold = plane.held or {"digest": "", "reasons": [], "changes": []}
    names = (
        "name",
        "version",
        "active_revision",
        "applied_revision",
        "latest_revision",
        "activated_at",
        "ack_state",
        "acked_at",
        "ack_errors",
    )
    return {
        **show_spec(plane),
        **{name: getattr(plane, name) for name in names},
        "searching": plane.trial is not None,
        "held_digest": hold["digest"],
        "held": hold["reasons"],
        "held_changes": hold["changes"],
        "held_teams": list(held_teams),
    }


def show_bundle_summary(row: AgentConfigBundle) -> dict[str, Any]:
    names = ("revision", "parent", "digest", "changes", "created_at", "created_by")
    return {"data_plane": row.data_plane_id, **{name: getattr(row, name) for name in names}}


def show_bundle(row: AgentConfigBundle) -> dict[str, Any]:
    inputs = [
        f"{'/'.join(bundle_input['document'])} generation {bundle_input['generation']}"
        for bundle_input in row.body["inputs"]
    ]
    dropped = [f"{'/'.join(verdict['document'])}: {verdict['message']}" for verdict in row.body["dropped"]]
    return {**show_bundle_summary(row), "text": row.text, "inputs": inputs, "dropped": dropped}
