"""Errors in single fields. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class FieldError:
    """An error in one field of the input.

    pointer: JSON Pointer (RFC 6901) into the body; for a query parameter, `?` and its name.
    code: stable identifier. hint: what to do instead. allowed: valid values, if there are few.
    line, column: position in the input, from 1; 0 if unknown.
    """

    pointer: str
    code: str
    message: str
    hint: str = ""
    allowed: tuple[str, ...] = field(default=())
    line: int = 0
    column: int = 0
