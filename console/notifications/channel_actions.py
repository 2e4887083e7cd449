"""Test, resume and delete a notification channel, and rotate the signing secret of a webhook."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from console.confirmations import Change, Field, confirm_change
from console.cpctl_commands import cpctl, curl
from console.pages import actor_of, page
from console.sinks.secrets import SecretRoutes, confirm_rotation
from controlplane.api.problems import STATUS_BY_ERROR
from controlplane.delivery.models import Sink
from controlplane.endpoints.notifications.channel_schemas import show_test
from controlplane.errors import ControlplaneError, PermissionDenied
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from controlplane.notifications import channel_changes
from controlplane.notifications.models import NotificationRule

ROUTES = SecretRoutes("notification-channel", "notification-channel-test", "channel", "Send test message")
_REASON = Field("reason", "Reason", hint="Kept in the audit log.")
_TEST_PAGE = "console/notifications/channel_test.html"


def writable_channel(caller: Caller, channel_id: UUID) -> Sink:
    """Raises UnknownNotificationChannel, PermissionDenied."""
    return channel_changes.get_channel(caller, channel_id, Action.NOTIFICATION_WRITE)


@page
def test(request: HttpRequest, caller: Caller, channel_id: UUID) -> HttpResponse:
    """Send a test message, and show what each receiver answered. GET only shows the button."""
    channel = writable_channel(caller, channel_id)
    context: dict[str, Any] = {"channel": channel, "copies": _copies(request, channel, "test")}
    if request.method != "POST":
        return render(request, _TEST_PAGE, context)
    try:
        results = channel_changes.test_channel(channel)
    except PermissionDenied:
        raise
    except ControlplaneError as error:
        return render(request, _TEST_PAGE, {**context, "problem": error}, status=STATUS_BY_ERROR[type(error)])
    context["results"] = [show_test(recipient, sent) for recipient, sent in results]
    return render(request, _TEST_PAGE, context)


@page
def resume(request: HttpRequest, caller: Caller, channel_id: UUID) -> HttpResponse:
    channel = writable_channel(caller, channel_id)
    change = Change(
        f"Resume {channel.name}?",
        ("Messages that wait are sent.",),
        "Resume channel",
        _url_of(channel),
        f"Resumed {channel.name}.",
        (_REASON,),
        {**_copies(request, channel, "resume"), "cpctl": cpctl("notify", "resume-channel", str(channel.id))},
    )

    def act(form: Mapping[str, str]) -> None:
        channel_changes.resume_channel(channel, actor=actor_of(caller, form.get("reason", "")))

    return confirm_change(request, change, act)


@page
def rotate_secret(request: HttpRequest, caller: Caller, channel_id: UUID) -> HttpResponse:
    return confirm_rotation(request, caller, writable_channel(caller, channel_id), ROUTES, {})


@page
def delete(request: HttpRequest, caller: Caller, channel_id: UUID) -> HttpResponse:
    channel = writable_channel(caller, channel_id)
    users = NotificationRule.objects.filter(to__contains=[str(channel.id)]).count()
    change = Change(
        f"Delete {channel.name}?",
        (
            "Messages that wait are deleted too.",
            f"Rules that send to the channel: {users}. It can be deleted when there are none.",
            "This cannot be undone.",
        ),
        "Delete channel",
        reverse("notification-channels"),
        f"Deleted {channel.name}.",
        (_REASON,),
        {
            "curl": curl(request, "DELETE", f"notification-channels/{channel.id}", version=channel.version),
            "cpctl": cpctl("notify", "delete-channel", str(channel.id)),
        },
        is_destructive=True,
    )

    def act(form: Mapping[str, str]) -> None:
        actor = actor_of(caller, form.get("reason", ""))
        channel_changes.delete_channel(channel, precondition=None, actor=actor)

    return confirm_change(request, change, act)


def _url_of(channel: Sink) -> str:
    return reverse("notification-channel", args=[channel.id])


def _copies(request: HttpRequest, channel: Sink, verb: str) -> dict[str, str]:
    return {
        "curl": curl(request, "POST", f"notification-channels/{channel.id}:{verb}"),
        "cpctl": cpctl("notify", verb, str(channel.id)),
    }
