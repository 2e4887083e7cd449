"""The parameters `since` and `order` of lists of events and other timed records."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Q
from django.db.models.functions import Now
from rest_framework import serializers

from controlplane.api.fields import Instant

ASCENDING, DESCENDING = "asc", "desc"
ORDERS = [(order, order) for order in (ASCENDING, DESCENDING)]
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_DURATION = re.compile(r"(?:[0-9]{1,6}[smhdw]){1,5}")
_PART = re.compile(r"([0-9]+)([smhdw])")
# Longer than any retention; a longer duration is a typing mistake.
_LONGEST = timedelta(days=36_500)
HELP = "Only records since then: a duration such as `30m`, `2h` or `7d`, or an RFC 3339 time."
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


def newer_than(since: timedelta | datetime) -> Q:
    """Return a filter for records since then. Durations count back from the database's clock."""
    return Q(at__gte=Now() - since if isinstance(since, timedelta) else since)


def _duration(text: str) -> timedelta:
    total = timedelta()
    for number, unit in _PART.findall(text):
        total += timedelta(**{_UNITS[unit]: int(number)})
    if total > _LONGEST:
        raise serializers.ValidationError("The duration is longer than a hundred years.", code="max_value")
    return total
