"""Map HTTP requests to calls of Flyte's services, by the bindings in flyteidl's descriptors. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from flyteidl.service import admin_pb2, auth_pb2, identity_pb2
from google.api import annotations_pb2
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from overrides.flyte.descriptors import EnumKind, Field, MessageKind
from overrides.flyte.errors import Code, FlyteError, invalid

SERVICE = admin_pb2.DESCRIPTOR.services_by_name["AdminService"]
# What clients call to log in, and to learn who they are.
AUTH_METADATA = auth_pb2.DESCRIPTOR.services_by_name["AuthMetadataService"]
IDENTITY = identity_pb2.DESCRIPTOR.services_by_name["IdentityService"]
_METHODS = {
    name: method
    for service in (SERVICE, AUTH_METADATA, IDENTITY)
    for name, method in service.methods_by_name.items()
}
_VERBS = ("get", "put", "post", "delete")
_INDEXED = re.compile(r"(?P<name>.*)\[(?P<index>.*)\]")
_WHOLE = re.compile(r"[-+]?[0-9]{1,19}")


@dataclass(frozen=True, slots=True)
class Binding:
    """One HTTP method and path of a call. segments: of the path; `{name}` binds a field of the request.

    service: full name of its service.
    """

    rpc: str
    method: str
    segments: tuple[str, ...]
    request: type[Message]
    response: type[Message]
    has_body: bool
    service: str

    @property
    def path(self) -> str:
        return "/" + "/".join(self.segments)

    def variables(self, path: tuple[str, ...]) -> dict[str, str] | None:
        """Return the values that the path binds; None if the path does not match."""
        if len(path) != len(self.segments):
            return None
        pairs = list(zip(self.segments, path, strict=True))
        if any(value != segment for segment, value in pairs if not segment.startswith("{")):
            return None
        return {segment.strip("{}"): value for segment, value in pairs if segment.startswith("{")}


def bindings_of(rpcs: Iterable[str]) -> tuple[Binding, ...]:
    """Return the first binding of each call; the others belong to calls that are not supported here."""
    return tuple(_bindings(rpc)[0] for rpc in rpcs)


def _bindings(rpc: str) -> tuple[Binding, ...]:
    method: Any = _METHODS[rpc]
    rule: Any = method.GetOptions().Extensions[annotations_pb2.http]
    return tuple(_binding(method, http_rule) for http_rule in (rule, *rule.additional_bindings))


def _binding(method: Any, rule: Any) -> Binding:
    verb = next(verb for verb in _VERBS if getattr(rule, verb))
    return Binding(
        method.name,
        verb.upper(),
        tuple(getattr(rule, verb).strip("/").split("/")),
        GetMessageClass(method.input_type),
        GetMessageClass(method.output_type),
        has_body=bool(rule.body),
        service=method.containing_service.full_name,
    )


# Bindings of every call of AdminService, supported here or not. Paths begin with api/v1/ and a collection.
ALL = tuple(binding for rpc in SERVICE.methods_by_name for binding in _bindings(rpc))
COLLECTIONS = tuple(dict.fromkeys(binding.segments[2] for binding in ALL))


def match(bindings: Iterable[Binding], method: str, path: str) -> tuple[Binding, dict[str, str]]:
    """Return the binding of a decoded path. Raises FlyteError: 404 for a path, 501 for a method."""
    segments = tuple(path.removeprefix("/").split("/"))
    matches = [(binding, bound) for binding in bindings if (bound := binding.variables(segments)) is not None]
    if not matches:
        raise FlyteError(Code.NOT_FOUND, "Not Found")
    for binding, bound in matches:
        if binding.method == method:
            return binding, bound
    raise FlyteError(Code.UNIMPLEMENTED, "Method Not Allowed")


def bind_path(message: Message, variables: Mapping[str, str]) -> None:
    """Set the fields that the path binds; they win over the body."""
    for path, value in variables.items():
        *parents, name = path.split(".")
        inner = message
        for parent in parents:
            inner = getattr(inner, parent)
        setattr(inner, name, value)
        inner.SetInParent()


def bind_query(message: Message, query: Mapping[str, list[str]], *, bound: Iterable[str]) -> None:
    """Set the fields of the query; ignore unknown parameters and those that the path binds.

    Raises FlyteError with the texts of grpc-gateway's PopulateQueryParameters.
    """
    bound_fields = set(bound)
    for name, values in query.items():
        key, texts = name, values
        if indexed := _INDEXED.fullmatch(name):
            key, texts = indexed["name"], [indexed["index"], *values]
        path = key.split(".")
        if path[0] not in bound_fields:
            _bind(message, path, texts)


def _bind(message: Message, path: list[str], values: list[str]) -> None:
    field = _field(message.DESCRIPTOR, path[0])
    if field is None:
        return
    if path[1:]:
        if field.message_type is None or field.is_repeated:
            raise invalid(f'invalid path: "{path[0]}" is not a message')
        inner = getattr(message, field.name)
        inner.SetInParent()
        _bind(inner, path[1:], values)
        return
    if len(values) > 1:
        raise invalid(f'too many values for field "{field.name}": {", ".join(values)}')
    try:
        setattr(message, field.name, _parse(field, values[0]))
    except ValueError as error:
        raise invalid(f'parsing field "{field.name}": {error}') from error


def _field(descriptor: MessageKind, name: str) -> Field | None:
    by_name: Field | None = descriptor.fields_by_name.get(name)
    return by_name or next((field for field in descriptor.fields if field.json_name == name), None)


def _parse(field: Field, text: str) -> object:
    if field.message_type is not None:
        raise ValueError(f'unsupported message type: "{field.message_type.full_name}"')
    if field.enum_type is not None:
        return _enum_number(field.enum_type, text)
    return _SCALARS.get(field.cpp_type, str)(text)


def _enum_number(kind: EnumKind, text: str) -> int:
    if (value := kind.values_by_name.get(text)) is not None:
        return int(value.number)
    if _WHOLE.fullmatch(text) and (number := int(text)) in kind.values_by_number:
        return number
    raise ValueError(f'"{text}" is not a valid value')


def _unsigned(text: str) -> int:
    if not (text.isascii() and text.isdecimal()):
        raise ValueError(f'strconv.ParseUint: parsing "{text}": invalid syntax')
    if int(text) > 2**32 - 1:
        raise ValueError(f'strconv.ParseUint: parsing "{text}": value out of range')
    return int(text)


_SCALARS: dict[int, Callable[[str], object]] = {FieldDescriptor.CPPTYPE_UINT32: _unsigned}
