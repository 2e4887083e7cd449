"""`as_of` on every read of overrides: a revision, or a time."""

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
    """A read that can look back."""

    as_of = serializers.CharField(
        required=False,
        default="",
        allow_blank=True,
        help_text="Answer as it was then: a revision, or an RFC 3339 time such as 2026-11-21T09:30:00Z.",
    )


class ScopeAsOfQuery(ScopeQuery, AsOfQuery):
    """A scope, now or then."""


def as_of(query: dict[str, Any]) -> int | None:
    """The revision to look back to; None means now. Raises InvalidRequest."""
    said = query["as_of"]
    if not said:
        return None
    if _REVISION.fullmatch(said):
        return check_revision(int(said))
    try:
        moment: datetime = Instant().to_internal_value(said)
    except serializers.ValidationError as error:
        message = "as_of is a revision, such as 42, or a time, such as 2026-11-21T09:30:00Z."
        raise InvalidRequest(message, errors=[FieldError("?as_of", "malformed", message)]) from error
    return revision_at(moment)
