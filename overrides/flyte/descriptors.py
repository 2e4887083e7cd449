"""Types of protobuf's descriptors. The stubs have two classes for each, the runtime has one: hence Any."""

from typing import Any, TypeAlias

MessageKind: TypeAlias = Any
Field: TypeAlias = Any
EnumKind: TypeAlias = Any
