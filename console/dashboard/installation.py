"""The part of the dashboard that names failing checks of the installation, loaded after the page."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from console.pages import page
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from controlplane.observability.alerting.checks import checks_of
from controlplane.observability.metrics import scraped_figures

_MOST_NAMED = 3


@page
def failing_checks(request: HttpRequest, caller: Caller) -> HttpResponse:
    caller.require(Action.METRICS_READ)
    failing = [check for check in checks_of(scraped_figures(reader=caller.reader)) if not check.is_good]
    context = {
        "count": len(failing),
        "named": failing[:_MOST_NAMED],
        "others": max(0, len(failing) - _MOST_NAMED),
    }
    return render(request, "console/dashboard/installation.html", context)
