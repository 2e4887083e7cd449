"""The page that validates a document, previews its effects, and publishes it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from console.agent_configs import document_status
from console.cpctl_commands import cpctl, curl
from console.forms import parse_form, read_form
from console.pages import actor_of, page
from controlplane.api.problems import STATUS_BY_ERROR
from controlplane.errors import ControlplaneError, UnknownAgentConfig
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from controlplane.preconditions import Precondition
from registry.agent_configs import serialization
from registry.agent_configs.documents.published import DocumentId
from registry.agent_configs.models import AgentConfig
from registry.agent_configs.publishing.hidden_teams import HiddenTeams, hidden_teams
from registry.agent_configs.publishing.preview import DataPlaneOutcome, PreviewChange, preview_changes
from registry.agent_configs.publishing.publish import API, DocumentSpec, get_visible_document, put_document
from registry.agent_configs.publishing.teams import check_may_publish
from registry.api.agent_configs.document_schemas import PreviewedChange, show_conflicts

_FIELDS = ("team", "name", "text", "generation", "reason")


@page
def check(request: HttpRequest, caller: Caller) -> HttpResponse:
    # The form names the team, so it decides who may publish.
    caller.require_for_some_owner(Action.AGENT_CONFIG_READ)
    context: dict[str, Any] = {"tab": "agent-config-check", "draft": _draft(request)}
    if request.method != "POST":
        context["form"] = _initial_values(request, caller)
        return render(request, "console/agent_configs/check.html", context)
    context["form"] = {name: request.POST.get(name, "") for name in _FIELDS}
    try:
        form = read_form(request)
        values = parse_form(PreviewedChange, {name: form.get(name, "") for name in ("team", "name", "text")})
        check_may_publish(caller, values["team"])
        document = DocumentId(API, values["team"], values["name"])
        if "publish" in form:
            return _publish(request, caller, DocumentSpec(document, values["text"]), form)
        context |= _preview(document, values["text"], caller)
        path = f"agent-configs/{document.namespace}/{document.name}"
        context["curl"] = curl(request, "PUT", path, {"text": values["text"]}, version=_generation(form))
        name = f"{values['team']}/{values['name']}"
        context["cpctl"] = cpctl("agent-configs", "publish", name, "-f", "agents.yaml")
    except ControlplaneError as error:
        context["problem"] = error
        status = STATUS_BY_ERROR[type(error)]
        return render(request, "console/agent_configs/check.html", context, status=status)
    return render(request, "console/agent_configs/check.html", context)


def _initial_values(request: HttpRequest, caller: Caller) -> dict[str, Any]:
    """Return the initial form: a document that is already published, or an empty one."""
    values = {name: request.GET.get(name, "") for name in ("team", "name")}
    try:
        row = get_visible_document(DocumentId(API, values["team"], values["name"]), caller)
    except UnknownAgentConfig:
        return values
    return {**values, "text": row.text, "generation": row.generation}


def _draft(request: HttpRequest) -> str:
    """Return the key of the browser's draft: one draft per document."""
    return f"agent-config:{request.GET.get('team', '')}/{request.GET.get('name', '')}"


def _preview(document: DocumentId, text: str, caller: Caller) -> dict[str, Any]:
    result, hidden = preview_changes([PreviewChange(document, text)], caller), hidden_teams(caller)
    reading = result.readings[document]
    diagnostics = [serialization.diagnostic_to_json(diagnostic) for diagnostic in reading.diagnostics]
    return {
        "checked": True,
        "is_valid": not reading.errors,
        "diagnostics": diagnostics,
        "lines": document_status.lines(text, diagnostics) if diagnostics else [],
        "outcomes": [(outcome, _conflicts(outcome, document, hidden)) for outcome in result.outcomes],
    }


def _conflicts(outcome: DataPlaneOutcome, document: DocumentId, hidden: HiddenTeams) -> list[dict[str, Any]]:
    status = outcome.statuses.get(document)
    return show_conflicts(status.conflicts, hidden) if status else []


def _publish(request: HttpRequest, caller: Caller, spec: DocumentSpec, form: dict[str, str]) -> HttpResponse:
    # A user must not overwrite a generation that they have not seen.
    generation = _generation(form)
    expected = frozenset({generation}) if generation else None
    precondition = Precondition(versions=expected, must_be_new=expected is None)
    with transaction.atomic():
        row, _ = put_document(
            _with_stored_settings(spec),
            actor=actor_of(caller, form.get("reason", "")),
            precondition=precondition,
        )
    message = f"Published {row}, generation {row.generation}."
    messages.success(request, message, extra_tags=_draft(request))
    return redirect("agent-config", row.source, row.team, row.name)


def _generation(form: Mapping[str, str]) -> int:
    """Return the generation that the form began with; 0 for a new document."""
    text = form.get("generation", "")
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else 0


def _with_stored_settings(spec: DocumentSpec) -> DocumentSpec:
    """Keep the stored facts and canary of the document, which the form does not contain."""
    row = AgentConfig.objects.filter(
        source=API, team=spec.id.namespace, name=spec.id.name, deleted_at=None
    ).first()
    if row is None:
        return spec
    return DocumentSpec(
        spec.id,
        spec.text,
        serialization.facts_from_json(row.facts),
        serialization.canary_from_json(row.canary),
    )
