"""The state of the installation: what is wrong now, and where to read on."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from console.cpctl_commands import cpctl, curl
from console.pages import page
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from controlplane.observability.installation import read_installation


@page
def status(request: HttpRequest, caller: Caller) -> HttpResponse:
    caller.require(Action.METRICS_READ)
    installation = read_installation()
    context = {
        "installation": installation,
        "failing": [check for check in installation.checks if not check.is_good],
        "passing": [check for check in installation.checks if check.is_good],
        "copies": {"curl": curl(request, "GET", "meta"), "cpctl": cpctl("doctor")},
    }
    return render(request, "console/records/status.html", context)
