"""Read and write the overrides document (RFC 3749) and related formats. Pure.

Accepted formats: the document of one scope (`kind: overrides` with `spec`), the RFC's list of entries (scope
keys and `overrides`), and a ConfigMap whose files contain either. Types appear under their document key, in
camelCase; snake_case is accepted as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from controlplane.errors import ControlplaneError, FieldError, InvalidRequest
from controlplane.formats import strict_yaml
from controlplane.scopes import Scope
from overrides.resolution.addresses import Address, Statement
from overrides.resolution.leaves import escape
from overrides.resolution.merging import Attributes, canonical
from overrides.resource_types import ResourceType
from overrides.resource_types.catalogue import Catalogue
from overrides.resource_types.schema_admission import MARKS

KIND = "overrides"
CONFIG_MAP = "ConfigMap"
API_VERSION = 1
# Members of a document that name its scope, and its other members.
_SEGMENTS = {
    "project": "project",
    "domain": "domain",
    "workflow": "workflow",
    "launchPlan": "launch_plan",
    "launch_plan": "launch_plan",
}
_OTHER_MEMBERS = {"apiVersion", "kind", "spec", "status", "overrides"}


@dataclass(frozen=True)
class ReceivedDocument:
    """One document of a request or a file. place: "teams/ml.yaml", or empty; pointer: its location."""

    value: Any
    pointer: str = ""
    place: str = ""

    @cached_property
    def scope(self) -> Scope:
        """The document's scope. Raises InvalidRequest or InvalidScope, with pointers into the document."""
        return _scope_of(self)


def unpack(received: ReceivedDocument) -> Iterator[ReceivedDocument]:
    """Yield the single documents of a ConfigMap's files, of a list, or the document itself."""
    value = received.value
    if isinstance(value, dict) and value.get("kind") == CONFIG_MAP:
        yield from _files(received, value)
    elif isinstance(value, list):
        for index, entry in enumerate(value):
            yield replace(received, value=entry, pointer=f"{received.pointer}/{index}")
    else:
        yield received


@dataclass(slots=True)
class DocumentReader:
    """Reads overrides documents by the types of a catalogue. Equal content is read once."""

    catalogue: Catalogue
    attributes_by_text: dict[tuple[str, str], Attributes] = field(default_factory=dict)
    types: dict[str, ResourceType] = field(init=False)

    def __post_init__(self) -> None:
        self.types = {**self.catalogue.by_document_key(), **self.catalogue.types}

    def read(self, received: ReceivedDocument, *, into: list[Statement]) -> None:
        """Append what the document sets at its scope, as far as it can be read; skip inherited entries.

        Raises InvalidRequest or InvalidScope with all errors, with pointers into the document.
        """
        scope = received.scope
        pointer, spec = _spec(received)
        errors: list[FieldError] = []
        keys: dict[str, str] = {}
        for key, body in spec.items():
            location = f"{pointer}/{escape(key)}"
            try:
                resource_type = self._type(key, body, location)
                if (first_key := keys.setdefault(resource_type.name, key)) != key:
                    raise _invalid(
                        location,
                        "given_twice",
                        f"{first_key} and {key} are the same resource type. Keep one of them.",
                    )
                if body.get("inherited") is not True:
                    attributes = self._read(resource_type, body, location)
                    into.append(
                        Statement(Address(resource_type.name, scope), attributes, received.place, location)
                    )
            except ControlplaneError as error:
                errors += error.errors
        if errors:
            raise InvalidRequest(errors[0].message, errors=errors)

    def _type(self, key: str, body: Any, location: str) -> ResourceType:
        if key not in self.types:
            type_names = ", ".join(self.catalogue.by_document_key())
            raise _invalid(
                location, "unknown_field", f"Unknown resource type {key[:80]!r}. Use one of {type_names}."
            )
        if not isinstance(body, dict):
            raise _invalid(location, "wrong_type", f"{key} must be an object.")
        return self.types[key]

    def _read(self, resource_type: ResourceType, body: Mapping[str, Any], location: str) -> Attributes:
        text = (resource_type.name, canonical(body))
        if text not in self.attributes_by_text:
            attributes = {name: value for name, value in body.items() if name not in MARKS}
            self.attributes_by_text[text] = resource_type.read_document(attributes, location)
        return self.attributes_by_text[text]


