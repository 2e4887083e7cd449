"""API tokens: one's own, and for administrators those of services; a secret is shown once."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from django.db.models.functions import Now
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.http import urlencode

from console.confirmations import Change, confirmed
from console.cpctl_commands import curl
from console.filter_choices import offered
from console.forms import filled, said_in
from console.pages import actor_of, page, page_of
from controlplane.access import issue_tokens, principals
from controlplane.access.issue_tokens import Issuer
from controlplane.access.models import Principal, PrincipalKind, Token
from controlplane.api.problems import STATUS_BY_ERROR
from controlplane.endpoints.access.schemas import TokenWrite
from controlplane.errors import ControlplaneError, UnknownToken
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action

_MOST = 1000
_NEVER = "never"
# What the form offers; the API takes any moment.
_LIFETIMES = {"1": "1 day", "30": "30 days", "90": "90 days", "365": "1 year"}


@page
def tokens(request: HttpRequest, caller: Caller) -> HttpResponse:
    said = request.GET.get("principal", "").strip()
    owner = said if said and said.isprintable() else caller.name
    _require_own_or(caller, Action.ACCESS_READ, owner)
    made: dict[str, Any] = {}
    status = 200
    if request.method == "POST":
        made, status = _made(request, caller, owner)
    found = page_of(request, caller, _of(owner), order=("-id",))
    may_read = caller.verdict(Action.ACCESS_READ).allowed
    context = {
        "owner": owner,
        "is_mine": owner == caller.name,
        "owners": offered(_owners(), owner) if may_read else [],
        "may_write": owner == caller.name or caller.verdict(Action.ACCESS_WRITE).allowed,
        "lifetimes": _lifetimes(caller),
        "found": found,
        "tokens": [(one, _state(one)) for one in found.items],
        "curl": curl(request, "GET", f"tokens?{urlencode({'principal': owner})}"),
        **made,
    }
    answer = render(request, "console/access/tokens.html", context, status=status)
    answer.headers["Cache-Control"] = "no-store"
    return answer


@page
def revoke(request: HttpRequest, caller: Caller, token_id: UUID) -> HttpResponse:
    token = Token.objects.select_related("principal").filter(id=token_id).first()
    anyones = caller.verdict(Action.ACCESS_WRITE).allowed
    if token is None or not (anyones or token.principal_id == caller.principal_id):
        raise UnknownToken("There is no such token, or it is not yours.")
    used = f"It was used last at {token.last_used_at:%Y-%m-%d %H:%M} UTC." if token.last_used_at else ""
    change = Change(
        f"Revoke the token {token.hint}… ({token.name})?",
        (
            f"What acts as {token.principal.name} with it is refused from now on.",
            used or "It was never used.",
            _children(token.id),
            "This cannot be undone.",
        ),
        "Revoke it",
        f"{reverse('tokens')}?{urlencode({'principal': token.principal.name})}",
        f"The token {token.hint}… is revoked.",
        (),
        {"curl": curl(request, "DELETE", f"tokens/{token.id}")},
        is_grave=True,
    )
    whose = None if anyones else caller.principal_id
    return confirmed(
        request, change, lambda said: issue_tokens.revoke_token(token.id, of=whose, actor=actor_of(caller))
    )


def _children(token_id: UUID) -> str:
    count = issue_tokens.count_descendants(token_id)
    if not count:
        return "No valid token was created with it."
    return f"Tokens created with it that stop working too: {count}."


def _made(request: HttpRequest, caller: Caller, owner: str) -> tuple[dict[str, Any], int]:
    """What the page tells of the token that it was asked to make."""
    try:
        said = said_in(request)
        _require_own_or(caller, Action.ACCESS_WRITE, owner)
        wanted = filled(TokenWrite, {"name": said.get("name", ""), "expires_at": _end(said)})
        token, secret = issue_tokens.issue_token(
            principals.get_principal(owner),
            wanted["name"],
            wanted["expires_at"],
            issuer=Issuer(caller),
            actor=actor_of(caller),
        )
    except ControlplaneError as error:
        return {"problem": error}, STATUS_BY_ERROR[type(error)]
    return {"made": token, "secret": secret}, 200


def _end(said: Mapping[str, str]) -> str | None:
    days = said.get("days", "")
    if days == _NEVER:
        return None
    # A word that the form does not offer is shorter, not longer, than what was meant.
    lifetime = timedelta(days=int(days) if days in _LIFETIMES else 1)
    return (timezone.now() + lifetime).isoformat()


def _lifetimes(caller: Caller) -> dict[str, str]:
    longest = issue_tokens.lifetime_policy().longest
    offers = {days: text for days, text in _LIFETIMES.items() if timedelta(days=int(days)) <= longest}
    return offers | ({_NEVER: "never expires"} if caller.verdict(Action.ACCESS_WRITE).allowed else {})


def _of(owner: str) -> QuerySet[Token]:
    return Token.objects.select_related("principal").annotate(now=Now()).filter(principal__name=owner)


def _owners() -> list[str]:
    rows = Principal.objects.exclude(kind=PrincipalKind.AGENT).order_by("name")
    return list(rows.values_list("name", flat=True)[:_MOST])


def _state(token: Token) -> str:
    if token.revoked_at is not None:
        return "revoked"
    now = token.now  # type: ignore[attr-defined]  # annotated
    return "expired" if token.expires_at is not None and token.expires_at <= now else "usable"


def _require_own_or(caller: Caller, action: Action, owner: str) -> None:
    if owner != caller.name:
        caller.require(action)
