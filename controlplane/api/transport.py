"""Before routing: plain HTTP on the API is refused, and a trailing slash is taken away."""

from __future__ import annotations

from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect

from controlplane.api.problems import plain_response
from controlplane.errors import InsecureTransport

_API = "/api/"


class PermanentRedirect(HttpResponseRedirect):
    """308: unlike 301 it keeps the method and the body (RFC 9110 section 15.4.9)."""

    status_code = 308


class TransportMiddleware:
    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if request.path.startswith(_API):
            # Not redirected: the token has been sent in the clear, and its owner must learn of it.
            if settings.SECURE_SSL_REDIRECT and not request.is_secure():
                return plain_response(
                    InsecureTransport("Use https://. Then replace your token: it was sent unencrypted.")
                )
            if request.path.endswith("/") and not request.path.startswith(settings.PATHS_TAKEN_AS_SENT):
                query = request.META.get("QUERY_STRING", "")
                # Slashes in front are cut, or "//host/" would lead away from us.
                target = "/" + request.path.strip("/")
                return PermanentRedirect(f"{target}?{query}" if query else target)
        return self.get_response(request)
