"""The span of a request that Django answers. In place only where traces are configured."""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

from controlplane.observability.request_ids import current_request_id
from controlplane.observability.traces import spans
from controlplane.observability.traces.semantics import server_attributes, server_name
from controlplane.observability.traces.statements import traced_statements

_ERROR = 500


class TracesMiddleware:
    """Stands behind RequestIdMiddleware, and before all that logs."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if not spans.is_on():
            return self.get_response(request)
        method = request.method or ""
        attributes = server_attributes(method, request.path, request.scheme or "", current_request_id())
        parent = request.META.get("HTTP_TRACEPARENT", "")
        name = server_name(method, "")
        with spans.span(name, "server", parent=parent, attributes=attributes) as span:
            with traced_statements(span):
                response = self.get_response(request)
            if span.is_recording:
                _finish(span, request, response)
        return response


def _finish(span: spans.Span, request: HttpRequest, response: HttpResponse) -> None:
    if request.resolver_match is not None:
        route = f"/{request.resolver_match.route}"
        span.set("http.route", route)
        span.rename(server_name(request.method or "", route))
    span.set("http.response.status_code", response.status_code)
    if response.status_code >= _ERROR:
        span.fail(str(response.status_code))
