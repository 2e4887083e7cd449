"""Examples for openapi.yaml. A contract test validates each against its schema."""

from drf_spectacular.utils import OpenApiExample

_WHEN = "2026-11-21T09:30:00Z"
_CLIENT = {
    "client_id": "flytepropeller",
    "name": "flytepropeller",
    "type": "confidential",
    "redirect_uris": [],
    "grants": ["client_credentials"],
    "scopes": ["all"],
    "default_scopes": ["all"],
    "audiences": [],
    "principal": "flytepropeller",
    "team": None,
    "may_introspect": False,
    "is_active": True,
    "is_trusted": False,
    "source": "api",
    "created_at": _WHEN,
}
_SECRET = {
    "id": "019a9f5e-7c00-7000-8000-000000000021",
    "hint": "cp_ocs_3fXq",
    "created_at": _WHEN,
    "expires_at": "2027-11-21T09:30:00Z",
    "revoked_at": None,
    "last_used_at": None,
}
_KEY = {
    "kid": "019a9f5e-7c00-7000-8000-000000000022",
    "alg": "RS256",
    "state": "active",
    "created_at": _WHEN,
    "activated_at": "2026-11-22T09:30:00Z",
    "not_after": None,
}


def _answer(name: str, value: object, *status: str) -> OpenApiExample:
    return OpenApiExample(name, value=value, response_only=True, status_codes=list(status or ["200"]))


def _page(item: object) -> OpenApiExample:
    return _answer("A page", {"items": [item], "next_cursor": None})


CLIENT = _answer("A client", _CLIENT, "200", "201")
CLIENT_PAGE = _page(_CLIENT)
CLIENT_WRITE = OpenApiExample(
    "A service",
    value={
        "client_id": "flytepropeller",
        "type": "confidential",
        "grants": ["client_credentials"],
        "scopes": ["all"],
        "default_scopes": ["all"],
        "principal": "flytepropeller",
    },
    request_only=True,
)
CLIENT_PATCH = OpenApiExample("Disable a client", value={"is_active": False}, request_only=True)
SECRET_WRITE = OpenApiExample(
    "A secret for a year", value={"expires_at": "2027-11-21T09:30:00Z"}, request_only=True
)
NEW_SECRET = _answer("A new secret", {**_SECRET, "secret": "cp_ocs_3fXq…"}, "201")
SECRET_PAGE = _page(_SECRET)
KEY = _answer("The new active key", _KEY)
KEY_PAGE = _page(_KEY)
