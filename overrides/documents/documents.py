"""The overrides document (RFC 3749) and its relatives, read and written. Pure.

Read are: the document of one scope (`kind: overrides` with `spec`), the RFC's list of entries (scope keys
and `overrides`), and a ConfigMap whose files hold either. Types stand under their document key and are
spelled in camelCase; snake_case is understood too.
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
# Members of a document that name its scope, and those that may stand beside them.
_SEGMENTS = {
    "project": "project",
    "domain": "domain",
    "workflow": "workflow",
    "launchPlan": "launch_plan",
    "launch_plan": "launch_plan",
}
_BESIDE = {"apiVersion", "kind", "spec", "status", "overrides"}


@dataclass(frozen=True)
class ReceivedDocument:
    """One document of a request or a file. place: "teams/ml.yaml", or empty; pointer: where it stands."""

    value: Any
    pointer: str = ""
    place: str = ""

    @cached_property
    def scope(self) -> Scope:
        """What it is about. Raises InvalidRequest or InvalidScope, pointing into it."""
        return _scope_of(self)


def unpacked(sent: ReceivedDocument) -> Iterator[ReceivedDocument]:
    """Yield the single documents: a ConfigMap's files are opened, a list is taken apart."""
    value = sent.value
    if isinstance(value, dict) and value.get("kind") == CONFIG_MAP:
        yield from _files(sent, value)
    elif isinstance(value, list):
        for index, entry in enumerate(value):
            yield replace(sent, value=entry, pointer=f"{sent.pointer}/{index}")
    else:
        yield sent


@dataclass(slots=True)
class Reader:
    """Reads overrides documents by the types of a catalogue. What many documents say alike is read once."""

    catalogue: Catalogue
    known: dict[tuple[str, str], Attributes] = field(default_factory=dict)
    types: dict[str, ResourceType] = field(init=False)

    def __post_init__(self) -> None:
        self.types = {**self.catalogue.by_document_key(), **self.catalogue.types}

    def statements_of(self, sent: ReceivedDocument) -> list[Statement]:
        """What the document sets at its scope; inherited entries are passed over.

        Raises InvalidRequest or InvalidScope with all that is wrong, with pointers into the document.
        """
        scope = sent.scope
        pointer, spec = _spec(sent)
        found: list[FieldError] = []
        statements: list[Statement] = []
        given: dict[str, str] = {}
        for key, said in spec.items():
            where = f"{pointer}/{escape(key)}"
            try:
                one = self._type(key, said, where)
                if (other := given.setdefault(one.name, key)) != key:
                    raise _invalid(where, "given_twice", f"{other} and {key} are the same type.")
                if said.get("inherited") is not True:
                    attributes = self._read(one, said, where)
                    statements.append(Statement(Address(one.name, scope), attributes, sent.place, where))
            except ControlplaneError as error:
                found += error.errors
        if found:
            raise InvalidRequest(found[0].message, errors=found)
        return statements

    def _type(self, key: str, said: Any, where: str) -> ResourceType:
        if key not in self.types:
            known = ", ".join(self.catalogue.by_document_key())
            raise _invalid(where, "unknown_field", f"There is no type {key[:80]!r}. Known: {known}.")
        if not isinstance(said, dict):
            raise _invalid(where, "wrong_type", f"{key} must be an object.")
        return self.types[key]

    def _read(self, one: ResourceType, said: Mapping[str, Any], where: str) -> Attributes:
        text = (one.name, canonical(said))
        if text not in self.known:
            attributes = {name: value for name, value in said.items() if name not in MARKS}
            self.known[text] = one.read_document(attributes, where)
        return self.known[text]


def entry_of(scope: Scope) -> dict[str, str]:
    """The scope's segments as a document has them: only those that are named."""
    names = {"domain": "domain", "project": "project", "workflow": "workflow", "launch_plan": "launchPlan"}
    return {said: getattr(scope, name) for name, said in names.items() if getattr(scope, name)}


