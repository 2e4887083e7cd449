"""Join tokens, with which agents register for the first time: list, create, revoke."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.db.models.functions import Now
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from console.confirmations import Change, Field, confirm_change
from console.cpctl_commands import curl
from console.forms import parse_form, parse_number, read_form, split_words
from console.pages import actor_of, load_page, page
from controlplane.api.problems import STATUS_BY_ERROR
from controlplane.errors import ControlplaneError, UnknownJoinToken
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from registry.api.joining.schemas import JoinTokenWrite, join_token_spec
from registry.joining.join_tokens import (
    check_may_create,
    create_join_token,
    readable_join_tokens,
    revoke_join_token,
)
from registry.joining.models import JoinToken

_TEXTS = ("name", "name_pattern", "environment")
_CHECKBOXES = ("needs_approval", "may_take_over")
_HOUR = 3600


@page
def join_tokens(request: HttpRequest, caller: Caller) -> HttpResponse:
    rows = readable_join_tokens(caller)
    created: dict[str, Any] = {}
    status = 200
    if request.method == "POST":
        caller.require_for_some_owner(Action.ACCESS_WRITE)
        created, status = _create(request, caller)
    results = load_page(request, caller, rows.annotate(now=Now()), order=("-id",))
    context = {
        "form": request.POST,
        "results": results,
        "tokens": [(token, _state(token)) for token in results.items],
        "may_write": bool(caller.owners_for(Action.ACCESS_WRITE)),
        "curl": curl(request, "GET", "join-tokens"),
        **created,
    }
    response = render(request, "console/access/join_tokens.html", context, status=status)
    response.headers["Cache-Control"] = "no-store"
    return response


@page
def revoke(request: HttpRequest, caller: Caller, token_id: UUID) -> HttpResponse:
    caller.require_for_some_owner(Action.ACCESS_WRITE)
    token = readable_join_tokens(caller).filter(id=token_id).first()
    if token is None:
        raise UnknownJoinToken("This join token does not exist.")
    caller.require(Action.ACCESS_WRITE, owner=token.team_id)
    change = Change(
        f"Revoke the join token {token.name}?",
        (
            f"Remaining uses: {token.uses_left}. Expires: {token.expires_at:%Y-%m-%d %H:%M} UTC.",
            "Agents that joined with it are not affected: each has its own token.",
        ),
        "Revoke join token",
        reverse("join-tokens"),
        f"Revoked the join token {token.name}.",
        (Field("reason", "Reason"),),
        {"curl": curl(request, "DELETE", f"join-tokens/{token.id}")},
        is_destructive=True,
    )
    return confirm_change(
        request,
        change,
        lambda form: revoke_join_token(token.id, actor=actor_of(caller, form.get("reason", ""))),
    )


def _create(request: HttpRequest, caller: Caller) -> tuple[dict[str, Any], int]:
    try:
        body = parse_form(JoinTokenWrite, _body(read_form(request)))
        spec = join_token_spec(body, caller)
        check_may_create(caller, spec.team)
        token, secret = create_join_token(body["name"], spec, actor=actor_of(caller))
    except ControlplaneError as error:
        return {"problem": error}, STATUS_BY_ERROR[type(error)]
    return {"token": token, "secret": secret, "form": {}}, 200


def _body(form: dict[str, str]) -> dict[str, Any]:
    hours = parse_number(form.get("hours", ""))
    return {
        **{name: form.get(name, "") for name in _TEXTS},
        **{name: form.get(name) == "on" for name in _CHECKBOXES},
        "team": form.get("team") or None,
        "service_types": split_words(form.get("service_types", "")),
        "uses": parse_number(form.get("uses", "")),
        "expires_in_seconds": hours * _HOUR if isinstance(hours, int) else hours,
    }


def _state(token: JoinToken) -> str:
    if token.revoked_at is not None:
        return "revoked"
    is_over = token.uses_left == 0 or token.expires_at <= token.now  # type: ignore[attr-defined]  # annotated
    return "expired" if is_over else "valid"
