"""Published documents: the list by owner, one with what is wrong, what it claims and how it came about."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from django.db.models import Prefetch, QuerySet
from django.db.models.functions import Now
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.http import urlencode

from console.agent_configs import document_status, sources
from console.confirmations import Change, Field, confirmed
from console.cpctl_commands import curl
from console.filter_choices import offered
from console.pages import actor_of, page, page_of
from console.records import history
from controlplane.database.clock import database_now
from controlplane.errors import PermissionDenied
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from registry.agent_configs.documents.published import DocumentId
from registry.agent_configs.models import AgentConfig, AgentConfigStatus, ClaimRecord
from registry.agent_configs.part_models import AgentConfigPart
from registry.agent_configs.publishing.publish import API, get_visible_document
from registry.agent_configs.publishing.quarantine import quarantine, readmit
from registry.agent_configs.publishing.teams import check_may_publish, hidden_teams
from registry.agent_configs.sources.state import SOURCES
from registry.api.agent_configs.document_schemas import show_conflicts
from registry.api.agent_configs.part_schemas import show_part

_TOLD = 20


@page
def documents(request: HttpRequest, caller: Caller) -> HttpResponse:
    caller.require_somewhere(Action.AGENT_CONFIG_READ)
    asked = {name: request.GET.get(name, "").strip() for name in ("team", "source", "valid")}
    hidden = hidden_teams(caller)
    rows = AgentConfig.objects.filter(deleted_at=None).exclude(team__in=hidden)
    found = page_of(request, caller, _fitting(rows, asked), order=("team", "name", "source"))
    query = urlencode({name: value for name, value in asked.items() if value})
    context = {
        "tab": "agent-configs",
        "asked": asked,
        "filtered": any(asked.values()),
        "sources": offered((API, *SOURCES), asked["source"]),
        "found": found,
        "documents": [(one, _words(one)) for one in found.items],
        "parts": _held_parts(hidden, asked["team"]),
        "followed": sources.followed(caller),
        "now": database_now(),
        "may_rule": caller.verdict(Action.AGENT_CONFIG_RULE).allowed,
        "curl": curl(request, "GET", f"agent-configs{'?' if query else ''}{query}"),
    }
    return render(request, "console/agent_configs/documents.html", context)


@page
def document(request: HttpRequest, caller: Caller, source: str, team: str, name: str) -> HttpResponse:
    caller.require_somewhere(Action.AGENT_CONFIG_READ)
    row = get_visible_document(DocumentId(source, team, name), caller)
    stands = list(row.statuses.order_by("data_plane"))
    context = {
        "row": row,
        "now": database_now(),
        "lines": document_status.lines(row.text, row.diagnostics),
        "standings": [
            (one, document_status.word(one.conditions, one.conflicts), show_conflicts(one.conflicts, caller))
            for one in stands
        ],
        "held": [
            (one.data_plane_id, why) for one in stands if (why := document_status.why_held(one.conditions))
        ],
        "reachable": next(
            (found for one in stands if (found := document_status.reachable(one.conditions))), None
        ),
        "claims": ClaimRecord.objects.filter(source=source, team=team, document=name).order_by(
            "data_plane", "kind", "name"
        )[:200],
        "quarantines": row.quarantines.order_by("id"),
        "history": history.of("agent_config", str(row), caller, most=_TOLD),
        "may_rule": caller.verdict(Action.AGENT_CONFIG_RULE).allowed,
        "may_publish": _may_publish(caller, team),
        "curl": curl(
            request, "GET", f"agent-configs/{quote(team, safe='')}/{quote(name)}?source={quote(source)}"
        ),
    }
    return render(request, "console/agent_configs/document.html", context)


@page
def leave_out(request: HttpRequest, caller: Caller, source: str, team: str, name: str) -> HttpResponse:
    caller.require(Action.AGENT_CONFIG_RULE)
    row = get_visible_document(DocumentId(source, team, name), caller)
    serving = [one.data_plane_id for one in row.statuses.order_by("data_plane")]
    change = Change(
        f"Leave {row} out of every data plane?",
        (
            f"It takes part in: {', '.join(serving) or 'no data plane'}.",
            "Its claims are served by nobody, or by who claims them next, until it is readmitted.",
        ),
        "Leave it out",
        _address(row),
        f"{row} is left out.",
        (Field("reason", "Why", hint="Its authors read it.", required=True),),
        {"curl": curl(request, "POST", "agent-configs:quarantine", _named(row))},
        is_grave=True,
    )
    return confirmed(
        request,
        change,
        lambda said: quarantine(row, said.get("reason", ""), actor=actor_of(caller, said.get("reason", ""))),
    )


@page
def let_in(request: HttpRequest, caller: Caller, source: str, team: str, name: str) -> HttpResponse:
    caller.require(Action.AGENT_CONFIG_RULE)
    row = get_visible_document(DocumentId(source, team, name), caller)
    change = Change(
        f"Let {row} in again?",
        ("It takes part in the next bundle of each data plane that it was left out of.",),
        "Let it in",
        _address(row),
        f"{row} takes part again.",
        (Field("reason", "Why"),),
        {"curl": curl(request, "POST", "agent-configs:readmit", _named(row))},
    )
    return confirmed(
        request, change, lambda said: readmit(row, actor=actor_of(caller, said.get("reason", "")))
    )


def _fitting(rows: QuerySet[AgentConfig], asked: dict[str, str]) -> QuerySet[AgentConfig]:
    if not all(value.isprintable() for value in asked.values()):
        return rows.none()
    filters: dict[str, Any] = {name: asked[name] for name in ("team", "source") if asked[name]}
    if asked["valid"]:
        filters["is_valid"] = asked["valid"] == "true"
    stands = Prefetch("statuses", AgentConfigStatus.objects.order_by("data_plane"))
    found = rows.filter(**filters).defer("text", "content").annotate(now=Now())
    return found.prefetch_related(stands, "quarantines")


def _held_parts(hidden: list[str], team: str) -> list[dict[str, Any]]:
    """Changes that wait, also those of which no document is left."""
    rows = AgentConfigPart.objects.exclude(held=None).exclude(team__in=hidden)
    if team and team.isprintable():
        rows = rows.filter(team=team)
    return [show_part(one) for one in rows.order_by("team", "data_plane")[:_TOLD]]


def _words(row: AgentConfig) -> list[tuple[str, str]]:
    return [
        (one.data_plane_id, document_status.word(one.conditions, one.conflicts)) for one in row.statuses.all()
    ]


def _may_publish(caller: Caller, team: str) -> bool:
    try:
        check_may_publish(caller, team)
    except PermissionDenied:
        return False
    return True


def _address(row: AgentConfig) -> str:
    return reverse("agent-config", args=[row.source, row.team, row.name])


def _named(row: AgentConfig) -> dict[str, str]:
    return {"source": row.source, "team": row.team, "name": row.name}
