"""Documents about the installation itself: domains, projects, resource types, guard rails."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from controlplane.errors import ControlplaneError, FieldError, InvalidRequest
from controlplane.identity.actors import Actor
from overrides.documents.documents import ReceivedDocument
from overrides.documents.guard_rails import rail_from
from overrides.editing.guard_rails import store_rail
from overrides.editing.resource_types import store_type
from overrides.models import MAX_LABEL_LENGTH, Domain, GuardRailRow, Project, ProjectState, TypeDefinition
from overrides.projects import ProjectFields, create_domain, create_project, update_project
from overrides.resource_types.shape import check_shape

# As the columns are, and the API's serializers.
_LONGEST = {"id": MAX_LABEL_LENGTH, "name": 64, "description": 300, "state": 64}


@dataclass(frozen=True, slots=True)
class Made:
    """What a document did. change: created, updated or unchanged."""

    kind: str
    name: str
    change: str


def apply_document(sent: ReceivedDocument, actor: Actor) -> Made:
    """Create what the document describes, or bring it up to date.

    Raises InvalidRequest and whatever the function for its kind raises, with pointers into the document.
    """
    with _pointing_below(sent.pointer):
        return _APPLY[sent.value["kind"]](sent, actor)


@contextmanager
def _pointing_below(pointer: str) -> Iterator[None]:
    """Errors of what is done point into what stands at the pointer: at it, if they point nowhere."""
    try:
        yield
    except ControlplaneError as error:
        found = error.errors or (FieldError("", error.code, error.detail),)
        error.errors = tuple(replace(one, pointer=f"{pointer}{one.pointer}") for one in found)
        raise


def _domain(sent: ReceivedDocument, actor: Actor) -> Made:
    said = _texts(sent, {"id"}, {"name"})
    if Domain.objects.filter(id=said["id"]).exists():
        return Made("domain", said["id"], "unchanged")
    create_domain(said["id"], name=said.get("name", ""), actor=actor)
    return Made("domain", said["id"], "created")


def _project(sent: ReceivedDocument, actor: Actor) -> Made:
    said = _texts(sent, {"id"}, {"name", "description", "state", "labels"})
    fields = ProjectFields(said.get("name"), said.get("description"), said.get("labels"), _state(said))
    before = Project.objects.filter(id=said["id"]).first()
    if before is None:
        create_project(said["id"], fields, actor=actor)
        return Made("project", said["id"], "created")
    after = update_project(said["id"], fields, actor=actor)
    return Made("project", said["id"], "unchanged" if after.updated_at == before.updated_at else "updated")


def _state(said: dict[str, Any]) -> ProjectState | None:
    if (word := said.get("state")) is None:
        return None
    if word not in ProjectState.labels:
        message = f"A project is one of: {', '.join(ProjectState.labels)}."
        raise InvalidRequest(message, errors=[FieldError("/state", "not_allowed", message)])
    return ProjectState(ProjectState.labels.index(word))


def _resource_type(sent: ReceivedDocument, actor: Actor) -> Made:
    said = _members(sent, {"definition"}, set())["definition"]
    with _pointing_below("/definition"):
        definition = check_shape(said)
        before = TypeDefinition.objects.present().filter(name=definition["name"]).first()
        one, _ = store_type(definition, actor=actor)
    return Made("resourceType", one.name, _change(before, one.version))


def _guard_rail(sent: ReceivedDocument, actor: Actor) -> Made:
    head = ("apiVersion", "kind")
    wanted = rail_from({name: value for name, value in sent.value.items() if name not in head})
    # Values that break the rail stay stored and do not apply: an export has such values. The plan lists them.
    before = GuardRailRow.objects.present().filter(name=wanted.name).first()
    row, _ = store_rail(wanted, actor=actor)
    return Made("guardRail", row.name, _change(before, row.version))


def _change(before: TypeDefinition | GuardRailRow | None, version: int) -> str:
    if before is None:
        return "created"
    return "unchanged" if before.version == version else "updated"


def _members(sent: ReceivedDocument, wanted: set[str], optional: set[str]) -> dict[str, Any]:
    said = {name: value for name, value in sent.value.items() if name not in ("apiVersion", "kind")}
    kind = sent.value["kind"]
    found = [
        FieldError(f"/{name}", "unknown_field", f"There is no {str(name)[:80]!r} in a {kind}.")
        for name in said
        if name not in wanted | optional
    ]
    missing = sorted(wanted - set(said))
    found += [FieldError(f"/{name}", "required", f"A {kind} needs {name!r}.") for name in missing]
    if found:
        raise InvalidRequest(found[0].message, errors=found)
    return said


def _texts(sent: ReceivedDocument, wanted: set[str], optional: set[str]) -> dict[str, Any]:
    said = _members(sent, wanted, optional)
    found = [error for name, value in said.items() for error in _bad_text(name, value)]
    if found:
        raise InvalidRequest(found[0].message, errors=found)
    return said


def _bad_text(name: str, value: Any) -> Iterator[FieldError]:
    harmless = "\n\t" if name == "description" else ""
    if name == "labels":
        yield from _bad_labels(value)
    elif not isinstance(value, str):
        yield FieldError(f"/{name}", "wrong_type", f"{name} must be a text.")
    elif len(value) > _LONGEST[name]:
        yield FieldError(f"/{name}", "too_long", f"{name} has {_LONGEST[name]} characters at most.")
    elif any(unicodedata.category(one).startswith("C") and one not in harmless for one in value):
        yield FieldError(f"/{name}", "unprintable", f"{name} has a character that cannot be printed.")


def _bad_labels(value: Any) -> Iterator[FieldError]:
    if not isinstance(value, dict) or not all(isinstance(one, str) for pair in value.items() for one in pair):
        yield FieldError("/labels", "wrong_type", "labels is an object of texts.")


_APPLY: dict[str, Callable[[ReceivedDocument, Actor], Made]] = {
    "domain": _domain,
    "project": _project,
    "resourceType": _resource_type,
    "guardRail": _guard_rail,
}
# In the order in which they are needed.
KINDS = tuple(_APPLY)
