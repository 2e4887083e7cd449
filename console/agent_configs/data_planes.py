"""Data planes: what they are served, what they said of it; their bundles, and what changed between two."""

from __future__ import annotations

from difflib import unified_diff
from typing import Any

from django.db.models.functions import Now
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from console.confirmations import Change, Field, confirmed
from console.cpctl_commands import curl
from console.pages import actor_of, page, page_of
from console.records import history
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from registry.agent_configs import serialization
from registry.agent_configs.bundles.differences import compare_bundles, summarize_difference
from registry.agent_configs.delivery.data_planes import approve, get_bundle, get_plane
from registry.agent_configs.models import AgentConfigBundle, DataPlane
from registry.agent_configs.publishing.teams import check_may_see_all_teams
from registry.agent_configs.storage.stages import find_unsettled_earlier_planes
from registry.agent_configs.storage.team_parts import load_held_parts, load_held_teams
from registry.api.agent_configs.data_plane_schemas import show_plane
from registry.api.agent_configs.part_schemas import show_part

_LONGEST = 5000
_TOLD = 20


@page
def planes(request: HttpRequest, caller: Caller) -> HttpResponse:
    _require_read(caller)
    found = page_of(request, caller, DataPlane.objects.annotate(now=Now()), order=("name",))
    held = load_held_teams(found.items)
    context = {
        "tab": "data-planes",
        "found": found,
        "planes": [(one, state(one), held.get(one.name, ())) for one in found.items],
        "curl": curl(request, "GET", "data-planes"),
    }
    return render(request, "console/agent_configs/planes.html", context)


@page
def plane(request: HttpRequest, caller: Caller, name: str) -> HttpResponse:
    _require_read(caller)
    found = get_plane(name)
    bundles = AgentConfigBundle.objects.filter(data_plane=found).defer("text", "body").annotate(now=Now())
    context = {
        "plane": found,
        "shown": show_plane(found, ()),
        "parts": [show_part(one) for one in load_held_parts(found)],
        "state": state(found),
        "waits_for": find_unsettled_earlier_planes(found),
        "history": history.of("data_plane", name, caller, most=_TOLD),
        "found": page_of(request, caller, bundles, order=("-id",)),
        "may_rule": caller.verdict(Action.AGENT_CONFIG_RULE).allowed,
        "curl": curl(request, "GET", f"data-planes/{name}"),
    }
    return render(request, "console/agent_configs/plane.html", context)


@page
def bundle(request: HttpRequest, caller: Caller, name: str, revision: int) -> HttpResponse:
    """`?against=` another revision; the one before, unless it is said."""
    _require_read(caller)
    found = get_bundle(name, revision)
    said = request.GET.get("against", "")
    against = int(said) if said.isascii() and said.isdecimal() and len(said) < 10 else found.parent
    other = get_bundle(name, against) if against else None
    changed = compare_bundles(
        serialization.bundle_from_json(other.body) if other else None,
        serialization.bundle_from_json(found.body),
    )
    revisions = AgentConfigBundle.objects.filter(data_plane=name).exclude(revision=revision)
    context = {
        "bundle": found,
        "inputs": [("/".join(one["document"]), one["generation"]) for one in found.body["inputs"]],
        "dropped": [("/".join(one["document"]), one["message"]) for one in found.body["dropped"]],
        "against": against,
        "revisions": revisions.order_by("-revision").values_list("revision", flat=True)[:100],
        "changes": summarize_difference(changed),
        "restarts": changed.restarts,
        "diff": diff(other.text if other else "", found.text),
        "curl": curl(request, "GET", f"agent-config-bundles/{name}/{revision}"),
    }
    return render(request, "console/agent_configs/bundle.html", context)


@page
def approval(request: HttpRequest, caller: Caller, name: str) -> HttpResponse:
    caller.require(Action.AGENT_CONFIG_RULE)
    found = get_plane(name)
    whole = show_plane(found, ())
    digest = request.POST.get("digest") or request.GET.get("digest") or whole["held_digest"]
    held = (one for one in (whole, *map(show_part, load_held_parts(found))) if one["held_digest"] == digest)
    shown: dict[str, Any] = next(held, {"held": [], "held_changes": []})
    what = f"the change of team {shown['team']}" if "team" in shown else "the bundle"
    change = Change(
        f"Approve {what} that is held for {name}?",
        (*(f"Held: {one['message']}" for one in shown["held"]), *shown["held_changes"])
        or ("Nothing is held any more.",),
        "Approve",
        reverse("data-plane", args=[name]),
        "It is in force.",
        # Exactly what was shown: another bundle may wait by the time somebody confirms.
        (Field("digest", "", "hidden", value=digest), Field("reason", "Why")),
        {"curl": curl(request, "POST", f"data-planes/{name}:approve", {"digest": digest})},
        is_grave=True,
    )
    return confirmed(
        request,
        change,
        lambda said: approve(name, said.get("digest", ""), actor=actor_of(caller, said.get("reason", ""))),
    )


def state(found: DataPlane) -> str:
    """Its last word on what it is served, as one word."""
    if not found.active_revision:
        return "waiting"
    return found.ack_state.lower() or "pending"


def diff(before: str, after: str) -> list[tuple[str, str]]:
    """Lines of a unified diff, each with its kind. Pure."""
    kinds = {"+": "added", "-": "gone", "@": "place"}
    told = unified_diff(before.splitlines(), after.splitlines(), lineterm="")
    lines = [line for line in told if not line.startswith(("+++", "---"))]
    return [(kinds.get(line[:1], "same"), line) for line in lines[:_LONGEST]]


def _require_read(caller: Caller) -> None:
    caller.require_somewhere(Action.AGENT_CONFIG_READ)
    check_may_see_all_teams(caller)
