"""Types of protobuf's descriptors. The stubs know two classes of each, a running program one: so Any."""

from typing import Any, TypeAlias

MessageKind: TypeAlias = Any
Field: TypeAlias = Any
EnumKind: TypeAlias = Any
