"""Options of a change, read from its query parameters and headers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from rest_framework.request import Request

from controlplane.api.endpoints import actor_of, caller_of
from controlplane.api.etags import parse_precondition
from controlplane.identity.actors import Actor
from controlplane.identity.roles import Action
from controlplane.scopes import Scope
from overrides.approvals.decisions import NO_CONSENT, Bypass, Consent, required_by
from overrides.approvals.storage import policies_at
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
        commit_options=override_options_from(request, query, wants_plan=wants_plan),
    )


def override_options_from(
    request: Request, query: dict[str, Any], *, wants_plan: bool = False
) -> CommitOptions:
    """Read the options of a change of overrides. A dry run is held by no freeze and no approval policy."""
    return replace(
        commit_options_from(query, wants_plan=wants_plan),
        freeze_override=freeze_override_from(request, query),
        heeds_freezes=not query["dry_run"],
        consent=consent_from(request, query),
        heeds_approvals=not query["dry_run"],
    )


def freeze_override_from(request: Request, query: dict[str, Any]) -> FreezeOverride | None:
    """Read the wish to override freezes. Raises PermissionDenied if the caller may do so nowhere."""
    if not (reason := query["override_freeze"].strip()):
        return None
    return FreezeOverride(reason, _scopes_for(Action.FREEZE_OVERRIDE, request))


def consent_from(request: Request, query: dict[str, Any]) -> Consent:
    """Read the wish to do without approvals. Raises PermissionDenied if the caller may do so nowhere."""
    if not (reason := query["approval_override"].strip()):
        return NO_CONSENT
    return Consent(bypass=Bypass(reason, _scopes_for(Action.APPROVAL_BYPASS, request)))


def held_headers(query: dict[str, Any], scope: Scope) -> dict[str, str]:
    """Return the headers by which a dry run says what would refuse the change.

    `Change-Frozen`: ids of freezes. `Approvals-Required`: how many approvals are needed.
    """
    if not query["dry_run"]:
        return {}
    freezes, required = active_freezes([scope]), required_by(policies_at([scope]))
    frozen = {"Change-Frozen": ", ".join(str(freeze.id) for freeze in freezes)} if freezes else {}
    return {**frozen, **({"Approvals-Required": str(required)} if required else {})}


def commit_options_from(query: dict[str, Any], *, wants_plan: bool = False) -> CommitOptions:
    """Read the caller's confirmation. A dry run never needs confirmation."""
    return CommitOptions(confirm=query.get("confirm", ""), wants_plan=wants_plan, asks=not query["dry_run"])


def _scopes_for(action: Action, request: Request) -> tuple[Scope, ...]:
    caller = caller_of(request)
    scopes = caller.require_somewhere(action)
    caller.require_recent_login(action)
    return tuple(scopes)


def author_of(request: Request, query: Mapping[str, Any]) -> Actor:
    """Return the actor of a change, with reason and ticket. query: of WriteOptionsQuery."""
    return replace(actor_of(request, query["change_message"]), ticket=query["ticket"])
