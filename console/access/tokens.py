"""API tokens of the user, and for administrators those of others: list, create, revoke."""

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

from console.confirmations import Change, confirm_change
from console.cpctl_commands import curl
from console.filter_choices import select_options
from console.forms import parse_form, read_form
from console.listing import Column, read_listing
from console.pages import actor_of, load_page, page
from controlplane.access import issue_tokens, principals
from controlplane.access.issue_tokens import Issuer
from controlplane.access.models import Principal, PrincipalKind, Token
from controlplane.api.problems import STATUS_BY_ERROR
from controlplane.endpoints.access.schemas import TokenWrite
from controlplane.errors import ControlplaneError, PermissionDenied, UnknownToken
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action

_MAX_OWNERS = 1000
_COLUMNS = (
    Column("name", "Name", is_optional=False),
    Column("prefix", "Prefix", "medium"),
    Column("state", "State", "narrow"),
    Column("created", "Created", "medium"),
    Column("expires", "Expires", "medium"),
    Column("used", "Last used", "medium"),
    Column("action", "Action", "narrow", is_optional=False),
)
_NEVER = "never"
# Options of the form; the API accepts any time.
_LIFETIMES = {"1": "1 day", "30": "30 days", "90": "90 days", "365": "1 year"}


@page
def tokens(request: HttpRequest, caller: Caller) -> HttpResponse:
    name = request.GET.get("principal", "").strip()
    owner = name if name and name.isprintable() else caller.name
    _require_own_or(caller, Action.ACCESS_READ, owner)
    created: dict[str, Any] = {}
    status = 200
    if request.method == "POST":
        created, status = _create(request, caller, owner)
    results = load_page(request, caller, _tokens_of(owner), order=("-id",))
    may_read = caller.verdict(Action.ACCESS_READ).allowed
    context = {
        "listing": read_listing(request, "tokens", f"Tokens of {owner}", _COLUMNS),
        "owner": owner,
        "is_mine": owner == caller.name,
        "owners": select_options(_owners(), owner) if may_read else [],
        "may_write": owner == caller.name or caller.verdict(Action.ACCESS_WRITE).allowed,
        "lifetimes": _lifetimes(caller),
        "results": results,
        "tokens": [(token, _state(token)) for token in results.items],
        "curl": curl(request, "GET", f"tokens?{urlencode({'principal': owner})}"),
        **created,
    }
    response = render(request, "console/access/tokens.html", context, status=status)
    response.headers["Cache-Control"] = "no-store"
    return response


@page
def revoke(request: HttpRequest, caller: Caller, token_id: UUID) -> HttpResponse:
    token = Token.objects.select_related("principal").filter(id=token_id).first()
    may_revoke_any = caller.verdict(Action.ACCESS_WRITE).allowed
    if token is None or not (may_revoke_any or token.principal_id == caller.principal_id):
        raise UnknownToken("This token does not exist or belongs to another principal.")
    last_use = f"Last used: {token.last_used_at:%Y-%m-%d %H:%M} UTC." if token.last_used_at else ""
    change = Change(
        f"Revoke the token {token.hint}… ({token.name})?",
        (
            f"Requests of {token.principal.name} with this token fail immediately.",
            last_use or "Last used: never.",
            _children(token.id),
            "This cannot be undone.",
        ),
        "Revoke token",
        f"{reverse('tokens')}?{urlencode({'principal': token.principal.name})}",
        f"Revoked the token {token.hint}….",
        (),
        {"curl": curl(request, "DELETE", f"tokens/{token.id}")},
        is_destructive=True,
    )
    principal_id = None if may_revoke_any else caller.principal_id
    return confirm_change(
        request,
        change,
        lambda form: issue_tokens.revoke_token(token.id, of=principal_id, actor=actor_of(caller)),
    )


def _children(token_id: UUID) -> str:
    count = issue_tokens.count_descendants(token_id)
    if not count:
        return "No valid token was created with it."
    return f"Tokens created with it that also stop working: {count}."


def _create(request: HttpRequest, caller: Caller, owner: str) -> tuple[dict[str, Any], int]:
    """Create the token of the form; return template context and HTTP status."""
    try:
        form = read_form(request)
        _require_own_or(caller, Action.ACCESS_WRITE, owner)
        body = parse_form(TokenWrite, {"name": form.get("name", ""), "expires_at": _expiry(form)})
        token, secret = issue_tokens.issue_token(
            principals.get_principal(owner),
            body["name"],
            body["expires_at"],
            issuer=Issuer(caller),
            actor=actor_of(caller),
        )
    except PermissionDenied:
        raise
    except ControlplaneError as error:
        return {"problem": error}, STATUS_BY_ERROR[type(error)]
    return {"token": token, "secret": secret}, 200


def _expiry(form: Mapping[str, str]) -> str | None:
    days = form.get("days", "")
    if days == _NEVER:
        return None
    # For a value that the form does not offer, use the shortest lifetime.
    lifetime = timedelta(days=int(days) if days in _LIFETIMES else 1)
    return (timezone.now() + lifetime).isoformat()


def _lifetimes(caller: Caller) -> dict[str, str]:
    longest = issue_tokens.lifetime_policy().longest
    choices = {days: text for days, text in _LIFETIMES.items() if timedelta(days=int(days)) <= longest}
    return choices | ({_NEVER: "never expires"} if caller.verdict(Action.ACCESS_WRITE).allowed else {})


def _tokens_of(owner: str) -> QuerySet[Token]:
    return Token.objects.select_related("principal").annotate(now=Now()).filter(principal__name=owner)


def _owners() -> list[str]:
    rows = Principal.objects.exclude(kind=PrincipalKind.AGENT).order_by("name")
    return list(rows.values_list("name", flat=True)[:_MAX_OWNERS])


def _state(token: Token) -> str:
    if token.revoked_at is not None:
        return "revoked"
    now = token.now  # type: ignore[attr-defined]  # annotated
    return "expired" if token.expires_at is not None and token.expires_at <= now else "valid"


def _require_own_or(caller: Caller, action: Action, owner: str) -> None:
    if owner != caller.name:
        caller.require(action)
