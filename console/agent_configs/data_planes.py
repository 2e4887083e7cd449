"""Pages of data planes and their bundles, with differences between bundles and approval of held ones."""

from __future__ import annotations

from difflib import unified_diff
from typing import Any

from django.db.models.functions import Now
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from console.confirmations import Change, Field, confirm_change
from console.cpctl_commands import cpctl, curl
from console.pages import actor_of, load_page, page
from console.records import history
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from registry.agent_configs import serialization
from registry.agent_configs.bundles.differences import compare_bundles, summarize_difference
from registry.agent_configs.delivery.data_planes import approve, get_bundle
from registry.agent_configs.delivery.plane_access import (
    check_contents,
    get_readable_bundle,
    get_readable_plane,
    get_ruled_plane,
    readable_planes,
)
from registry.agent_configs.models import AgentConfigBundle, DataPlane
from registry.agent_configs.publishing.hidden_teams import hidden_teams, shows_contents
from registry.agent_configs.storage.stages import find_unsettled_earlier_planes
from registry.agent_configs.storage.team_parts import load_held_parts, load_held_teams
from registry.api.agent_configs.data_plane_schemas import show_plane, show_plane_to
from registry.api.agent_configs.part_schemas import show_part

_MAX_LINES = 5000
_MAX_EVENTS = 20


@page
def planes(request: HttpRequest, caller: Caller) -> HttpResponse:
    caller.require_for_some_owner(Action.AGENT_CONFIG_READ)
    results = load_page(request, caller, readable_planes(caller).annotate(now=Now()), order=("name",))
    teams, hidden = load_held_teams(results.items), hidden_teams(caller)
    context = {
        "tab": "data-planes",
        "results": results,
        "planes": [
            (
                data_plane,
                state(data_plane),
                [team for team in teams.get(data_plane.name, ()) if team not in hidden],
            )
            for data_plane in results.items
        ],
        "curl": curl(request, "GET", "data-planes"),
        "cpctl": cpctl("agent-configs", "planes", "list"),
    }
    return render(request, "console/agent_configs/planes.html", context)


@page
def plane(request: HttpRequest, caller: Caller, name: str) -> HttpResponse:
    caller.require_for_some_owner(Action.AGENT_CONFIG_READ)
    data_plane, hidden = get_readable_plane(name, caller), hidden_teams(caller)
    is_whole = shows_contents(data_plane, hidden)
    bundles = (
        AgentConfigBundle.objects.filter(data_plane=data_plane).defer("text", "body").annotate(now=Now())
    )
    context = {
        "plane": data_plane,
        "details": show_plane_to(caller, data_plane, ()),
        "parts": [show_part(part) for part in load_held_parts(data_plane) if part.team not in hidden],
        "state": state(data_plane),
        "waits_for": find_unsettled_earlier_planes(data_plane),
        "history": history.of("data_plane", name, caller, limit=_MAX_EVENTS),
        "results": load_page(request, caller, bundles if is_whole else bundles.none(), order=("-id",)),
        "may_manage": is_whole and caller.verdict(Action.AGENT_CONFIG_RULE, owner=data_plane.team_id).allowed,
        "curl": curl(request, "GET", f"data-planes/{name}"),
        "cpctl": cpctl("agent-configs", "planes", "show", name),
    }
    return render(request, "console/agent_configs/plane.html", context)


@page
def bundle(request: HttpRequest, caller: Caller, name: str, revision: int) -> HttpResponse:
    """Show a bundle and its difference to the revision `?against=`, by default its parent."""
    caller.require_for_some_owner(Action.AGENT_CONFIG_READ)
    record = get_readable_bundle(name, revision, caller)
    parameter = request.GET.get("against", "")
    against = (
        int(parameter)
        if parameter.isascii() and parameter.isdecimal() and len(parameter) < 10
        else record.parent
    )
    baseline = get_bundle(name, against) if against else None
    changed = compare_bundles(
        serialization.bundle_from_json(baseline.body) if baseline else None,
        serialization.bundle_from_json(record.body),
    )
    revisions = AgentConfigBundle.objects.filter(data_plane=name).exclude(revision=revision)
    context = {
        "bundle": record,
        "inputs": [("/".join(entry["document"]), entry["generation"]) for entry in record.body["inputs"]],
        "dropped": [("/".join(entry["document"]), entry["message"]) for entry in record.body["dropped"]],
        "against": against,
        "revisions": revisions.order_by("-revision").values_list("revision", flat=True)[:100],
        "changes": summarize_difference(changed),
        "restarts": changed.restarts,
        "diff": diff(baseline.text if baseline else "", record.text),
        "curl": curl(request, "GET", f"agent-config-bundles/{name}/{revision}"),
        "cpctl": cpctl("agent-configs", "bundle", "get", name, str(revision)),
    }
    return render(request, "console/agent_configs/bundle.html", context)


@page
def approval(request: HttpRequest, caller: Caller, name: str) -> HttpResponse:
    caller.require_for_some_owner(Action.AGENT_CONFIG_RULE)
    data_plane = get_ruled_plane(name, caller)
    check_contents(data_plane, caller)
    details = show_plane(data_plane, ())
    digest = request.POST.get("digest") or request.GET.get("digest") or details["held_digest"]
    held_changes = (details, *map(show_part, load_held_parts(data_plane)))
    matching = (row for row in held_changes if row["held_digest"] == digest)
    pending: dict[str, Any] = next(matching, {"held": [], "held_changes": []})
    subject = f"the held change of team {pending['team']}" if "team" in pending else "the held bundle"
    change = Change(
        f"Approve {subject} for {name}?",
        (*(f"Held: {reason['message']}" for reason in pending["held"]), *pending["held_changes"])
        or ("Nothing is held.",),
        "Approve change",
        reverse("data-plane", args=[name]),
        "Change approved.",
        # Approve exactly what was shown: another bundle can be held by the time of the confirmation.
        (Field("digest", "", "hidden", value=digest), Field("reason", "Reason")),
        {
            "curl": curl(request, "POST", f"data-planes/{name}:approve", {"digest": digest}),
            "cpctl": cpctl("agent-configs", "planes", "approve", name),
        },
        is_destructive=True,
    )
    return confirm_change(
        request,
        change,
        lambda form: approve(name, form.get("digest", ""), actor=actor_of(caller, form.get("reason", ""))),
    )


def state(data_plane: DataPlane) -> str:
    """Return the last acknowledgement of the data plane as one word."""
    if not data_plane.active_revision:
        return "waiting"
    return data_plane.ack_state.lower() or "pending"


def diff(before: str, after: str) -> list[tuple[str, str]]:
    """Return lines of a unified diff, each with its kind."""
    kinds = {"+": "added", "-": "gone", "@": "place"}
    diff_lines = unified_diff(before.splitlines(), after.splitlines(), lineterm="")
    lines = [line for line in diff_lines if not line.startswith(("+++", "---"))]
    return [(kinds.get(line[:1], "same"), line) for line in lines[:_MAX_LINES]]
