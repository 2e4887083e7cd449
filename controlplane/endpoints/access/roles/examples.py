"""Examples of roles, role bindings and the permission matrix for openapi.yaml."""

from drf_spectacular.utils import OpenApiExample

_WHEN = "2026-11-21T09:30:00Z"
_EVERYTHING = {"level": "global", "project": "", "domain": "", "workflow": "", "launch_plan": ""}
_SNACKS = {**_EVERYTHING, "level": "project", "project": "flytesnacks"}
_ROLE = {
    "name": "agent-janitor",
    "title": "Drains and retires agents",
    "actions": ["agent.read", "agent.write"],
    "is_built_in": False,
}
_BINDING = {
    "id": "019a9f5e-7c00-7000-8000-000000000013",
    "principal": "ci-flytesnacks",
    "team": None,
    "role": "editor",
    "scope": _SNACKS,
    "owned_by": None,
    "via": "manual",
    "expires_at": None,
    "created_at": _WHEN,
}
_TEAM_BINDING = {**_BINDING, "principal": None, "team": "ml", "via": "claim"}


def _answer(name: str, value: object, *status: str) -> OpenApiExample:
    return OpenApiExample(name, value=value, response_only=True, status_codes=list(status or ["200"]))


def _page(*items: object) -> OpenApiExample:
    return _answer("A page", {"items": list(items), "next_cursor": None})


def _request(name: str, value: object) -> OpenApiExample:
    return OpenApiExample(name, value=value, request_only=True)


ROLE_WRITE = _request(
    "A role for agents",
    {
        "name": "agent-janitor",
        "title": "Drains and retires agents",
        "actions": ["agent.read", "agent.write"],
    },
)
ROLE_REPLACEMENT = _request("Fewer permissions", {"title": "Reads agents", "actions": ["agent.read"]})
ROLE = _answer("A custom role", _ROLE, "200", "201")
ROLE_PAGE = _page(_ROLE)
ROLE_BINDING_WRITE = _request(
    "An editor of one project",
    {"principal": "ci-flytesnacks", "role": "editor", "scope": {"project": "flytesnacks"}},
)
TEAM_BINDING_WRITE = _request(
    "Members of a team operate its agents until the end of the year",
    {"team": "ml", "role": "operator", "owned_by": "ml", "expires_at": "2026-12-31T23:59:59Z"},
)
ROLE_BINDING = _answer("A role binding", _BINDING, "201")
ROLE_BINDING_PAGE = _page(_BINDING)
MATRIX_PAGE = _page(
    {"principal": "ada", "kind": "person", "binding": _TEAM_BINDING, "member_via": "claim"},
    {"principal": "ci-flytesnacks", "kind": "service", "binding": _BINDING, "member_via": None},
)
