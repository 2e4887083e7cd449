"""The entry to SCIM, which imports its packages only when SCIM is on: they take half a second to load."""

from __future__ import annotations

from functools import lru_cache

from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.urls import Resolver404, URLResolver
from django.urls.resolvers import RegexPattern
from django.views.decorators.csrf import csrf_exempt

from controlplane.api.problems import plain_response
from controlplane.errors import NotFound


@csrf_exempt
def scim(request: HttpRequest, rest: str) -> HttpResponseBase:
    """Run the view of a SCIM path. 404 if SCIM is off or the path is unknown."""
    if not settings.SCIM:
        return plain_response(NotFound(f"{request.path} does not exist."))
    try:
        match = _routes().resolve(rest)
    except Resolver404:
        return plain_response(NotFound(f"{request.path} does not exist."))
    response: HttpResponseBase = match.func(request, *match.args, **match.kwargs)
    return response


@lru_cache(maxsize=1)
def _routes() -> URLResolver:
    return URLResolver(RegexPattern(r""), "controlplane.endpoints.access.scim.urls")
