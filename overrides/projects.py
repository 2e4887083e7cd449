"""Projects and domains: the names that scopes can use."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import asdict, dataclass
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Case, When
from django.db.models.functions import Now

from controlplane.access import audit
from controlplane.access.organisations import add_project
from controlplane.errors import FieldError, InvalidRequest, NameTaken, UnknownDomain, UnknownProject
from controlplane.events.types import EventType
from controlplane.formats.label_selectors import Requirement
from controlplane.identity.actors import Actor
from controlplane.identity.callers import Caller, Tenant
from controlplane.identity.roles import Action
from controlplane.preconditions import Precondition, check
from controlplane.scopes import Scope
from overrides import event_types
from overrides.models import MAX_LABEL_LENGTH, Domain, Project, ProjectState
from overrides.resolution.leaves import escape
from overrides.resource_types.schemas import LABEL_VALUE, QUALIFIED_NAME

# As in FlyteAdmin.
MAX_LABELS = 16

# In the order of FlyteAdmin's default configuration; the initial migration registers all three.
_FIRST_DOMAINS = ("development", "staging", "production")
_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")


@dataclass(frozen=True, slots=True)
class ProjectFields:
    """Fields of a project to set. None leaves a field unchanged."""

    name: str | None = None
    description: str | None = None
    labels: Mapping[str, str] | None = None
    state: ProjectState | None = None


@transaction.atomic
def create_project(
    project_id: str,
    fields: ProjectFields = ProjectFields(),
    *,
    actor: Actor,
    tenant: Tenant | None = None,
) -> Project:
    """Register a project; its name defaults to its id. Raises NameTaken, InvalidRequest.

    tenant: the organisation that gets it; None: the installation.
    """
    _check_label(project_id)
    check_labels(fields.labels or {})
    project = Project(id=project_id, **_stated_fields(fields))
    project.name = project.name or project_id
    _insert(project, f"The project {project_id!r} already exists.")
    if tenant is not None:
        add_project(tenant.id, project_id)
    _record(event_types.PROJECT_CREATED, project, actor, before=None)
    return project


@transaction.atomic
def update_project(
    project_id: str, fields: ProjectFields, *, actor: Actor, precondition: Precondition | None = None
) -> Project:
    """Change fields of a project, including its state.

    Raises UnknownProject, InvalidRequest, and VersionMismatch if the precondition does not hold.
    """
    check_labels(fields.labels or {})
    project = Project.objects.select_for_update().filter(id=project_id).first()
    if project is None:
        raise UnknownProject(f"Project {project_id[:80]!r} does not exist.")
    check(precondition, project.version)
    before = _snapshot(project)
    for name, value in _stated_fields(fields).items():
        setattr(project, name, value)
    if _snapshot(project) != before:
        project.updated_at = Now()
        project.version += 1
        project.save()
        _record(event_types.PROJECT_UPDATED, project, actor, before=before)
    return project


def check_labels(labels: Mapping[str, str], pointer: str = "/labels") -> None:
    """Check Kubernetes' syntax, since executions carry the labels. Raises InvalidRequest."""
    errors = [
        FieldError(
            f"{pointer}/{escape(name)}", "malformed", f"{name!r}={value!r} is not a valid Kubernetes label."
        )
        for name, value in labels.items()
        if not (re.fullmatch(QUALIFIED_NAME, name) and re.fullmatch(LABEL_VALUE, value))
    ]
    if len(labels) > MAX_LABELS:
        errors.append(FieldError(pointer, "too_many", f"A project can have at most {MAX_LABELS} labels."))
    if errors:
        raise InvalidRequest(errors[0].message, errors=errors)


def _stated_fields(fields: ProjectFields) -> dict[str, Any]:
    return {name: value for name, value in asdict(fields).items() if value is not None}


def _snapshot(project: Project) -> dict[str, Any]:
    return {
        "id": project.id,
        "name": project.name,
        "description": project.description,
        "labels": project.labels,
        "state": ProjectState(project.state).label,
    }


