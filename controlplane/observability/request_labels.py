"""Labels of requests: a bounded number of them, whatever clients send. Pure."""

from __future__ import annotations

_METHODS = frozenset({"GET", "POST", "PUT", "PATCH", "DELETE"})
# The console has as many pages as the API has routes, and nobody sets objectives for single ones.
_OWN = ("api/", "^", "scim/", "oauth2/", "metrics", ".well-known/")
_CONSOLE, _NONE, _OTHER = "console", "none", "other"
_METHOD_NOT_ALLOWED = 405


def labels_of(method: str | None, route: str | None, status: int) -> tuple[str, str]:
    """Return method and route. route: the template by which Django found the view; None if there is none."""
    if method not in _METHODS:
        return _OTHER, _OTHER
    if route is None or status == _METHOD_NOT_ALLOWED:
        return method, _NONE
    return method, route if route.startswith(_OWN) else _CONSOLE


def class_of(status: int) -> str:
    return f"{status // 100}xx"
