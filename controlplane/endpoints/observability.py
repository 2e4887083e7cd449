"""HTTP endpoint for Prometheus metrics."""

from __future__ import annotations

from django.http import HttpResponse
from prometheus_client import CONTENT_TYPE_LATEST
from rest_framework.request import Request

from controlplane.api.endpoints import Endpoint, caller_of
from controlplane.errors import NotFound
from controlplane.identity.roles import Action
from controlplane.observability.metrics import exposition, published


class Metrics(Endpoint):
    """Metrics for Prometheus, with a token. Requires the role viewer at the global scope."""

    actions = {"GET": Action.METRICS_READ}
    schema = None

    def get(self, request: Request, name: str = "") -> HttpResponse:
        if not name:
            all_figures = exposition(request.headers.get("Accept", ""), reader=caller_of(request).reader)
            return HttpResponse(all_figures.text, content_type=all_figures.content_type)
        text = published(name)
        if text is None:
            raise NotFound(f"There are no metrics named {name[:63]!r}. Those of the server are at /metrics.")
        return HttpResponse(text, content_type=CONTENT_TYPE_LATEST)
