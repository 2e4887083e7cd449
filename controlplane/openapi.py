"""The OpenAPI document: the committed openapi.yaml, and viewers without external files."""

from __future__ import annotations

from csp.decorators import csp_update
from django.http import HttpRequest, HttpResponse
from django.utils.decorators import method_decorator
from drf_spectacular.views import SpectacularRedocView, SpectacularSwaggerSplitView

from controlplane.api.openapi_file import document_text


def document(request: HttpRequest) -> HttpResponse:
    """Return the committed file, so that the served document is the tested one."""
    return HttpResponse(document_text(), content_type="application/yaml")


# Both viewers use inline styles. Scripts are still allowed only from our own files.
_relaxed_csp = csp_update({"style-src": ["'unsafe-inline'"], "worker-src": ["blob:"]})


@method_decorator(_relaxed_csp, name="dispatch")
class Docs(SpectacularSwaggerSplitView):
    """Swagger UI. The split view has its script in a separate file, as required by our CSP."""

    url_name = "openapi"
    template_name = "controlplane/swagger.html"


@method_decorator(_relaxed_csp, name="dispatch")
class Redoc(SpectacularRedocView):
    """Redoc with our own head, since the original loads external fonts."""

    url_name = "openapi"
    template_name = "controlplane/redoc.html"
