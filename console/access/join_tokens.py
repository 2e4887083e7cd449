"""Join tokens: let agents in that have no credential yet; made, shown once, revoked."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

from django.db.models.functions import Now
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone

from console.confirmations import Change, Field, confirmed
from console.cpctl_commands import curl
from console.forms import filled, said_in, whole, words
from console.pages import actor_of, page, page_of
from controlplane.api.problems import STATUS_BY_ERROR
from controlplane.errors import ControlplaneError, UnknownJoinToken
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from registry.api.joining.schemas import JoinTokenWrite
from registry.joining.join_tokens import Terms, create_join_token, revoke_join_token
from registry.joining.models import JoinToken
from registry.joining.terms import Invitation

_TEXTS = ("name", "name_pattern", "environment")
_FLAGS = ("needs_approval", "may_take_over")
_HOUR = 3600


@page
def join_tokens(request: HttpRequest, caller: Caller) -> HttpResponse:
    caller.require(Action.ACCESS_READ)
    made: dict[str, Any] = {}
    status = 200
    if request.method == "POST":
        caller.require(Action.ACCESS_WRITE)
        made, status = _made(request, caller)
    found = page_of(request, caller, JoinToken.objects.annotate(now=Now()), order=("-id",))
    context = {
        "said": request.POST,
        "found": found,
        "tokens": [(one, _state(one)) for one in found.items],
        "may_write": caller.verdict(Action.ACCESS_WRITE).allowed,
        "curl": curl(request, "GET", "join-tokens"),
        **made,
    }
    answer = render(request, "console/access/join_tokens.html", context, status=status)
    answer.headers["Cache-Control"] = "no-store"
    return answer


@page
def revoke(request: HttpRequest, caller: Caller, token_id: UUID) -> HttpResponse:
    caller.require(Action.ACCESS_WRITE)
    token = JoinToken.objects.filter(id=token_id).first()
    if token is None:
        raise UnknownJoinToken("There is no such join token.")
    change = Change(
        f"Revoke the join token {token.name}?",
        (
            f"It would let {token.uses_left} more in, until {token.expires_at:%Y-%m-%d %H:%M} UTC.",
            "Agents that joined with it stay: each has a token of its own.",
        ),
        "Revoke it",
        reverse("join-tokens"),
        f"{token.name} lets nobody in any more.",
        (Field("reason", "Why"),),
        {"curl": curl(request, "DELETE", f"join-tokens/{token.id}")},
        is_grave=True,
    )
    return confirmed(
        request,
        change,
        lambda said: revoke_join_token(token.id, actor=actor_of(caller, said.get("reason", ""))),
    )


def _made(request: HttpRequest, caller: Caller) -> tuple[dict[str, Any], int]:
    try:
        wanted = filled(JoinTokenWrite, _body(said_in(request)))
        invitation = Invitation(
            wanted["name_pattern"], wanted["environment"], frozenset(wanted["service_types"])
        )
        terms = Terms(
            invitation,
            timezone.now() + timedelta(seconds=wanted["expires_in_seconds"]),
            wanted["uses"],
            wanted["needs_approval"],
            wanted["may_take_over"],
        )
        token, secret = create_join_token(wanted["name"], terms, actor=actor_of(caller))
    except ControlplaneError as error:
        return {"problem": error}, STATUS_BY_ERROR[type(error)]
    return {"made": token, "secret": secret, "said": {}}, 200


def _body(said: dict[str, str]) -> dict[str, Any]:
    hours = whole(said.get("hours", ""))
    return {
        **{name: said.get(name, "") for name in _TEXTS},
        **{name: said.get(name) == "on" for name in _FLAGS},
        "service_types": words(said.get("service_types", "")),
        "uses": whole(said.get("uses", "")),
        "expires_in_seconds": hours * _HOUR if isinstance(hours, int) else hours,
    }


def _state(token: JoinToken) -> str:
    if token.revoked_at is not None:
        return "revoked"
    over = token.uses_left == 0 or token.expires_at <= token.now  # type: ignore[attr-defined]  # annotated
    return "expired" if over else "usable"
