"""The doors as routes: while they are shut, these paths answer as if there were no doors."""

from __future__ import annotations

from collections.abc import Callable

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponseBase
from django.views.decorators.csrf import csrf_exempt

from registry.api.optimus.views import OptimusPlugins, OptimusRunInput

Page = Callable[..., HttpResponseBase]
_plugins, _run_input = OptimusPlugins.as_view(), OptimusRunInput.as_view()


def plugins_or(page: Page) -> Page:
    """Return a view that answers browsers with the page, and other clients with the archive."""

    def choose(request: HttpRequest) -> HttpResponseBase:
        is_browser = "text/html" in request.headers.get("Accept", "")
        return page(request) if is_browser or not settings.OPTIMUS_COMPAT else _plugins(request)

    return choose


@csrf_exempt
def run_input(request: HttpRequest, project: str, job: str) -> HttpResponseBase:
    if not settings.OPTIMUS_COMPAT:
        raise Http404
    return _run_input(request, project=project, name=job)
