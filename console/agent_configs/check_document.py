"""A box to try a document in: what is wrong with it, what it would change, and then to publish it."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from console.agent_configs import document_status
from console.cpctl_commands import curl
from console.forms import filled, said_in
from console.pages import actor_of, page
from controlplane.api.problems import STATUS_BY_ERROR
from controlplane.errors import ControlplaneError, UnknownAgentConfig
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from controlplane.preconditions import Precondition
from registry.agent_configs import serialization
from registry.agent_configs.documents.published import DocumentId
from registry.agent_configs.models import AgentConfig
from registry.agent_configs.publishing.preview import DataPlaneOutcome, PreviewChange, preview_changes
from registry.agent_configs.publishing.publish import API, DocumentSpec, get_visible_document, put_document
from registry.agent_configs.publishing.teams import check_may_publish
from registry.api.agent_configs.document_schemas import PreviewedChange, show_conflicts

_NAMES = ("team", "name", "text", "generation", "reason")


@page
def check(request: HttpRequest, caller: Caller) -> HttpResponse:
    caller.require_somewhere(Action.AGENT_CONFIG_PUBLISH)
    context: dict[str, Any] = {"tab": "agent-config-check", "draft": _draft(request)}
    if request.method != "POST":
        context["said"] = _begun(request, caller)
        return render(request, "console/agent_configs/check.html", context)
    context["said"] = {name: request.POST.get(name, "") for name in _NAMES}
    try:
        said = said_in(request)
        wanted = filled(PreviewedChange, {name: said.get(name, "") for name in ("team", "name", "text")})
        check_may_publish(caller, wanted["team"])
        document = DocumentId(API, wanted["team"], wanted["name"])
        if "publish" in said:
            return _publish(request, caller, DocumentSpec(document, wanted["text"]), said)
        context |= _previewed(document, wanted["text"], caller)
        path = f"agent-configs/{document.namespace}/{document.name}"
        context["curl"] = curl(request, "PUT", path, {"text": wanted["text"]})
    except ControlplaneError as error:
        context["problem"] = error
        status = STATUS_BY_ERROR[type(error)]
        return render(request, "console/agent_configs/check.html", context, status=status)
    return render(request, "console/agent_configs/check.html", context)


def _begun(request: HttpRequest, caller: Caller) -> dict[str, Any]:
    """What the box holds first: a document that is published already, or nothing."""
    said = {name: request.GET.get(name, "") for name in ("team", "name")}
    try:
        row = get_visible_document(DocumentId(API, said["team"], said["name"]), caller)
    except UnknownAgentConfig:
        return said
    return {**said, "text": row.text, "generation": row.generation}


def _draft(request: HttpRequest) -> str:
    """By what the browser keeps what is typed: one draft for each document that is changed."""
    return f"agent-config:{request.GET.get('team', '')}/{request.GET.get('name', '')}"


def _previewed(document: DocumentId, text: str, caller: Caller) -> dict[str, Any]:
    found = preview_changes([PreviewChange(document, text)])
    reading = found.readings[document]
    diagnostics = [serialization.diagnostic_to_json(one) for one in reading.diagnostics]
    return {
        "checked": True,
        "is_valid": not reading.errors,
        "diagnostics": diagnostics,
        "lines": document_status.lines(text, diagnostics) if diagnostics else [],
        "outcomes": [(one, _conflicts(one, document, caller)) for one in found.outcomes],
    }


def _conflicts(outcome: DataPlaneOutcome, document: DocumentId, caller: Caller) -> list[dict[str, Any]]:
    standing = outcome.statuses.get(document)
    return show_conflicts(standing.conflicts, caller) if standing else []


def _publish(
    request: HttpRequest, caller: Caller, wanted: DocumentSpec, said: dict[str, str]
) -> HttpResponse:
    generation = said.get("generation", "")
    known = frozenset({int(generation)}) if generation.isdecimal() and len(generation) < 10 else None
    # Nobody overwrites what they have not seen.
    precondition = Precondition(versions=known, must_be_new=known is None)
    with transaction.atomic():
        row, _ = put_document(
            _as_it_stands(wanted), actor=actor_of(caller, said.get("reason", "")), precondition=precondition
        )
    said_of_it = f"{row} is published, generation {row.generation}."
    messages.success(request, said_of_it, extra_tags=_draft(request))
    return redirect("agent-config", row.source, row.team, row.name)


def _as_it_stands(wanted: DocumentSpec) -> DocumentSpec:
    """With the facts and the canary that it has: the form does not ask for them."""
    row = AgentConfig.objects.filter(
        source=API, team=wanted.id.namespace, name=wanted.id.name, deleted_at=None
    ).first()
    if row is None:
        return wanted
    return DocumentSpec(
        wanted.id,
        wanted.text,
        serialization.facts_from_json(row.facts),
        serialization.canary_from_json(row.canary),
    )
