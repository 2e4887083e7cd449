"""Examples of identity providers and identities, for the API reference."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import OpenApiExample

_RULE = {
    "claim": "groups",
    "value": "cp-ml-*",
    "team": "ml",
    "role": "editor",
    "scope": {"project": "ml-*"},
}
_DOCUMENT: dict[str, Any] = {
    "issuer": "https://login.example.com/realms/work",
    "client_id": "controlplane",
    "title": "Work account",
    "kind": "keycloak",
    "scopes": ["openid", "profile", "email"],
    "group_claim": "groups",
    "rules": [_RULE],
    "authoritative": False,
    "allowed_domains": [],
    "tenants": [],
    "organisation": "default",
    "is_active": True,
}
_PROVIDER = {"slug": "work", **_DOCUMENT, "configured_in": "api", "version": 1}
_IDENTITY = {
    "id": "0199c7a2-52f1-7d4e-9f0a-3f6c2b1d8e70",
    "principal": "ada",
    "issuer": "https://login.example.com/realms/work",
    "subject": "248289761001",
    "email": "ada@example.com",
    "email_verified": True,
    "last_login_at": "2026-11-22T09:30:00Z",
    "created_at": "2026-11-20T08:00:00Z",
}
_MATCH = {
    "rule": 1,
    "value": "cp-ml-vision",
    "team": "ml",
    "role": {
        "role": "editor",
        "scope": {
            "level": "project",
            "domain": "",
            "project": "ml-vision",
            "workflow": "",
            "launch_plan": "",
        },
        "team": "ml",
    },
    "problem": "",
}
PROVIDERS = OpenApiExample("A list", value={"items": [_PROVIDER], "next_cursor": None}, response_only=True)
PROVIDER = OpenApiExample("An identity provider", value=_PROVIDER, response_only=True)
PROVIDER_WRITE = OpenApiExample(
    "A Keycloak realm", value={**_DOCUMENT, "client_secret": "…"}, request_only=True
)
TEST_WRITE = OpenApiExample(
    "Claims to try",
    value={"claims": {"sub": "1", "groups": ["cp-ml-vision"]}},
    request_only=True,
)
TEST = OpenApiExample(
    "A match",
    value={"token_is_valid": None, "may_log_in": True, "problems": [], "matches": [_MATCH]},
    response_only=True,
)
IDENTITIES = OpenApiExample("A page", value={"items": [_IDENTITY], "next_cursor": None}, response_only=True)
IDENTITY = OpenApiExample("An identity", value=_IDENTITY, response_only=True)
IDENTITY_WRITE = OpenApiExample(
    "An identity of a person",
    value={name: _IDENTITY[name] for name in ("principal", "issuer", "subject")},
    request_only=True,
)
