"""The shapes of teams' parts of configurations in the API."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from controlplane.api.pages import PageQuery
from registry.agent_configs.part_models import AgentConfigPart
from registry.api.agent_configs.document_schemas import GateHold


class PartRead(serializers.Serializer[Any]):
    data_plane = serializers.CharField()
    team = serializers.CharField()
    documents = serializers.ListField(
        child=serializers.CharField(), help_text="In force, each with its generation."
    )
    held_digest = serializers.CharField(help_text="Of a change that waits; empty if none does.")
    held = GateHold(many=True)
    held_changes = serializers.ListField(child=serializers.CharField(), help_text="One line for each change.")
    held_since = serializers.DateTimeField(allow_null=True)

    class Meta:
        ref_name = "AgentConfigPart"


class PartPage(serializers.Serializer[Any]):
    items = PartRead(many=True)
    next_cursor = serializers.CharField(allow_null=True)

    class Meta:
        ref_name = "AgentConfigPartPage"


class PartListQuery(PageQuery):
    data_plane = serializers.CharField(required=False, help_text="Only in this one.")
    team = serializers.CharField(required=False, help_text="Only of this team.")
    held = serializers.BooleanField(required=False, help_text="Only where a change waits, or none does.")


def show_part(row: AgentConfigPart) -> dict[str, Any]:
    held = row.held or {"digest": "", "reasons": [], "changes": [], "since": None}
    return {
        "data_plane": row.data_plane_id,
        "team": row.team,
        "documents": [f"{'/'.join(one[:3])} generation {one[3]}" for one in row.documents],
        "held_digest": held["digest"],
        "held": held["reasons"],
        "held_changes": held["changes"],
        "held_since": held["since"],
    }
