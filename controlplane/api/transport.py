"""Before routing: plain HTTP on the API and for figures is refused, and a trailing slash is taken away."""

from __future__ import annotations

from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect

from controlplane.api.problems import plain_response
from controlplane.errors import InsecureTransport

_API = "/api/"
# Prometheus comes with a token too.
_METRICS = "/metrics"


class PermanentRedirect(HttpResponseRedirect):
    """308: unlike 301 it keeps the method and the body (RFC 9110 section 15.4.9)."""

    status_code = 308


class TransportMiddleware:
    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        # Not redirected: the token has been sent in the clear, and its owner must learn of it.
        if settings.SECURE_SSL_REDIRECT and _takes_tokens(request.path) and not request.is_secure():
            return plain_response(
                InsecureTransport("Use https://. Then replace your token: it was sent unencrypted.")
            )
        return _without_slash(request) or self.get_response(request)


def _takes_tokens(path: str) -> bool:
    return path.startswith(_API) or path == _METRICS


def _without_slash(request: HttpRequest) -> HttpResponse | None:
    path = request.path
    if not path.startswith(_API) or not path.endswith("/") or path.startswith(settings.PATHS_TAKEN_AS_SENT):
        return None
    query = request.META.get("QUERY_STRING", "")
    # Slashes in front are cut, or "//host/" would lead away from us.
    target = "/" + path.strip("/")
    return PermanentRedirect(f"{target}?{query}" if query else target)
