"""Apply the findings of an import: create missing names, then apply the statements, all or nothing."""

from __future__ import annotations

from dataclasses import dataclass

from django.db import transaction

from controlplane.errors import FieldError, InvalidRequest
from controlplane.identity.actors import Actor
from overrides.documents.catalogue_documents import CatalogueChange
from overrides.editing.apply import ApplyOptions, apply_statements
from overrides.editing.plans import Plan
from overrides.importing.report import ImportFindings
from overrides.models import Domain, Project
from overrides.projects import ProjectFields, create_domain, create_project


@dataclass(frozen=True, slots=True)
class ImportResult:
    """The result of an import."""

    findings: ImportFindings
    installation: tuple[CatalogueChange, ...]
    plan: Plan


@transaction.atomic
def apply_findings(
    findings: ImportFindings, *, options: ApplyOptions, create_missing: bool, actor: Actor
) -> ImportResult:
    """Apply the findings. Raises InvalidRequest for missing names, and like `apply_statements`."""
    projects, domains = missing_names(findings)
    if (projects or domains) and not create_missing:
        names = [f"project {name}" for name in projects] + [f"domain {name}" for name in domains]
        message = f"Not registered here: {', '.join(names)[:400]}. Let the import create them."
        raise InvalidRequest(message, errors=[FieldError("", "unknown_names", message)])
    installation = []
    for name in domains:
        create_domain(name, name=findings.domains[name][:64], actor=actor)
        installation.append(CatalogueChange("domain", name, "created"))
    for name in projects:
        create_project(name, ProjectFields(name=findings.projects[name][:64]), actor=actor)
        installation.append(CatalogueChange("project", name, "created"))
    plan = apply_statements(findings.statements, options=options, actor=actor)
    return ImportResult(findings, tuple(installation), plan)


def missing_names(findings: ImportFindings) -> tuple[list[str], list[str]]:
    """Return the projects and domains of the findings that are not registered here."""
    projects = set(Project.objects.filter(id__in=findings.projects).values_list("id", flat=True))
    domains = set(Domain.objects.filter(id__in=findings.domains).values_list("id", flat=True))
    return (
        [name for name in findings.projects if name not in projects],
        [name for name in findings.domains if name not in domains],
    )
