"""Labels of requests: a bounded number of them, whatever clients send. Pure."""

from __future__ import annotations

import re

_METHODS = frozenset({"GET", "POST", "PUT", "PATCH", "DELETE"})
# The console has as many pages as the API has routes, and nobody sets objectives for single ones.
_OWN = ("api/", "^", "scim/", "oauth2/", "metrics", ".well-known/")
_CONSOLE, _NONE, _OTHER = "console", "none", "other"
_METHOD_NOT_ALLOWED = 405

# Routes with fast paths or objectives, which are timed by themselves.
TIMED = frozenset(
    {
        "api/v1/overrides/effective",
        "api/v1/agents/<uuid:agent_id>/heartbeat",
        "api/v1/agents:join",
        "api/v1/pools/<str:pool>/leases",
        "api/v1/data-planes/<str:name>/config",
        "api/v1/events",
    }
)
_AREA = re.compile(r"api/v1(?:alpha1)?/[^/:<]*|oauth2|scim|\.well-known")
# Parts of the API with few requests are counted with the part that they belong to.
_BELONGS = re.compile(r"(api/v1/(?:agent(?=-bulk)|agent-config|job|notification|override|plugin|role))-.*")
# Most operations are those of resources, and guard rails belong to overrides.
_COUNTED_WITH = {"api/v1/operations": "api/v1/resources", "api/v1/guard-rails": "api/v1/overrides"}


def labels_of(method: str | None, route: str | None, status: int) -> tuple[str, str]:
    """Return method and route. route: the template by which Django found the view; None if there is none."""
    if method not in _METHODS:
        return _OTHER, _OTHER
    if route is None or status == _METHOD_NOT_ALLOWED:
        return method, _NONE
    return method, route if route.startswith(_OWN) else _CONSOLE


def timed_route(route: str) -> str:
    """Return the route under which the duration is counted: itself, or its part of the API.

    Each has ten series, and a server has hundreds of routes.
    """
    if route in TIMED:
        return route
    area = _AREA.match(route)
    if area is None:
        return route
    return _COUNTED_WITH.get(area[0], _BELONGS.sub(r"\1s", area[0]))


def class_of(status: int) -> str:
    return f"{status // 100}xx"
