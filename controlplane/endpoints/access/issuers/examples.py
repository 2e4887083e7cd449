"""Examples of trusted issuers for openapi.yaml. A contract test validates each against its schema."""

from __future__ import annotations

from drf_spectacular.utils import OpenApiExample

_RULE = {
    "match": {"sub": "system:serviceaccount:flyte:deployer"},
    "audience": "",
    "principal": "deployer",
    "principal_template": "",
    "scopes": ["overrides"],
    "ttl": 900,
}
_ISSUER = {
    "id": "019a9f5e-7c00-7000-8000-000000000061",
    "issuer": "https://oidc.eks.eu-west-1.amazonaws.com/id/EXAMPLE",
    "jwks_uri": "",
    "jwks": None,
    "audiences": ["https://controlplane.example.com"],
    "rules": [_RULE],
    "max_ttl": 3600,
    "version": 1,
    "created_at": "2026-11-21T09:30:00Z",
}
_WRITE = {
    "issuer": "https://token.actions.githubusercontent.com",
    "audiences": ["https://controlplane.example.com"],
    "rules": [
        {
            "match": {"repository_id": "74", "environment": "production"},
            "principal_template": "gh-{repository_id}",
            "scopes": ["overrides"],
            "ttl": 600,
        }
    ],
}
_EXPLANATION = {
    "accepted": False,
    "issuer": _ISSUER["issuer"],
    "refused": "",
    "reason": "",
    "rule": None,
    "principal": "",
    "expires_in": 0,
    "rules": [{"index": 0, "matches": False, "missed_claims": ["sub"], "principal": ""}],
}
ISSUER_PAGE = OpenApiExample(
    "A page", value={"items": [_ISSUER], "next_cursor": None}, response_only=True, status_codes=["200"]
)
ISSUER = OpenApiExample(
    "A Kubernetes cluster", value=_ISSUER, response_only=True, status_codes=["200", "201"]
)
ISSUER_WRITE = OpenApiExample("GitHub Actions", value=_WRITE, request_only=True)
TOKEN = OpenApiExample("A token", value={"token": "eyJhbGciOiJSUzI1NiIsImtpZCI6Ij..."}, request_only=True)
EXPLANATION = OpenApiExample("No rule matches", value=_EXPLANATION, response_only=True, status_codes=["200"])
