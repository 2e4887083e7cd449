"""Turn DRF's nested validation errors into a flat list with JSON pointers. Pure but for DRF's types."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from controlplane.errors import FieldError

_NOT_A_FIELD = "non_field_errors"


def field_errors(detail: Any, pointer: str = "") -> list[FieldError]:
    return list(_walk(detail, pointer))


def _walk(detail: Any, pointer: str) -> Iterator[FieldError]:
    if isinstance(detail, dict):
        for name, below in detail.items():
            yield from _walk(below, pointer if name == _NOT_A_FIELD else f"{pointer}/{_escape(str(name))}")
    elif isinstance(detail, list) and any(isinstance(one, dict | list) for one in detail):
        for index, below in enumerate(detail):
            yield from _walk(below, f"{pointer}/{index}")
    elif isinstance(detail, list):
        for one in detail:
            yield from _walk(one, pointer)
    elif isinstance(detail, FieldError):
        yield detail
    else:
        yield FieldError(pointer, getattr(detail, "code", None) or "invalid", str(detail))


def _escape(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")
