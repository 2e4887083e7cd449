"""Upstream's static clients as OAuth clients: created, updated, and used with their old secrets."""

from __future__ import annotations

import base64
from typing import Any

import bcrypt
import pytest
from django.core.management import call_command
from django.test import Client

from controlplane.access.authentication import find_token
from controlplane.access.flyte_auth.client_specs import client_specs
from controlplane.access.flyte_auth.loaded_clients import load_static_clients
from controlplane.access.flyte_auth.static_clients import StaticClient
from controlplane.access.models import Principal
from controlplane.access.oauth.clients import ensure_built_in_clients
from controlplane.access.oauth.models import ClientSecret, OAuthClient

GRANTS = ("refresh_token", "client_credentials")
WEAK, STRONG = "propeller", "q7Jc0mZt4KxW9sVb2LrYd8Gh"


def propeller(secret: str, **more: Any) -> StaticClient:
    secret_hash = bcrypt.hashpw(secret.encode(), bcrypt.gensalt(4)).decode()
    fields = {"redirect_uris": (), "grant_types": GRANTS, "scopes": ("all", "offline", "access_token")} | more
    return StaticClient("flytepropeller", False, secret_hash=secret_hash, **fields)


def token_of(secret: str) -> Any:
    basic = base64.b64encode(f"flytepropeller:{secret}".encode()).decode()
    return Client().post(
        "/oauth2/token",
        "grant_type=client_credentials&scope=all+offline",
        content_type="application/x-www-form-urlencoded",
        headers={"Authorization": f"Basic {basic}"},
    )


@pytest.mark.parametrize(("secret", "is_replaced"), [(WEAK, False), (STRONG, True)])
def test_a_client_keeps_its_secret_and_a_strong_one_gets_a_fast_hash(db, settings, secret, is_replaced):
    settings.FLYTE_STATIC_CLIENTS = (propeller(secret),)
    assert load_static_clients() == ["flytepropeller"]

    for _ in range(2):
        answer = token_of(secret)
        assert answer.status_code == 200
        assert find_token(answer.json()["access_token"]).principal.name == "flytepropeller"
    assert token_of("wrong").status_code == 401

    (row,) = ClientSecret.objects.filter(client__client_id="flytepropeller")
    assert bool(row.digest) is is_replaced
    load_static_clients()
    assert token_of(secret).status_code == 200


def test_a_new_service_has_no_role(db, settings):
    settings.FLYTE_STATIC_CLIENTS = (propeller(WEAK),)
    call_command("load_flyte_clients")

    assert not Principal.objects.get(name="flytepropeller").role_bindings.exists()


def test_a_changed_hash_replaces_the_old_one(db, settings):
    settings.FLYTE_STATIC_CLIENTS = (propeller(WEAK),)
    load_static_clients()
    settings.FLYTE_STATIC_CLIENTS = (propeller("another"),)
    load_static_clients()

    assert (token_of(WEAK).status_code, token_of("another").status_code) == (401, 200)


def test_built_in_clients_stay_as_they_are(db, settings):
    ensure_built_in_clients()
    redirects = ("http://localhost:1/other",)
    flytectl = StaticClient("flytectl", True, redirects, ("authorization_code",), ("all",))
    settings.FLYTE_STATIC_CLIENTS = (flytectl,)

    assert load_static_clients() == []
    assert "device_code" in OAuthClient.objects.get(client_id="flytectl").allowed_grants


def test_what_upstreams_clients_are_here():
    device = "urn:ietf:params:oauth:grant-type:device_code"
    web = StaticClient(
        "web", True, ("https://a.example.com/cb",), ("authorization_code", device), ("access_token",)
    )

    (spec,) = client_specs([web])

    assert (spec.grants, spec.scopes) == (("authorization_code", "device_code"), ("all", "offline"))
    assert (spec.redirect_uris, spec.principal) == (("https://a.example.com/cb",), "")
    (machine,) = client_specs([propeller(WEAK, redirect_uris=("http://localhost:3846/callback",))])
    assert (machine.redirect_uris, machine.principal) == ((), "flytepropeller")
