"""flytekit's own client logs in, unmodified, in every way that it has."""

from __future__ import annotations

import re
import webbrowser
from collections.abc import Iterator
from queue import Queue
from threading import Thread
from typing import Any

import click
import keyring
import pytest
from flytekit.clients.auth.auth_client import AuthorizationClient
from flytekit.clients.friendly import SynchronousFlyteClient
from flytekit.configuration import AuthType, PlatformConfig
from keyring.backend import KeyringBackend

from controlplane.access.models import Token
from controlplane.access.oauth.client_secrets import create_secret
from controlplane.access.oauth.client_specs import ClientSpec
from controlplane.access.oauth.clients import create_client, ensure_built_in_clients
from tests.support.api_client import ACTOR, make_principal, make_project, token_for
from tests.support.console_browser import ConsoleBrowser


class Keyring(KeyringBackend):
    """A keyring in memory."""

    priority = 1.0

    def __init__(self) -> None:
        self.passwords: dict[tuple[str, str], str] = {}

    def get_password(self, service: str, username: str) -> str | None:
        return self.passwords.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self.passwords[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        del self.passwords[service, username]


@pytest.fixture
def passwords() -> Iterator[Keyring]:
    before = keyring.get_keyring()
    ring = Keyring()
    keyring.set_keyring(ring)
    # Flytekit keeps one client for each endpoint.
    type(AuthorizationClient)._instances.clear()
    yield ring
    keyring.set_keyring(before)


@pytest.fixture
def site(live) -> Any:
    ensure_built_in_clients()
    make_project()
    return live


def client_of(site: Any, mode: AuthType | str, **more: Any) -> SynchronousFlyteClient:
    return SynchronousFlyteClient(
        PlatformConfig(
            endpoint=f"127.0.0.1:{site.grpc_port}", insecure=True, auth_mode=mode, rpc_retries=0, **more
        )
    )


def projects_of(client: SynchronousFlyteClient) -> list[str]:
    projects, _ = client.list_projects_paginated(limit=10)
    return [project.id for project in projects]


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