def _record(event_type: EventType, project: Project, actor: Actor, *, before: dict[str, Any] | None) -> None:
    audit.record(
        event_type,
        "project",
        project.id,
        actor=actor,
        before=before,
        after=_snapshot(project),
        data={"project": project.id},
        scope=Scope(project=project.id),
    )


def domains_in_order() -> list[Domain]:
    """Return all domains in the order of registration; the initial domains in Flyte's own order."""
    first = Case(*(When(id=name, then=number) for number, name in enumerate(_FIRST_DOMAINS)), default=99)
    return list(Domain.objects.order_by("created_at", first, "id"))


@transaction.atomic
def create_domain(domain_id: str, *, name: str, actor: Actor) -> Domain:
    """Register a domain. Raises NameTaken, InvalidRequest."""
    _check_label(domain_id)
    domain = Domain(id=domain_id, name=name or domain_id)
    _insert(domain, f"The domain {domain_id!r} already exists.")
    audit.record(
        event_types.DOMAIN_CREATED,
        "domain",
        domain_id,
        actor=actor,
        before=None,
        after={"id": domain.id, "name": domain.name},
        data={"domain": domain_id},
        scope=Scope(domain=domain_id),
    )
    return domain


def require_readable(caller: Caller, project_id: str) -> None:
    """Raise PermissionDenied unless the caller may read the project.

    A caller with a role at a domain can read every project, because each has that domain.
    """
    if not any(scope.project in ("", project_id) for scope in caller.scopes_for(Action.PROJECT_READ)):
        caller.require(Action.PROJECT_READ, Scope(project=project_id))


def check_known(scope: Scope) -> None:
    """Raise UnknownProject or UnknownDomain, with the nearest name, unless the scope's names are registered.

    Workflows and launch plans are not registered: overrides can be set before the first run.
    """
    check_listed([scope], *known_names([scope]))


def known_names(scopes: Sequence[Scope]) -> tuple[set[str], set[str]]:
    """Return the registered projects and domains among those that the scopes name, with two queries."""
    projects = {scope.project for scope in scopes} - {""}
    domains = {scope.domain for scope in scopes} - {""}
    return (
        set(Project.objects.filter(id__in=projects).values_list("id", flat=True)) if projects else set(),
        set(Domain.objects.filter(id__in=domains).values_list("id", flat=True)) if domains else set(),
    )


def projects_with(requirements: Sequence[Requirement]) -> set[str]:
    """Return the projects whose labels meet all requirements."""
    return {
        project_id
        for project_id, labels in Project.objects.values_list("id", "labels")
        if all(requirement.is_met_by(labels or {}) for requirement in requirements)
    }


def check_listed(scopes: Iterable[Scope], projects: Set[str], domains: Set[str]) -> None:
    """Check like `check_known`, with the registered names already loaded."""
    for scope in scopes:
        if scope.project and scope.project not in projects:
            advice = _nearest(scope.project, list(Project.objects.values_list("id", flat=True)[:1000]))
            raise UnknownProject(f"Project {scope.project!r} does not exist. {advice}")
        if scope.domain and scope.domain not in domains:
            advice = _nearest(scope.domain, list(Domain.objects.values_list("id", flat=True)))
            raise UnknownDomain(f"Domain {scope.domain!r} does not exist. {advice}")


def _nearest(unknown: str, names: list[str]) -> str:
    nearest = difflib.get_close_matches(unknown, names, n=1, cutoff=0.5)
    return f"Did you mean {nearest[0]!r}?" if nearest else "Register it first."


def _insert(row: Project | Domain, conflict_message: str) -> None:
    try:
        with transaction.atomic():
            row.save(force_insert=True)
    except IntegrityError as error:
        raise NameTaken(conflict_message) from error


def _check_label(text: str) -> None:
    if len(text) > MAX_LABEL_LENGTH or not _LABEL.fullmatch(text):
        message = "An id must have at most 63 lower-case letters, digits and inner hyphens (RFC 1123)."
        raise InvalidRequest(message, errors=[FieldError("/id", "malformed", message)])
