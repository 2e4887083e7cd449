"""What every page is wrapped in: log in first, and a page that says what is wrong and what to do."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from http import HTTPStatus
from types import SimpleNamespace
from typing import Any, Concatenate, ParamSpec, cast

from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from rest_framework.request import Request

from controlplane.access.authentication import caller_for
from controlplane.access.models import Principal
from controlplane.api.pages import DEFAULT_LIMIT, Page, paginate
from controlplane.api.problems import STATUS_BY_ERROR
from controlplane.errors import ControlplaneError, PermissionDenied
from controlplane.events import log
from controlplane.identity.actors import Actor
from controlplane.identity.callers import Caller
from controlplane.observability.request_ids import current_request_id

Path = ParamSpec("Path")
View = Callable[Concatenate[HttpRequest, Caller, Path], HttpResponse]


def page(view: View[Path]) -> Callable[Concatenate[HttpRequest, Path], HttpResponse]:
    """Run a view for a caller who is logged in; what goes wrong becomes a page."""

    @wraps(view)
    def run(request: HttpRequest, /, *args: Path.args, **kwargs: Path.kwargs) -> HttpResponse:
        if not isinstance(request.user, Principal):
            return _log_in_first(request)
        if not is_part(request):
            # Before anything is read: the page follows from here, and misses nothing until it listens.
            request.followed_from = log.last_given()  # type: ignore[attr-defined]  # the frame's
        try:
            return view(request, caller_for(request.user), *args, **kwargs)
        except PermissionDenied as error:
            return render(request, "console/denied.html", {"reason": error.detail}, status=403)
        except ControlplaneError as error:
            return problem_page(request, error)

    return run


def problem_page(request: HttpRequest, error: ControlplaneError) -> HttpResponse:
    context = {"problem": error, "request_id": current_request_id()}
    return render(request, "console/problem.html", context, status=STATUS_BY_ERROR[type(error)])


def actor_of(caller: Caller, reason: str = "") -> Actor:
    """Who changes something by this page, for history, audit and events."""
    return caller.actor(current_request_id(), reason)


def page_of(request: HttpRequest, caller: Caller, rows: Any, *, order: tuple[str, ...]) -> Page:
    """One keyset page of a list, by the `cursor` in the address: as the API's lists. Raises InvalidCursor."""
    # Not a Request around this one: its user would become the page's.
    asked = cast(Request, SimpleNamespace(query_params=request.GET, path=request.path, user=caller))
    query: dict[str, Any] = {"limit": DEFAULT_LIMIT, "cursor": request.GET.get("cursor", "")}
    return paginate(asked, rows, order=order, query=query)


def is_part(request: HttpRequest) -> bool:
    """True if htmx asks, for a part of a page."""
    return request.headers.get("HX-Request") == "true"


def _log_in_first(request: HttpRequest) -> HttpResponse:
    if is_part(request):
        # A redirect would put the log-in form into the middle of the page. session.js asks to log in.
        return HttpResponse(status=HTTPStatus.UNAUTHORIZED)
    return redirect_to_login(request.get_full_path())
