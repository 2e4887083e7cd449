"""The parameters `since`, `until` and `order` of lists of events and other timed records."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Q
from django.db.models.functions import Now
from rest_framework import serializers

from controlplane.api.fields import Instant, field_errors
from controlplane.api.sort_keys import SortKeys
from controlplane.errors import FieldError, InvalidRequest

ASCENDING, DESCENDING = "asc", "desc"
ORDERS = [(order, order) for order in (ASCENDING, DESCENDING)]
# Logs have one order, of time; `sort` has the form that it has in other lists.
TIME_KEYS = SortKeys({"at": ("at",)}, tie_break=("at",))
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_DURATION = re.compile(r"(?:[0-9]{1,6}[smhdw]){1,5}")
_PART = re.compile(r"([0-9]+)([smhdw])")
# Longer than any retention; a longer duration is a typing mistake.
_LONGEST = timedelta(days=36_500)
HELP = "Only records since then: a duration such as `30m`, `2h` or `7d`, or an RFC 3339 time."
UNTIL_HELP = "Only records before then, written as `since`: `1h` ends the range an hour ago."
_MALFORMED = "Use a duration such as 30m, 2h or 7d, or an RFC 3339 time such as 2026-11-21T09:30:00Z."


class SinceField(serializers.CharField):
    """A duration before now, or an RFC 3339 time with its offset. The value is a timedelta or a datetime."""

    def __init__(self, **options: Any) -> None:
        options.setdefault("required", False)
        options.setdefault("help_text", HELP)
        super().__init__(**options)

    def to_internal_value(self, data: Any) -> Any:
        text = super().to_internal_value(data)
        if _DURATION.fullmatch(text):
            return _duration(text)
        try:
            return Instant().to_internal_value(text)
        except serializers.ValidationError as error:
            raise serializers.ValidationError(_MALFORMED, code="malformed") from error


class UntilField(SinceField):
    """As `SinceField`, for the end of a range."""

    def __init__(self, **options: Any) -> None:
        options.setdefault("help_text", UNTIL_HELP)
        super().__init__(**options)


def with_order(query: dict[str, Any], sent: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters with `order` from `sort`. sent: as they were sent. Raises ValidationError."""
    if "sort" in sent and "order" in sent:
        message = "`sort=at` is the same as `order=asc`. Send one of the two."
        raise serializers.ValidationError({"order": [serializers.ErrorDetail(message, code="not_allowed")]})
    if "sort" not in query:
        return query
    return {**query, "order": DESCENDING if query["sort"][0].startswith("-") else ASCENDING}


def newer_than(since: timedelta | datetime) -> Q:
    """Return a filter for records since then. Durations count back from the database's clock."""
    return Q(at__gte=_moment(since))


def in_range(query: Mapping[str, Any], column: str = "at") -> Q:
    """Return a filter for the range of `since` and `until`, which includes its start alone."""
    found = Q()
    if "since" in query:
        found &= Q(**{f"{column}__gte": _moment(query["since"])})
    if "until" in query:
        found &= Q(**{f"{column}__lt": _moment(query["until"])})
    return found


def read_range(texts: Mapping[str, str]) -> dict[str, Any]:
    """Read `since` and `until` of a form, for `in_range`; empty ones are left out. Raises InvalidRequest."""
    values: dict[str, Any] = {}
    errors: list[FieldError] = []
    for name, field in (("since", SinceField()), ("until", UntilField())):
        try:
            if texts.get(name):
                values[name] = field.run_validation(texts[name])
        except serializers.ValidationError as error:
            errors += field_errors(error.detail, f"?{name}")
    if errors:
        raise InvalidRequest(errors[0].message, errors=errors)
    return values


def _moment(time: timedelta | datetime) -> Any:
    return Now() - time if isinstance(time, timedelta) else time


def _duration(text: str) -> timedelta:
    total = timedelta()
    for number, unit in _PART.findall(text):
        total += timedelta(**{_UNITS[unit]: int(number)})
    if total > _LONGEST:
        raise serializers.ValidationError("The duration is longer than a hundred years.", code="max_value")
    return total
