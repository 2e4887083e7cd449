"""What people fill in, read by the shapes of the API: a form and a request are refused alike."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from django.http import HttpRequest

from controlplane.api.fields import StrictSerializer, field_errors
from controlplane.errors import FieldError, InvalidRequest

_LONGEST_REASON = 500


def said_in(request: HttpRequest) -> dict[str, str]:
    """The fields of a form, such as Postgres can keep them. Raises InvalidRequest."""
    # Browsers send every line's end as two characters.
    said = {name: str(value).replace("\r\n", "\n") for name, value in request.POST.items()}
    for name, value in said.items():
        if "\x00" in value:
            message = "It has a character that cannot be stored."
            raise InvalidRequest(message, errors=[FieldError(f"/{name[:63]}", "unprintable", message)])
    if len(said.get("reason", "")) > _LONGEST_REASON:
        message = f"A reason has {_LONGEST_REASON} characters at most."
        raise InvalidRequest(message, errors=[FieldError("/reason", "max_length", message)])
    return said


def filled(shape: type[StrictSerializer], said: Mapping[str, Any]) -> dict[str, Any]:
    """What a form says, as the API would read it. Raises InvalidRequest with every mistake."""
    parsed = shape(data=dict(said))
    if not parsed.is_valid():
        found = field_errors(parsed.errors)
        raise InvalidRequest(found[0].message, errors=found)
    return dict(parsed.validated_data)


def whole(text: str) -> int | str:
    """A number; or the text as it stands, for the shape to refuse."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 19 else text


def words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


def moment(text: str, name: str) -> datetime | None:
    """A time as browsers send it, in UTC; None for an empty field. Raises InvalidRequest."""
    if not text:
        return None
    try:
        return datetime.fromisoformat(text).replace(tzinfo=UTC)
    except ValueError as error:
        message = "Write a time in UTC, such as 2026-11-21T09:30."
        raise InvalidRequest(message, errors=[FieldError(f"/{name}", "malformed", message)]) from error
