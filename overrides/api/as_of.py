"""The query parameter `as_of` of reads of overrides: a revision or a time."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any

from rest_framework import serializers

from controlplane.api.fields import Instant, Query
from controlplane.api.scopes import ScopeQuery
from controlplane.errors import FieldError, InvalidRequest
from overrides.loading.revisions import check_revision, revision_at

_REVISION = re.compile(r"[0-9]{1,18}")


class AsOfQuery(Query):
    """Query of reads that can return past states."""

    as_of = serializers.CharField(
        required=False,
        default="",
        allow_blank=True,
        help_text="Return the state at this revision or RFC 3339 time, such as 2026-11-21T09:30:00Z.",
    )


class ScopeAsOfQuery(ScopeQuery, AsOfQuery):
    """A scope, now or at a revision or time."""


def as_of(query: dict[str, Any]) -> int | None:
    """Return the revision that the query names; None means now. Raises InvalidRequest."""
    text = query["as_of"]
    if not text:
        return None
    if _REVISION.fullmatch(text):
        return check_revision(int(text))
    try:
        moment: datetime = Instant().to_internal_value(text)
    except serializers.ValidationError as error:
        message = "as_of must be a revision, such as 42, or a time, such as 2026-11-21T09:30:00Z."
        raise InvalidRequest(message, errors=[FieldError("?as_of", "malformed", message)]) from error
    return revision_at(moment)
