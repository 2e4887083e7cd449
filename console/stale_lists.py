"""Pages of lists that may come from a read replica."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec

from django.http import HttpRequest, HttpResponse

from console.pages import is_part
from controlplane.api.endpoints import OF_LISTS
from controlplane.api.replica_reads import read_with_staleness
from controlplane.events import log
from controlplane.identity.callers import Caller
from controlplane.replicas import reading

Path = ParamSpec("Path")
View = Callable[Concatenate[HttpRequest, Caller, Path], HttpResponse]


def may_be_stale(view: View[Path]) -> View[Path]:
    """Show a list as a replica has it, if it is near; below `page`.

    A part of a page comes from the primary: it is loaded because something has just happened.
    """

    @wraps(view)
    def run(request: HttpRequest, caller: Caller, /, *args: Path.args, **kwargs: Path.kwargs) -> HttpResponse:
        if request.method != "GET" or is_part(request) or not reading.are_configured():
            return view(request, caller, *args, **kwargs)

        def show() -> HttpResponse:
            # As old as what the page shows, so that the events of the page bring it up to date.
            request.followed_from = log.last_given()  # type: ignore[attr-defined]  # read by the frame
            return view(request, caller, *args, **kwargs)

        return read_with_staleness(show, OF_LISTS, request, caller)

    return run
