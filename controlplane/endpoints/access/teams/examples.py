"""Examples of teams, members and organisations for openapi.yaml."""

from drf_spectacular.utils import OpenApiExample

_WHEN = "2026-11-21T09:30:00Z"
_TEAM = {
    "id": "019a9f5e-7c00-7000-8000-000000000021",
    "slug": "ml",
    "title": "Machine learning",
    "external_group": None,
    "created_at": _WHEN,
    "organisation": "default",
}
_MEMBER = {
    "principal": "ada",
    "kind": "person",
    "display_name": "Ada Lovelace",
    "is_active": True,
    "via": ["claim", "manual"],
}
_ORGANISATION = {
    "id": "00000000-0000-7000-8000-000000000001",
    "slug": "default",
    "title": "",
    "created_at": _WHEN,
}


def _answer(name: str, value: object, *status: str) -> OpenApiExample:
    return OpenApiExample(name, value=value, response_only=True, status_codes=list(status or ["200"]))


def _request(name: str, value: object) -> OpenApiExample:
    return OpenApiExample(name, value=value, request_only=True)


TEAM_WRITE = _request("A team", {"slug": "ml", "title": "Machine learning"})
TEAM_REPLACEMENT = _request("A new title", {"title": "Machine learning"})
TEAM = _answer("A team", _TEAM, "200", "201")
TEAM_PAGE = _answer("A page", {"items": [_TEAM], "next_cursor": None})
MEMBER = _answer("A member", _MEMBER, "200", "201")
MEMBER_PAGE = _answer("A page", {"items": [_MEMBER], "next_cursor": None})
ORGANISATION_WRITE = _request("An organisation", {"slug": "acme", "title": "Acme"})
ORGANISATION = _answer("The only organisation", _ORGANISATION, "200", "201")
ORGANISATION_PAGE = _answer("A page", {"items": [_ORGANISATION], "next_cursor": None})
