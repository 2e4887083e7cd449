"""One thing that is wrong with an input. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class FieldError:
    """One thing that is wrong with the input.

    pointer: RFC 6901, from the root of the body; for a query parameter its name after `?`.
    code: a stable word. hint: what to do instead. allowed: the legal values, where they are few.
    line, column: in a text that was sent, from 1; 0 where that means nothing.
    """

    pointer: str
    code: str
    message: str
    hint: str = ""
    allowed: tuple[str, ...] = field(default=())
    line: int = 0
    column: int = 0
