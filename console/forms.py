"""Parse forms with the schemas of the API, so that a form and a request are validated alike."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from django.http import HttpRequest

from controlplane.api.fields import StrictSerializer, field_errors
from controlplane.errors import FieldError, InvalidRequest, MalformedBody
from controlplane.formats import strict_yaml

_MAX_REASON = 500


def read_form(request: HttpRequest) -> dict[str, str]:
    """Return the fields of a form. Raises InvalidRequest for text that Postgres cannot store."""
    # Browsers send line breaks as CRLF.
    form = {name: str(value).replace("\r\n", "\n") for name, value in request.POST.items()}
    for name, value in form.items():
        if "\x00" in value:
            message = "The text contains a NUL character, which cannot be stored. Remove it."
            raise InvalidRequest(message, errors=[FieldError(f"/{name[:63]}", "unprintable", message)])
    if len(form.get("reason", "")) > _MAX_REASON:
        message = f"A reason must not be longer than {_MAX_REASON} characters."
        raise InvalidRequest(message, errors=[FieldError("/reason", "max_length", message)])
    return form


def parse_form(serializer: type[StrictSerializer], values: Mapping[str, Any]) -> dict[str, Any]:
    """Validate form values with a schema of the API. Raises InvalidRequest with every error."""
    parser = serializer(data=dict(values))
    if not parser.is_valid():
        errors = field_errors(parser.errors)
        raise InvalidRequest(errors[0].message, errors=errors)
    return dict(parser.validated_data)


def parse_number(text: str) -> int | str:
    """Return a number, or the text unchanged, for the schema to reject."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 19 else text


def form_version(form: Mapping[str, str]) -> int:
    """Return the version that a form began with."""
    version = parse_number(form.get("version", ""))
    # A form without a version was not made by the console: no object has this one.
    return version if isinstance(version, int) else 0


def parse_settings(text: str) -> Any:
    """Return a document of YAML or JSON; an empty one for no text. Raises InvalidRequest."""
    try:
        return strict_yaml.load(text) if text.strip() else {}
    except MalformedBody as error:
        message = f"The settings are neither YAML nor JSON: {error.detail}"
        raise InvalidRequest(message, errors=error.errors) from error


def split_words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


def parse_time(text: str, name: str) -> datetime | None:
    """Parse a time as browsers send it, in UTC; None for an empty field. Raises InvalidRequest."""
    if not text:
        return None
    try:
        return datetime.fromisoformat(text).replace(tzinfo=UTC)
    except ValueError as error:
        message = "This is not a valid time. Use UTC in the form 2026-11-21T09:30."
        raise InvalidRequest(message, errors=[FieldError(f"/{name}", "malformed", message)]) from error
