"""Middleware that rejects plain HTTP for API and metrics, and redirects from paths with a trailing slash."""

from __future__ import annotations

from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect

from controlplane.api.problems import plain_response
from controlplane.errors import InsecureTransport

_API = "/api/"
_SCIM = "/scim/"
# Prometheus sends a token too.
_METRICS = "/metrics"
# Browsers are redirected from these two; clients send their secrets to the others.
_OAUTH, _PAGES = "/oauth2/", ("/oauth2/authorize", "/oauth2/consent")


class PermanentRedirect(HttpResponseRedirect):
    """A 308 response, which unlike 301 keeps the method and the body (RFC 9110 section 15.4.9)."""

    status_code = 308


class TransportMiddleware:
    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        # Not redirected: the token was sent unencrypted, and its owner must notice it.
        if settings.SECURE_SSL_REDIRECT and _takes_tokens(request.path) and not request.is_secure():
            return plain_response(
                InsecureTransport(
                    "The request was sent over plain HTTP. Use https://, and replace your token: it"
                    " was sent unencrypted."
                )
            )
        return _redirect_without_slash(request) or self.get_response(request)


def _takes_tokens(path: str) -> bool:
    is_protocol = path.startswith(_OAUTH) and path not in _PAGES
    return path.startswith((_API, _SCIM)) or path == _METRICS or is_protocol


def _redirect_without_slash(request: HttpRequest) -> HttpResponse | None:
    path = request.path
    if not path.startswith(_API) or not path.endswith("/") or path.startswith(settings.PATHS_TAKEN_AS_SENT):
        return None
    query = request.META.get("QUERY_STRING", "")
    # Leading slashes are removed, or "//host/" would redirect to another host.
    target = "/" + path.strip("/")
    return PermanentRedirect(f"{target}?{query}" if query else target)
