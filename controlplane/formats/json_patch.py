"""JSON Patch (RFC 6902) with JSON Pointers (RFC 6901). Pure.

All operations are applied in order, or none is. Unknown members of an operation are ignored, as the RFC
requires.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from controlplane.errors import FieldError, InvalidRequest, PatchFailed

MAX_OPERATIONS = 1000
# Copies of copies would otherwise grow without bound: twenty operations could create a million values.
_MOST_ADDED = 100_000
# The same depth as for bodies.
_MOST_DEPTH = 32


def apply_patch(document: Any, operations: Any) -> Any:
    """Return the patched document, and leave the original unchanged.

    Raises InvalidRequest for a malformed patch, and PatchFailed if a location does not exist, a `test` fails
    or the result is too large. Errors point into the patch.
    """
    if not isinstance(operations, list) or len(operations) > MAX_OPERATIONS:
        message = f"A JSON Patch must be a list of at most {MAX_OPERATIONS} operations."
        raise InvalidRequest(message, errors=[FieldError("", "wrong_type", message)])
    # All operations are validated before the first is applied.
    parsed = [_read(number, operation) for number, operation in enumerate(operations)]
    application = _Application(deepcopy(document))
    for operation in parsed:
        application.apply(operation)
    return application.document


def equal(left: Any, right: Any) -> bool:
    """JSON equality (RFC 6902 section 4.6): numbers by value, objects in any order, and true is not 1."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        return left.keys() == right.keys() and all(equal(left[name], right[name]) for name in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(equal, left, right))
    return bool(left == right)


@dataclass(frozen=True, slots=True)
class _Operation:
    """One operation. pointer: its location in the patch. source: the steps of `from`."""

    pointer: str
    name: str
    path: tuple[str, ...]
    source: tuple[str, ...] = ()
    value: Any = None

    def failed(self, member: str, message: str) -> PatchFailed:
        return PatchFailed(message, errors=[FieldError(f"{self.pointer}/{member}", "patch_failed", message)])


@dataclass(slots=True)
class _Application:
    document: Any
    added: int = 0

    def apply(self, operation: _Operation) -> None:
        {
            "add": self._add_value,
            "remove": self._remove,
            "replace": self._replace,
            "move": self._move,
            "copy": self._copy,
            "test": self._test,
        }[operation.name](operation)

    def _add_value(self, operation: _Operation) -> None:
        self._add(operation, deepcopy(operation.value))

    def _replace(self, operation: _Operation) -> None:
        self._value_at(operation, "path", operation.path)
        if operation.path:
            self._delete(operation, operation.path)
        self._add(operation, deepcopy(operation.value))

    def _remove(self, operation: _Operation) -> None:
        self._value_at(operation, "path", operation.path)
        self._delete(operation, operation.path)

    def _move(self, operation: _Operation) -> None:
        value = self._value_at(operation, "from", operation.source)
        if operation.source == operation.path:
            return
        if operation.path[: len(operation.source)] == operation.source:
            raise operation.failed("path", "A value cannot be moved into itself. Choose another path.")
        self._delete(operation, operation.source)
        self._add(operation, value)

    def _copy(self, operation: _Operation) -> None:
        self._add(operation, deepcopy(self._value_at(operation, "from", operation.source)))

    def _test(self, operation: _Operation) -> None:
        if not equal(self._value_at(operation, "path", operation.path), operation.value):
            where = _pointer(operation.path)
            message = (
                f"The value at {where} does not match the test. Read the override again and create a"
                " new patch."
            )
            raise operation.failed("value", message)

    def _add(self, operation: _Operation, value: Any) -> None:
        self._count(operation, value)
        if not operation.path:
            self.document = value
            return
        parent, step = self._parent(operation, "path", operation.path)
        if isinstance(parent, dict):
            parent[step] = value
            return
        index = len(parent) if step == "-" else _index(step)
        if index is None or index > len(parent):
            raise _missing(operation, "path", operation.path)
        parent.insert(index, value)

    def _delete(self, operation: _Operation, path: tuple[str, ...]) -> None:
        """Remove an existing value."""
        parent, step = self._parent(operation, "path", path)
        del parent[step if isinstance(parent, dict) else int(step)]

    def _parent(self, operation: _Operation, member: str, path: tuple[str, ...]) -> tuple[Any, str]:
        parent = self._value_at(operation, member, path[:-1])
        if not isinstance(parent, dict | list):
            raise _missing(operation, member, path)
        return parent, path[-1]

    def _value_at(self, operation: _Operation, member: str, path: tuple[str, ...]) -> Any:
        value = self.document
        for step in path:
            index = _index(step) if isinstance(value, list) else None
            if isinstance(value, dict) and step in value:
                value = value[step]
            elif isinstance(value, list) and index is not None and index < len(value):
                value = value[index]
            else:
                raise _missing(operation, member, path)
        return value

    def _count(self, operation: _Operation, value: Any) -> None:
        """Check the number of added values and their depth in the document."""
        depth, level = len(operation.path), [value]
        while level:
            self.added += len(level)
            depth += 1
            if self.added > _MOST_ADDED or depth > _MOST_DEPTH:
                raise operation.failed(
                    "path",
                    "The patch adds too many values or nests them too deeply. Split it into several patches.",
                )
            level = [member for container in level for member in _members(container)]


