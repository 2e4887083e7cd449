"""Bundles: everything that an installation holds as documents, written out and applied.

An export is deterministic: documents sorted by kind and scope, members by name. Applying one to an empty
installation and exporting again gives the same bytes.
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
from overrides.documents.catalogue_documents import KINDS, Made, apply_document
from overrides.documents.documents import API_VERSION, KIND, Reader, ReceivedDocument, entry_of, unpacked
from overrides.documents.guard_rails import rail_document
from overrides.editing.apply import ApplyOptions, apply_statements
from overrides.editing.commit import begin
from overrides.editing.plans import Plan
from overrides.field_managers import managed_part
from overrides.history.history import standing_as_of
from overrides.loading.catalogue_cache import current_catalogue
from overrides.models import Domain, GuardRailRow, Override, Project, ProjectState, TypeDefinition
from overrides.resolution.addresses import Statement

_TOLD = 200
# Of 255 bytes, some are for the suffix.
_LONGEST_NAME = 240


@dataclass(frozen=True, slots=True)
class Applied:
    """What applying a bundle did: to the installation (projects, types, ...) and to overrides."""

    made: tuple[Made, ...]
    plan: Plan


def read_bundle(sent: Sequence[ReceivedDocument]) -> tuple[list[ReceivedDocument], list[ReceivedDocument]]:
    """Take the documents apart: those about the installation, and those with overrides."""
    single = [one for many in sent for one in unpacked(many)]
    about: list[ReceivedDocument] = []
    overrides: list[ReceivedDocument] = []
    for one in single:
        kind = one.value.get("kind") if isinstance(one.value, dict) else None
        (about if isinstance(kind, str) and kind in KINDS else overrides).append(one)
    return about, overrides


def scopes_in(sent: Sequence[ReceivedDocument], *, most: int) -> tuple[set[str], set[Scope]]:
    """The kinds of the documents about the installation, and the scopes of those with overrides.

    Raises InvalidRequest, also if lists and ConfigMaps hold more documents than `most`.
    """
    about, overrides = read_bundle(sent)
    if len(about) + len(overrides) > most:
        message = f"{most} documents at most. Split them by project."
        raise InvalidRequest(message, errors=[FieldError("/documents", "max_length", message)])
    found: list[FieldError] = []
    scopes: set[Scope] = set()
    for one in overrides:
        try:
            scopes.add(one.scope)
        except ControlplaneError as error:
            found += error.errors
    if found:
        raise InvalidRequest(found[0].message, errors=found[:_TOLD])
    return {one.value["kind"] for one in about}, scopes


def read_statements(documents: Iterable[ReceivedDocument]) -> list[Statement]:
    """Read overrides by the types of now. Raises InvalidRequest with every document that cannot be read."""
    reader = Reader(current_catalogue())
    statements: list[Statement] = []
    found: list[FieldError] = []
    for one in documents:
        try:
            statements += reader.statements_of(one)
        except ControlplaneError as error:
            found += error.errors or (FieldError(one.pointer, error.code, error.detail),)
    if found:
        more = f" And {len(found) - 1} more." if len(found) > 1 else ""
        raise InvalidRequest(f"{found[0].message}{more}", errors=found[:_TOLD])
    return statements


@transaction.atomic
def apply_bundle(sent: Sequence[ReceivedDocument], *, options: ApplyOptions, actor: Actor) -> Applied:
    """Apply documents of all kinds, all or nothing; what overrides need comes first."""
    # Before anything is made: two bundles that bring the same project wait for each other.
    earlier = begin(actor)
    about, overrides = read_bundle(sent)
    made = [apply_document(one, actor) for kind in KINDS for one in about if one.value["kind"] == kind]
    statements = read_statements(overrides)
    plan = apply_statements(statements, options=options, actor=actor, earlier=earlier)
    return Applied(tuple(made), plan)


@dataclass(frozen=True, slots=True)
class ExportFilter:
    """Overrides at or below a scope, and of them the values of a manager. as_of: a revision."""

    scope: Scope = Scope()
    manager: str = ""
    as_of: int | None = None

    @property
    def is_whole(self) -> bool:
        return self.scope == Scope() and not self.manager


EVERYTHING = ExportFilter()


def export_documents(wanted: ExportFilter = EVERYTHING) -> list[dict[str, Any]]:
    """Every document that is wanted, in the order in which they can be applied.

    Projects, domains, types and rails belong to nobody's part: only an export of everything has them.
    """
    about = _about_installation(wanted.as_of) if wanted.is_whole else ()
    return [*about, *_override_documents(wanted)]


def as_config_map(documents: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The ConfigMap of RFC 3749: a list of entries, and the rest of the installation beside it."""
    entries = [
        {name: value for name, value in one.items() if name not in ("apiVersion", "kind", "spec")}
        | {"overrides": one["spec"]}
        for one in documents
        if one["kind"] == KIND
    ]
    about = [one for one in documents if one["kind"] != KIND]
    data = {"defaults.yaml": strict_yaml.dump(entries)}
    if about:
        data["installation.yaml"] = strict_yaml.dump_all(about)
    head = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "controlplane-overrides"}}
    return {**head, "data": data}


