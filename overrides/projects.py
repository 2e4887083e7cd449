"""Projects and domains: the names that scopes may use."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence, Set

from django.db import IntegrityError, transaction

from controlplane.access import audit
from controlplane.access.actors import Actor
from controlplane.errors import FieldError, InvalidRequest, NameTaken, UnknownDomain, UnknownProject
from controlplane.scopes import Scope
from overrides import event_types
from overrides.models import MAX_LABEL_LENGTH, Domain, Project

_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")


@transaction.atomic
def create_project(project_id: str, *, name: str, description: str, actor: Actor) -> Project:
    """Register a project. Raises NameTaken, InvalidRequest."""
    _check_label(project_id)
    project = Project(id=project_id, name=name or project_id, description=description)
    _insert(project, f"The project {project_id!r} exists already.")
    audit.record(
        event_types.PROJECT_CREATED,
        "project",
        project_id,
        actor=actor,
        before=None,
        after={"id": project.id, "name": project.name, "description": project.description},
        data={"project": project_id},
        scope=Scope(project=project_id),
    )
    return project


@transaction.atomic
def create_domain(domain_id: str, *, name: str, actor: Actor) -> Domain:
    """Register a domain. Raises NameTaken, InvalidRequest."""
    _check_label(domain_id)
    domain = Domain(id=domain_id, name=name or domain_id)
    _insert(domain, f"The domain {domain_id!r} exists already.")
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


def check_known(scope: Scope) -> None:
    """Raise UnknownProject or UnknownDomain, naming the nearest one, unless the scope's are registered.

    Workflows and launch plans are not registered: overrides may be set before the first run.
    """
    check_listed([scope], *known_names([scope]))


def known_names(scopes: Sequence[Scope]) -> tuple[set[str], set[str]]:
    """The projects and domains that the scopes name and that are registered, with two queries."""
    projects = {scope.project for scope in scopes} - {""}
    domains = {scope.domain for scope in scopes} - {""}
    return (
        set(Project.objects.filter(id__in=projects).values_list("id", flat=True)) if projects else set(),
        set(Domain.objects.filter(id__in=domains).values_list("id", flat=True)) if domains else set(),
    )


def check_listed(scopes: Iterable[Scope], projects: Set[str], domains: Set[str]) -> None:
    """The same, where the caller has asked already which of the names are registered."""
    for scope in scopes:
        if scope.project and scope.project not in projects:
            advice = _nearest(scope.project, list(Project.objects.values_list("id", flat=True)[:1000]))
            raise UnknownProject(f"There is no project {scope.project!r}. {advice}")
        if scope.domain and scope.domain not in domains:
            advice = _nearest(scope.domain, list(Domain.objects.values_list("id", flat=True)))
            raise UnknownDomain(f"There is no domain {scope.domain!r}. {advice}")


def _nearest(unknown: str, known: list[str]) -> str:
    nearest = difflib.get_close_matches(unknown, known, n=1, cutoff=0.5)
    return f"Did you mean {nearest[0]!r}?" if nearest else "Register it first."


def _insert(row: Project | Domain, taken: str) -> None:
    try:
        with transaction.atomic():
            row.save(force_insert=True)
    except IntegrityError as error:
        raise NameTaken(taken) from error


def _check_label(text: str) -> None:
    if len(text) > MAX_LABEL_LENGTH or not _LABEL.fullmatch(text):
        message = "An id has lower-case letters, digits and inner hyphens, 63 at most (RFC 1123)."
        raise InvalidRequest(message, errors=[FieldError("/id", "malformed", message)])