def _files(sent: ReceivedDocument, config_map: Mapping[str, Any]) -> Iterator[ReceivedDocument]:
    member, data = _data_of(config_map)
    pointer = f"{sent.pointer}/{member}"
    if data is None:
        message = "This ConfigMap has no data, so it sets nothing. Add `data` with one text for each file."
        raise _invalid(pointer, "required", message)
    if not isinstance(data, Mapping) or not all(isinstance(text, str) for text in data.values()):
        raise _invalid(pointer, "wrong_type", "The data of a ConfigMap are texts by file name.")
    for name, text in data.items():
        where = f"{pointer}/{escape(name)}"
        try:
            documents = strict_yaml.load_all(text)
        except ControlplaneError as error:
            error.errors = tuple(replace(one, pointer=where) for one in error.errors)
            raise
        for document in documents:
            if isinstance(document, Mapping) and document.get("kind") == CONFIG_MAP:
                raise _invalid(where, "not_allowed", "A ConfigMap cannot stand in another one.")
            yield from unpacked(ReceivedDocument(document, where, sent.place))


def _data_of(config_map: Mapping[str, Any]) -> tuple[str, Any]:
    """The files and the pointer to them. RFC 3749 prints `data` below `metadata`, so that is read as well."""
    metadata = config_map.get("metadata")
    nested = metadata.get("data") if isinstance(metadata, Mapping) else None
    if config_map.get("data") is None and nested is not None:
        return "metadata/data", nested
    return "data", config_map.get("data")


def _scope_of(sent: ReceivedDocument) -> Scope:
    document = _object(sent)
    segments: dict[str, str] = {}
    for name, value in document.items():
        if name in _SEGMENTS:
            if not (value is None or isinstance(value, str)):
                raise _invalid(f"{sent.pointer}/{name}", "wrong_type", f"{name} must be a text.")
            segments[_SEGMENTS[name]] = value or ""
        elif name not in _BESIDE:
            where = f"{sent.pointer}/{escape(name)}"
            raise _invalid(where, "unknown_field", f"There is no {name[:80]!r} in an overrides document.")
    try:
        return Scope(**segments)
    except ControlplaneError as error:
        error.errors = tuple(replace(one, pointer=sent.pointer) for one in error.errors)
        raise


def _spec(sent: ReceivedDocument) -> tuple[str, Mapping[str, Any]]:
    """The object with one member for each type, and where it stands."""
    document = _object(sent)
    _check_kind(sent, document)
    if not document.keys() & {"spec", "overrides"}:
        message = "The document has no `spec`, so it sets nothing. Add it, or write `spec: {}` on purpose."
        raise _invalid(f"{sent.pointer}/spec", "required", message)
    member = "spec" if "spec" in document else "overrides"
    pointer, spec = f"{sent.pointer}/{member}", document.get(member)
    if not (spec is None or isinstance(spec, dict)):
        raise _invalid(pointer, "wrong_type", f"{member} must be an object.")
    return pointer, spec or {}


def _check_kind(sent: ReceivedDocument, document: Mapping[str, Any]) -> None:
    if document.get("kind", KIND) != KIND:
        raise _invalid(f"{sent.pointer}/kind", "not_allowed", f"kind must be {KIND!r} here.")
    if document.get("apiVersion", API_VERSION) not in (API_VERSION, str(API_VERSION)):
        raise _invalid(f"{sent.pointer}/apiVersion", "not_allowed", f"apiVersion must be {API_VERSION}.")
    if "spec" in document and "overrides" in document:
        raise _invalid(sent.pointer, "given_twice", "Give `spec` or `overrides`, not both.")


def _object(sent: ReceivedDocument) -> Mapping[str, Any]:
    if not isinstance(sent.value, dict):
        raise _invalid(sent.pointer, "wrong_type", "An overrides document is an object.")
    return sent.value


def _invalid(pointer: str, code: str, message: str) -> InvalidRequest:
    return InvalidRequest(message, errors=[FieldError(pointer, code, message)])
