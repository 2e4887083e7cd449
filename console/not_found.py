"""The answer to an unknown path: a page in the frame for browsers, a problem document for programs."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from controlplane.api import problems

_JSON = "application/problem+json"
# Paths that only programs request.
_PROGRAMS = ("/api/", "/scim/", "/metrics", "/static/")


def page_not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Django's handler404."""
    is_program = request.path.startswith(_PROGRAMS) or not hasattr(request, "user")
    if is_program or request.get_preferred_type([_JSON, "application/json", "text/html"]) != "text/html":
        return problems.page_not_found(request, exception)
    return render(request, "console/not_found.html", {"path": request.path}, status=404)
