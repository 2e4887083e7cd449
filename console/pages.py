"""The decorator of all pages: require a login, and show errors as pages. Also paging and authorship."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from http import HTTPStatus
from typing import Any, Concatenate, ParamSpec

from django.conf import settings
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone

from console.denials import denied_page
from console.listing import LOOKS, remember_columns
from console.shown_zone import read_zone
from console.step_up import ask_for_login
from controlplane.access.authentication import session_caller
from controlplane.access.denials import note_denial
from controlplane.access.models import Principal
from controlplane.api import pages
from controlplane.api.problems import STATUS_BY_ERROR
from controlplane.errors import ControlplaneError, PermissionDenied, StepUpRequired
from controlplane.events import log
from controlplane.identity.actors import Actor
from controlplane.identity.callers import Caller
from controlplane.observability.request_ids import current_request_id

Path = ParamSpec("Path")
View = Callable[Concatenate[HttpRequest, Caller, Path], HttpResponse]


def page(view: View[Path]) -> Callable[Concatenate[HttpRequest, Path], HttpResponse]:
    """Run a view for a logged-in caller; show errors as a page."""

    @wraps(view)
    def run(request: HttpRequest, /, *args: Path.args, **kwargs: Path.kwargs) -> HttpResponse:
        if not isinstance(request.user, Principal):
            return _require_login(request)
        if not is_part(request):
            # Read before the page loads its data, so that its event stream misses nothing.
            request.followed_from = log.last_given()  # type: ignore[attr-defined]  # read by the frame
        caller = session_caller(request, request.user)
        request.caller = caller  # type: ignore[attr-defined]  # read by the frame
        try:
            # Templates show times in the active zone.
            with timezone.override(read_zone(request.COOKIES).zone):
                return remember_columns(request, view(request, caller, *args, **kwargs))
        except StepUpRequired as error:
            return ask_for_login(request, error)
        except PermissionDenied as error:
            note_denial(request, caller, error)
            if not caller.grants:
                return _no_role_page(request)
            return denied_page(request, error)
        except ControlplaneError as error:
            return problem_page(request, error)

    return run


def _no_role_page(request: HttpRequest) -> HttpResponse:
    context = {"contact": settings.ACCESS_CONTACT}
    return render(request, "console/no_role.html", context, status=HTTPStatus.FORBIDDEN)


def problem_page(request: HttpRequest, error: ControlplaneError) -> HttpResponse:
    context = {"problem": error, "request_id": current_request_id()}
    return render(request, "console/problem.html", context, status=STATUS_BY_ERROR[type(error)])


def actor_of(caller: Caller, reason: str = "", *, ticket: str = "") -> Actor:
    """Return the actor of a change, for history, audit and events."""
    return replace(caller.actor(current_request_id(), reason), ticket=ticket)


def load_page(
    request: HttpRequest, caller: Caller, rows: Any, *, order: tuple[str, ...], scanned: Any = None
) -> pages.Page:
    """Load one page of a list by the `cursor` of the URL, like lists of the API. Raises InvalidCursor.

    scanned: as of `pages.load_page`.
    """
    # A cursor is of what the list contains: it stays valid when a row is opened or columns are chosen.
    parameters = {name: value for name, value in request.GET.dict().items() if name not in LOOKS}
    page_request = pages.PageRequest(
        request.path, parameters, caller.principal_id, request.GET.get("cursor", "")
    )
    return pages.load_page(page_request, rows, order=order, scanned=scanned)


def is_part(request: HttpRequest) -> bool:
    """Whether htmx requests a part of a page."""
    return request.headers.get("HX-Request") == "true"


def _require_login(request: HttpRequest) -> HttpResponse:
    if is_part(request):
        # A redirect would insert the login form into the page; session.js opens a login dialog instead.
        return HttpResponse(status=HTTPStatus.UNAUTHORIZED)
    return redirect_to_login(request.get_full_path())
