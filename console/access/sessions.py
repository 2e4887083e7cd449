"""Console sessions of the user, and for administrators those of others: list and end."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.http import urlencode

from console.confirmations import Change, confirm_change
from console.cpctl_commands import curl
from console.filter_choices import select_options
from console.pages import actor_of, load_page, page
from controlplane.access.login import sessions as access
from controlplane.access.login.oidc.identities import list_identities
from controlplane.access.login.oidc.providers import active_providers
from controlplane.access.models import Principal, PrincipalKind, Session
from controlplane.access.team_models import Team
from controlplane.endpoints.access.session_views import session_digest
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action

_MAX_PEOPLE = 1000


@page
def sessions(request: HttpRequest, caller: Caller) -> HttpResponse:
    owner = _owner(request, caller)
    _require_own_or(caller, Action.ACCESS_READ, owner)
    results = load_page(request, caller, access.current_sessions(owner), order=("-id",))
    current = session_digest(request)
    may_read = caller.verdict(Action.ACCESS_READ).allowed
    context = {
        "owner": owner,
        "is_mine": owner == caller.name,
        "owners": select_options(_people(), owner) if may_read else [],
        "may_end": owner == caller.name or caller.verdict(Action.ACCESS_WRITE).allowed,
        "results": results,
        "sessions": [(session, bytes(session.digest) == current) for session in results.items],
        "curl": curl(request, "GET", f"sessions?{urlencode({'principal': owner})}"),
        **_account(owner),
    }
    response = render(request, "console/access/sessions.html", context)
    response.headers["Cache-Control"] = "no-store"
    return response


@page
def end(request: HttpRequest, caller: Caller, session_id: UUID) -> HttpResponse:
    principal_id = None if caller.verdict(Action.ACCESS_WRITE).allowed else caller.principal_id
    session = access.get_session(session_id, of=principal_id)
    is_current = bytes(session.digest) == session_digest(request)
    change = Change(
        f"End the session of {_describe(session)}?",
        (
            f"{session.principal} must log in again in this browser.",
            f"Last used: {session.last_used_at:%Y-%m-%d %H:%M} UTC.",
            *(("This is your current session: you will be logged out.",) if is_current else ()),
        ),
        "End session",
        _sessions_url(str(session.principal)),
        "Session ended.",
        (),
        {"curl": curl(request, "DELETE", f"sessions/{session.id}")},
        is_destructive=True,
    )
    return confirm_change(
        request, change, lambda form: access.end_session(session.id, of=principal_id, actor=actor_of(caller))
    )


@page
def end_others(request: HttpRequest, caller: Caller) -> HttpResponse:
    owner = _owner(request, caller)
    _require_own_or(caller, Action.ACCESS_WRITE, owner)
    current = session_digest(request)
    count = access.current_sessions(owner).exclude(digest=current or b"").count()
    is_mine = owner == caller.name
    change = Change(
        "End all other sessions?" if is_mine else f"End all sessions of {owner}?",
        (
            f"Sessions to end: {count}.",
            "You stay logged in here." if is_mine else f"{owner} must log in again. Tokens continue to work.",
        ),
        "End sessions",
        _sessions_url(owner),
        "Sessions ended.",
        (),
        {"curl": curl(request, "POST", "sessions:end", {"principal": owner})},
        is_destructive=True,
    )
    return confirm_change(
        request, change, lambda form: access.end_sessions(owner, but=current, actor=actor_of(caller))
    )


def _account(owner: str) -> dict[str, Any]:
    """Return the teams and identities of a person, and the providers where an identity can be linked."""
    identities = list(list_identities().filter(principal__name=owner).order_by("id"))
    issuers = {identity.issuer for identity in identities}
    teams = Team.objects.filter(memberships__principal__name=owner).distinct().order_by("slug")
    return {
        "teams": list(teams.values_list("slug", flat=True)),
        "identities": identities,
        "linkable": [provider for provider in active_providers() if provider.issuer not in issuers],
    }


def _people() -> list[str]:
    rows = Principal.objects.filter(kind=PrincipalKind.PERSON).order_by("name")
    return list(rows.values_list("name", flat=True)[:_MAX_PEOPLE])


def _owner(request: HttpRequest, caller: Caller) -> str:
    name = request.GET.get("principal", "").strip()
    return name if name and name.isprintable() else caller.name


def _require_own_or(caller: Caller, action: Action, owner: str) -> None:
    if owner != caller.name:
        caller.require(action)


def _describe(session: Session) -> str:
    return f"{session.browser or 'an unknown browser'} at {session.address or 'an unknown address'}"


def _sessions_url(owner: str) -> str:
    return f"{reverse('sessions')}?{urlencode({'principal': owner})}"
