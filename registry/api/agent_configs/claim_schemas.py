"""Schemas of teams, grants, claims and conflicts."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from controlplane.api.fields import StrictSerializer, Text
from controlplane.api.pages import PageQuery
from registry.agent_configs.models import KINDS, AgentConfigGrant, ClaimRecord
from registry.agent_configs.team_models import PublishingTeam
from registry.api.agent_configs.document_schemas import ClaimConflict
from registry.api.agent_configs.source_fields import SourceName


class TeamRead(serializers.Serializer[Any]):
    name = serializers.CharField()
    organisation = serializers.CharField()
    publishers = serializers.ListField(child=serializers.CharField())
    version = serializers.IntegerField()

    class Meta:
        ref_name = "PublishingTeam"


class TeamPage(serializers.Serializer[Any]):
    items = TeamRead(many=True)
    next_cursor = serializers.CharField(allow_null=True)

    class Meta:
        ref_name = "PublishingTeamPage"


class TeamWrite(StrictSerializer):
    organisation = Text(
        required=False,
        default="",
        allow_blank=True,
        max_length=63,
        help_text="Teams of different organisations cannot see each other's documents.",
    )
    publishers = serializers.ListField(
        child=Text(max_length=63), max_length=100, help_text="Principals that may publish for the team."
    )

    class Meta:
        ref_name = "PublishingTeamWrite"


class GrantRead(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    team = serializers.CharField()
    kind = serializers.ChoiceField(choices=KINDS)
    pattern = serializers.CharField()
    created_at = serializers.DateTimeField()
    created_by = serializers.CharField()

    class Meta:
        ref_name = "AgentConfigGrant"


class GrantPage(serializers.Serializer[Any]):
    items = GrantRead(many=True)
    next_cursor = serializers.CharField(allow_null=True)

    class Meta:
        ref_name = "AgentConfigGrantPage"


class GrantWrite(StrictSerializer):
    team = Text(max_length=63)
    kind = serializers.ChoiceField(choices=KINDS, required=False, default="task_type")
    pattern = Text(max_length=128, help_text="A name or a pattern such as `acme_*`.")

    class Meta:
        ref_name = "AgentConfigGrantWrite"


class ClaimRead(serializers.Serializer[Any]):
    """A team's claim to a name in a data plane."""

    data_plane = serializers.CharField()
    kind = serializers.ChoiceField(choices=KINDS)
    name = serializers.CharField()
    version = serializers.IntegerField()
    pin = serializers.CharField()
    team = serializers.CharField()
    document = serializers.CharField()
    established = serializers.BooleanField(help_text="Whether a served bundle has included it.")
    first_accepted_at = serializers.DateTimeField()
    gone_at = serializers.DateTimeField(
        allow_null=True,
        help_text="When the last document with this claim was deleted; the claim is kept for a while.",
    )

    class Meta:
        ref_name = "AgentConfigClaim"


class ClaimPage(serializers.Serializer[Any]):
    items = ClaimRead(many=True)
    next_cursor = serializers.CharField(allow_null=True)

    class Meta:
        ref_name = "AgentConfigClaimPage"


class ClaimListQuery(PageQuery):
    data_plane = serializers.CharField(required=False, help_text="Only claims for this data plane.")
    team = serializers.CharField(required=False, help_text="Only claims of this team.")
    kind = serializers.ChoiceField(choices=KINDS, required=False, help_text="Only claims of this kind.")
    name = serializers.CharField(required=False, help_text="Only claims to this name, such as a task type.")


class ReleaseWrite(StrictSerializer):
    team = Text(max_length=63)
    kind = serializers.ChoiceField(choices=KINDS, required=False, default="task_type")
    name = Text(max_length=128)

    class Meta:
        ref_name = "ClaimRelease"


class TransferWrite(StrictSerializer):
    kind = serializers.ChoiceField(choices=KINDS, required=False, default="task_type")
    name = Text(max_length=128)
    from_team = Text(max_length=63)
    to_team = Text(max_length=63)

    class Meta:
        ref_name = "ClaimTransfer"


class AgentConfigConflict(serializers.Serializer[Any]):
    data_plane = serializers.CharField()
    source = SourceName()  # type: ignore[assignment]  # DRF takes it out
    team = serializers.CharField()
    document = serializers.CharField()
    conflicts = ClaimConflict(many=True)


class ConflictPage(serializers.Serializer[Any]):
    items = AgentConfigConflict(many=True)
    next_cursor = serializers.CharField(allow_null=True)

    class Meta:
        ref_name = "AgentConfigConflictPage"


class ConflictListQuery(PageQuery):
    data_plane = serializers.CharField(required=False, help_text="Only conflicts for this data plane.")
    team = serializers.CharField(required=False, help_text="Only documents of this team.")


def show_team(row: PublishingTeam, publishers: list[str]) -> dict[str, Any]:
    return {
        "name": row.team.slug,
        "organisation": row.organisation,
        "publishers": publishers,
        "version": row.version,
    }


def show_grant(row: AgentConfigGrant) -> dict[str, Any]:
    names = ("team", "kind", "pattern", "created_at", "created_by")
    return {"id": str(row.id), **{name: getattr(row, name) for name in names}}


def show_claim(row: ClaimRecord) -> dict[str, Any]:
    names = ("kind", "name", "version", "pin", "team", "established", "first_accepted_at", "gone_at")
    return {
        "data_plane": row.data_plane_id,
        "document": f"{row.source}/{row.team}/{row.document}",
        **{name: getattr(row, name) for name in names},
    }
