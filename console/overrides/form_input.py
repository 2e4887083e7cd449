"""Input of the override pages: the scope in the URL, and the options of a write."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest

from console import filter_choices
from controlplane.errors import FieldError, InvalidRequest
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from controlplane.preconditions import Precondition
from controlplane.scopes import SEGMENTS, Scope
from overrides.approvals.decisions import NO_CONSENT, Bypass, Consent
from overrides.editing.commit import CommitOptions
from overrides.editing.writes import WriteOptions
from overrides.freezes.decisions import FreezeOverride
from overrides.resolution.addresses import Address

_MAX_REASON = 500
_MAX_CONFIRM = 64
_MAX_TICKET = 200


@dataclass(frozen=True, slots=True)
class OverrideForm:
    """Values of the override form. version: the version that the user edits; 0 for a new override."""

    text: str
    version: int
    reason: str
    force: bool
    confirm: str
    override_freeze: str = ""
    until: str = ""
    approval_override: str = ""
    ticket: str = ""


def segments_of(parameters: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    return {name: str(parameters.get(f"{prefix}{name}", "")).strip() for name in SEGMENTS}


def address_of(request: HttpRequest, caller: Caller, resource_type: str, action: Action) -> Address:
    """Return the address of the request. Authorises before any lookup, as the API does."""
    scope = Scope(**segments_of(request.GET))
    caller.require(action, scope)
    return Address(resource_type, scope)


def read_override_form(request: HttpRequest) -> OverrideForm:
    """Read the form. Raises InvalidRequest for malformed input."""
    form = request.POST
    reason = form.get("reason", "").strip()
    if len(reason) > _MAX_REASON:
        raise _malformed("/reason", f"A reason must not be longer than {_MAX_REASON} characters.")
    confirm = form.get("confirm", "").strip()[:_MAX_CONFIRM]
    return OverrideForm(
        form.get("text", ""),
        number_from(form.get("version", "0"), "/version"),
        reason,
        form.get("force") == "on",
        confirm,
        form.get("override_freeze", "").strip()[:_MAX_REASON],
        form.get("until", "").strip()[:32],
        form.get("approval_override", "").strip()[:_MAX_REASON],
        form.get("ticket", "").strip()[:_MAX_TICKET],
    )


def write_options(form: OverrideForm, caller: Caller, scope: Scope, *, saves: bool) -> WriteOptions:
    """Return the options of a save or preview. Raises PermissionDenied."""
    if form.force:
        caller.require(Action.OVERRIDE_FORCE, scope)
    commit_options = CommitOptions(
        confirm=form.confirm if saves else "",
        wants_plan=True,
        asks=saves,
        freeze_override=freeze_override(form, caller),
        heeds_freezes=saves,
        consent=consent(form, caller),
        heeds_approvals=saves,
    )
    return WriteOptions(
        precondition=precondition_for(form.version), force=form.force, commit_options=commit_options
    )


def freeze_override(form: OverrideForm, caller: Caller) -> FreezeOverride | None:
    """Return the wish to override freezes. Raises PermissionDenied if the caller may do so nowhere."""
    if not form.override_freeze:
        return None
    scopes = caller.require_somewhere(Action.FREEZE_OVERRIDE)
    caller.require_recent_login(Action.FREEZE_OVERRIDE)
    return FreezeOverride(form.override_freeze, tuple(scopes))


def consent(form: OverrideForm, caller: Caller) -> Consent:
    """Return the wish to do without approvals. Raises PermissionDenied if the caller may do so nowhere."""
    if not form.approval_override:
        return NO_CONSENT
    scopes = caller.require_somewhere(Action.APPROVAL_BYPASS)
    caller.require_recent_login(Action.APPROVAL_BYPASS)
    return Consent(bypass=Bypass(form.approval_override, tuple(scopes)))


def precondition_for(version: int) -> Precondition:
    """Require the stored version to be the edited one; 0: require that none exists."""
    return Precondition(versions=frozenset({version})) if version else Precondition(must_be_new=True)


def scope_fields(caller: Caller, segments: dict[str, str], prefix: str = "") -> dict[str, Any]:
    """Return the template context of a scope form: values and options."""
    return {
        "segments": segments,
        "prefix": prefix,
        "projects": filter_choices.select_options(filter_choices.projects(caller), segments["project"]),
        "domains": filter_choices.select_options(filter_choices.domains(), segments["domain"]),
    }


def number_from(text: str, pointer: str) -> int:
    """Raises InvalidRequest."""
    if not (text.isascii() and text.isdecimal() and len(text) < 10):
        raise _malformed(pointer, f"{text[:20]!r} is not a number.")
    return int(text)


def _malformed(pointer: str, message: str) -> InvalidRequest:
    return InvalidRequest(message, errors=[FieldError(pointer, "malformed", message)])
