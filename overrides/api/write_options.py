"""The terms of a change, as its query parameters and headers say them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rest_framework.request import Request

from controlplane.api.endpoints import caller_of
from controlplane.api.etags import parse_precondition
from controlplane.identity.roles import Action
from controlplane.scopes import Scope
from overrides.editing.commit import Limits
from overrides.editing.writes import Terms


def terms_from(
    request: Request, query: dict[str, Any], scopes: Iterable[Scope], *, wants_plan: bool = False
) -> Terms:
    """Read the terms. Raises PermissionDenied if the caller may not force at one of the scopes."""
    if query["force"]:
        for scope in scopes:
            caller_of(request).require(Action.OVERRIDE_FORCE, scope)
    return Terms(
        precondition=parse_precondition(request),
        manager=query["managed_by"],
        force=query["force"],
        limits=limits_from(query, wants_plan=wants_plan),
    )


def limits_from(query: dict[str, Any], *, wants_plan: bool = False) -> Limits:
    """What the caller confirms. A dry run is never asked to confirm anything."""
    confirm, dry_run = query.get("confirm", ""), query["dry_run"]
    return Limits(confirm=confirm, wants_plan=wants_plan, asks=not dry_run)
