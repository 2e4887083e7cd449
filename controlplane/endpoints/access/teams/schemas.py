"""API schemas of teams, members and organisations."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from controlplane.access.models import Principal, PrincipalKind
from controlplane.access.team_models import Organisation, Team, Via
from controlplane.api.fields import StrictSerializer, Text
from controlplane.api.pages import PageQuery
from controlplane.api.sort_keys import SortKeys
from controlplane.api.sorting import SortField
from controlplane.api.text_search import SearchField

_NAME_HELP = "Lowercase letters, digits and single inner hyphens."


class TeamWrite(StrictSerializer):
    slug = Text(max_length=63, help_text=_NAME_HELP)
    title = Text(required=False, default="", allow_blank=True, max_length=255)
    external_group = Text(
        required=False,
        default=None,
        allow_null=True,
        max_length=255,
        help_text="Group of the identity provider that the team mirrors (SCIM).",
    )
    organisation = Text(
        required=False, max_length=63, help_text="Default: the organisation `default`. See `/organisations`."
    )


class TeamReplacement(StrictSerializer):
    title = Text(required=False, default="", allow_blank=True, max_length=255)
    external_group = Text(
        required=False,
        default=None,
        allow_null=True,
        max_length=255,
        help_text="Only administrators of the installation may change it.",
    )


class TeamRead(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    slug = serializers.CharField()
    title = serializers.CharField()
    organisation = serializers.CharField()
    external_group = serializers.CharField(allow_null=True)
    created_at = serializers.DateTimeField()


class TeamPage(serializers.Serializer[Any]):
    items = TeamRead(many=True)
    next_cursor = serializers.CharField(allow_null=True)


class MemberRead(serializers.Serializer[Any]):
    principal = serializers.CharField()
    kind = serializers.ChoiceField(choices=PrincipalKind.choices)
    display_name = serializers.CharField()
    is_active = serializers.BooleanField()
    via = serializers.ListField(
        child=serializers.ChoiceField(choices=Via.choices),
        help_text="Who keeps the membership: `manual`, or an identity provider by `claim` or `scim`.",
    )


class MemberPage(serializers.Serializer[Any]):
    items = MemberRead(many=True)
    next_cursor = serializers.CharField(allow_null=True)


class MemberListQuery(PageQuery):
    q = SearchField("display_name", principal="name")
    sort = SortField(
        SortKeys.of("kind", "display_name", principal="name", tie_break="name"), default="principal"
    )


class TeamListQuery(PageQuery):
    member = serializers.CharField(required=False, help_text="Filter by member.")
    q = SearchField("slug", "title")
    sort = SortField(SortKeys.of("slug", "title", "created_at"), default="slug")


class OrganisationListQuery(PageQuery):
    q = SearchField("slug", "title")
    sort = SortField(SortKeys.of("slug", "title", "created_at", tie_break="slug"), default="slug")


class OrganisationWrite(StrictSerializer):
    slug = Text(max_length=63, help_text=_NAME_HELP)
    title = Text(required=False, default="", allow_blank=True, max_length=255)


class OrganisationRead(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    slug = serializers.CharField()
    title = serializers.CharField()
    created_at = serializers.DateTimeField()


class OrganisationPage(serializers.Serializer[Any]):
    items = OrganisationRead(many=True)
    next_cursor = serializers.CharField(allow_null=True)


def show_team(team: Team) -> dict[str, Any]:
    names = ("slug", "title", "external_group", "created_at")
    shown = {name: getattr(team, name) for name in names}
    return {"id": str(team.id), **shown, "organisation": team.organisation.slug}


def show_member(principal: Principal) -> dict[str, Any]:
    """Return a principal whose memberships of one team are prefetched."""
    return {
        "principal": principal.name,
        "kind": principal.kind,
        "display_name": principal.display_name,
        "is_active": principal.is_active,
        "via": sorted(row.via for row in principal.memberships.all()),
    }


def show_organisation(organisation: Organisation) -> dict[str, Any]:
    return dict(OrganisationRead(organisation).data)
