"""What one can begin from the command palette, and who may: each opens the page on which it is done."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from django.urls import reverse

from console.navigation import May, anybody, at_scopes, of_owners, with_action, with_all
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action


@dataclass(frozen=True, slots=True)
class PaletteAction:
    """An action. page: name of its route. words: others by which it is found."""

    title: str
    page: str
    may: May
    words: str = ""
    place: str = ""

    @property
    def url(self) -> str:
        return f"{reverse(self.page)}{self.place}"


ACTIONS = (
    PaletteAction("Edit overrides", "overrides", at_scopes(Action.OVERRIDE_WRITE), "value configuration set"),
    PaletteAction("Freeze scope", "freeze-declare", with_all(Action.FREEZE_WRITE), "stop changes holiday"),
    PaletteAction("Compare scopes", "overrides-compare", with_all(Action.OVERRIDE_READ), "difference"),
    PaletteAction("Define resource type", "resource-type-new", with_all(Action.TYPE_WRITE)),
    PaletteAction("Drain agents", "agents", of_owners(Action.AGENT_WRITE), "maintenance stop cordon"),
    PaletteAction("Request resource", "resource-new", with_action(Action.RESOURCE_WRITE), "dispatch create"),
    PaletteAction("Create pool", "pool-new", of_owners(Action.POOL_WRITE), "quota limit"),
    PaletteAction("Create sink", "sink-new", of_owners(Action.SINK_WRITE), "webhook events"),
    PaletteAction("Create rule", "notification-rule-new", of_owners(Action.NOTIFICATION_WRITE), "alert"),
    PaletteAction(
        "Create channel", "notification-channel-new", of_owners(Action.NOTIFICATION_WRITE), "slack mail"
    ),
    PaletteAction("Create token", "tokens", anybody, "api secret login", "#new-token"),
    PaletteAction("Create join token", "join-tokens", of_owners(Action.ACCESS_WRITE), "register agent"),
    PaletteAction("Set time zone", "time-zone", anybody, "utc clock browser"),
    PaletteAction("Show components", "components", anybody, "parts design tokens"),
    PaletteAction("Change password", "password", anybody, "login"),
)


def actions_for(caller: Caller) -> Iterator[PaletteAction]:
    """Yield the actions whose page opens for the caller."""
    return (action for action in ACTIONS if action.may(caller))
