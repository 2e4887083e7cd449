"""Scopes of tokens: which of the requested scopes a client gets. Pure."""

from __future__ import annotations

from collections.abc import Iterable

ALL = "all"
OFFLINE = frozenset({"offline", "offline_access"})
OPENID = "openid"
_PUBLISH = "publish:"
_PUBLISH_FOR_ANY_TEAM = "publish:*"
# With their meaning, for people who are asked for consent.
MEANINGS = {
    "all": "Everything that your roles allow",
    "read": "Read everything that your roles allow you to read",
    "overrides": "Read and change overrides",
    "agents": "Read and manage agents",
    "resources": "Request, read and delete resources",
    "notify": "Report alerts",
    "offline": "Stay logged in without asking you again",
    "offline_access": "Stay logged in without asking you again",
    "openid": "Your user id",
    "profile": "Your name",
    "email": "Your e-mail address",
    "groups": "Your teams",
    "scim": "Create and deactivate people, and change the members of teams",
}
KNOWN = tuple(MEANINGS)


def parse(text: str | None) -> tuple[str, ...]:
    """Return the scopes of a space-separated list, without repetitions."""
    return tuple(dict.fromkeys((text or "").split()))


def is_known(scope: str) -> bool:
    return scope in MEANINGS or (scope.startswith(_PUBLISH) and len(scope) > len(_PUBLISH))


def granted(requested: Iterable[str], allowed: Iterable[str], default: Iterable[str] = ()) -> tuple[str, ...]:
    """Return the requested scopes, or the default ones, that the client may have.

    Empty if nothing is left with which a token could be used: the request is then an `invalid_scope`.
    """
    allowed = frozenset(allowed)
    names = dict.fromkeys(tuple(requested) or tuple(default))
    scopes = tuple(scope for scope in names if _is_allowed(scope, allowed))
    return scopes if any(scope not in OFFLINE for scope in scopes) else ()


def allows_refresh(scopes: Iterable[str]) -> bool:
    return not OFFLINE.isdisjoint(scopes)


def meaning(scope: str) -> str:
    """Return the meaning of a scope, for people."""
    if scope.startswith(_PUBLISH):
        return f"Publish agent configurations for the team {scope.removeprefix(_PUBLISH)}"
    return MEANINGS.get(scope, scope)


def _is_allowed(scope: str, allowed: frozenset[str]) -> bool:
    if not is_known(scope) or scope == _PUBLISH_FOR_ANY_TEAM:
        return False
    return scope in allowed or (scope.startswith(_PUBLISH) and _PUBLISH_FOR_ANY_TEAM in allowed)
