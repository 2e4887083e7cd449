"""The log line of each request."""

from __future__ import annotations

import logging
import time
from random import randrange
from typing import Any

import structlog
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django_structlog.app_settings import app_settings
from django_structlog.middlewares import RequestMiddleware

from controlplane.observability.requests_in_progress import IN_PROGRESS
from controlplane.observability.trace_context import trace_of
from controlplane.web.client_address import address_of

_LOG = logging.getLogger("django_structlog.middlewares.request")
# Of heartbeats that no fast path answered; those of fast paths have no line at all.
_ONE_OF = 100
_HEARTBEAT = "/heartbeat"
_ERRORS = 400


class RequestLogMiddleware(RequestMiddleware):
    """Logs each request with the address that rate limits and sessions use too.

    The library's own guess believes any client's `X-Forwarded-For`, and takes a tenth of a small request.
    Lines below the log level are not composed; RequestIdMiddleware has bound the request's id.
    """

    def prepare(self, request: HttpRequest) -> None:
        """Bind what all lines of the request have."""
        IN_PROGRESS.begin(request)
        request.began_at = time.perf_counter()  # type: ignore[attr-defined]  # read at its end
        if "HTTP_TRACEPARENT" in request.META:
            structlog.contextvars.bind_contextvars(**trace_of(request.META["HTTP_TRACEPARENT"]))
        if _LOG.isEnabledFor(app_settings.STATUS_START_LOG_LEVEL):
            super().prepare(request)
        else:
            self.bind_ip(request)

    def handle_response(self, request: HttpRequest, response: HttpResponse) -> None:
        """Log the end of the request."""
        IN_PROGRESS.end(request, response.status_code)
        level = self._log_level_for_status_code(response.status_code)
        is_seen = _LOG.isEnabledFor(level) and not _is_skipped(request, response)
        if is_seen or hasattr(request, "_raised_exception") or isinstance(response, StreamingHttpResponse):
            structlog.contextvars.bind_contextvars(**_facts(request))
            super().handle_response(request, response)
        else:
            structlog.contextvars.clear_contextvars()

    @classmethod
    def bind_ip(cls, request: HttpRequest) -> None:
        structlog.contextvars.bind_contextvars(ip=address_of(request))


def _is_skipped(request: HttpRequest, response: HttpResponse) -> bool:
    """Return whether it is one of the many heartbeats that succeed, of which few have a line."""
    is_usual = request.path.endswith(_HEARTBEAT) and response.status_code < _ERRORS
    return is_usual and randrange(_ONE_OF) > 0  # noqa: S311  (a sample)


def _facts(request: HttpRequest) -> dict[str, Any]:
    """Return what the last line of a request has in addition. route: the template, which has no ids."""
    facts: dict[str, Any] = {}
    if began_at := getattr(request, "began_at", 0.0):
        facts["duration_ms"] = round((time.perf_counter() - began_at) * 1000, 1)
    if request.resolver_match is not None:
        facts["route"] = request.resolver_match.route
    # What DRF or the session has found; nobody is asked for here.
    caller = vars(request).get("user")
    if name := getattr(caller, "name", ""):
        facts["principal"] = name
    if teams := getattr(caller, "teams", None):
        facts["team"] = ",".join(teams)
    return facts
