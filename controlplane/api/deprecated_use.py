"""Tells clients that they use what goes away, and counts it by client: operators see who must change."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.urls import reverse
from prometheus_client import Counter
from rest_framework.request import Request

from controlplane.access.login.browsers import browser_name
from controlplane.api.deprecations import Deprecation, headers_of
from controlplane.observability.label_values import FirstValues

DEPRECATED = Counter(
    "cp_http_deprecated_requests_total",
    "Requests that use a deprecated operation or parameter.",
    ["route", "part", "client"],
)
# Clients choose their names, so that only the first have series of their own.
MOST_CLIENTS = 5
_CLIENTS = FirstValues(MOST_CLIENTS)


def announce(request: Request, response: Any, used: Mapping[str, Deprecation]) -> None:
    """Add the header fields of what a request uses, and count each part."""
    guide = f"{settings.PUBLIC_URL}{reverse('docs')}"
    for name, value in headers_of(used.values(), response.get("Link", ""), guide).items():
        response[name] = value
    match = request._request.resolver_match
    # Of a program, its name without the version.
    client = browser_name(request.headers.get("User-Agent", "")).partition("/")[0] or "unknown"
    for part in used:
        DEPRECATED.labels(match.route if match else "none", part, _CLIENTS.label(client)).inc()
