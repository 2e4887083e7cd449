"""Logins of clients in a real browser: consent, devices and the pages of clients."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from playwright.sync_api import Page, expect

from controlplane.access.oauth import client_secrets, clients
from controlplane.access.oauth.client_specs import ClientSpec
from tests.browser.conftest import Look
from tests.conftest import System
from tests.support.api_client import ACTOR, make_principal
from tests.support.oauth_flows import Login


class Listener(HTTPServer):
    """A command-line tool that waits for the browser."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Callback)
        self.answers: list[dict[str, list[str]]] = []
        self.address = f"http://127.0.0.1:{self.server_port}/callback"


class _Callback(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        assert isinstance(self.server, Listener)
        if self.path.startswith("/callback?"):
            self.server.answers.append(parse_qs(urlsplit(self.path).query))
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"You are logged in.")

    def log_message(self, *arguments: object) -> None:
        pass


@pytest.fixture
def tool() -> Iterator[Listener]:
    listener = Listener()
    thread = threading.Thread(target=listener.serve_forever)
    thread.start()
    yield listener
    listener.shutdown()
    thread.join()
    listener.server_close()


def address_of(client_id: str, tool: Listener, scope: str) -> str:
    login = Login(None, client_id=client_id, redirect_uri=tool.address, scope=scope)  # type: ignore[arg-type]
    return f"/oauth2/authorize?{urlencode(login.query())}"


def test_a_person_allows_a_client_and_the_browser_returns_to_it(
    page: Page, live: System, tool: Listener, look: Look
) -> None:
    spec = ClientSpec("notebook", "Notebook", redirect_uris=("http://127.0.0.1/callback",))
    clients.create_client(spec, actor=ACTOR)
    address = address_of("notebook", tool, "read publish:ml offline")

    look("oauth-consent", address)
    page.goto(f"{live.url}{address}")
    page.get_by_role("button", name="Allow").click()
    expect(page.get_by_text("You are logged in.")).to_be_visible()
    page.goto(f"{live.url}{address}")

    assert len({answer["code"][0] for answer in tool.answers}) == 2


def test_a_person_approves_a_device(page: Page, live: System, look: Look) -> None:
    from controlplane.access.oauth.device_codes import create_device_code
    from controlplane.access.oauth.models import DeviceCode

    codes = create_device_code(
        clients.get_client("flytectl"), ["all"], audience="", address="192.0.2.7", device="flytectl/1.0"
    )

    look("oauth-device-request", f"/device?user_code={codes.user_code}")
    page.goto(f"{live.url}/device")
    page.get_by_label("Code on your device").fill(codes.user_code.lower())
    page.get_by_role("button", name="Continue").click()
    page.get_by_role("button", name="Approve device").click()
    expect(page.get_by_text("can log in now")).to_be_visible()

    assert DeviceCode.objects.get().state == "approved"


def test_the_pages_of_clients_hinder_nobody(page: Page, look: Look) -> None:
    service = make_principal("viewer", name="flytepropeller")
    spec = ClientSpec(
        "flytepropeller", is_public=False, grants=("client_credentials",), principal=service.name
    )
    client = clients.create_client(spec, actor=ACTOR)
    client_secrets.create_secret(client, None, actor=ACTOR)

    look("oauth-clients", "/oauth-clients")
    look("oauth-client", "/oauth-clients/flytepropeller")
