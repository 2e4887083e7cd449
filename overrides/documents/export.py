"""Bundles: export and apply everything in an installation as documents.

An export is deterministic: documents are sorted by kind and scope, members by name. Applying an export to an
empty installation and exporting again gives the same bytes.
"""

from __future__ import annotations

import hashlib
import io
import tarfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from django.db import transaction

from controlplane.errors import ControlplaneError, FieldError, InvalidRequest
from controlplane.formats import strict_yaml
from controlplane.identity.actors import Actor
from controlplane.scopes import SEGMENTS, Scope
from overrides.documents.catalogue_documents import KINDS, CatalogueChange, apply_document
from overrides.documents.documents import (
    API_VERSION,
    KIND,
    DocumentReader,
    ReceivedDocument,
    entry_of,
    unpack,
)
from overrides.documents.guard_rails import rail_document
from overrides.editing.apply import ApplyOptions, apply_statements
from overrides.editing.commit import begin
from overrides.editing.plans import Plan
from overrides.editing.validation import check_stated
from overrides.field_managers import managed_part
from overrides.history.history import overrides_as_of
from overrides.loading.catalogue_cache import current_catalogue
from overrides.loading.current import load_current
from overrides.models import Domain, GuardRailRow, Override, Project, ProjectState, TypeDefinition
from overrides.resolution.addresses import Statement
from overrides.resource_types.catalogue import Catalogue, RuleChange

MAX_REPORTED = 200
# File systems allow 255 bytes, including the suffix.
_LONGEST_NAME = 240


@dataclass(frozen=True, slots=True)
class ApplyResult:
    """The result of applying a bundle: changes of the installation (projects, types, ...) and overrides."""

    installation: tuple[CatalogueChange, ...]
    plan: Plan


def read_bundle(
    documents: Sequence[ReceivedDocument],
) -> tuple[list[ReceivedDocument], list[ReceivedDocument]]:
    """Separate documents about the installation from documents with overrides."""
    single = [document for received in documents for document in unpack(received)]
    installation: list[ReceivedDocument] = []
    overrides: list[ReceivedDocument] = []
    for document in single:
        kind = document.value.get("kind") if isinstance(document.value, dict) else None
        (installation if isinstance(kind, str) and kind in KINDS else overrides).append(document)
    return installation, overrides


def scopes_in(documents: Sequence[ReceivedDocument], *, maximum: int) -> tuple[set[str], set[Scope]]:
    """Return the kinds of the documents about the installation, and the scopes of those with overrides.

    Raises InvalidRequest, also if there are more documents than `maximum`, including lists and ConfigMaps.
    """
    installation, overrides = read_bundle(documents)
    if len(installation) + len(overrides) > maximum:
        message = f"A request can have at most {maximum} documents. Split them by project."
        raise InvalidRequest(message, errors=[FieldError("/documents", "max_length", message)])
    errors: list[FieldError] = []
    scopes: set[Scope] = set()
    for document in overrides:
        try:
            scopes.add(document.scope)
        except ControlplaneError as error:
            errors += error.errors
    if errors:
        raise InvalidRequest(errors[0].message, errors=errors[:MAX_REPORTED])
    return {document.value["kind"] for document in installation}, scopes


def read_statements(documents: Iterable[ReceivedDocument]) -> list[Statement]:
    """Read overrides by the current types. Raises InvalidRequest with the errors of all documents."""
    catalogue = current_catalogue()
    reader = DocumentReader(catalogue)
    statements: list[Statement] = []
    errors: list[FieldError] = []
    for document in documents:
        try:
            reader.read(document, into=statements)
        except ControlplaneError as error:
            errors += error.errors or (FieldError(document.pointer, error.code, error.detail),)
    if errors:
        errors += _errors_of_values(statements, catalogue)
        more = f" And {len(errors) - 1} more." if len(errors) > 1 else ""
        raise InvalidRequest(f"{errors[0].message}{more}", errors=errors[:MAX_REPORTED])
    return statements


def _errors_of_values(statements: Sequence[Statement], catalogue: Catalogue) -> Iterable[FieldError]:
    """Return what is wrong with the values of readable statements, so that one answer has all errors."""
    current = load_current([statement.address for statement in statements])
    writes = [(statement, current[statement.address]) for statement in statements]
    try:
        check_stated(writes, RuleChange(catalogue, catalogue))
    except ControlplaneError as error:
        return error.errors
    return ()


@transaction.atomic
def apply_bundle(
    documents: Sequence[ReceivedDocument], *, options: ApplyOptions, actor: Actor
) -> ApplyResult:
    """Apply documents of all kinds, all or nothing; the installation before the overrides."""
    # Before anything is created: two bundles with the same new project wait for each other.
    earlier = begin(actor)
    installation, overrides = read_bundle(documents)
    changes = [
        apply_document(document, actor)
        for kind in KINDS
        for document in installation
        if document.value["kind"] == kind
    ]
    statements = read_statements(overrides)
    plan = apply_statements(statements, options=options, actor=actor, earlier=earlier)
    return ApplyResult(tuple(changes), plan)


