"""Messages and services of our own `.proto` files, made when they are imported, without a compiler.

The files have only what the patterns here match; tests see to it.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from google.protobuf import descriptor_pool
from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

_MESSAGE = re.compile(r"^message (\w+) \{(.*?)^\}", re.MULTILINE | re.DOTALL)
_ENUM = re.compile(r"^enum (\w+) \{(.*?)^\}", re.MULTILINE | re.DOTALL)
_VALUE = re.compile(r"^  (\w+) = (\d+);$", re.MULTILINE)
_FIELD = re.compile(r"^  (repeated )?([\w.]+) (\w+) = (\d+);$", re.MULTILINE)
_RPC = re.compile(r"^  rpc (\w+)\((\w+)\) returns \((\w+)\);$", re.MULTILINE)
_SCALARS = {
    "string": FieldDescriptorProto.TYPE_STRING,
    "bool": FieldDescriptorProto.TYPE_BOOL,
    "int32": FieldDescriptorProto.TYPE_INT32,
    "int64": FieldDescriptorProto.TYPE_INT64,
}
_POOL: Any = descriptor_pool.Default()


class ProtoFile:
    """A file with one service. dependencies: names of files whose messages it uses."""

    def __init__(self, path: Path, package: str, service: str, dependencies: tuple[str, ...] = ()) -> None:
        self._package = package
        text = path.read_text()
        file = FileDescriptorProto(
            name=f"{package.replace('.', '/')}/{path.name}",
            package=package,
            syntax="proto3",
            dependency=dependencies,
        )
        self._enums = {name for name, _ in _ENUM.findall(text)}
        for name, body in _ENUM.findall(text):
            enum = file.enum_type.add(name=name)
            for value, number in _VALUE.findall(body):
                enum.value.add(name=value, number=int(number))
        for name, body in _MESSAGE.findall(text):
            message = file.message_type.add(name=name)
            for repeated, kind, field, number in _FIELD.findall(body):
                self._add_field(message, field, int(number), kind, is_repeated=bool(repeated))
        methods = file.service.add(name=service).method
        for rpc, request, response in _RPC.findall(text):
            methods.add(name=rpc, input_type=f".{package}.{request}", output_type=f".{package}.{response}")
        added = _POOL.AddSerializedFile(file.SerializeToString())
        self.service: Any = added.services_by_name[service]

    def message_class(self, name: str) -> type[Any]:
        """Return the class of a message of the file."""
        kind: type[Message] = GetMessageClass(_POOL.FindMessageTypeByName(f"{self._package}.{name}"))
        return kind

    def requests(self) -> dict[str, type[Message]]:
        """Return the class of each call's request, by the name of the call."""
        return {
            name: GetMessageClass(method.input_type) for name, method in self.service.methods_by_name.items()
        }

    def _add_field(self, message: Any, name: str, number: int, kind: str, *, is_repeated: bool) -> None:
        field = message.field.add(name=name, number=number)
        field.label = field.LABEL_REPEATED if is_repeated else field.LABEL_OPTIONAL
        if kind in _SCALARS:
            field.type = _SCALARS[kind]
            return
        field.type = field.TYPE_ENUM if kind in self._enums else field.TYPE_MESSAGE
        field.type_name = f".{kind}" if "." in kind else f".{self._package}.{kind}"
