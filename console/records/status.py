"""The state of the installation: what is wrong now, and where to read on."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.views.decorators.vary import vary_on_headers

from console.cpctl_commands import cpctl, curl
from console.pages import page
from controlplane.endpoints.installation.meta import Meta
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from controlplane.installation.state import read_installation


@vary_on_headers("Accept")
def status(request: HttpRequest) -> HttpResponseBase:
    """Show the page to people, and `GET /api/v1/meta` to programs that ask for JSON."""
    accepted = request.headers.get("Accept", "")
    is_program = "json" in accepted and "text/html" not in accepted
    return _meta(request) if is_program else _page(request)


_meta = Meta.as_view()


@page
def _page(request: HttpRequest, caller: Caller) -> HttpResponse:
    caller.require(Action.METRICS_READ)
    installation = read_installation(reader=caller.reader)
    context = {
        "installation": installation,
        "failing": [check for check in installation.checks if not check.is_good],
        "passing": [check for check in installation.checks if check.is_good],
        "running": installation.members.running,
        "gone": [member for member in installation.members.items if member.is_gone],
        "copies": {"curl": curl(request, "GET", "meta"), "cpctl": cpctl("doctor")},
    }
    return render(request, "console/records/status.html", context)