@dataclass(frozen=True, slots=True)
class ExportFilter:
    """What to export: overrides at or below a scope, or only a manager's values. as_of: a revision."""

    scope: Scope = Scope()
    manager: str = ""
    as_of: int | None = None

    @property
    def is_whole(self) -> bool:
        return self.scope == Scope() and not self.manager


EVERYTHING = ExportFilter()


def export_documents(export_filter: ExportFilter = EVERYTHING) -> list[dict[str, Any]]:
    """Return the selected documents, in an order in which they can be applied.

    Only a complete export contains projects, domains, resource types and guard rails.
    """
    installation = _installation_documents(export_filter.as_of) if export_filter.is_whole else ()
    return [*installation, *_override_documents(export_filter)]


def as_config_map(documents: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the ConfigMap of RFC 3749: a list of entries, and a file with the rest of the installation."""
    entries = [
        {name: value for name, value in document.items() if name not in ("apiVersion", "kind", "spec")}
        | {"overrides": document["spec"]}
        for document in documents
        if document["kind"] == KIND
    ]
    installation = [document for document in documents if document["kind"] != KIND]
    data = {"defaults.yaml": strict_yaml.dump(entries)}
    if installation:
        data["installation.yaml"] = strict_yaml.dump_all(installation)
    head = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "controlplane-overrides"}}
    return {**head, "data": data}


def folder_files(documents: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return one file for each scope, named after it, and one for the rest of the installation."""
    files: dict[str, list[Mapping[str, Any]]] = {}
    for document in documents:
        files.setdefault(_file_name(document), []).append(document)
    return {name: strict_yaml.dump_all(content) for name, content in files.items()}


def as_folder(documents: Sequence[Mapping[str, Any]]) -> bytes:
    """Return the files as a tar archive. The same documents give the same bytes."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, text in folder_files(documents).items():
            entry = tarfile.TarInfo(name)
            entry.size = len(text.encode())
            archive.addfile(entry, io.BytesIO(text.encode()))
    return buffer.getvalue()


def _file_name(document: Mapping[str, Any]) -> str:
    """Return the file of a document. Workflow names can contain any character, so they are escaped."""
    if document["kind"] != KIND:
        return "installation.yaml"
    segments = (document.get(name) for name in ("project", "domain", "workflow", "launchPlan"))
    names = [_safe_name(name) if name else "_any" for name in segments]
    while names and names[-1] == "_any":
        names.pop()
    return "/".join(["overrides", *(names or ["_global"])]) + ".yaml"


def _safe_name(name: str) -> str:
    """Return a name that is not hidden, not reserved, not too long, and not like a file's."""
    file_name = quote(name, safe="")
    if file_name[0] in "._":
        file_name = f"%{ord(file_name[0]):x}{file_name[1:]}"
    if len(file_name) > _LONGEST_NAME:
        file_name = f"{file_name[:100]}-{hashlib.sha256(name.encode()).hexdigest()[:32]}"
    return f"{file_name[:-5]}%2eyaml" if file_name.endswith(".yaml") else file_name


def _installation_documents(as_of: int | None) -> Iterator[dict[str, Any]]:
    for domain in Domain.objects.order_by("id"):
        yield {"apiVersion": API_VERSION, "kind": "domain", "id": domain.id, "name": domain.name}
    for project in Project.objects.order_by("id"):
        members: dict[str, Any] = {"id": project.id, "name": project.name, "description": project.description}
        if project.labels is not None:
            members["labels"] = project.labels
        if project.state != ProjectState.ACTIVE:
            members["state"] = ProjectState(project.state).label
        yield {"apiVersion": API_VERSION, "kind": "project", **members}
    for row in TypeDefinition.objects.as_of(as_of).order_by("name"):
        yield {"apiVersion": API_VERSION, "kind": "resourceType", "definition": _sorted(row.definition)}
    for rail in GuardRailRow.objects.as_of(as_of).order_by("name"):
        yield {"apiVersion": API_VERSION, "kind": "guardRail", **_sorted(rail_document(rail))}


def _override_documents(export_filter: ExportFilter) -> Iterator[dict[str, Any]]:
    as_of = export_filter.as_of
    rows: Any = Override.objects.all() if as_of is None else overrides_as_of(as_of)
    rows = rows.within([export_filter.scope])
    if export_filter.manager:
        rows = rows.managed_by(export_filter.manager)
    types = current_catalogue(as_of).types
    specs: dict[Scope, dict[str, Any]] = {}
    for row in rows.order_by("project", "domain", "workflow", "launch_plan", "resource_type").iterator():
        resource_type = types[row.resource_type]
        attributes = row.attributes
        if export_filter.manager:
            attributes = managed_part(attributes, row.owners, resource_type.rule, export_filter.manager)
        if attributes is None:
            continue
        scope = Scope(**{name: getattr(row, name) for name in SEGMENTS})
        specs.setdefault(scope, {})[resource_type.document_key] = _sorted(resource_type.show(attributes))
    for scope, spec in specs.items():
        yield {"apiVersion": API_VERSION, "kind": KIND, **entry_of(scope), "spec": _sorted(spec)}


def _sorted(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _sorted(value[name]) for name in sorted(value)}
    return [_sorted(item) for item in value] if isinstance(value, list) else value
