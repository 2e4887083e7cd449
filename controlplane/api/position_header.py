"""The position of a change in the write-ahead log, in the response to it: a later read can ask for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.db import connection
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from controlplane.replicas.choice import MOST_STALENESS
from controlplane.replicas.positions import Position
from controlplane.replicas.signed_positions import COOKIE, HEADER, signed

_READS = ("GET", "HEAD", "OPTIONS")


class PositionMiddleware:
    """Outside of everything that commits. Only installed if there are replicas."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if request.method in _READS:
            return self.get_response(request)
        database: Any = connection
        database.wants_position, database.committed_at = True, None
        try:
            response = self.get_response(request)
        finally:
            database.wants_position = False
        # A dry run commits nothing but when its token was used.
        if database.committed_at is not None and not response.has_header("Dry-Run"):
            _add(request, response, signed(Position.of(*database.committed_at)))
        return response


def _add(request: HttpRequest, response: HttpResponseBase, position: str) -> None:
    response.headers[HEADER] = position
    if settings.SESSION_COOKIE_NAME in request.COOKIES:
        # A browser. No read is so stale that it would need the position for longer.
        response.set_cookie(
            COOKIE,
            position,
            max_age=int(MOST_STALENESS),
            secure=settings.SESSION_COOKIE_SECURE,
            httponly=True,
            samesite="Lax",
        )
