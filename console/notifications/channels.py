"""The page of notification channels and their health."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from console.cpctl_commands import cpctl, curl
from console.pages import load_page, page
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from controlplane.notifications.channel_changes import kind_of_channel, visible_channels


@page
def channels(request: HttpRequest, caller: Caller) -> HttpResponse:
    caller.require_for_some_owner(Action.NOTIFICATION_READ)
    results = load_page(request, caller, visible_channels(caller), order=("-id",))
    context = {
        "channels": [(channel, kind_of_channel(channel)) for channel in results.items],
        "results": results,
        "copies": {
            "curl": curl(request, "GET", "notification-channels"),
            "cpctl": cpctl("notify", "channels"),
        },
    }
    return render(request, "console/notifications/channels.html", context)