def _members(value: Any) -> Sequence[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else ()


def _read(number: int, operation: Any) -> _Operation:
    pointer = f"/{number}"
    if not isinstance(operation, dict):
        raise _malformed(pointer, "wrong_type", "An operation must be an object.")
    name = operation.get("op")
    if not isinstance(name, str) or name not in _REQUIRED_MEMBERS:
        raise _malformed(
            f"{pointer}/op", "not_allowed", f"op must be one of: {', '.join(_REQUIRED_MEMBERS)}."
        )
    for member in ("path", *_REQUIRED_MEMBERS[name]):
        if member not in operation:
            raise _malformed(f"{pointer}/{member}", "required", f"The operation {name} requires {member}.")
    path = _steps(f"{pointer}/path", operation["path"])
    source = _steps(f"{pointer}/from", operation["from"]) if "from" in _REQUIRED_MEMBERS[name] else ()
    if name == "remove" and not path:
        raise _malformed(f"{pointer}/path", "not_allowed", "The whole document cannot be removed.")
    return _Operation(pointer, name, path, source, operation.get("value"))


def _steps(pointer: str, text: Any) -> tuple[str, ...]:
    """Return the steps of a JSON Pointer."""
    if not isinstance(text, str) or (text and not text.startswith("/")) or not _is_well_escaped(text):
        example = "such as /attributes/limits/cpu; escape ~ as ~0 and / as ~1"
        raise _malformed(pointer, "malformed", f"The value must be a JSON Pointer, {example}.")
    return tuple(step.replace("~1", "/").replace("~0", "~") for step in text.split("/")[1:])


def _is_well_escaped(text: str) -> bool:
    return "~" not in text.replace("~0", "").replace("~1", "")


def _index(step: str) -> int | None:
    """Return the index in a step; None for other text, signs and leading zeros."""
    plain = step.isascii() and step.isdecimal() and len(step) < 10
    return int(step) if plain and (step == "0" or not step.startswith("0")) else None


def _missing(operation: _Operation, member: str, path: tuple[str, ...]) -> PatchFailed:
    message = f"{_pointer(path)} does not exist. Read the override again and create a new patch."
    return operation.failed(member, message)


def _pointer(path: Sequence[str]) -> str:
    text = "".join(f"/{step.replace('~', '~0').replace('/', '~1')}" for step in path)
    return repr(text[:200])


def _malformed(pointer: str, code: str, message: str) -> InvalidRequest:
    return InvalidRequest(message, errors=[FieldError(pointer, code, message)])


# Required members of each operation in addition to path.
_REQUIRED_MEMBERS: dict[str, tuple[str, ...]] = {
    "add": ("value",),
    "remove": (),
    "replace": ("value",),
    "move": ("from",),
    "copy": ("from",),
    "test": ("value",),
}
