"""Schemas of documents and previews."""

from __future__ import annotations

from collections.abc import Container
from typing import Any

from django.db.models import Q
from rest_framework import serializers

from controlplane.api.fields import Flag, Query, StrictSerializer, Text, Whole
from controlplane.api.pages import PageQuery
from controlplane.api.sort_keys import SortKeys
from controlplane.api.sorting import SortField
from controlplane.api.text_search import SearchField
from controlplane.identity.callers import Caller
from registry.agent_configs.claims.redaction import redact_conditions, redact_conflict, redact_observations
from registry.agent_configs.models import AgentConfig
from registry.agent_configs.publishing.hidden_teams import (
    HiddenTeams,
    hidden_teams,
    planes_with_visible_names,
)
from registry.api.agent_configs.source_fields import SourceName

_MOST_PREVIEWED = 100


class DiagnosticRead(serializers.Serializer[Any]):
    code = serializers.CharField()
    severity = serializers.CharField()
    path = serializers.CharField(help_text="JSON Pointer, within `file`.")
    message = serializers.CharField()
    hint = serializers.CharField()
    line = serializers.IntegerField()
    column = serializers.IntegerField()
    file = serializers.CharField(help_text="A key of the ConfigMap's data, or empty.")
    doc_url = serializers.CharField()


class ConditionRead(serializers.Serializer[Any]):
    """A condition in Kubernetes' format."""

    type = serializers.CharField()
    status = serializers.CharField()
    reason = serializers.CharField()
    message = serializers.CharField()
    observed_generation = serializers.IntegerField()
    last_transition_at = serializers.DateTimeField(allow_null=True)

    class Meta:
        ref_name = "AgentConfigCondition"


class ClaimConflict(serializers.Serializer[Any]):
    """A rejected claim with the winner and the reason."""

    kind = serializers.CharField()
    name = serializers.CharField()
    version = serializers.IntegerField()
    pin = serializers.CharField()
    reason = serializers.CharField()
    because = serializers.CharField()
    message = serializers.CharField()
    needs_review = serializers.BooleanField()
    winner_team = serializers.CharField(help_text="Empty if you may not read that team.")
    winner_document = serializers.CharField()


class AgentConfigObservation(serializers.Serializer[Any]):
    subject = serializers.CharField()
    message = serializers.CharField()
    is_warning = serializers.BooleanField()


class AgentConfigDocumentStatus(serializers.Serializer[Any]):
    data_plane = serializers.CharField()
    conditions = ConditionRead(many=True)
    conflicts = ClaimConflict(many=True)
    observations = AgentConfigObservation(many=True)


class QuarantineRead(serializers.Serializer[Any]):
    data_plane = serializers.CharField(help_text="Empty means all data planes.")
    reason = serializers.CharField()
    message = serializers.CharField()
    generation = serializers.IntegerField(help_text="The faulty generation; 0 for the whole document.")
    fallback = serializers.IntegerField(help_text="The generation served instead; 0 is none.")
    until = serializers.DateTimeField(allow_null=True)


class AgentConfigCanary(StrictSerializer):
    project = Text(max_length=63)
    domain = Text(max_length=63)


class AgentConfigFacts(StrictSerializer):
    version = Whole(required=False, default=0, min_value=0, max_value=2**31 - 1)
    is_sync = Flag(required=False, default=False)


class AgentConfigSummary(serializers.Serializer[Any]):
    source = SourceName()  # type: ignore[assignment]  # DRF takes it out
    team = serializers.CharField()
    name = serializers.CharField()
    generation = serializers.IntegerField(help_text="Number of changes, from which the ETag is made.")
    served_generation = serializers.IntegerField(help_text="The last valid generation; 0 is none.")
    valid = serializers.BooleanField()
    digest = serializers.CharField(help_text="SHA-256 of the text.")
    created_at = serializers.DateTimeField()
    changed_at = serializers.DateTimeField()
    changed_by = serializers.CharField()


class AgentConfigRead(AgentConfigSummary):
    text = serializers.CharField()
    facts = serializers.DictField(child=AgentConfigFacts(), help_text="By task type.")
    canary = AgentConfigCanary(allow_null=True)
    diagnostics = DiagnosticRead(many=True)
    quarantines = QuarantineRead(many=True)
    data_planes = AgentConfigDocumentStatus(many=True)


class AgentConfigPage(serializers.Serializer[Any]):
    items = AgentConfigSummary(many=True)
    next_cursor = serializers.CharField(allow_null=True)


class AgentConfigWrite(StrictSerializer):
    text = serializers.CharField(
        trim_whitespace=False, help_text="The document: a ConfigMap, or its content from `plugins:` on."
    )
    facts = serializers.DictField(
        child=AgentConfigFacts(),
        required=False,
        default=dict,
        help_text="Facts about task types: whether they are sync, and their version.",
    )
    canary = AgentConfigCanary(
        required=False,
        allow_null=True,
        default=None,
        help_text="Serve only this project and domain; requires connector-v2.",
    )


_COLUMNS = ("team", "name", "source", "created_at", "changed_at", "changed_by")
_SORT_KEYS = SortKeys({name: (name,) for name in _COLUMNS}, tie_break=("team", "name", "source"))


