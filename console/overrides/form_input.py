"""What the pages about overrides are asked: a scope in the address, and on what terms to write."""

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
from overrides.editing.commit import CommitOptions
from overrides.editing.writes import WriteOptions
from overrides.resolution.addresses import Address

_LONGEST_REASON = 500
_LONGEST_CONFIRM = 64


@dataclass(frozen=True, slots=True)
class Wanted:
    """A change as the form says it. version: what the person began with; 0 for nothing."""

    text: str
    version: int
    reason: str
    force: bool
    confirm: str


def segments_of(said: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    return {name: str(said.get(f"{prefix}{name}", "")).strip() for name in SEGMENTS}


def address_of(request: HttpRequest, caller: Caller, resource_type: str, action: Action) -> Address:
    """Authorise before anything is looked up, as the API does."""
    scope = Scope(**segments_of(request.GET))
    caller.require(action, scope)
    return Address(resource_type, scope)


def wanted_from(request: HttpRequest) -> Wanted:
    """Raises InvalidRequest for a form that is not ours."""
    said = request.POST
    reason = said.get("reason", "").strip()
    if len(reason) > _LONGEST_REASON:
        raise _bad("/reason", f"A reason has {_LONGEST_REASON} characters at most.")
    confirm = said.get("confirm", "").strip()[:_LONGEST_CONFIRM]
    return Wanted(
        said.get("text", ""),
        number_from(said.get("version", "0"), "/version"),
        reason,
        said.get("force") == "on",
        confirm,
    )


def terms_of(wanted: Wanted, caller: Caller, scope: Scope, *, saves: bool) -> WriteOptions:
    """The terms of a save, or of a look at what it would do. Raises PermissionDenied."""
    if wanted.force:
        caller.require(Action.OVERRIDE_FORCE, scope)
    options = CommitOptions(confirm=wanted.confirm if saves else "", wants_plan=True, asks=saves)
    return WriteOptions(precondition=begun_at(wanted.version), force=wanted.force, commit_options=options)


def begun_at(version: int) -> Precondition:
    """Only if what stands is what the person began with; 0: only if nothing stands."""
    return Precondition(versions=frozenset({version})) if version else Precondition(must_be_new=True)


def scope_form(caller: Caller, asked: dict[str, str], prefix: str = "") -> dict[str, Any]:
    """What a form that chooses a scope offers."""
    return {
        "asked": asked,
        "prefix": prefix,
        "projects": filter_choices.offered(filter_choices.projects(caller), asked["project"]),
        "domains": filter_choices.offered(filter_choices.domains(), asked["domain"]),
    }


def number_from(text: str, pointer: str) -> int:
    """Raises InvalidRequest."""
    if not (text.isascii() and text.isdecimal() and len(text) < 10):
        raise _bad(pointer, f"{text[:20]!r} is not a number.")
    return int(text)


def _bad(pointer: str, message: str) -> InvalidRequest:
    return InvalidRequest(message, errors=[FieldError(pointer, "malformed", message)])
