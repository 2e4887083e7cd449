"""Calls for projects, domains and the version."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from flyteidl.admin import project_pb2 as flyte
from flyteidl.admin.version_pb2 import GetVersionResponse, Version
from google.protobuf.message import Message

from controlplane import __version__
from controlplane.errors import NameTaken, UnknownProject
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from controlplane.observability.request_ids import current_request_id
from controlplane.scopes import Scope
from overrides.flyte import project_filters
from overrides.flyte.errors import Code, FlyteError, invalid
from overrides.flyte.project_checks import check_project
from overrides.models import Project, ProjectState
from overrides.projects import (
    ProjectFields,
    create_project,
    domains_in_order,
    require_readable,
    update_project,
)


def register(request: Any, caller: Caller) -> Message:
    caller.require_to_create_projects()
    if not request.HasField("project"):
        raise invalid("missing project")
    project = request.project
    check_project(project, name_required=True)
    fields = ProjectFields(project.name, project.description, _labels(project), ProjectState(project.state))
    try:
        create_project(project.id, fields, actor=caller.actor(current_request_id()), tenant=caller.tenant)
    except NameTaken as error:
        # Upstream returns its database's error; ours must not be disclosed.
        message = (
            "value with matching already exists (duplicate key value violates unique constraint "
            f'"projects_pkey": {project.id})'
        )
        raise FlyteError(Code.ALREADY_EXISTS, message) from error
    return flyte.ProjectRegisterResponse()


def update(request: Any, caller: Caller) -> Message:
    """Update a project as upstream: empty texts and absent labels change nothing, the state always does."""
    caller.require(Action.PROJECT_WRITE, Scope(project=request.id))
    if not Project.objects.filter(id=request.id).exists():
        raise _missing(request.id)
    check_project(request, name_required=False)
    fields = ProjectFields(
        request.name or None, request.description or None, _labels(request), ProjectState(request.state)
    )
    try:
        update_project(request.id, fields, actor=caller.actor(current_request_id()))
    except UnknownProject as error:
        raise _missing(request.id) from error
    return flyte.ProjectUpdateResponse()


def get(request: Any, caller: Caller) -> Message:
    if not request.id:
        raise invalid("missing project_id")
    require_readable(caller, request.id)
    project = Project.objects.filter(id=request.id).first()
    if project is None:
        raise _missing(request.id)
    return _message(project, _domains())


def list_all(request: Any, caller: Caller) -> Message:
    """List projects; without a filter, omit archived projects; limit 0 means all."""
    condition = project_filters.condition(request.filters) if request.filters else None
    order = project_filters.ordering(request.sort_by) if request.HasField("sort_by") else ["id"]
    start = project_filters.offset(request.token)
    rows = Project.objects.readable_in(caller.scopes_for(Action.PROJECT_READ)).order_by(*order)
    rows = rows.exclude(state=ProjectState.ARCHIVED) if condition is None else rows.filter(condition)
    page = list(rows[start : start + request.limit] if request.limit else rows[start:])
    domains = _domains()
    is_full = bool(request.limit) and len(page) == request.limit
    return flyte.Projects(
        projects=[_message(project, domains) for project in page],
        token=str(start + request.limit) if is_full else "",
    )


def list_domains(request: Any, caller: Caller) -> Message:
    return flyte.GetDomainsResponse(domains=_domains())


def version(request: Any, caller: None) -> Message:
    version_message = Version(Build=settings.BUILD_COMMIT, Version=__version__, BuildTime=settings.BUILD_TIME)
    return GetVersionResponse(control_plane_version=version_message)


def _domains() -> list[flyte.Domain]:
    return [flyte.Domain(id=domain.id, name=domain.name) for domain in domains_in_order()]


def _message(project: Project, domains: list[flyte.Domain]) -> flyte.Project:
    message = flyte.Project(
        id=project.id,
        name=project.name,
        domains=domains,
        description=project.description,
        state=flyte.Project.ProjectState.Name(project.state),
    )
    if project.labels is not None:
        message.labels.SetInParent()
        message.labels.values.update(project.labels)
    return message


def _labels(project: flyte.Project) -> dict[str, str] | None:
    return dict(project.labels.values) if project.HasField("labels") else None


def _missing(project_id: str) -> FlyteError:
    return FlyteError(Code.NOT_FOUND, f"project [{project_id}] not found")