def entry_of(scope: Scope) -> dict[str, str]:
    """Return the scope's segments as members of a document, without empty ones."""
    names = {"domain": "domain", "project": "project", "workflow": "workflow", "launch_plan": "launchPlan"}
    return {member: getattr(scope, name) for name, member in names.items() if getattr(scope, name)}


def _files(received: ReceivedDocument, config_map: Mapping[str, Any]) -> Iterator[ReceivedDocument]:
    member, data = _data_of(config_map)
    pointer = f"{received.pointer}/{member}"
    if data is None:
        message = "The ConfigMap has no data, so it sets nothing. Add `data` with one text for each file."
        raise _invalid(pointer, "required", message)
    if not isinstance(data, Mapping) or not all(isinstance(text, str) for text in data.values()):
        raise _invalid(pointer, "wrong_type", "The data of a ConfigMap must be texts by file name.")
    for name, text in data.items():
        location = f"{pointer}/{escape(name)}"
        try:
            documents = strict_yaml.load_all(text)
        except ControlplaneError as error:
            error.errors = tuple(replace(field_error, pointer=location) for field_error in error.errors)
            raise
        for document in documents:
            if isinstance(document, Mapping) and document.get("kind") == CONFIG_MAP:
                raise _invalid(location, "not_allowed", "A ConfigMap cannot contain another ConfigMap.")
            yield from unpack(ReceivedDocument(document, location, received.place))


def _data_of(config_map: Mapping[str, Any]) -> tuple[str, Any]:
    """Return the files and their pointer. RFC 3749 shows `data` below `metadata`, so both are accepted."""
    metadata = config_map.get("metadata")
    nested = metadata.get("data") if isinstance(metadata, Mapping) else None
    if config_map.get("data") is None and nested is not None:
        return "metadata/data", nested
    return "data", config_map.get("data")


def _scope_of(received: ReceivedDocument) -> Scope:
    document = _object(received)
    segments: dict[str, str] = {}
    for name, value in document.items():
        if name in _SEGMENTS:
            if not (value is None or isinstance(value, str)):
                raise _invalid(f"{received.pointer}/{name}", "wrong_type", f"{name} must be a text.")
            segments[_SEGMENTS[name]] = value or ""
        elif name not in _OTHER_MEMBERS:
            location = f"{received.pointer}/{escape(name)}"
            raise _invalid(
                location, "unknown_field", f"Unknown member {name[:80]!r} in an overrides document."
            )
    try:
        return Scope(**segments)
    except ControlplaneError as error:
        error.errors = tuple(replace(field_error, pointer=received.pointer) for field_error in error.errors)
        raise


def _spec(received: ReceivedDocument) -> tuple[str, Mapping[str, Any]]:
    """Return the pointer and the object with one member for each type."""
    document = _object(received)
    _check_kind(received, document)
    if not document.keys() & {"spec", "overrides"}:
        message = "The document has no `spec`. Add it, or send `spec: {}` to set nothing."
        raise _invalid(f"{received.pointer}/spec", "required", message)
    member = "spec" if "spec" in document else "overrides"
    pointer, spec = f"{received.pointer}/{member}", document.get(member)
    if not (spec is None or isinstance(spec, dict)):
        raise _invalid(pointer, "wrong_type", f"{member} must be an object.")
    return pointer, spec or {}


def _check_kind(received: ReceivedDocument, document: Mapping[str, Any]) -> None:
    if document.get("kind", KIND) != KIND:
        raise _invalid(f"{received.pointer}/kind", "not_allowed", f"kind must be {KIND!r} here.")
    if document.get("apiVersion", API_VERSION) not in (API_VERSION, str(API_VERSION)):
        raise _invalid(f"{received.pointer}/apiVersion", "not_allowed", f"apiVersion must be {API_VERSION}.")
    if "spec" in document and "overrides" in document:
        raise _invalid(received.pointer, "given_twice", "Use either `spec` or `overrides`.")


def _object(received: ReceivedDocument) -> Mapping[str, Any]:
    if not isinstance(received.value, dict):
        raise _invalid(received.pointer, "wrong_type", "An overrides document must be an object.")
    return received.value


def _invalid(pointer: str, code: str, message: str) -> InvalidRequest:
    return InvalidRequest(message, errors=[FieldError(pointer, code, message)])
