"""Flyte's clients log in at Keycloak, and flytectl itself logs in, at us and there.

`FLYTECTL` names a flytectl 1.16, such as `FLYTECTL=/usr/local/bin/flytectl make nightly LANE=flyte_logins`;
without it, only flytekit is tested. Keycloak comes from Maven Central, and needs Java 17 and some minutes.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import webbrowser
from collections.abc import Callable, Iterator
from pathlib import Path
from queue import Queue
from threading import Thread
from typing import Any

import click
import grpc
import pytest
from flyteidl.service import auth_pb2
from flyteidl.service.auth_pb2_grpc import AuthMetadataServiceStub
from flytekit.configuration import AuthType

from controlplane.access.oauth.client_secrets import create_secret
from controlplane.access.oauth.client_specs import ClientSpec
from controlplane.access.oauth.clients import create_client, ensure_built_in_clients
from tests.support.api_client import ACTOR, make_principal, make_project, token_for
from tests.support.console_browser import ConsoleBrowser
from tests.support.flyte_clients import empty_keyring, flyte_server, flytekit_client, projects_of
from tests.support.keycloak import KeycloakBrowser, running_keycloak
from tests.support.waiting import until

FLYTECTL = os.environ.get("FLYTECTL", "")
PROPELLER_SECRET = "flytepropeller-secret-for-tests"
needs_flytectl = pytest.mark.skipif(not FLYTECTL, reason="FLYTECTL is not set: name a flytectl 1.16.")
DEVICE = re.compile(r"http://\S+user_code=[A-Z]{4}-[A-Z]{4}")


@pytest.fixture(scope="module")
def realm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running_keycloak(tmp_path_factory.mktemp("keycloak")) as realm:
        yield realm


@pytest.fixture
def site(live) -> Any:
    ensure_built_in_clients()
    make_project()
    return live


@pytest.fixture(autouse=True)
def passwords() -> Iterator[None]:
    with empty_keyring():
        yield


@pytest.fixture
def external(site, realm, tmp_path) -> Iterator[int]:
    """The port of a server with Flyte's own configuration for Keycloak; group `ml` may read."""
    make_principal("viewer", name="flytepropeller")
    (tmp_path / "auth.yaml").write_text(
        f"""
        configuration:
          auth:
            internal: {{clientId: flytepropeller}}
            flyteClient: {{redirectUri: "{site.environment["FLYTE_CLIENT_REDIRECT_URI"]}"}}
          inline:
            auth:
              appAuth:
                authServerType: External
                externalAuthServer: {{baseUrl: "{realm}", allowedAudience: controlplane}}
        """
    )
    provider = {
        "slug": "keycloak",
        "kind": "keycloak",
        "issuer": realm,
        "client_id": "controlplane",
        "client_secret": "controlplane-secret-for-tests",
        "rules": [{"value": "ml", "role": "viewer"}],
    }
    settings = {
        "FLYTE_AUTH_CONFIG_FILE": str(tmp_path / "auth.yaml"),
        "IDENTITY_PROVIDERS": json.dumps({"providers": [provider]}),
    }
    with flyte_server(site, tmp_path, **settings) as port:
        yield port


def test_keycloaks_metadata_is_passed_on(external, realm):
    with grpc.insecure_channel(f"127.0.0.1:{external}") as channel:
        stub = AuthMetadataServiceStub(channel)
        metadata = stub.GetOAuth2Metadata(auth_pb2.OAuth2MetadataRequest())

    assert metadata.issuer == realm
    assert metadata.device_authorization_endpoint == f"{realm}/protocol/openid-connect/auth/device"


def test_flytekit_with_a_client_secret_of_keycloak(external):
    client = flytekit_client(
        external,
        AuthType.CLIENTSECRET,
        client_id="flytepropeller",
        client_credentials_secret=PROPELLER_SECRET,
    )

    assert projects_of(client) == ["flytesnacks"]


def test_flytekit_in_the_browser_at_keycloak(external, realm, monkeypatch):
    ada = KeycloakBrowser(realm, "ada")
    monkeypatch.setattr(webbrowser, "open_new_tab", ada.open_new_tab)

    assert projects_of(flytekit_client(external, AuthType.PKCE)) == ["flytesnacks"]


