"""The log line of each request."""

from __future__ import annotations

import logging

import structlog
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django_structlog.app_settings import app_settings
from django_structlog.middlewares import RequestMiddleware

from controlplane.web.client_address import address_of

_LOG = logging.getLogger("django_structlog.middlewares.request")


class RequestLogMiddleware(RequestMiddleware):
    """Logs each request with the address that rate limits and sessions use too.

    The library's own guess believes any client's `X-Forwarded-For`, and takes a tenth of a small request.
    Lines below the log level are not composed; RequestIdMiddleware has bound the request's id.
    """

    def prepare(self, request: HttpRequest) -> None:
        """Bind what all lines of the request have."""
        if _LOG.isEnabledFor(app_settings.STATUS_START_LOG_LEVEL):
            super().prepare(request)
        else:
            self.bind_ip(request)

    def handle_response(self, request: HttpRequest, response: HttpResponse) -> None:
        """Log the end of the request."""
        is_seen = _LOG.isEnabledFor(self._log_level_for_status_code(response.status_code))
        if is_seen or hasattr(request, "_raised_exception") or isinstance(response, StreamingHttpResponse):
            super().handle_response(request, response)
        else:
            structlog.contextvars.clear_contextvars()

    @classmethod
    def bind_ip(cls, request: HttpRequest) -> None:
        structlog.contextvars.bind_contextvars(ip=address_of(request))
