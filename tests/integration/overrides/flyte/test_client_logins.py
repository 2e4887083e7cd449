"""flytekit's own client logs in, unmodified, in every way that it has."""

from __future__ import annotations

import json
import re
import webbrowser
from collections.abc import Iterator
from queue import Queue
from threading import Thread
from typing import Any

import click
import httpx
import pytest
from flytekit.clients.friendly import SynchronousFlyteClient
from flytekit.configuration import AuthType

from controlplane.access.models import Token
from controlplane.access.oauth.client_secrets import create_secret
from controlplane.access.oauth.client_specs import ClientSpec
from controlplane.access.oauth.clients import create_client, ensure_built_in_clients
from tests.support.api_client import ACTOR, make_principal, make_project, token_for
from tests.support.console_browser import ConsoleBrowser
from tests.support.flyte_clients import Keyring, empty_keyring, flyte_server, flytekit_client, projects_of
from tests.support.identity_provider import secret_of


@pytest.fixture
def passwords() -> Iterator[Keyring]:
    with empty_keyring() as ring:
        yield ring


@pytest.fixture
def site(live) -> Any:
    ensure_built_in_clients()
    make_project()
    return live


def client_of(site: Any, mode: AuthType, **more: Any) -> SynchronousFlyteClient:
    return flytekit_client(site.grpc_port, mode, **more)


def service_client(**more: Any) -> tuple[str, str]:
    """An OAuth client for a service that may read, and its secret."""
    spec = ClientSpec(
        "pipeline",
        is_public=False,
        grants=("client_credentials",),
        principal=make_principal("viewer").name,
        **more,
    )
    _, secret = create_secret(create_client(spec, actor=ACTOR), None, actor=ACTOR)
    return "pipeline", secret


@pytest.mark.parametrize("mode", ["ClientSecret", "basic", "client_credentials"])
def test_a_service_logs_in_with_its_secret(site, passwords, mode):
    client_id, secret = service_client()
    mode = AuthType[mode.upper()]

    client = client_of(site, mode, client_id=client_id, client_credentials_secret=secret)

    assert projects_of(client) == ["flytesnacks"]


def test_a_person_logs_in_with_the_browser_once(site, passwords, monkeypatch):
    ada = ConsoleBrowser(site.url, "ada", "viewer")
    monkeypatch.setattr(webbrowser, "open_new_tab", ada.open_new_tab)

    assert projects_of(client_of(site, AuthType.PKCE)) == ["flytesnacks"]
    assert projects_of(client_of(site, AuthType.PKCE)) == ["flytesnacks"]

    assert ada.logins == 1
    assert len(passwords.passwords) == 2


def test_an_expired_token_is_refreshed_without_the_browser(site, passwords, monkeypatch):
    ada = ConsoleBrowser(site.url, "ada", "viewer")
    monkeypatch.setattr(webbrowser, "open_new_tab", ada.open_new_tab)
    projects_of(client_of(site, AuthType.PKCE))
    before = dict(passwords.passwords)
    Token.objects.filter(principal__name="ada").update(expires_at="2020-01-01T00:00:00Z")
    visits = len(ada.addresses)

    assert projects_of(client_of(site, AuthType.PKCE)) == ["flytesnacks"]

    assert len(ada.addresses) == visits
    assert not set(before.values()) & set(passwords.passwords.values())


def test_a_person_approves_a_device(site, passwords, monkeypatch):
    ada = ConsoleBrowser(site.url, "ada", "viewer")
    printed: Queue[str] = Queue()
    monkeypatch.setattr(click, "secho", printed.put)

    listed: Queue[list[str]] = Queue()

    def list_projects() -> None:
        listed.put(projects_of(client_of(site, AuthType.DEVICEFLOW)))

    Thread(target=list_projects, daemon=True).start()
    (address,) = re.findall(r"http://\S+user_code=[A-Z]{4}-[A-Z]{4}", printed.get(timeout=20))
    ada.approve_device(address)

    assert listed.get(timeout=30) == ["flytesnacks"]


def test_a_command_prints_the_token(site, passwords, tmp_path):
    (tmp_path / "token").write_text(token_for("viewer"))

    client = client_of(site, AuthType.EXTERNALCOMMAND, command=["cat", str(tmp_path / "token")])

    assert projects_of(client) == ["flytesnacks"]


# An external authorization server: the tokens are its own.


@pytest.fixture
def external(site, identity_provider, tmp_path) -> Iterator[int]:
    """The port of a server that accepts the provider's tokens, and gives the group `ml` a role."""
    make_principal("viewer", name="flytepropeller")
    issuer = {
        "issuer": identity_provider.issuer,
        "allowed_audience": "http://testserver",
        "clients": {"flytepropeller": "flytepropeller"},
    }
    provider = {
        "slug": "work",
        "issuer": identity_provider.issuer,
        "client_id": "controlplane",
        "client_secret": secret_of("controlplane"),
        "kind": "generic",
        "rules": [{"value": "ml", "role": "viewer"}],
    }
    settings = {
        "AUTH_SERVER": "external",
        "EXTERNAL_ISSUERS": json.dumps([issuer]),
        "EXTERNAL_AUTH_SERVER_METADATA": ".well-known/openid-configuration",
        "IDENTITY_PROVIDERS": json.dumps({"providers": [provider]}),
    }
    with flyte_server(site, tmp_path, **settings) as port:
        yield port


def test_a_service_uses_the_token_of_an_external_server(external, passwords):
    client = flytekit_client(
        external,
        AuthType.CLIENTSECRET,
        client_id="flytepropeller",
        client_credentials_secret=secret_of("flytepropeller"),
    )

    assert projects_of(client) == ["flytesnacks"]


def test_a_person_logs_in_at_an_external_server(external, identity_provider, passwords, monkeypatch):
    identity_provider.set_claims("ada", groups=["ml"])

    def open_new_tab(address: str) -> bool:
        # The callback is answered once flytekit waits for it.
        callback = identity_provider.log_in(address, "ada")
        Thread(target=httpx.get, args=(callback,), daemon=True).start()
        return True

    monkeypatch.setattr(webbrowser, "open_new_tab", open_new_tab)

    assert projects_of(flytekit_client(external, AuthType.PKCE)) == ["flytesnacks"]
