"""Pages of published documents: the list, one document, quarantine and readmission."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from django.db.models import Prefetch, Q, QuerySet
from django.db.models.functions import Now
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.http import urlencode

from console.agent_configs import document_status, sources
from console.confirmations import Change, Field, confirm_change
from console.cpctl_commands import cpctl, curl
from console.filter_choices import select_options
from console.pages import actor_of, load_page, page
from console.records import history
from controlplane.database.clock import database_now
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from registry.agent_configs.documents.published import DocumentId
from registry.agent_configs.models import AgentConfig, AgentConfigStatus, ClaimRecord
from registry.agent_configs.owners import owner_of
from registry.agent_configs.part_models import AgentConfigPart
from registry.agent_configs.publishing.hidden_teams import (
    HiddenTeams,
    hidden_teams,
    planes_with_visible_names,
)
from registry.agent_configs.publishing.publish import API, get_visible_document
from registry.agent_configs.publishing.quarantine import quarantine, readmit
from registry.agent_configs.publishing.teams import get_ruled_document, may_publish
from registry.agent_configs.sources.state import source_names
from registry.api.agent_configs.document_schemas import show_status
from registry.api.agent_configs.part_schemas import show_part

_MAX_EVENTS = 20


@page
def documents(request: HttpRequest, caller: Caller) -> HttpResponse:
    caller.require_for_some_owner(Action.AGENT_CONFIG_READ)
    filters = {name: request.GET.get(name, "").strip() for name in ("team", "source", "valid")}
    hidden = hidden_teams(caller)
    rows = AgentConfig.objects.filter(hidden.visible("team"), deleted_at=None)
    named = planes_with_visible_names(caller)
    results = load_page(request, caller, _matching(rows, filters, named), order=("team", "name", "source"))
    query = urlencode({name: value for name, value in filters.items() if value})
    context = {
        "tab": "agent-configs",
        "filters": filters,
        "filtered": any(filters.values()),
        "sources": select_options((API, *source_names(caller)), filters["source"]),
        "results": results,
        "documents": [(row, _status_words(row)) for row in results.items],
        "parts": _held_parts(hidden, named, filters["team"]),
        "followed": sources.active_sources(caller),
        "now": database_now(),
        "may_manage": caller.verdict(Action.AGENT_CONFIG_RULE).allowed,
        "curl": curl(request, "GET", f"agent-configs{'?' if query else ''}{query}"),
        "cpctl": cpctl("agent-configs", "list", *_list_options(filters)),
    }
    return render(request, "console/agent_configs/documents.html", context)


@page
def document(request: HttpRequest, caller: Caller, source: str, team: str, name: str) -> HttpResponse:
    caller.require_for_some_owner(Action.AGENT_CONFIG_READ)
    row = get_visible_document(DocumentId(source, team, name), caller)
    hidden, named = hidden_teams(caller), planes_with_visible_names(caller)
    statuses = list(row.statuses.filter(named).order_by("data_plane"))
    context = {
        "row": row,
        "now": database_now(),
        "lines": document_status.lines(row.text, row.diagnostics),
        "statuses": [
            (
                status.data_plane_id,
                document_status.summarize(status.conditions, status.conflicts),
                show_status(status.conditions, status.conflicts, status.observations, hidden),
            )
            for status in statuses
        ],
        "held": [
            (status.data_plane_id, reason)
            for status in statuses
            if (reason := document_status.why_held(status.conditions))
        ],
        "reachable": next(
            (reach for status in statuses if (reach := document_status.reachable(status.conditions))), None
        ),
        "claims": ClaimRecord.objects.filter(named, source=source, team=team, document=name).order_by(
            "data_plane", "kind", "name"
        )[:200],
        "quarantines": row.quarantines.filter(Q(data_plane=None) | named).order_by("id"),
        "history": history.of("agent_config", str(row), caller, limit=_MAX_EVENTS),
        "may_manage": caller.verdict(Action.AGENT_CONFIG_RULE, owner=owner_of(team)).allowed,
        "may_publish": may_publish(caller, team),
        "curl": curl(
            request, "GET", f"agent-configs/{quote(team, safe='')}/{quote(name)}?source={quote(source)}"
        ),
        "cpctl": cpctl("agent-configs", "get", f"{team}/{name}") if source == API else "",
    }
    return render(request, "console/agent_configs/document.html", context)


@page
def quarantine_document(
    request: HttpRequest, caller: Caller, source: str, team: str, name: str
) -> HttpResponse:
    caller.require_for_some_owner(Action.AGENT_CONFIG_RULE)
    row = get_ruled_document(DocumentId(source, team, name), caller)
    statuses = row.statuses.filter(planes_with_visible_names(caller)).order_by("data_plane")
    serving = [status.data_plane_id for status in statuses]
    change = Change(
        f"Quarantine {row} in all data planes?",
        (
            f"Data planes that include it: {', '.join(serving) or 'none'}.",
            "Until it is readmitted, other documents that claim its names serve them, or none.",
        ),
        "Quarantine document",
        _document_url(row),
        f"Quarantined {row}.",
        (Field("reason", "Reason", hint="Shown to the document's team.", required=True),),
        {
            "curl": curl(request, "POST", "agent-configs:quarantine", _reference(row)),
            "cpctl": _command("quarantine", row),
        },
        is_destructive=True,
    )
    return confirm_change(
        request,
        change,
        lambda form: quarantine(row, form.get("reason", ""), actor=actor_of(caller, form.get("reason", ""))),
    )


@page
def readmit_document(request: HttpRequest, caller: Caller, source: str, team: str, name: str) -> HttpResponse:
    caller.require_for_some_owner(Action.AGENT_CONFIG_RULE)
    row = get_ruled_document(DocumentId(source, team, name), caller)
    change = Change(
        f"Readmit {row}?",
        ("The next bundle of each affected data plane includes the document again.",),
        "Readmit document",
        _document_url(row),
        f"Readmitted {row}.",
        (Field("reason", "Reason"),),
        {
            "curl": curl(request, "POST", "agent-configs:readmit", _reference(row)),
            "cpctl": _command("readmit", row),
        },
    )
    return confirm_change(
        request, change, lambda form: readmit(row, actor=actor_of(caller, form.get("reason", "")))
    )


def _matching(rows: QuerySet[AgentConfig], filters: dict[str, str], named: Q) -> QuerySet[AgentConfig]:
    if not all(value.isprintable() for value in filters.values()):
        return rows.none()
    conditions: dict[str, Any] = {name: filters[name] for name in ("team", "source") if filters[name]}
    if filters["valid"]:
        conditions["is_valid"] = filters["valid"] == "true"
    statuses = Prefetch("statuses", AgentConfigStatus.objects.filter(named).order_by("data_plane"))
    matching = rows.filter(**conditions).defer("text", "content").annotate(now=Now())
    return matching.prefetch_related(statuses, "quarantines")


def _held_parts(hidden: HiddenTeams, named: Q, team: str) -> list[dict[str, Any]]:
    """Return held changes, including those without a remaining document."""
    rows = AgentConfigPart.objects.exclude(held=None).filter(hidden.visible("team"), named)
    if team and team.isprintable():
        rows = rows.filter(team=team)
    return [show_part(part) for part in rows.order_by("team", "data_plane")[:_MAX_EVENTS]]


def _status_words(row: AgentConfig) -> list[tuple[str, str]]:
    return [
        (status.data_plane_id, document_status.summarize(status.conditions, status.conflicts))
        for status in row.statuses.all()
    ]


def _document_url(row: AgentConfig) -> str:
    return reverse("agent-config", args=[row.source, row.team, row.name])


def _command(verb: str, row: AgentConfig) -> str:
    source = () if row.source == API else ("--source", row.source)
    return cpctl("agent-configs", verb, f"{row.team}/{row.name}", *source)


def _list_options(filters: Mapping[str, str]) -> list[str]:
    """Return the filters of the list as options of cpctl, which has none for valid documents only."""
    words = [word for name in ("team", "source") if filters[name] for word in (f"--{name}", filters[name])]
    return [*words, *(["--invalid"] if filters["valid"] == "false" else [])]


def _reference(row: AgentConfig) -> dict[str, str]:
    return {"source": row.source, "team": row.team, "name": row.name}
