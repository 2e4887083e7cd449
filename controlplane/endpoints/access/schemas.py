"""API schemas of principals, tokens and audit records."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from controlplane.access.models import AuditRecord, Principal, PrincipalKind, Token
from controlplane.api.fields import Flag, Instant, StrictSerializer, Text
from controlplane.api.pages import PageQuery
from controlplane.api.scans import NOTE
from controlplane.api.scopes import ScopeRead, ScopeWrite, show_scope
from controlplane.api.sort_keys import SortKeys
from controlplane.api.sorting import SortField
from controlplane.api.text_search import SearchField
from controlplane.api.time_range import DESCENDING, ORDERS, TIME_KEYS, SinceField, UntilField, with_order
from controlplane.identity.roles import Action
from controlplane.scopes import Scope

ACTIONS = [(action.value, action.value) for action in Action]


class GrantedRole(serializers.Serializer[Any]):
    role = serializers.CharField()
    scope = ScopeRead()
    owned_by = serializers.CharField(
        allow_null=True, help_text="Team on whose objects alone the role has effect. Null: all objects."
    )


class CurrentPrincipalRead(serializers.Serializer[Any]):
    name = serializers.CharField()
    kind = serializers.CharField(help_text="`person`, `service`, `agent` or `anonymous`.")
    grants = GrantedRole(many=True, help_text="Roles of the caller and of its teams.")
    teams = serializers.ListField(child=serializers.CharField(), help_text="Names of the caller's teams.")


class PermissionCheckWrite(StrictSerializer):
    action = serializers.ChoiceField(choices=ACTIONS)
    scope = ScopeWrite(required=False)
    team = Text(
        required=False,
        max_length=63,
        help_text="Team that owns the object. Default: the platform.",
    )
    organisation = Text(
        required=False, max_length=63, help_text="Your organisation. Nobody may act in another one."
    )


class PermissionCheckRead(serializers.Serializer[Any]):
    allowed = serializers.BooleanField()
    reason = serializers.CharField()


class PrincipalWrite(StrictSerializer):
    name = Text(max_length=63, help_text="Letters, digits and . _ @ - (not at the start or end).")
    kind = serializers.ChoiceField(choices=PrincipalKind.choices)
    password = Text(
        required=False,
        default="",
        allow_blank=True,
        max_length=128,
        help_text="Password for the console. Only for people.",
    )
    organisation = Text(
        required=False,
        default="default",
        max_length=63,
        help_text="Organisation of the principal. Other than `default` only with ORGANISATIONS=on.",
    )


class PrincipalPatch(StrictSerializer):
    is_active = Flag(help_text="`false` disables the principal: its tokens and sessions stop working.")


class PrincipalRead(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    name = serializers.CharField()
    kind = serializers.ChoiceField(choices=PrincipalKind.choices)
    is_active = serializers.BooleanField()
    organisation = serializers.CharField(source="organisation.slug")
    created_at = serializers.DateTimeField()


class PrincipalPage(serializers.Serializer[Any]):
    items = PrincipalRead(many=True)
    next_cursor = serializers.CharField(allow_null=True)


class PrincipalListQuery(PageQuery):
    q = SearchField("name")
    sort = SortField(SortKeys.of("name", "kind", "is_active", "created_at", tie_break="name"), default="name")


class TokenWrite(StrictSerializer):
    name = Text(max_length=63, help_text="Purpose of the token.")
    principal = Text(
        required=False,
        max_length=63,
        help_text="Owner of the token. Default: the caller. Other owners require administration of access.",
    )
    expires_at = Instant(
        required=False,
        allow_null=True,
        help_text="Time of expiry, at most that of the token in use. Omitted: 90 days from now, unless the"
        " operator changed the default. null: never; only for administrators.",
    )


class TokenRead(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    principal = serializers.CharField(source="principal.name")
    name = serializers.CharField()
    hint = serializers.CharField(help_text="First characters of the token.")
    created_with = serializers.UUIDField(
        source="parent_id",
        allow_null=True,
        help_text="Id of the token with which this token was created. Revoking that token also revokes this"
        " one.",
    )
    created_at = serializers.DateTimeField()
    expires_at = serializers.DateTimeField(allow_null=True)
    revoked_at = serializers.DateTimeField(allow_null=True)
    last_used_at = serializers.DateTimeField(allow_null=True)


class CreatedToken(TokenRead):
    token = serializers.CharField(
        allow_null=True,
        help_text="The secret. Returned only once; null in a dry run and for a repeated request.",
    )


class TokenPage(serializers.Serializer[Any]):
    items = TokenRead(many=True)
    next_cursor = serializers.CharField(allow_null=True)


class TokenListQuery(PageQuery):
    principal = serializers.CharField(
        required=False, help_text="Owner. Default: the caller. Other owners require administration of access."
    )
    q = SearchField("name", "hint")
    sort = SortField(SortKeys.of("name", created_at="id"), default="created_at")


class AuditRecordRead(serializers.Serializer[Any]):
    id = serializers.IntegerField()
    at = serializers.DateTimeField()
    actor = serializers.CharField()
    action = serializers.CharField()
    object_type = serializers.CharField()
    object_id = serializers.CharField()
    scope = ScopeRead()
    before = serializers.DictField(
        allow_null=True, help_text="The object before the change; null if it was created."
    )
    after = serializers.DictField(
        allow_null=True, help_text="The object after the change; null if it was deleted."
    )
    reason = serializers.CharField()
    request_id = serializers.CharField()
    client = serializers.CharField(
        allow_null=True, help_text="The OAuth client through which the actor acted."
    )
    identity = serializers.CharField(
        allow_null=True,
        help_text="The actor's identity at the identity provider, as `<issuer>#<subject>`.",
    )
    session_hint = serializers.CharField(
        allow_null=True, help_text="The session or token in use, by its first characters."
    )


class AuditPage(serializers.Serializer[Any]):
    items = AuditRecordRead(many=True)
    next_cursor = serializers.CharField(allow_null=True)


class AuditListQuery(PageQuery):
    actor = serializers.CharField(required=False, help_text="Filter by actor.")
    object_type = serializers.CharField(required=False, help_text="Filter by object type.")
    object_id = serializers.CharField(required=False, help_text="Filter by object id.")
    request_id = serializers.CharField(required=False, help_text="Filter by request id.")
    action = serializers.CharField(
        required=False, help_text=f"Filter by action, such as `override.changed`. {NOTE}"
    )
    project = serializers.CharField(required=False, help_text="At scopes of this project; see `action`.")
    domain = serializers.CharField(required=False, help_text="At scopes of this domain; see `action`.")
    since = SinceField()
    until = UntilField()
    order = serializers.ChoiceField(
        choices=ORDERS, required=False, default=DESCENDING, help_text="Sort order. `desc`: newest first."
    )
    sort = SortField(TIME_KEYS, help_text="The same as `order`: `at` or `-at`.")
    q = SearchField("actor", "action", "object_id", "reason", "before", "after", note=NOTE)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        return with_order(attrs, self.initial_data)


def show_principal(principal: Principal) -> dict[str, Any]:
    return dict(PrincipalRead(principal).data)


def show_token(token: Token) -> dict[str, Any]:
    return dict(TokenRead(token).data)


def show_audit_record(record: AuditRecord) -> dict[str, Any]:
    names = (
        "id",
        "at",
        "actor",
        "action",
        "object_type",
        "object_id",
        "before",
        "after",
        "reason",
        "request_id",
        "client",
        "identity",
        "session_hint",
    )
    scope = Scope(record.domain, record.project, record.workflow, record.launch_plan)
    return {name: getattr(record, name) for name in names} | {"scope": show_scope(scope)}
