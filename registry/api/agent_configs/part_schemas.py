"""Schemas of team parts."""

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
        child=serializers.CharField(), help_text="Active documents with their generations."
    )
    held_digest = serializers.CharField(help_text="Digest of the held change; empty if none is held.")
    held = GateHold(many=True)
    held_changes = serializers.ListField(child=serializers.CharField(), help_text="One line per change.")
    held_since = serializers.DateTimeField(allow_null=True)

    class Meta:
        ref_name = "AgentConfigPart"


class PartPage(serializers.Serializer[Any]):
    items = PartRead(many=True)
    next_cursor = serializers.CharField(allow_null=True)

    class Meta:
        ref_name = "AgentConfigPartPage"


class PartListQuery(PageQuery):
    data_plane = serializers.CharField(required=False, help_text="Only parts in this data plane.")
    team = serializers.CharField(required=False, help_text="Only parts of this team.")
    held = serializers.BooleanField(
        required=False, help_text="Only parts with, or only without, a held change."
    )


def show_part(row: AgentConfigPart) -> dict[str, Any]:
    hold = row.held or {"digest": "", "reasons": [], "changes": [], "since": None}
    return {
        "data_plane": row.data_plane_id,
        "team": row.team,
        "documents": [f"{'/'.join(document[:3])} generation {document[3]}" for document in row.documents],
        "held_digest": hold["digest"],
        "held": hold["reasons"],
        "held_changes": hold["changes"],
        "held_since": hold["since"],
    }
