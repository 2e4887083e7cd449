"""Console sessions: one's own, and for administrators those of others; each can be ended."""

from __future__ import annotations

from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.http import urlencode

from console.confirmations import Change, confirmed
from console.cpctl_commands import curl
from console.filter_choices import offered
from console.pages import actor_of, page, page_of
from controlplane.access.login import sessions as access
from controlplane.access.models import Principal, PrincipalKind, Session
from controlplane.endpoints.access.session_views import session_digest
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action

_MOST = 1000


@page
def sessions(request: HttpRequest, caller: Caller) -> HttpResponse:
    owner = _owner(request, caller)
    _require_own_or(caller, Action.ACCESS_READ, owner)
    found = page_of(request, caller, access.current_sessions(owner), order=("-id",))
    current = session_digest(request)
    may_read = caller.verdict(Action.ACCESS_READ).allowed
    context = {
        "owner": owner,
        "is_mine": owner == caller.name,
        "owners": offered(_people(), owner) if may_read else [],
        "may_end": owner == caller.name or caller.verdict(Action.ACCESS_WRITE).allowed,
        "found": found,
        "sessions": [(session, bytes(session.digest) == current) for session in found.items],
        "curl": curl(request, "GET", f"sessions?{urlencode({'principal': owner})}"),
    }
    answer = render(request, "console/access/sessions.html", context)
    answer.headers["Cache-Control"] = "no-store"
    return answer


@page
def end(request: HttpRequest, caller: Caller, session_id: UUID) -> HttpResponse:
    of = None if caller.verdict(Action.ACCESS_WRITE).allowed else caller.principal_id
    session = access.get_session(session_id, of=of)
    is_current = bytes(session.digest) == session_digest(request)
    change = Change(
        f"End the session of {_described(session)}?",
        (
            f"{session.principal} must log in again there.",
            f"It was last used at {session.last_used_at:%Y-%m-%d %H:%M} UTC.",
            *(("It is the session that you are using: you will be logged out.",) if is_current else ()),
        ),
        "End session",
        _back(str(session.principal)),
        "The session has ended.",
        (),
        {"curl": curl(request, "DELETE", f"sessions/{session.id}")},
        is_grave=True,
    )
    return confirmed(
        request, change, lambda said: access.end_session(session.id, of=of, actor=actor_of(caller))
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
            f"Sessions that end: {count}.",
            "You stay logged in here." if is_mine else f"{owner} must log in again. Tokens continue to work.",
        ),
        "End sessions",
        _back(owner),
        "The sessions have ended.",
        (),
        {"curl": curl(request, "POST", "sessions:end", {"principal": owner})},
        is_grave=True,
    )
    return confirmed(
        request, change, lambda said: access.end_sessions(owner, but=current, actor=actor_of(caller))
    )


def _people() -> list[str]:
    rows = Principal.objects.filter(kind=PrincipalKind.PERSON).order_by("name")
    return list(rows.values_list("name", flat=True)[:_MOST])


def _owner(request: HttpRequest, caller: Caller) -> str:
    asked = request.GET.get("principal", "").strip()
    return asked if asked and asked.isprintable() else caller.name


def _require_own_or(caller: Caller, action: Action, owner: str) -> None:
    if owner != caller.name:
        caller.require(action)


def _described(session: Session) -> str:
    return f"{session.browser or 'an unknown browser'} at {session.address or 'an unknown address'}"


def _back(owner: str) -> str:
    return f"{reverse('sessions')}?{urlencode({'principal': owner})}"