def test_flytekit_on_a_device_at_keycloak(external, realm, monkeypatch):
    printed: Queue[str] = Queue()
    listed: Queue[list[str]] = Queue()
    monkeypatch.setattr(click, "secho", printed.put)

    def list_projects() -> None:
        listed.put(projects_of(flytekit_client(external, AuthType.DEVICEFLOW)))

    Thread(target=list_projects, daemon=True).start()
    (address,) = DEVICE.findall(printed.get(timeout=30))
    KeycloakBrowser(realm, "ada").visit(address)

    assert listed.get(timeout=60) == ["flytesnacks"]


# flytectl.


class Flytectl:
    """Runs `flytectl get project` against a port."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        opener = folder / "xdg-open"
        opener.write_text(f'#!/bin/sh\necho "$1" > {folder}/opened\n')
        opener.chmod(0o755)

    def run(
        self, port: int, mode: str, visit: Callable[[str], object] | None = None, **admin: Any
    ) -> list[str]:
        """Return the listed projects. visit: opens an address that the program shows or opens."""
        config = {"endpoint": f"dns:///127.0.0.1:{port}", "insecure": True, "authType": mode, **admin}
        (self._folder / "flytectl.json").write_text(json.dumps({"admin": config}))
        path = f"{self._folder}:{os.environ['PATH']}"
        output = self._folder / "flytectl.out"
        with output.open("wb") as file:
            process = subprocess.Popen(
                [FLYTECTL, "--config", str(self._folder / "flytectl.json"), "get", "project", "-o", "json"],
                env={**os.environ, "HOME": str(self._folder), "PATH": path},
                stdout=file,
                stderr=subprocess.STDOUT,
            )
        try:
            if visit is not None:
                until(lambda: bool(self._address(output)) or process.poll() is not None, 60)
                visit(self._address(output))
            assert process.wait(60) == 0, output.read_text()
        finally:
            process.kill()
            process.wait()
        return re.findall(r'"id": "(flytesnacks)"', output.read_text())

    def _address(self, output: Path) -> str:
        opened = self._folder / "opened"
        shown = DEVICE.search(output.read_text())
        return opened.read_text().strip() if opened.exists() else shown[0] if shown else ""


@pytest.fixture
def flytectl(tmp_path) -> Flytectl:
    return Flytectl(tmp_path)


@needs_flytectl
def test_flytectl_with_a_client_secret(site, flytectl, tmp_path):
    spec = ClientSpec(
        "pipeline",
        is_public=False,
        grants=("client_credentials",),
        principal=make_principal("viewer").name,
    )
    _, secret = create_secret(create_client(spec, actor=ACTOR), None, actor=ACTOR)
    (tmp_path / "secret").write_text(f"{secret}\n")

    found = flytectl.run(
        site.grpc_port, "ClientSecret", clientId="pipeline", clientSecretLocation=str(tmp_path / "secret")
    )

    assert found == ["flytesnacks"]


@needs_flytectl
def test_flytectl_in_the_browser(site, flytectl):
    ada = ConsoleBrowser(site.url, "ada", "viewer")

    assert flytectl.run(site.grpc_port, "Pkce", ada.visit) == ["flytesnacks"]


@needs_flytectl
def test_flytectl_on_a_device(site, flytectl):
    ada = ConsoleBrowser(site.url, "ada", "viewer")

    assert flytectl.run(site.grpc_port, "DeviceFlow", ada.approve_device) == ["flytesnacks"]


@needs_flytectl
def test_flytectl_with_a_command(site, flytectl, tmp_path):
    (tmp_path / "token").write_text(token_for("viewer"))

    found = flytectl.run(site.grpc_port, "ExternalCommand", command=["cat", str(tmp_path / "token")])

    assert found == ["flytesnacks"]


@needs_flytectl
def test_flytectl_with_a_client_secret_of_keycloak(external, flytectl, tmp_path):
    (tmp_path / "secret").write_text(PROPELLER_SECRET)

    found = flytectl.run(external, "ClientSecret", clientSecretLocation=str(tmp_path / "secret"))

    assert found == ["flytesnacks"]


@needs_flytectl
def test_flytectl_on_a_device_at_keycloak(external, realm, flytectl):
    assert flytectl.run(external, "DeviceFlow", KeycloakBrowser(realm, "ada").visit) == ["flytesnacks"]
