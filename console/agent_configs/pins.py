"""Pages that pin a claimed name to a team, and unpin it."""

from __future__ import annotations

from collections.abc import Mapping

from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from console.confirmations import Change, Field, confirm_change
from console.cpctl_commands import cpctl, curl
from console.forms import parse_form, parse_time
from console.pages import actor_of, page
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from registry.agent_configs.claims.grants import Pin
from registry.agent_configs.documents.published import ClaimKind
from registry.agent_configs.publishing.pins import pin_claim, unpin_claim
from registry.api.agent_configs.pin_views import PinWrite, UnpinWrite

_UNTIL = Field("until", "Until (UTC)", "datetime-local", hint="Leave empty to pin until unpinned.")


@page
def pin_name(request: HttpRequest, caller: Caller) -> HttpResponse:
    """Pin a name: `?kind=&name=&team=`."""
    caller.require(Action.AGENT_CONFIG_RULE)
    values = parse_form(PinWrite, {name: request.GET.get(name, "") for name in ("kind", "name", "team")})
    pin = Pin(values["team"], ClaimKind(values["kind"]), values["name"])
    named = {"kind": pin.kind.value, "name": pin.name, "team": pin.team}
    change = Change(
        f"Pin {pin.name} to {pin.team}?",
        (
            f"{pin.team} has the name in every data plane as long as it claims it, before all other rules.",
            "Whatever other teams publish, and whatever grants they get, changes nothing until the pin ends.",
            "An earlier pin of the name is replaced.",
        ),
        "Pin name",
        reverse("agent-config-conflicts"),
        f"Pinned {pin.name} to {pin.team}.",
        (_UNTIL, Field("reason", "Reason")),
        {
            "curl": curl(request, "POST", "agent-config-claims:pin", named),
            "cpctl": cpctl("agent-configs", "pin", pin.kind.value, pin.name, "--team", pin.team),
        },
    )

    def act(form: Mapping[str, str]) -> None:
        until = parse_time(form.get("until", ""), "until")
        pin_claim(pin, until, actor=actor_of(caller, form.get("reason", "")))

    return confirm_change(request, change, act)


@page
def unpin_name(request: HttpRequest, caller: Caller) -> HttpResponse:
    """Unpin a name: `?kind=&name=`."""
    caller.require(Action.AGENT_CONFIG_RULE)
    values = parse_form(UnpinWrite, {name: request.GET.get(name, "") for name in ("kind", "name")})
    kind, name = ClaimKind(values["kind"]), values["name"]
    change = Change(
        f"Unpin {name}?",
        (
            "The usual rules decide again who has the name.",
            "A claim that is served is established, so the present owner keeps it unless another team has a "
            "more specific grant.",
        ),
        "Unpin name",
        reverse("agent-config-conflicts"),
        f"Unpinned {name}.",
        (Field("reason", "Reason"),),
        {
            "curl": curl(request, "POST", "agent-config-claims:unpin", {"kind": kind.value, "name": name}),
            "cpctl": cpctl("agent-configs", "unpin", kind.value, name),
        },
    )
    return confirm_change(
        request, change, lambda form: unpin_claim(kind, name, actor=actor_of(caller, form.get("reason", "")))
    )
