"""Options of a change, read from its query parameters and headers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rest_framework.request import Request

from controlplane.api.endpoints import caller_of
from controlplane.api.etags import parse_precondition
from controlplane.identity.roles import Action
from controlplane.scopes import Scope
from overrides.editing.commit import CommitOptions
from overrides.editing.writes import WriteOptions
from overrides.freezes.decisions import FreezeOverride
from overrides.freezes.storage import active_freezes


def write_options_from(
    request: Request, query: dict[str, Any], scopes: Iterable[Scope], *, wants_plan: bool = False
) -> WriteOptions:
    """Read the options. Raises PermissionDenied if the caller may not force at one of the scopes."""
    if query["force"]:
        for scope in scopes:
            caller_of(request).require(Action.OVERRIDE_FORCE, scope)
    return WriteOptions(
        precondition=parse_precondition(request),
        manager=query["managed_by"],
        force=query["force"],
        commit_options=commit_options_from(
            query, freeze_override_from(request, query), wants_plan=wants_plan
        ),
    )


def freeze_override_from(request: Request, query: dict[str, Any]) -> FreezeOverride | None:
    """Read the wish to override freezes. Raises PermissionDenied if the caller may do so nowhere."""
    if not (reason := query["override_freeze"].strip()):
        return None
    caller = caller_of(request)
    scopes = caller.require_somewhere(Action.FREEZE_OVERRIDE)
    caller.require_recent_login(Action.FREEZE_OVERRIDE)
    return FreezeOverride(reason, tuple(scopes))


def frozen_header(query: dict[str, Any], scope: Scope) -> dict[str, str]:
    """Return the header by which a dry run says that freezes would refuse the change: their ids."""
    freezes = active_freezes([scope]) if query["dry_run"] else ()
    return {"Change-Frozen": ", ".join(str(freeze.id) for freeze in freezes)} if freezes else {}


def commit_options_from(
    query: dict[str, Any], freeze_override: FreezeOverride | None = None, *, wants_plan: bool = False
) -> CommitOptions:
    """Read the caller's confirmation. A dry run never needs confirmation, and no freeze refuses it."""
    confirm, dry_run = query.get("confirm", ""), query["dry_run"]
    return CommitOptions(
        confirm=confirm,
        wants_plan=wants_plan,
        asks=not dry_run,
        freeze_override=freeze_override,
        heeds_freezes=not dry_run,
    )