class AgentConfigListQuery(PageQuery):
    team = serializers.CharField(required=False, help_text="Only documents of this team.")
    source = SourceName(required=False)  # type: ignore[assignment]  # as above
    valid = serializers.BooleanField(required=False, help_text="Only valid, or only invalid, documents.")
    q = SearchField("team", "name", "source", "changed_by")
    sort = SortField(_SORT_KEYS, default="team,name,source")


class SourceQuery(Query):
    source = SourceName(required=False, default="api")  # type: ignore[assignment]  # as above


class DocumentName(StrictSerializer):
    team = Text(max_length=63)
    name = Text(max_length=253)
    source = SourceName(required=False, default="api")  # type: ignore[assignment]  # as above


class QuarantineWrite(DocumentName):
    message = Text(
        required=False,
        default="",
        allow_blank=True,
        max_length=500,
        help_text="The reason, shown to the document's authors.",
    )


class PreviewedChange(DocumentName):
    text = serializers.CharField(
        trim_whitespace=False, allow_null=True, help_text="null previews the deletion."
    )


class PreviewWrite(StrictSerializer):
    items = serializers.ListField(child=PreviewedChange(), max_length=_MOST_PREVIEWED, min_length=1)


class PreviewedDocument(serializers.Serializer[Any]):
    source = SourceName()  # type: ignore[assignment]  # as above
    team = serializers.CharField()
    name = serializers.CharField()
    verdict = serializers.CharField(help_text="`valid`, `invalid` (which changes nothing) or `deleted`.")
    diagnostics = DiagnosticRead(many=True)


class PreviewedStatus(AgentConfigDocumentStatus):
    data_plane = None  # type: ignore[assignment]  # it is in the enclosing object
    team = serializers.CharField()
    name = serializers.CharField()


class GateHold(serializers.Serializer[Any]):
    gate = serializers.CharField()
    message = serializers.CharField()


class PreviewedDataPlane(serializers.Serializer[Any]):
    data_plane = serializers.CharField()
    affected = serializers.BooleanField()
    digest = serializers.CharField()
    changes = serializers.ListField(child=serializers.CharField(), help_text="One line per change.")
    held = GateHold(many=True)
    documents = PreviewedStatus(many=True)


class PreviewRead(serializers.Serializer[Any]):
    documents = PreviewedDocument(many=True)
    data_planes = PreviewedDataPlane(many=True)


def show_summary(row: AgentConfig) -> dict[str, Any]:
    return {
        "source": row.source,
        "team": row.team,
        "name": row.name,
        "generation": row.generation,
        "served_generation": row.content_generation,
        "valid": row.is_valid,
        "digest": row.digest,
        "created_at": row.created_at,
        "changed_at": row.changed_at,
        "changed_by": row.changed_by,
    }


def show_document(row: AgentConfig, caller: Caller) -> dict[str, Any]:
    """Show a document with its status in the data planes that the caller may see."""
    hidden = hidden_teams(caller)
    named = planes_with_visible_names(caller)
    return {
        **show_summary(row),
        "text": row.text,
        "facts": row.facts,
        "canary": row.canary,
        "diagnostics": row.diagnostics,
        "quarantines": [
            {
                "data_plane": quarantine.data_plane_id or "",
                "reason": quarantine.reason,
                "message": quarantine.message,
                "generation": quarantine.generation,
                "fallback": quarantine.fallback,
                "until": quarantine.until,
            }
            for quarantine in row.quarantines.filter(Q(data_plane=None) | named).order_by("id")
        ],
        "data_planes": [
            {
                "data_plane": status.data_plane_id,
                **show_status(status.conditions, status.conflicts, status.observations, hidden),
            }
            for status in row.statuses.filter(named).order_by("data_plane")
        ],
    }


def show_status(
    conditions: list[dict[str, Any]],
    conflicts: list[dict[str, Any]],
    observations: list[dict[str, Any]],
    hidden: HiddenTeams,
) -> dict[str, Any]:
    """Show the status of a document in one data plane."""
    return {
        "conditions": redact_conditions(conditions, conflicts, hidden),
        "conflicts": show_conflicts(conflicts, hidden),
        "observations": observations if hidden.all_but is None else redact_observations(observations),
    }


def show_conflicts(stored: list[dict[str, Any]], hidden: Container[str]) -> list[dict[str, Any]]:
    """Show conflicts without winners of hidden teams."""
    return [_show_conflict(conflict, hidden) for conflict in stored]


def _show_conflict(conflict: dict[str, Any], hidden: Container[str]) -> dict[str, Any]:
    """Show a conflict. Older rows lack the winner's message."""
    names = ("kind", "name", "version", "pin", "reason", "because", "needs_review")
    fields = {name: conflict[name] for name in names} | {"winner_team": "", "winner_document": ""}
    fields["message"] = redact_conflict(conflict, hidden)
    winner = conflict["winner"]
    if winner is None or winner["team"] in hidden:
        return fields
    return fields | {
        "message": winner.get("message", conflict["message"]),
        "winner_team": winner["team"],
        "winner_document": "/".join(winner["document"]),
    }
