"""Kinds of objects of logins: OAuth clients, keys, issuers and identities, and their columns."""

from __future__ import annotations

from cpctl.columns import Kind, field, timestamp, words
from cpctl.output import Column
from cpctl.paths import segment

CLIENT = Kind(
    "clients",
    "oauth-clients",
    (
        field("CLIENT", "client_id"),
        field("TYPE"),
        field("PRINCIPAL"),
        field("TEAM"),
        field("ACTIVE", "is_active"),
        words("SCOPES", "scopes"),
        words("GRANTS", "grants", wide=True),
        field("SOURCE", wide=True),
    ),
    ("client", "oauth-clients"),
    key="client_id",
)
SIGNING_KEY = Kind(
    "signing-keys",
    "signing-keys",
    (
        field("KEY", "kid"),
        field("ALGORITHM", "alg"),
        field("STATE"),
        timestamp("ACTIVATED AT", "activated_at"),
        timestamp("PUBLISHED UNTIL", "not_after", wide=True),
    ),
    ("signing-key",),
    key="",
    name_of=lambda key: str(key["kid"]),
)
ISSUER = Kind(
    "issuers",
    "trusted-issuers",
    (
        field("ID"),
        field("ISSUER"),
        words("AUDIENCES", "audiences"),
        Column("RULES", lambda issuer: len(issuer["rules"])),
        field("MAX SECONDS", "max_ttl", wide=True),
        timestamp("CREATED AT", "created_at", wide=True),
    ),
    ("issuer", "trusted-issuers"),
    key="id",
)
IDENTITY_PROVIDER = Kind(
    "identity-providers",
    "identity-providers",
    (
        field("NAME", "slug"),
        field("ISSUER"),
        field("TITLE"),
        field("ACTIVE", "is_active"),
        Column("RULES", lambda provider: len(provider["rules"])),
        field("CLIENT", "client_id", wide=True),
        field("KIND", wide=True),
        field("CONFIGURED IN", "configured_in", wide=True),
    ),
    ("identity-provider",),
    key="slug",
)
IDENTITY = Kind(
    "identities",
    "identities",
    (
        field("ID"),
        field("PRINCIPAL"),
        field("ISSUER"),
        field("SUBJECT"),
        timestamp("LAST LOGIN AT", "last_login_at"),
        field("EMAIL", wide=True),
        timestamp("CREATED AT", "created_at", wide=True),
    ),
    ("identity",),
    key="",
)
KINDS = (CLIENT, SIGNING_KEY, ISSUER, IDENTITY_PROVIDER, IDENTITY)
_SECRETS = (
    field("ID"),
    field("HINT"),
    timestamp("EXPIRES AT", "expires_at"),
    timestamp("LAST USED AT", "last_used_at"),
    timestamp("REVOKED AT", "revoked_at", wide=True),
)


def secrets_of(client: str) -> Kind:
    return Kind("secrets", f"{CLIENT.path}/{segment(client)}/secrets", _SECRETS, key="id")
