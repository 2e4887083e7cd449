"""Examples for openapi.yaml. A contract test validates each against its schema."""

from drf_spectacular.utils import OpenApiExample

_WHEN = "2026-11-21T09:30:00Z"
_EVERYTHING = {"level": "global", "project": "", "domain": "", "workflow": "", "launch_plan": ""}
_SNACKS = {**_EVERYTHING, "level": "project", "project": "flytesnacks"}
_PRINCIPAL = {
    "id": "019a9f5e-7c00-7000-8000-000000000011",
    "name": "ci-flytesnacks",
    "kind": "service",
    "is_active": True,
    "organisation": "default",
    "created_at": _WHEN,
}
_TOKEN = {
    "id": "019a9f5e-7c00-7000-8000-000000000012",
    "principal": "ci-flytesnacks",
    "name": "GitHub Actions",
    "hint": "cp_pat_3fXq",
    "created_with": None,
    "created_at": _WHEN,
    "expires_at": "2027-11-21T09:30:00Z",
    "revoked_at": None,
    "last_used_at": None,
}
_RECORD = {
    "id": 7,
    "at": _WHEN,
    "actor": "admin",
    "action": "project.created",
    "object_type": "project",
    "object_id": "flytesnacks",
    "scope": _SNACKS,
    "before": None,
    "after": {"id": "flytesnacks", "name": "Flyte snacks", "description": ""},
    "reason": "",
    "request_id": "019a9f5e-7c00-7000-8000-000000000099",
    "client": None,
    "identity": None,
    "session_hint": "cp_pat_9fJ2",
}


def _answer(name: str, value: object, *status: str) -> OpenApiExample:
    return OpenApiExample(name, value=value, response_only=True, status_codes=list(status or ["200"]))


def _page(item: object) -> OpenApiExample:
    return _answer("A page", {"items": [item], "next_cursor": None})


def _request(name: str, value: object) -> OpenApiExample:
    return OpenApiExample(name, value=value, request_only=True)


ME = _answer(
    "The caller",
    {
        "name": "ci-flytesnacks",
        "kind": "service",
        "grants": [{"role": "editor", "scope": _SNACKS, "owned_by": None}],
        "teams": ["ml"],
    },
)
QUESTION = _request(
    "Permission to set overrides", {"action": "override.write", "scope": {"project": "flytesnacks"}}
)
VERDICT = _answer("Allowed", {"allowed": True, "reason": "The role editor at project=flytesnacks allows it."})
PRINCIPAL_WRITE = _request("A service", {"name": "ci-flytesnacks", "kind": "service"})
PRINCIPAL_PATCH = _request("Disable a principal", {"is_active": False})
PRINCIPAL = _answer("A service", _PRINCIPAL, "200", "201")
PRINCIPAL_PAGE = _page(_PRINCIPAL)
TOKEN_WRITE = _request(
    "A token for a year",
    {"name": "GitHub Actions", "principal": "ci-flytesnacks", "expires_at": "2027-11-21T09:30:00Z"},
)
NEW_TOKEN = _answer("A new token", {**_TOKEN, "token": "cp_pat_3fXq…"}, "201")
TOKEN_PAGE = _page(_TOKEN)
AUDIT_PAGE = _page(_RECORD)
