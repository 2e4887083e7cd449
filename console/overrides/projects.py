"""The pages of projects: the list with counts, one project, and the pages that create and change one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db.models import Count, QuerySet
from django.db.models.functions import Now
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.http import urlencode

from console.confirmations import Change, Field, confirm_change
from console.cpctl_commands import cpctl, curl
from console.forms import form_version, parse_form, split_words
from console.pages import actor_of, load_page, page
from controlplane.database.clock import database_now
from controlplane.database.label_conditions import selected_by
from controlplane.database.scoped import overlapping
from controlplane.errors import FieldError, InvalidRequest, UnknownProject
from controlplane.events.visibility import visible_events
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from controlplane.preconditions import Precondition
from controlplane.scopes import Scope
from overrides.api.project_schemas import STATES, ProjectPatch, ProjectWrite, project_fields
from overrides.models import GuardRailRow, Override, Project, ProjectState
from overrides.projects import create_project, domains_in_order, require_readable, update_project
from overrides.scheduled_models import OverrideChange

_MOST_EVENTS = 10
_LABELS = Field("labels", "Labels", hint="Kubernetes labels of executions, as team=ml, tier=gold.")


@page
def projects(request: HttpRequest, caller: Caller) -> HttpResponse:
    """List projects. `?q=`: part of the id or the name. `?selector=`: of labels."""
    scopes = caller.require_somewhere(Action.PROJECT_READ)
    rows = Project.objects.readable_in(scopes)
    query = request.GET.get("q", "").strip()
    if query:
        matching = rows.filter(id__icontains=query) | rows.filter(name__icontains=query)
        rows = matching if query.isprintable() else rows.none()
    selector = request.GET.get("selector", "").strip()
    problem, selected = _selected(rows, selector)
    results = load_page(request, caller, selected, order=("id",))
    names = [row.id for row in results.items]
    overrides, pending = _counts(caller, Override, names), _pending(caller, names)
    context = {
        "query": query,
        "selector": selector,
        "problem": problem,
        "results": results,
        "projects": [(row, overrides.get(row.id, 0), pending.get(row.id, 0)) for row in results.items],
        "reads_overrides": bool(caller.scopes_for(Action.OVERRIDE_READ)),
        "may_create": _may_create(caller),
        "archived": ProjectState.ARCHIVED,
        "first": cpctl("projects", "create", "flytesnacks"),
        "copies": _list_copies(request, query, selector),
    }
    return render(request, "console/overrides/projects.html", context, status=422 if problem else 200)


def _list_copies(request: HttpRequest, query: str, selector: str) -> dict[str, str]:
    parameters = urlencode({name: value for name, value in (("q", query), ("selector", selector)) if value})
    options = [*(("--search", query) if query else ()), *(("-l", selector) if selector else ())]
    return {
        "curl": curl(request, "GET", f"scopes/projects{'?' if parameters else ''}{parameters}"),
        "cpctl": cpctl("projects", "list", *options),
    }


def _selected(rows: QuerySet[Project], selector: str) -> tuple[InvalidRequest | None, QuerySet[Project]]:
    """Return the projects with these labels; or the problem of the selector, and none."""
    try:
        return None, rows.filter(selected_by(selector))
    except InvalidRequest as error:
        return error, rows.none()


@page
def project(request: HttpRequest, caller: Caller, name: str) -> HttpResponse:
    require_readable(caller, name)
    row, scope = _get(name), Scope(project=name)
    readable = caller.scopes_for(Action.OVERRIDE_READ)
    overrides = Override.objects.within(readable).filter(project=name)
    by_domain = dict(
        overrides.order_by().values_list("domain").annotate(count=Count("pk")).values_list("domain", "count")
    )
    events = visible_events(caller).filter(project=name).order_by("-seq", "-position")
    context = {
        "project": row,
        "state": ProjectState(row.state).label,
        "labels": sorted((row.labels or {}).items()),
        "now": database_now(),
        "places": [("all domains", scope, by_domain.get("", 0))]
        + [
            (domain.id, Scope(project=name, domain=domain.id), by_domain.get(domain.id, 0))
            for domain in domains_in_order()
        ],
        "total": sum(by_domain.values()),
        "reads_overrides": bool(readable),
        "rails": _rails(scope) if readable else [],
        "pending": _pending(caller, [name]).get(name, 0),
        "events": events.annotate(now=Now())[:_MOST_EVENTS],
        "may_write": caller.verdict(Action.PROJECT_WRITE, scope).allowed,
        "first": cpctl("edit", "-p", name, "-d", "development"),
        "copies": {
            "curl": curl(request, "GET", f"scopes/projects/{name}"),
            "cpctl": cpctl("get", "project", name),
        },
    }
    return render(request, "console/overrides/project.html", context)


@page
def create(request: HttpRequest, caller: Caller) -> HttpResponse:
    caller.require_to_create_projects()
    change = Change(
        "Create a project",
        (
            "Overrides can be set for the project immediately, in each domain.",
            "A project cannot be deleted, and its id cannot change. It can be archived.",
        ),
        "Create project",
        reverse("projects"),
        "Project created.",
        (
            Field("id", "Id", hint="Lower-case letters, digits and inner hyphens.", required=True),
            Field("name", "Name", hint="Shown to people. Empty: the id."),
            Field("description", "Description"),
            _LABELS,
            Field("reason", "Reason", hint="Kept in the audit log."),
        ),
        {
            "curl": curl(request, "POST", "scopes/projects", {"id": "flytesnacks"}),
            "cpctl": cpctl("projects", "create", "flytesnacks"),
        },
    )

    def act(form: Mapping[str, str]) -> None:
        body = parse_form(ProjectWrite, _body(form, "id", "name", "description"))
        actor = actor_of(caller, form.get("reason", ""))
        fields = project_fields(body, state=body["state"])
        create_project(body["id"], fields, actor=actor, tenant=caller.tenant)

    return confirm_change(request, change, act)


@page
def edit(request: HttpRequest, caller: Caller, name: str) -> HttpResponse:
    require_readable(caller, name)
    caller.require(Action.PROJECT_WRITE, Scope(project=name))
    row = _get(name)
    change = Change(
        f"Edit project {name}",
        (
            "An archived project is hidden in Flyte's lists, and Flyte's clients cannot change it.",
            "Its overrides stay in effect.",
        ),
        "Save project",
        reverse("project", args=[name]),
        "Project saved.",
        (
            Field("name", "Name", value=row.name, required=True),
            Field("description", "Description", value=row.description),
            Field(
                "labels",
                "Labels",
                hint=_LABELS.hint,
                value=", ".join(f"{key}={value}" for key, value in sorted((row.labels or {}).items())),
            ),
            Field(
                "state",
                "State",
                value=ProjectState(row.state).label,
                choices=tuple(label for label, _ in STATES),
            ),
            Field("reason", "Reason", hint="Kept in the audit log."),
            Field("version", "Version", "hidden", value=str(row.version)),
        ),
        {
            "curl": curl(
                request,
                "PATCH",
                f"scopes/projects/{name}",
                {"name": row.name, "description": row.description},
                version=row.version,
            )
        },
    )

    def act(form: Mapping[str, str]) -> None:
        body = parse_form(ProjectPatch, _body(form, "name", "description", "state"))
        update_project(
            name,
            project_fields(body, state=body.get("state")),
            actor=actor_of(caller, form.get("reason", "")),
            precondition=Precondition(versions=frozenset([form_version(form)])),
        )

    return confirm_change(request, change, act)


def _get(name: str) -> Project:
    row = Project.objects.filter(id=name).first() if name.isprintable() else None
    if row is None:
        raise UnknownProject(f"Project {name[:80]!r} does not exist.")
    return row


def _body(form: Mapping[str, str], *names: str) -> dict[str, Any]:
    return {
        **{name: form.get(name, "").strip() for name in names},
        "labels": _labels(form.get("labels", "")),
    }


def _labels(text: str) -> dict[str, str]:
    labels = {}
    for word in split_words(text):
        key, sign, value = word.partition("=")
        if not sign:
            message = f"{word[:80]!r} is not a label. Use key=value, separated by commas."
            raise InvalidRequest(message, errors=[FieldError("/labels", "malformed", message)])
        labels[key.strip()] = value.strip()
    return labels


def _may_create(caller: Caller) -> bool:
    """Answer as `Caller.require_to_create_projects` decides."""
    in_tenant = caller.tenant is not None and Action.PROJECT_WRITE in caller.tenant.actions
    return in_tenant or caller.verdict(Action.PROJECT_WRITE).allowed


def _rails(scope: Scope) -> QuerySet[GuardRailRow]:
    return GuardRailRow.objects.present().filter(overlapping([scope])).order_by("name")


def _counts(caller: Caller, model: Any, names: list[str], **filters: Any) -> dict[str, int]:
    rows = model.objects.within(caller.scopes_for(Action.OVERRIDE_READ)).filter(project__in=names, **filters)
    return dict(rows.order_by().values_list("project").annotate(count=Count("pk")))


def _pending(caller: Caller, names: list[str]) -> dict[str, int]:
    return _counts(caller, OverrideChange, names, due_at__isnull=False)
