"""The messages of `overrides.proto`, made when the module is imported.

The file has only what the patterns here match; a test sees to it.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from flyteidl.admin import matchable_resource_pb2
from google.protobuf import descriptor_pool
from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

PACKAGE = "controlplane.overrides.v1"
NAME = "OverridesService"
_FILE = Path(__file__).with_name("overrides.proto")
_MESSAGE = re.compile(r"^message (\w+) \{(.*?)^\}", re.MULTILINE | re.DOTALL)
_FIELD = re.compile(r"^  (repeated )?([\w.]+) (\w+) = (\d+);$", re.MULTILINE)
_RPC = re.compile(r"^  rpc (\w+)\((\w+)\) returns \((\w+)\);$", re.MULTILINE)
_SCALARS = {
    "string": FieldDescriptorProto.TYPE_STRING,
    "bool": FieldDescriptorProto.TYPE_BOOL,
    "int32": FieldDescriptorProto.TYPE_INT32,
}


def _file() -> FileDescriptorProto:
    text = _FILE.read_text()
    file = FileDescriptorProto(
        name="controlplane/overrides/v1/overrides.proto",
        package=PACKAGE,
        syntax="proto3",
        dependency=[matchable_resource_pb2.DESCRIPTOR.name],
    )
    for name, body in _MESSAGE.findall(text):
        message = file.message_type.add(name=name)
        for repeated, kind, field, number in _FIELD.findall(body):
            _add_field(message, field, int(number), kind, is_repeated=bool(repeated))
    service = file.service.add(name=NAME)
    for rpc, request, response in _RPC.findall(text):
        service.method.add(name=rpc, input_type=f".{PACKAGE}.{request}", output_type=f".{PACKAGE}.{response}")
    return file


def _add_field(message: Any, name: str, number: int, kind: str, *, is_repeated: bool) -> None:
    field = message.field.add(name=name, number=number)
    field.label = field.LABEL_REPEATED if is_repeated else field.LABEL_OPTIONAL
    if kind in _SCALARS:
        field.type = _SCALARS[kind]
    else:
        field.type = field.TYPE_MESSAGE
        field.type_name = f".{kind}" if "." in kind else f".{PACKAGE}.{kind}"


_POOL: Any = descriptor_pool.Default()
SERVICE: Any = _POOL.AddSerializedFile(_file().SerializeToString()).services_by_name[NAME]


def message_class(name: str) -> type[Any]:
    """Return the class of a message of the file."""
    kind: type[Message] = GetMessageClass(_POOL.FindMessageTypeByName(f"{PACKAGE}.{name}"))
    return kind


REQUESTS: dict[str, type[Message]] = {
    name: GetMessageClass(method.input_type) for name, method in SERVICE.methods_by_name.items()
}
