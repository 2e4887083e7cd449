"""API schemas of OAuth clients, their secrets and signing keys."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from controlplane.access.oauth.client_specs import GRANTS
from controlplane.access.oauth.models import ClientSecret, ClientSource, OAuthClient, SigningKey
from controlplane.api.fields import Flag, Instant, StrictSerializer, Text
from controlplane.api.pages import PageQuery
from controlplane.api.sort_keys import SortKeys
from controlplane.api.sorting import SortField
from controlplane.api.text_search import SearchField

CLIENT_TYPES = [("public", "public"), ("confidential", "confidential")]
GRANT_NAMES = [(grant, grant) for grant in GRANTS]
SIGNING_KEY_STATES = SigningKey.State.choices


class _Texts(serializers.ListField):
    """A list of short texts without repetitions."""

    def __init__(self, **arguments: Any) -> None:
        super().__init__(child=Text(max_length=2000), max_length=50, **arguments)


class OAuthClientPatch(StrictSerializer):
    name = Text(required=False, max_length=255, help_text="Shown to people who are asked for consent.")
    redirect_uris = _Texts(
        required=False,
        help_text="Addresses to which people return: https://, or http:// on loopback. Public clients may use"
        " any port of a loopback address.",
    )
    grants = serializers.ListField(
        child=serializers.ChoiceField(choices=GRANT_NAMES),
        required=False,
        help_text="Grant types that the client may use.",
    )
    scopes = _Texts(
        required=False, help_text="Scopes that the client may request. `publish:*` allows all teams."
    )
    default_scopes = _Texts(required=False, help_text="Scopes of requests that name none.")
    audiences = _Texts(
        required=False, help_text="Other resource servers for which the client may request JWTs."
    )
    principal = Text(
        required=False,
        allow_blank=True,
        max_length=63,
        help_text="Service that the client acts as with `client_credentials`. Empty: none.",
    )
    team = Text(required=False, allow_blank=True, max_length=63, help_text="Owner. Empty: the platform.")
    may_introspect = Flag(required=False, help_text="Whether it may introspect tokens of other clients.")
    is_active = Flag(required=False, help_text="`false` disables the client and revokes its tokens.")


class OAuthClientWrite(OAuthClientPatch):
    client_id = Text(max_length=100, help_text="Letters, digits and . _ - (not at the start or end).")
    type = serializers.ChoiceField(
        choices=CLIENT_TYPES,
        required=False,
        default="confidential",
        help_text="`public` clients, such as command-line tools, have no secret.",
    )


class OAuthClientRead(serializers.Serializer[Any]):
    client_id = serializers.CharField()
    name = serializers.CharField()
    type = serializers.ChoiceField(choices=CLIENT_TYPES)
    redirect_uris = serializers.ListField(child=serializers.CharField())
    grants = serializers.ListField(child=serializers.CharField())
    scopes = serializers.ListField(child=serializers.CharField())
    default_scopes = serializers.ListField(child=serializers.CharField())
    audiences = serializers.ListField(child=serializers.CharField())
    principal = serializers.CharField(allow_null=True)
    team = serializers.CharField(allow_null=True)
    may_introspect = serializers.BooleanField()
    is_active = serializers.BooleanField()
    is_trusted = serializers.BooleanField(help_text="Whether people are not asked for consent.")
    source = serializers.ChoiceField(  # type: ignore[assignment]  # a field, not the option of DRF
        choices=ClientSource.choices, help_text="`setting`: built in or from a file, and read-only."
    )
    created_at = serializers.DateTimeField()


class OAuthClientListQuery(PageQuery):
    q = SearchField("client_id", "name")
    sort = SortField(SortKeys.of("client_id", "name", tie_break="client_id"), default="client_id")


class OAuthClientPage(serializers.Serializer[Any]):
    items = OAuthClientRead(many=True)
    next_cursor = serializers.CharField(allow_null=True)


class ClientSecretWrite(StrictSerializer):
    expires_at = Instant(
        required=False,
        help_text="Time of expiry, at most 730 days from now. Omitted: 365 days from now, unless the operator"
        " changed the default.",
    )


class ClientSecretRead(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    hint = serializers.CharField(help_text="First characters of the secret.")
    created_at = serializers.DateTimeField()
    expires_at = serializers.DateTimeField(allow_null=True)
    revoked_at = serializers.DateTimeField(allow_null=True)
    last_used_at = serializers.DateTimeField(allow_null=True)


class CreatedClientSecret(ClientSecretRead):
    secret = serializers.CharField(
        allow_null=True,
        help_text="The secret. Returned only once; null in a dry run and for a repeated request.",
    )


class ClientSecretPage(serializers.Serializer[Any]):
    items = ClientSecretRead(many=True)
    next_cursor = serializers.CharField(allow_null=True)


class SigningKeyRead(serializers.Serializer[Any]):
    kid = serializers.CharField()
    alg = serializers.CharField()
    state = serializers.ChoiceField(
        choices=SIGNING_KEY_STATES,
        help_text="`next`: published, signs after the next rotation. `retired`: only verifies.",
    )
    created_at = serializers.DateTimeField()
    activated_at = serializers.DateTimeField(allow_null=True)
    not_after = serializers.DateTimeField(
        allow_null=True, help_text="When a retired key is no longer published."
    )


class SigningKeyPage(serializers.Serializer[Any]):
    items = SigningKeyRead(many=True)
    next_cursor = serializers.CharField(allow_null=True)


def show_client(row: OAuthClient) -> dict[str, Any]:
    return {
        "client_id": row.client_id,
        "name": row.name,
        "type": row.client_type,
        "redirect_uris": row.redirect_uris.split(),
        "grants": row.allowed_grants,
        "scopes": row.allowed_scopes,
        "default_scopes": row.default_scopes,
        "audiences": row.audiences,
        "principal": row.principal.name if row.principal else None,
        "team": row.team.slug if row.team else None,
        "may_introspect": row.may_introspect,
        "is_active": row.is_active,
        "is_trusted": row.skip_authorization,
        "source": row.source,
        "created_at": row.created,
    }


def show_secret(row: ClientSecret) -> dict[str, Any]:
    return dict(ClientSecretRead(row).data)


def show_signing_key(row: SigningKey) -> dict[str, Any]:
    return dict(SigningKeyRead(row).data)
