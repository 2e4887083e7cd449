"""Pages of notification rules: list, one rule, delete."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from console.confirmations import Change, Field, confirm_change
from console.cpctl_commands import cpctl, curl
from console.event_filters import describe_filter
from console.listing import Column, read_listing
from console.notifications.quiet_windows import windows_text
from console.pages import actor_of, load_page, page
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from controlplane.notifications.channel_changes import visible_channels
from controlplane.notifications.models import NotificationRule
from controlplane.notifications.rule_changes import delete_rule, get_rule, visible_rules

_REASON = Field("reason", "Reason", hint="Kept in the audit log.")
# Of a channel that the caller may not read.
_UNREADABLE = "another channel"
_COLUMNS = (
    Column("name", "Name", "medium", order=("name", "id"), is_optional=False),
    Column("state", "State", "narrow"),
    Column("severity", "Severity", "narrow"),
    Column("matches", "Matches"),
    Column("channels", "Channels", "medium"),
    Column("team", "Team", "narrow"),
)


@page
def rules(request: HttpRequest, caller: Caller) -> HttpResponse:
    caller.require_for_some_owner(Action.NOTIFICATION_READ)
    listing = read_listing(request, "rules", "Notification rules", _COLUMNS)
    results = load_page(request, caller, visible_rules(caller), order=listing.order or ("-id",))
    names = channel_names_of(caller, results.items)
    context = {
        "listing": listing,
        "results": results,
        "rules": [_facts(rule, names) for rule in results.items],
        "may_write": bool(caller.owners_for(Action.NOTIFICATION_WRITE)),
        "copies": {"curl": curl(request, "GET", "notification-rules"), "cpctl": cpctl("notify", "rules")},
    }
    return render(request, "console/notifications/rules.html", context)


@page
def rule(request: HttpRequest, caller: Caller, rule_id: UUID) -> HttpResponse:
    record = get_rule(caller, rule_id)
    context = {
        **_facts(record, channel_names_of(caller, [record])),
        "windows": windows_text(record.quiet_hours),
        "excepted": record.quiet_hours.get("except", ()),
        "may_write": caller.verdict(Action.NOTIFICATION_WRITE, owner=record.team_id).allowed,
        "copies": {
            "curl": curl(request, "GET", f"notification-rules/{record.id}"),
            "cpctl": cpctl("notify", "rule", str(record.id)),
        },
    }
    return render(request, "console/notifications/rule.html", context)


@page
def delete(request: HttpRequest, caller: Caller, rule_id: UUID) -> HttpResponse:
    record = get_rule(caller, rule_id, Action.NOTIFICATION_WRITE)
    change = Change(
        f"Delete {record.name}?",
        (
            f"Its alerts are deleted too. Alerts: {record.alerts.count()}.",
            "To stop the rule for a while, edit it and clear Active.",
            "This cannot be undone.",
        ),
        "Delete rule",
        reverse("notification-rules"),
        f"Deleted {record.name}.",
        (_REASON,),
        {
            "curl": curl(request, "DELETE", f"notification-rules/{record.id}", version=record.version),
            "cpctl": cpctl("notify", "delete-rule", str(record.id)),
        },
        is_destructive=True,
    )

    def act(form: Mapping[str, str]) -> None:
        delete_rule(record, precondition=None, actor=actor_of(caller, form.get("reason", "")))

    return confirm_change(request, change, act)


def channel_names_of(caller: Caller, rows: Iterable[NotificationRule]) -> dict[str, str]:
    """Return the names of the rules' channels that the caller may read, by id."""
    ids = {channel for row in rows for channel in row.to}
    return {str(channel.id): channel.name for channel in visible_channels(caller).filter(id__in=ids)}


def _facts(rule: NotificationRule, names: Mapping[str, str]) -> dict[str, Any]:
    return {
        "rule": rule,
        "state": _state(rule),
        "matches": describe_filter(rule.when),
        "channels": [names.get(channel, _UNREADABLE) for channel in rule.to],
    }


def _state(rule: NotificationRule) -> str:
    return "active" if rule.is_active and rule.to else "no channel" if rule.is_active else "inactive"