def folder_files(documents: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """One file for each scope, named after it, and one for the rest of the installation."""
    files: dict[str, list[Mapping[str, Any]]] = {}
    for one in documents:
        files.setdefault(_file_name(one), []).append(one)
    return {name: strict_yaml.dump_all(content) for name, content in files.items()}


def as_folder(documents: Sequence[Mapping[str, Any]]) -> bytes:
    """The files as a tar archive. The same documents give the same bytes."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, text in folder_files(documents).items():
            entry = tarfile.TarInfo(name)
            entry.size = len(text.encode())
            archive.addfile(entry, io.BytesIO(text.encode()))
    return buffer.getvalue()


def _file_name(document: Mapping[str, Any]) -> str:
    """Names of workflows may hold anything, so what is no plain name is escaped."""
    if document["kind"] != KIND:
        return "installation.yaml"
    said = (document.get(name) for name in ("project", "domain", "workflow", "launchPlan"))
    names = [_plain(name) if name else "_any" for name in said]
    while names and names[-1] == "_any":
        names.pop()
    return "/".join(["overrides", *(names or ["_global"])]) + ".yaml"


def _plain(name: str) -> str:
    """Not hidden, none of ours, no longer than file systems take, and no folder is called as a file."""
    kept = quote(name, safe="")
    if kept[0] in "._":
        kept = f"%{ord(kept[0]):x}{kept[1:]}"
    if len(kept) > _LONGEST_NAME:
        kept = f"{kept[:100]}-{hashlib.sha256(name.encode()).hexdigest()[:32]}"
    return f"{kept[:-5]}%2eyaml" if kept.endswith(".yaml") else kept


def _about_installation(as_of: int | None) -> Iterator[dict[str, Any]]:
    for domain in Domain.objects.order_by("id"):
        yield {"apiVersion": API_VERSION, "kind": "domain", "id": domain.id, "name": domain.name}
    for project in Project.objects.order_by("id"):
        said: dict[str, Any] = {"id": project.id, "name": project.name, "description": project.description}
        if project.labels is not None:
            said["labels"] = project.labels
        if project.state != ProjectState.ACTIVE:
            said["state"] = ProjectState(project.state).label
        yield {"apiVersion": API_VERSION, "kind": "project", **said}
    for row in TypeDefinition.objects.as_of(as_of).order_by("name"):
        yield {"apiVersion": API_VERSION, "kind": "resourceType", "definition": _sorted(row.definition)}
    for rail in GuardRailRow.objects.as_of(as_of).order_by("name"):
        yield {"apiVersion": API_VERSION, "kind": "guardRail", **_sorted(rail_document(rail))}


def _override_documents(wanted: ExportFilter) -> Iterator[dict[str, Any]]:
    rows: Any = Override.objects.all() if wanted.as_of is None else standing_as_of(wanted.as_of)
    rows = rows.within([wanted.scope])
    if wanted.manager:
        rows = rows.managed_by(wanted.manager)
    types = current_catalogue(wanted.as_of).types
    specs: dict[Scope, dict[str, Any]] = {}
    for row in rows.order_by("project", "domain", "workflow", "launch_plan", "resource_type").iterator():
        one = types[row.resource_type]
        attributes = row.attributes
        if wanted.manager:
            attributes = managed_part(attributes, row.owners, one.rule, wanted.manager)
        if attributes is None:
            continue
        scope = Scope(**{name: getattr(row, name) for name in SEGMENTS})
        specs.setdefault(scope, {})[one.document_key] = _sorted(one.show(attributes))
    for scope, spec in specs.items():
        yield {"apiVersion": API_VERSION, "kind": KIND, **entry_of(scope), "spec": _sorted(spec)}


def _sorted(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _sorted(value[name]) for name in sorted(value)}
    return [_sorted(item) for item in value] if isinstance(value, list) else value
