"""OAuth clients and their secrets: list, create, rotate secrets, delete."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.db.models.functions import Now
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from console.confirmations import Change, confirm_change
from console.cpctl_commands import curl
from console.forms import parse_form, read_form
from console.pages import actor_of, load_page, page
from controlplane.access.models import Principal, PrincipalKind
from controlplane.access.oauth import client_secrets
from controlplane.access.oauth import clients as access
from controlplane.access.oauth.client_rights import require_rights_of
from controlplane.access.oauth.client_specs import ClientSpec
from controlplane.access.oauth.models import ClientSecret, ClientSource, OAuthClient
from controlplane.api.problems import STATUS_BY_ERROR
from controlplane.endpoints.access.oauth.schemas import OAuthClientWrite
from controlplane.errors import ControlplaneError, PermissionDenied
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action

_MAX_SERVICES = 1000


@page
def clients(request: HttpRequest, caller: Caller) -> HttpResponse:
    caller.require(Action.ACCESS_READ)
    problem, status = None, 200
    if request.method == "POST":
        try:
            return _create(request, caller)
        except PermissionDenied:
            raise
        except ControlplaneError as error:
            problem, status = error, STATUS_BY_ERROR[type(error)]
    services = Principal.objects.filter(kind=PrincipalKind.SERVICE).order_by("name")
    context = {
        "problem": problem,
        "form": request.POST,
        "services": services.values_list("name", flat=True)[:_MAX_SERVICES],
        "results": load_page(request, caller, _rows(), order=("client_id",)),
        "may_write": caller.verdict(Action.ACCESS_WRITE).allowed,
        "curl": curl(request, "GET", "oauth-clients"),
    }
    return render(request, "console/access/clients.html", context, status=status)


@page
def client_page(request: HttpRequest, caller: Caller, client_id: str) -> HttpResponse:
    caller.require(Action.ACCESS_READ)
    client = access.get_client(client_id)
    created: dict[str, Any] = {}
    status = 200
    if request.method == "POST":
        created, status = _create_secret(client, caller)
    rows = ClientSecret.objects.filter(client=client).annotate(now=Now()).order_by("-id")
    may_write = caller.verdict(Action.ACCESS_WRITE).allowed
    context = {
        "client": client,
        "redirect_uris": client.redirect_uris.split(),
        "secrets": [(row, _state(row)) for row in rows],
        "may_write": may_write,
        "may_delete": may_write and client.source == ClientSource.API,
        "curl": curl(request, "GET", f"oauth-clients/{client_id}"),
        **created,
    }
    response = render(request, "console/access/client.html", context, status=status)
    response.headers["Cache-Control"] = "no-store"
    return response


@page
def delete(request: HttpRequest, caller: Caller, client_id: str) -> HttpResponse:
    caller.require(Action.ACCESS_WRITE)
    client = access.get_client(client_id)
    change = Change(
        f"Delete the client {client.client_id}?",
        (
            "All its tokens stop working immediately, and people must log in again.",
            "This cannot be undone.",
        ),
        "Delete client",
        reverse("oauth-clients"),
        f"Deleted the client {client.client_id}.",
        (),
        {"curl": curl(request, "DELETE", f"oauth-clients/{client_id}", version=client.version)},
        is_destructive=True,
    )
    return confirm_change(
        request,
        change,
        lambda form: access.delete_client(client_id, actor=actor_of(caller), precondition=None),
    )


@page
def revoke_secret(request: HttpRequest, caller: Caller, client_id: str, secret_id: UUID) -> HttpResponse:
    caller.require(Action.ACCESS_WRITE)
    client = access.get_client(client_id)
    secret = client_secrets.get_secret(client, secret_id)
    last_use = f"{secret.last_used_at:%Y-%m-%d %H:%M} UTC" if secret.last_used_at else "never"
    change = Change(
        f"Revoke the secret {secret.hint}… of {client.client_id}?",
        (
            "The client can no longer authenticate with it. Issued tokens stay valid until they expire.",
            f"Last used: {last_use}.",
            f"Other valid secrets: {client_secrets.live_secrets(client).exclude(id=secret.id).count()}.",
        ),
        "Revoke secret",
        reverse("oauth-client", args=[client_id]),
        f"Revoked the secret {secret.hint}….",
        (),
        {"curl": curl(request, "DELETE", f"oauth-clients/{client_id}/secrets/{secret_id}")},
        is_destructive=True,
    )
    return confirm_change(
        request,
        change,
        lambda form: client_secrets.revoke_secret(client, secret_id, actor=actor_of(caller)),
    )


def _rows() -> Any:
    return OAuthClient.objects.select_related("principal", "team").annotate(now=Now())


def _create(request: HttpRequest, caller: Caller) -> HttpResponse:
    caller.require(Action.ACCESS_WRITE)
    body = parse_form(OAuthClientWrite, _body_of(read_form(request)))
    spec = ClientSpec(
        body["client_id"],
        is_public=body["type"] == "public",
        name=body.get("name", ""),
        redirect_uris=tuple(body["redirect_uris"]),
        grants=_grants(body),
        scopes=tuple(body["scopes"]),
        default_scopes=tuple(body["scopes"]),
        principal=body["principal"],
    )
    require_rights_of(spec.principal, caller)
    client = access.create_client(spec, actor=actor_of(caller))
    messages.success(request, f"Created the client {client.client_id}.")
    return redirect("oauth-client", client.client_id)


def _body_of(form: Mapping[str, str]) -> dict[str, Any]:
    name = {"name": form["name"]} if form.get("name") else {}
    return name | {
        "client_id": form.get("client_id", ""),
        "type": form.get("type", ""),
        "principal": form.get("principal", ""),
        "redirect_uris": form.get("redirect_uris", "").split(),
        "scopes": form.get("scopes", "").split(),
    }


def _grants(body: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the grants that follow from the fields: logins need an address, services a principal."""
    logins = ("authorization_code", "refresh_token") if body["redirect_uris"] else ()
    devices = ("device_code", "refresh_token") if body["type"] == "public" else ()
    credentials = ("client_credentials",) if body["principal"] else ()
    return tuple(dict.fromkeys((*logins, *devices, *credentials)))


def _create_secret(client: OAuthClient, caller: Caller) -> tuple[dict[str, Any], int]:
    caller.require(Action.ACCESS_WRITE)
    require_rights_of(client.principal.name if client.principal else "", caller)
    try:
        _, secret = client_secrets.create_secret(client, None, actor=actor_of(caller))
    except ControlplaneError as error:
        return {"problem": error}, STATUS_BY_ERROR[type(error)]
    return {"secret": secret}, 200


def _state(row: ClientSecret) -> str:
    if row.revoked_at is not None:
        return "revoked"
    now = row.now  # type: ignore[attr-defined]  # annotated
    return "expired" if row.expires_at is not None and row.expires_at <= now else "valid"
