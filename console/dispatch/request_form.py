"""The page that requests a resource, with a preview of its placement."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from console.cpctl_commands import cpctl, curl
from console.dispatch.lookup import require_for_some
from console.dispatch.placement import shown_verdicts
from console.filter_choices import domains, projects
from console.forms import parse_form, read_form, split_words
from console.pages import actor_of, page
from controlplane.api.problems import STATUS_BY_ERROR
from controlplane.errors import ControlplaneError, FieldError, InvalidRequest, MalformedBody, PermissionDenied
from controlplane.formats import strict_yaml
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from controlplane.ids import uuid7
from overrides.projects import check_known
from registry.agents.models import Agent
from registry.api.dispatch.resource_schemas import ResourceCreationQuery, ResourceWrite, scope_in
from registry.dispatch.placement.scores import WEIGHTS
from registry.dispatch.resources.explain import explain_request
from registry.dispatch.resources.owners import choose_owner
from registry.dispatch.resources.requests import ResourceRequest, create_resource
from registry.dispatch.resources.spec_checks import check_spec

_TEMPLATE = "console/dispatch/request.html"
_SCOPE = ("project", "domain", "workflow", "launch_plan")
_PLACE = ("environment", "agent", "selector")
_FIELDS = ("id", "service_type", "team", "labels", "spec", "reason", *_SCOPE, *_PLACE)
# Agents whose service types the form suggests.
_MOST_AGENTS = 1000


@page
def request_resource(request: HttpRequest, caller: Caller) -> HttpResponse:
    require_for_some(caller, Action.RESOURCE_WRITE)
    source = request.POST if request.method == "POST" else request.GET
    form = {name: source.get(name, "") for name in _FIELDS}
    context = _context(form, caller)
    if request.method != "POST":
        return render(request, _TEMPLATE, context)
    try:
        values = read_form(request)
        body = _body(values)
        resource = _request(body, values.get("id", ""), caller)
        if "send" in values:
            return _send(request, resource, caller, values.get("reason", ""))
        context |= _preview(resource, caller)
        context["copies"] = _copies(request, values.get("id", "").strip(), body)
    except PermissionDenied:
        raise
    except ControlplaneError as error:
        context["problem"] = error
        return render(request, _TEMPLATE, context, status=STATUS_BY_ERROR[type(error)])
    return render(request, _TEMPLATE, context)


def _context(form: Mapping[str, str], caller: Caller) -> dict[str, Any]:
    rows = Agent.objects.within(caller).order_by("name").values_list("service_types", flat=True)
    return {
        "form": form,
        "segments": {name: form[name] for name in _SCOPE},
        "projects": projects(caller),
        "domains": domains(),
        "service_types": sorted({name for names in rows[:_MOST_AGENTS] for name in names}),
    }


def _body(form: Mapping[str, str]) -> dict[str, Any]:
    """Return the body of the API's request. Raises InvalidRequest, MalformedBody."""
    body: dict[str, Any] = {name: form[name].strip() for name in _SCOPE if form.get(name, "").strip()}
    body["service_type"] = form.get("service_type", "").strip()
    body["spec"] = _spec(form.get("spec", ""))
    if team := form.get("team", "").strip():
        body["team"] = team
    if labels := _labels(form.get("labels", "")):
        body["labels"] = labels
    if place := {name: form[name].strip() for name in _PLACE if form.get(name, "").strip()}:
        body["placement"] = place
    return body


def _spec(text: str) -> Any:
    if not text.strip():
        return {}
    try:
        return strict_yaml.load(text)
    except MalformedBody as error:
        raise InvalidRequest(
            f"The spec is neither YAML nor JSON: {error.detail}", errors=error.errors
        ) from error


def _labels(text: str) -> dict[str, str]:
    labels = {}
    for word in split_words(text):
        name, sign, value = word.partition("=")
        if not sign:
            message = f"{word!r} is not a label. Use name=value, separated by commas."
            raise InvalidRequest(message, errors=[FieldError("/labels", "malformed", message)])
        labels[name.strip()] = value.strip()
    return labels


def _request(body: dict[str, Any], resource_id: str, caller: Caller) -> ResourceRequest:
    """Return the request, with the checks of `POST /api/v1/resources`. Permission is checked first."""
    values = parse_form(ResourceWrite, body)
    scope = scope_in(values)
    team = choose_owner(caller, scope, values["team"])
    check_known(scope)
    check_spec(values["service_type"], values["spec"], scope)
    return ResourceRequest(
        _checked_id(resource_id.strip()),
        values["service_type"],
        values["spec"],
        scope,
        team.id if team else None,
        dict(values["labels"]),
        dict(values["placement"]),
    )


def _checked_id(resource_id: str) -> str:
    if not resource_id:
        return str(uuid7())
    query = ResourceCreationQuery(data={"id": resource_id})
    if not query.is_valid():
        message = str(query.errors["id"][0])
        raise InvalidRequest(message, errors=[FieldError("?id", "invalid", message)])
    return resource_id


def _preview(resource: ResourceRequest, caller: Caller) -> dict[str, Any]:
    explanation = explain_request(resource, caller)
    return {
        "explanation": explanation,
        "verdicts": shown_verdicts(explanation.verdicts),
        "weights": WEIGHTS,
    }


def _send(request: HttpRequest, resource: ResourceRequest, caller: Caller, reason: str) -> HttpResponse:
    with transaction.atomic():
        row = create_resource(resource, actor=actor_of(caller, reason))
    messages.success(request, f"Requested {row.id}.")
    return redirect("resource", row.id)


def _copies(request: HttpRequest, resource_id: str, body: Mapping[str, Any]) -> dict[str, str]:
    query = f"?id={resource_id}" if resource_id else ""
    words = ("--id", resource_id) if resource_id else ()
    return {
        "curl": curl(request, "POST", f"resources{query}", body),
        "cpctl": cpctl("resources", "apply", "-f", "resource.yaml", *words),
        "yaml": strict_yaml.dump(dict(body)),
    }
