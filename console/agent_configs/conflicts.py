"""Conflicting claims: the list with the rule that decided, and pages to transfer or release a name."""

from __future__ import annotations

from collections.abc import Mapping

from django.db import transaction
from django.db.models import F
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from console.confirmations import Change, Field, confirm_change
from console.cpctl_commands import cpctl, curl
from console.forms import parse_form
from console.pages import actor_of, load_page, page
from controlplane.errors import ControlplaneError
from controlplane.identity.actors import Actor
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from registry.agent_configs.claims.grants import Transfer
from registry.agent_configs.documents.published import ClaimKind
from registry.agent_configs.models import AgentConfigBundle, AgentConfigStatus, DataPlane
from registry.agent_configs.pin_models import AgentConfigPin
from registry.agent_configs.publishing.hidden_teams import hidden_teams, planes_with_visible_names
from registry.agent_configs.publishing.ownership_transfer import release_claim, transfer_claim
from registry.agent_configs.publishing.teams import check_may_publish
from registry.api.agent_configs.claim_schemas import ReleaseWrite, TransferWrite
from registry.api.agent_configs.document_schemas import show_conflicts

_MOST_PINS = 200
_TRANSFER = ("kind", "name", "from_team", "to_team")


@page
def conflicts(request: HttpRequest, caller: Caller) -> HttpResponse:
    caller.require_for_some_owner(Action.AGENT_CONFIG_READ)
    hidden = hidden_teams(caller)
    team = request.GET.get("team", "").strip()
    rows = AgentConfigStatus.objects.exclude(conflicts=[]).select_related("document")
    rows = rows.filter(hidden.visible("document__team"), planes_with_visible_names(caller))
    if team:
        rows = rows.filter(document__team=team) if team.isprintable() else rows.none()
    results = load_page(request, caller, rows, order=("id",))
    pins = list(AgentConfigPin.objects.in_effect().filter(hidden.visible("team")).order_by("id")[:_MOST_PINS])
    pinned = {(pin.kind, pin.name) for pin in pins}
    context = {
        "tab": "agent-config-conflicts",
        "team": team,
        "results": results,
        "rows": [
            (status, conflict, (conflict["kind"], conflict["name"]) in pinned)
            for status in results.items
            for conflict in show_conflicts(status.conflicts, hidden)
        ],
        "pins": pins,
        "may_manage": caller.verdict(Action.AGENT_CONFIG_RULE).allowed,
        "curl": curl(request, "GET", "agent-config-conflicts"),
        "cpctl": cpctl("agent-configs", "conflicts", *(("--team", team) if team else ())),
    }
    return render(request, "console/agent_configs/conflicts.html", context)


@page
def transfer_name(request: HttpRequest, caller: Caller) -> HttpResponse:
    """Transfer a name: `?kind=&name=&from_team=&to_team=`."""
    caller.require(Action.AGENT_CONFIG_RULE)
    form = parse_form(TransferWrite, {name: request.GET.get(name, "") for name in _TRANSFER})
    order = Transfer(ClaimKind(form["kind"]), form["name"], form["from_team"], form["to_team"])
    change = Change(
        f"Transfer {order.name} from {order.from_team} to {order.to_team}?",
        _preview_transfer(order, actor_of(caller)),
        "Transfer name",
        reverse("agent-config-conflicts"),
        f"Transferred {order.name} to {order.to_team}.",
        (Field("reason", "Reason"),),
        {
            "curl": curl(request, "POST", "agent-config-claims:transfer", form),
            "cpctl": cpctl(
                *("agent-configs", "hand-over", order.kind.value, order.name),
                *("--from", order.from_team, "--to", order.to_team),
            ),
        },
    )
    return confirm_change(
        request, change, lambda form: transfer_claim(order, actor=actor_of(caller, form.get("reason", "")))
    )


@page
def release_name(request: HttpRequest, caller: Caller) -> HttpResponse:
    """Release a name: `?team=&kind=&name=`."""
    values = parse_form(ReleaseWrite, {name: request.GET.get(name, "") for name in ("team", "kind", "name")})
    check_may_publish(caller, values["team"])
    change = Change(
        f"Release {values['name']}?",
        (
            f"{values['team']} serves the name until another team claims it. The transfer takes one bundle.",
            "Without another claim, nothing changes.",
        ),
        "Release name",
        f"{reverse('agent-configs')}?team={values['team']}",
        f"Released {values['name']}. {values['team']} serves it until another team claims it.",
        (Field("reason", "Reason"),),
        {
            "curl": curl(request, "POST", "agent-config-claims:release", values),
            "cpctl": cpctl(
                "agent-configs", "release", values["kind"], values["name"], "--team", values["team"]
            ),
        },
    )

    def act(form: Mapping[str, str]) -> None:
        actor = actor_of(caller, form.get("reason", ""))
        release_claim(values["team"], ClaimKind(values["kind"]), values["name"], actor=actor)

    return confirm_change(request, change, act)


def _preview_transfer(order: Transfer, actor: Actor) -> tuple[str, ...]:
    """Describe the new bundle of each data plane: transfer, read the result, and roll back."""
    try:
        with transaction.atomic():
            revisions = dict(DataPlane.objects.values_list("name", "latest_revision"))
            transfer_claim(order, actor=actor)
            lines = [*_new_changes(revisions), *_held_changes()]
            transaction.set_rollback(True)
    except ControlplaneError as error:
        return (f"The transfer is not possible: {error.detail}",)
    return (f"The transfer takes one bundle: {order.name} is served without interruption.", *lines)


def _new_changes(before: Mapping[str, int]) -> list[str]:
    bundles = AgentConfigBundle.objects.filter(revision=F("data_plane__latest_revision"))
    return [
        f"{bundle.data_plane_id}: {line}"
        for bundle in bundles.order_by("data_plane")
        if bundle.revision > before.get(bundle.data_plane_id, 0)
        for line in bundle.changes
    ]


def _held_changes() -> list[str]:
    planes = DataPlane.objects.exclude(held=None).order_by("name")
    return [
        f"{data_plane.name}: the bundle would be held. {reason['message']}"
        for data_plane in planes
        for reason in data_plane.held["reasons"]
    ]
