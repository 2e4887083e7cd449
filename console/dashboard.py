"""The first page: how the fleet is, what changed, what needs somebody."""

from __future__ import annotations

from django.db.models.functions import Now
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from console.fleet import counts
from console.pages import page
from controlplane.access.callers import Caller
from controlplane.access.roles import Action
from controlplane.events import log
from controlplane.events.models import Event
from overrides.models import Override

_RECENT = 10


@page
def dashboard(request: HttpRequest, caller: Caller) -> HttpResponse:
    if not caller.grants:
        # An empty page would say that nothing has happened.
        caller.require(Action.EVENT_READ)
    log.number_committed()
    events = Event.objects.within(caller.scopes_for(Action.EVENT_READ)).exclude(seq=None)
    changed = Override.objects.within(caller.scopes_for(Action.OVERRIDE_READ))
    context = {
        "agents": counts.counts() if caller.verdict(Action.AGENT_READ).allowed else {},
        "events": events.annotate(now=Now()).order_by("-seq")[:_RECENT],
        "overrides": changed.annotate(now=Now()).order_by("-revision")[:_RECENT],
    }
    return render(request, "console/dashboard/page.html", context)
