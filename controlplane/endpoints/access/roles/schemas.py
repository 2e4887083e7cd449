"""API schemas of roles, role bindings and the permission matrix."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from controlplane.access.models import CustomRole, PrincipalKind, RoleBinding
from controlplane.access.team_models import Via
from controlplane.api.fields import Instant, StrictSerializer, Text
from controlplane.api.pages import PageQuery
from controlplane.api.scopes import ScopeQuery, ScopeRead, ScopeWrite, show_scope
from controlplane.api.sort_keys import SortKeys
from controlplane.api.sorting import SortField
from controlplane.api.text_search import SearchField
from controlplane.identity.roles import ALLOWED, Action, Role

ACTIONS = [(action.value, action.value) for action in Action]
_TEAM_HELP = "Team on whose objects alone the role has effect. Default: all objects."


class RoleWrite(StrictSerializer):
    name = Text(max_length=63, help_text="Lowercase letters, digits and single inner hyphens.")
    title = Text(required=False, default="", allow_blank=True, max_length=255)
    actions = serializers.ListField(
        child=serializers.ChoiceField(choices=ACTIONS),
        min_length=1,
        max_length=len(ACTIONS),
        help_text="What the role allows. You need each of these permissions yourself, at the global scope.",
    )


class RoleReplacement(StrictSerializer):
    title = Text(required=False, default="", allow_blank=True, max_length=255)
    actions = serializers.ListField(
        child=serializers.ChoiceField(choices=ACTIONS), min_length=1, max_length=len(ACTIONS)
    )


class RoleRead(serializers.Serializer[Any]):
    name = serializers.CharField()
    title = serializers.CharField()
    actions = serializers.ListField(child=serializers.CharField())
    is_built_in = serializers.BooleanField()


class RolePage(serializers.Serializer[Any]):
    items = RoleRead(many=True)
    next_cursor = serializers.CharField(allow_null=True)


class RoleBindingWrite(StrictSerializer):
    principal = Text(required=False, max_length=63, help_text="Who gets the role; or set `team`.")
    team = Text(required=False, max_length=63, help_text="All members of this team get the role.")
    role = Text(max_length=63, help_text="Name of a built-in or custom role. See `/roles`.")
    scope = ScopeWrite(required=False)
    owned_by = Text(required=False, default=None, allow_null=True, max_length=63, help_text=_TEAM_HELP)
    expires_at = Instant(
        required=False, default=None, allow_null=True, help_text="The role has no effect from then on."
    )


class RoleBindingRead(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    principal = serializers.CharField(allow_null=True, help_text="Null if a team has the role.")
    team = serializers.CharField(allow_null=True, help_text="Null if a principal has the role.")
    role = serializers.CharField()
    scope = ScopeRead()
    owned_by = serializers.CharField(allow_null=True, help_text=_TEAM_HELP)
    via = serializers.ChoiceField(
        choices=Via.choices, help_text="Who keeps it: `manual`, or an identity provider by `claim` or `scim`."
    )
    expires_at = serializers.DateTimeField(allow_null=True)
    created_at = serializers.DateTimeField()


class RoleBindingPage(serializers.Serializer[Any]):
    items = RoleBindingRead(many=True)
    next_cursor = serializers.CharField(allow_null=True)


class RoleBindingListQuery(PageQuery):
    principal = serializers.CharField(required=False, help_text="Filter by principal that has the role.")
    team = serializers.CharField(required=False, help_text="Filter by team that has the role.")
    role = serializers.CharField(required=False, help_text="Filter by role.")
    owned_by = serializers.CharField(
        required=False, help_text="Filter by team to whose objects the role is limited."
    )
    q = SearchField("role", principal="principal__name", team="team__slug", owned_by="owned_by__slug")
    sort = SortField(SortKeys.of("role", created_at="id"), default="created_at")


class MatrixQuery(PageQuery, ScopeQuery):
    action = serializers.ChoiceField(choices=ACTIONS, help_text="The action.")
    team = serializers.CharField(
        required=False, help_text="Team that owns the object. Default: objects of the platform."
    )


class MatrixRow(serializers.Serializer[Any]):
    principal = serializers.CharField()
    kind = serializers.ChoiceField(choices=PrincipalKind.choices)
    binding = RoleBindingRead(help_text="The role binding that allows it.")
    member_via = serializers.CharField(
        allow_null=True,
        help_text="Who keeps the membership of the team that has the role. Null: no team is involved.",
    )


class MatrixPage(serializers.Serializer[Any]):
    items = MatrixRow(many=True)
    next_cursor = serializers.CharField(allow_null=True)


def show_role(role: Role | CustomRole) -> dict[str, Any]:
    if isinstance(role, CustomRole):
        shown = {"name": role.name, "title": role.title, "actions": sorted(role.known_actions)}
        return {**shown, "is_built_in": False}
    return {"name": role.value, "title": "", "actions": sorted(ALLOWED[role]), "is_built_in": True}


def show_role_binding(binding: RoleBinding) -> dict[str, Any]:
    return {
        "id": str(binding.id),
        "principal": binding.principal.name if binding.principal else None,
        "team": binding.team.slug if binding.team else None,
        "role": binding.role,
        "scope": show_scope(binding.scope),
        "owned_by": binding.owned_by.slug if binding.owned_by else None,
        "via": binding.via,
        "expires_at": binding.expires_at,
        "created_at": binding.created_at,
    }


def show_matrix_row(row: Any) -> dict[str, Any]:
    """Return a row of `permission_matrix.bindings_that_allow`, with its annotations."""
    return {
        "principal": row.principal_name,
        "kind": row.principal_kind,
        "binding": show_role_binding(row),
        "member_via": row.membership_via,
    }
