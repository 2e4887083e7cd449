"""Claims that two documents make: which two, which rule decided, and how a name goes over."""

from __future__ import annotations

from collections.abc import Mapping

from django.db import transaction
from django.db.models import F
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from console.confirmations import Change, Field, confirmed
from console.cpctl_commands import curl
from console.forms import filled
from console.pages import actor_of, page, page_of
from controlplane.errors import ControlplaneError
from controlplane.identity.actors import Actor
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from registry.agent_configs.claims.grants import Transfer
from registry.agent_configs.documents.published import ClaimKind
from registry.agent_configs.models import AgentConfigBundle, AgentConfigStatus, DataPlane
from registry.agent_configs.publishing.ownership_transfer import release_claim, transfer_claim
from registry.agent_configs.publishing.teams import check_may_publish, hidden_teams
from registry.api.agent_configs.claim_schemas import ReleaseWrite, TransferWrite
from registry.api.agent_configs.document_schemas import show_conflicts

_TRANSFER = ("kind", "name", "from_team", "to_team")


@page
def conflicts(request: HttpRequest, caller: Caller) -> HttpResponse:
    caller.require_somewhere(Action.AGENT_CONFIG_READ)
    team = request.GET.get("team", "").strip()
    rows = AgentConfigStatus.objects.exclude(conflicts=[]).select_related("document")
    rows = rows.exclude(document__team__in=hidden_teams(caller))
    if team:
        rows = rows.filter(document__team=team) if team.isprintable() else rows.none()
    found = page_of(request, caller, rows, order=("id",))
    context = {
        "tab": "agent-config-conflicts",
        "team": team,
        "found": found,
        "rows": [(one, it) for one in found.items for it in show_conflicts(one.conflicts, caller)],
        "may_rule": caller.verdict(Action.AGENT_CONFIG_RULE).allowed,
        "curl": curl(request, "GET", "agent-config-conflicts"),
    }
    return render(request, "console/agent_configs/conflicts.html", context)


@page
def hand_over(request: HttpRequest, caller: Caller) -> HttpResponse:
    """`?kind=&name=&from_team=&to_team=`"""
    caller.require(Action.AGENT_CONFIG_RULE)
    said = filled(TransferWrite, {name: request.GET.get(name, "") for name in _TRANSFER})
    order = Transfer(ClaimKind(said["kind"]), said["name"], said["from_team"], said["to_team"])
    change = Change(
        f"Give {order.name} of {order.from_team} to {order.to_team}?",
        _foreseen(order, actor_of(caller)),
        "Hand it over",
        reverse("agent-config-conflicts"),
        f"{order.name} belongs to {order.to_team} now.",
        (Field("reason", "Why"),),
        {"curl": curl(request, "POST", "agent-config-claims:transfer", said)},
    )
    return confirmed(
        request, change, lambda said: transfer_claim(order, actor=actor_of(caller, said.get("reason", "")))
    )


@page
def give_up(request: HttpRequest, caller: Caller) -> HttpResponse:
    """`?team=&kind=&name=`"""
    said = filled(ReleaseWrite, {name: request.GET.get(name, "") for name in ("team", "kind", "name")})
    check_may_publish(caller, said["team"])
    change = Change(
        f"Give {said['name']} up?",
        (
            f"{said['team']} serves it on until another team claims it. Then it goes over within one bundle.",
            "Nothing changes while nobody else claims it.",
        ),
        "Give it up",
        f"{reverse('agent-configs')}?team={said['team']}",
        f"{said['team']} gives {said['name']} up as soon as another team claims it.",
        (Field("reason", "Why"),),
        {"curl": curl(request, "POST", "agent-config-claims:release", said)},
    )

    def act(form: Mapping[str, str]) -> None:
        actor = actor_of(caller, form.get("reason", ""))
        release_claim(said["team"], ClaimKind(said["kind"]), said["name"], actor=actor)

    return confirmed(request, change, act)


def _foreseen(order: Transfer, actor: Actor) -> tuple[str, ...]:
    """What each data plane would be given: it is done, read and taken back."""
    try:
        with transaction.atomic():
            revisions = dict(DataPlane.objects.values_list("name", "latest_revision"))
            transfer_claim(order, actor=actor)
            told = [*_given(revisions), *_waiting()]
            transaction.set_rollback(True)
    except ControlplaneError as error:
        return (f"It cannot be done now: {error.detail}",)
    return (f"It goes over within one bundle: {order.name} is served all the time.", *told)


def _given(before: Mapping[str, int]) -> list[str]:
    bundles = AgentConfigBundle.objects.filter(revision=F("data_plane__latest_revision"))
    return [
        f"{one.data_plane_id}: {line}"
        for one in bundles.order_by("data_plane")
        if one.revision > before.get(one.data_plane_id, 0)
        for line in one.changes
    ]


def _waiting() -> list[str]:
    planes = DataPlane.objects.exclude(held=None).order_by("name")
    return [f"{one.name}: it would wait, {why['message']}" for one in planes for why in one.held["reasons"]]
