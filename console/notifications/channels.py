"""Pages of notification channels: list with health, one channel."""

from __future__ import annotations

from datetime import datetime, timedelta
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from console.cpctl_commands import cpctl, curl
from console.notifications.channel_input import settings_text
from console.pages import load_page, page
from controlplane.delivery.kinds import kind_named
from controlplane.delivery.models import Sink, SinkState
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from controlplane.notifications.channel_changes import get_channel, kind_of_channel, visible_channels
from controlplane.notifications.rule_changes import visible_rules

_CREATION = timedelta(milliseconds=200)


@page
def channels(request: HttpRequest, caller: Caller) -> HttpResponse:
    caller.require_for_some_owner(Action.NOTIFICATION_READ)
    results = load_page(request, caller, visible_channels(caller), order=("-id",))
    context = {
        "channels": [
            (channel, kind_of_channel(channel), _succeeded_at(channel)) for channel in results.items
        ],
        "results": results,
        "may_write": bool(caller.owners_for(Action.NOTIFICATION_WRITE)),
        "copies": {
            "curl": curl(request, "GET", "notification-channels"),
            "cpctl": cpctl("notify", "channels"),
        },
    }
    return render(request, "console/notifications/channels.html", context)


@page
def channel(request: HttpRequest, caller: Caller, channel_id: UUID) -> HttpResponse:
    record = get_channel(caller, channel_id)
    may_write = caller.verdict(Action.NOTIFICATION_WRITE, owner=record.team_id).allowed
    context = {
        "channel": record,
        "kind": kind_of_channel(record),
        "settings": settings_text(record),
        "succeeded_at": _succeeded_at(record),
        "rules": visible_rules(caller).filter(to__contains=[str(record.id)]).order_by("name"),
        "may_write": may_write,
        "actions": _actions(record) if may_write else (),
        "copies": {
            "curl": curl(request, "GET", f"notification-channels/{record.id}"),
            "cpctl": cpctl("notify", "channel", str(record.id)),
        },
    }
    return render(request, "console/notifications/channel.html", context)


def _succeeded_at(record: Sink) -> datetime | None:
    """Return the last success; None before the first, when the column has the creation of the channel."""
    last: datetime = record.progress.last_success_at
    return last if last - record.created_at > _CREATION else None


def _actions(record: Sink) -> tuple[tuple[str, str], ...]:
    """Return routes and labels of what can be done with the channel."""
    kind = kind_named(record.kind)
    rotate = (("notification-channel-rotate-secret", "Rotate secret"),) if kind and kind.is_signed else ()
    resume = (("notification-channel-resume", "Resume"),) if record.state != SinkState.ACTIVE else ()
    return (
        *resume,
        ("notification-channel-edit", "Edit channel"),
        *rotate,
        ("notification-channel-delete", "Delete channel"),
    )
