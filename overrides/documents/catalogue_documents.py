"""Documents about the installation: domains, projects, resource types and guard rails."""

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

# The lengths of the columns and of the API's serializers.
_MAX_LENGTHS = {"id": MAX_LABEL_LENGTH, "name": 64, "description": 300, "state": 64}


@dataclass(frozen=True, slots=True)
class CatalogueChange:
    """The effect of a document. change: created, updated or unchanged."""

    kind: str
    name: str
    change: str


def apply_document(received: ReceivedDocument, actor: Actor) -> CatalogueChange:
    """Create or update what the document describes.

    Raises InvalidRequest and the errors of the function for its kind, with pointers into the document.
    """
    with _pointers_below(received.pointer):
        return _APPLY[received.value["kind"]](received, actor)


@contextmanager
def _pointers_below(pointer: str) -> Iterator[None]:
    """Prefix the pointers of errors raised in the block."""
    try:
        yield
    except ControlplaneError as error:
        errors = error.errors or (FieldError("", error.code, error.detail),)
        error.errors = tuple(
            replace(field_error, pointer=f"{pointer}{field_error.pointer}") for field_error in errors
        )
        raise


def _domain(received: ReceivedDocument, actor: Actor) -> CatalogueChange:
    members = _texts(received, {"id"}, {"name"})
    if Domain.objects.filter(id=members["id"]).exists():
        return CatalogueChange("domain", members["id"], "unchanged")
    create_domain(members["id"], name=members.get("name", ""), actor=actor)
    return CatalogueChange("domain", members["id"], "created")


def _project(received: ReceivedDocument, actor: Actor) -> CatalogueChange:
    members = _texts(received, {"id"}, {"name", "description", "state", "labels"})
    fields = ProjectFields(
        members.get("name"), members.get("description"), members.get("labels"), _state(members)
    )
    before = Project.objects.filter(id=members["id"]).first()
    if before is None:
        create_project(members["id"], fields, actor=actor)
        return CatalogueChange("project", members["id"], "created")
    after = update_project(members["id"], fields, actor=actor)
    return CatalogueChange(
        "project", members["id"], "unchanged" if after.updated_at == before.updated_at else "updated"
    )


def _state(members: dict[str, Any]) -> ProjectState | None:
    if (state := members.get("state")) is None:
        return None
    if state not in ProjectState.labels:
        message = f"The state of a project must be one of {', '.join(ProjectState.labels)}."
        raise InvalidRequest(message, errors=[FieldError("/state", "not_allowed", message)])
    return ProjectState(ProjectState.labels.index(state))


def _resource_type(received: ReceivedDocument, actor: Actor) -> CatalogueChange:
    body = _members(received, {"definition"}, set())["definition"]
    with _pointers_below("/definition"):
        definition = check_shape(body)
        before = TypeDefinition.objects.present().filter(name=definition["name"]).first()
        resource_type, _ = store_type(definition, actor=actor)
    return CatalogueChange("resourceType", resource_type.name, _change(before, resource_type.version))


def _guard_rail(received: ReceivedDocument, actor: Actor) -> CatalogueChange:
    head = ("apiVersion", "kind")
    rail = rail_from({name: value for name, value in received.value.items() if name not in head})
    # Values that break the rail stay stored without effect, since exports contain them. The plan lists them.
    before = GuardRailRow.objects.present().filter(name=rail.name).first()
    row, _ = store_rail(rail, actor=actor)
    return CatalogueChange("guardRail", row.name, _change(before, row.version))


def _change(before: TypeDefinition | GuardRailRow | None, version: int) -> str:
    if before is None:
        return "created"
    return "unchanged" if before.version == version else "updated"


def _members(received: ReceivedDocument, required: set[str], optional: set[str]) -> dict[str, Any]:
    members = {name: value for name, value in received.value.items() if name not in ("apiVersion", "kind")}
    kind = received.value["kind"]
    errors = [
        FieldError(f"/{name}", "unknown_field", f"Unknown member {str(name)[:80]!r} in a {kind}.")
        for name in members
        if name not in required | optional
    ]
    missing = sorted(required - set(members))
    errors += [FieldError(f"/{name}", "required", f"A {kind} needs {name!r}.") for name in missing]
    if errors:
        raise InvalidRequest(errors[0].message, errors=errors)
    return members


def _texts(received: ReceivedDocument, required: set[str], optional: set[str]) -> dict[str, Any]:
    members = _members(received, required, optional)
    errors = [error for name, value in members.items() for error in _text_errors(name, value)]
    if errors:
        raise InvalidRequest(errors[0].message, errors=errors)
    return members


def _text_errors(name: str, value: Any) -> Iterator[FieldError]:
    allowed = "\n\t" if name == "description" else ""
    if name == "labels":
        yield from _label_errors(value)
    elif not isinstance(value, str):
        yield FieldError(f"/{name}", "wrong_type", f"{name} must be a text.")
    elif len(value) > _MAX_LENGTHS[name]:
        yield FieldError(f"/{name}", "too_long", f"{name} can have at most {_MAX_LENGTHS[name]} characters.")
    elif any(
        unicodedata.category(character).startswith("C") and character not in allowed for character in value
    ):
        yield FieldError(f"/{name}", "unprintable", f"{name} contains an unprintable character. Remove it.")


def _label_errors(value: Any) -> Iterator[FieldError]:
    if not isinstance(value, dict) or not all(
        isinstance(text, str) for pair in value.items() for text in pair
    ):
        yield FieldError("/labels", "wrong_type", "labels must be an object of texts.")


_APPLY: dict[str, Callable[[ReceivedDocument, Actor], CatalogueChange]] = {
    "domain": _domain,
    "project": _project,
    "resourceType": _resource_type,
    "guardRail": _guard_rail,
}
# In the order of their dependencies.
KINDS = tuple(_APPLY)
