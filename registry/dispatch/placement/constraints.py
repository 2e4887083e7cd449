"""Where a resource may be placed, as the client requests it: environment, agent and label selector. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from controlplane.errors import FieldError, InvalidRequest
from controlplane.formats import label_selectors as selectors

_MAX_NAME = 255
_MEMBERS = {"environment": _MAX_NAME, "agent": _MAX_NAME, "selector": 2000}


def check_constraints(placement: Mapping[str, Any] | None, pointer: str = "/placement") -> dict[str, str]:
    """Return the constraints to store, without empty members. Raises InvalidRequest with all errors.

    pointer: of the member in the body.
    """
    errors: list[FieldError] = []
    constraints: dict[str, str] = {}
    for name, value in (placement or {}).items():
        problem = _problem(name, value)
        if problem is not None:
            code, message = problem
            errors.append(FieldError(f"{pointer}/{name}", code, message, allowed=tuple(_MEMBERS)))
        elif value:
            constraints[name] = value
    if errors:
        raise InvalidRequest(" ".join(error.message for error in errors[:3]), errors=errors)
    return constraints


def _problem(name: str, value: Any) -> tuple[str, str] | None:
    if name not in _MEMBERS:
        return "unknown_field", f"Unknown name {name[:80]!r}. Valid names: {', '.join(_MEMBERS)}."
    if not isinstance(value, str):
        return "invalid", f"{name} must be a string."
    if len(value) > _MEMBERS[name]:
        return "max_length", f"{name} must not be longer than {_MEMBERS[name]} characters."
    if not value.isprintable():
        return "unprintable", f"{name} contains a non-printable character."
    return _selector_problem(value) if name == "selector" else None


def _selector_problem(text: str) -> tuple[str, str] | None:
    try:
        selectors.parse(text)
    except InvalidRequest as error:
        return "malformed", error.detail
    return None
