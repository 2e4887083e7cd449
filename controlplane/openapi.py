"""The API's own description: the committed openapi.yaml, and pages that show it from local files."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from csp.decorators import csp_update
from django.http import HttpRequest, HttpResponse
from django.utils.decorators import method_decorator
from drf_spectacular.views import SpectacularRedocView, SpectacularSwaggerSplitView

_FILE = Path(__file__).resolve().parents[1] / "openapi.yaml"


def document(request: HttpRequest) -> HttpResponse:
    """Serve the file that is committed: what people read is what was tested."""
    return HttpResponse(_text(), content_type="application/yaml")


@cache
def _text() -> bytes:
    return _FILE.read_bytes()


# Both viewers put computed styles on their elements; scripts still come from our own files only.
_relaxed = csp_update({"style-src": ["'unsafe-inline'"], "worker-src": ["blob:"]})


@method_decorator(_relaxed, name="dispatch")
class Docs(SpectacularSwaggerSplitView):
    """Swagger UI. The split view keeps its script in a file of its own, as our CSP wants."""

    url_name = "openapi"


@method_decorator(_relaxed, name="dispatch")
class Redoc(SpectacularRedocView):
    """Redoc, with our own head: the original fetches fonts from outside."""

    url_name = "openapi"
    template_name = "controlplane/redoc.html"
