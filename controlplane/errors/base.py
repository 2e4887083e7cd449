"""Base class of all errors. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from controlplane.errors.field_error import FieldError


class ControlplaneError(Exception):
    """Base class of all errors. `code` is part of the API: never rename one."""

    code: ClassVar[str] = "error"
    title: ClassVar[str] = "Error"

    def __init__(self, detail: str, *, errors: Iterable[FieldError] = (), **members: Any) -> None:
        super().__init__(detail)
        self.detail = detail
        self.errors = tuple(errors)
        self.members = members
