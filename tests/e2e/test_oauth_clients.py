"""Flyte's own client against the running authorization server, and revocation on every path."""

from __future__ import annotations

import base64
import hashlib
import threading
import webbrowser
from secrets import token_urlsafe
from typing import Any

import grpc
import httpx
import pytest
import requests
from django.conf import settings
from flyteidl.admin import project_pb2
from flyteidl.service import admin_pb2_grpc
from flytekit.clients.auth import token_client
from flytekit.clients.auth.auth_client import AuthorizationClient
from flytekit.clients.auth.exceptions import AuthenticationPending

from controlplane.access import principals, role_bindings
from controlplane.access.login.session_store import SessionStore
from controlplane.access.models import Principal, PrincipalKind
from controlplane.identity.roles import Role
from controlplane.local.programs import free_port
from controlplane.scopes import Scope
from tests.conftest import System
from tests.support.api_client import ACTOR, make_project
from tests.support.oauth_flows import DEVICE_GRANT, service_client
from tests.support.waiting import until


@pytest.fixture
def person(live: System) -> Principal:
    ada = principals.create_principal("ada", kind=PrincipalKind.PERSON, actor=ACTOR)
    role_bindings.bind_role(ada, Role.VIEWER, Scope(), actor=ACTOR)
    return ada


def cookies_of(person: Principal) -> dict[str, str]:
    """The cookie of a browser in which the person is logged in."""
    from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY

    session = SessionStore()
    session[SESSION_KEY] = str(person.pk)
    session[BACKEND_SESSION_KEY] = settings.AUTHENTICATION_BACKENDS[0]
    session[HASH_SESSION_KEY] = person.get_session_auth_hash()
    session.save()
    return {settings.SESSION_COOKIE_NAME: session.session_key or ""}


def name_of(live: System, token: str) -> str:
    response = httpx.get(f"{live.url}/api/v1/me", headers={"Authorization": f"Bearer {token}"})
    return str(response.json().get("name", response.status_code))


def test_flytekit_logs_in_by_pkce_and_refreshes(live: System, person: Principal, monkeypatch: Any) -> None:
    cookies = cookies_of(person)

    def browser(address: str) -> bool:
        threading.Thread(target=requests.get, args=(address,), kwargs={"cookies": cookies}).start()
        return True

    monkeypatch.setattr(webbrowser, "open_new_tab", browser)
    # As flytekit's PKCEAuthenticator sets it up.
    verifier = token_urlsafe(48)
    digest = hashlib.sha256(verifier.encode()).digest()
    challenge = base64.urlsafe_b64encode(digest).decode().rstrip("=")
    client = AuthorizationClient(
        endpoint=live.url,
        auth_endpoint=f"{live.url}/oauth2/authorize",
        token_endpoint=f"{live.url}/oauth2/token",
        scopes=["all", "offline"],
        client_id="flytectl",
        redirect_uri=f"http://localhost:{free_port()}/callback",
        request_auth_code_params={"code_challenge": challenge, "code_challenge_method": "S256"},
        request_access_token_params={"code_verifier": verifier},
        add_request_auth_code_params_to_request_access_token_params=True,
    )

    credentials = client.get_creds_from_remote()
    refreshed = client.refresh_access_token(credentials)

    assert name_of(live, credentials.access_token) == "ada"
    assert name_of(live, refreshed.access_token) == "ada"
    assert refreshed.refresh_token != credentials.refresh_token


def test_flytekit_authenticates_with_a_client_secret(live: System) -> None:
    client, secret = service_client("viewer", grants=("client_credentials",))
    header = token_client.get_basic_authorization_header(client.client_id, secret)

    token, refresh_token, seconds = token_client.get_token(
        f"{live.url}/oauth2/token", scopes=["all", "offline"], authorization_header=header
    )

    assert name_of(live, token) == client.principal.name
    assert (refresh_token, seconds) == (None, 1800)


def test_flytekit_logs_in_as_a_device(live: System, person: Principal) -> None:
    codes = token_client.get_device_code(f"{live.url}/oauth2/device", "flytectl", scope=["all", "offline"])
    grant: dict[str, Any] = {"grant_type": token_client.GrantType.DEVICE_CODE, "client_id": "flytectl"}

    with pytest.raises(AuthenticationPending):
        token_client.get_token(f"{live.url}/oauth2/token", device_code=codes.device_code, **grant)
    browser = httpx.Client(base_url=live.url, cookies=cookies_of(person))
    page = browser.get("/device", params={"user_code": codes.user_code})
    form = {
        "user_code": codes.user_code,
        "decision": "approve",
        "csrfmiddlewaretoken": page.text.split('name="csrfmiddlewaretoken" value="')[1].split('"')[0],
    }
    browser.post("/device", data=form)
    token, refresh_token, _ = token_client.get_token(
        f"{live.url}/oauth2/token", device_code=codes.device_code, **grant
    )

    assert token_client.GrantType.DEVICE_CODE.value == DEVICE_GRANT
    assert name_of(live, token) == "ada"
    assert refresh_token


def test_a_revoked_token_is_refused_on_every_path(live: System) -> None:
    make_project("flytesnacks")
    client, secret = service_client("viewer")
    header = {"Authorization": token_client.get_basic_authorization_header(client.client_id, secret)}
    token, _, _ = token_client.get_token(
        f"{live.url}/oauth2/token", authorization_header=header["Authorization"]
    )
    bearer = {"Authorization": f"Bearer {token}"}
    channel = grpc.insecure_channel(f"127.0.0.1:{live.grpc_port}")
    stub = admin_pb2_grpc.AdminServiceStub(channel)

    def plain() -> int:
        return httpx.get(f"{live.url}/api/v1/agents", headers=bearer).status_code

    def fast() -> int:
        path = "/api/v1/overrides/effective?project=flytesnacks&domain=development"
        return httpx.get(f"{live.url}{path}", headers=bearer).status_code

    def rpc() -> grpc.StatusCode:
        metadata = (("authorization", f"Bearer {token}"),)
        try:
            stub.ListProjects(project_pb2.ProjectListRequest(), metadata=metadata)
        except grpc.RpcError as error:
            return error.code()
        return grpc.StatusCode.OK

    def introspected() -> bool:
        response = httpx.post(f"{live.url}/oauth2/introspect", data={"token": token}, headers=header)
        return bool(response.json()["active"])

    before = (plain(), fast(), fast(), rpc(), introspected())
    httpx.post(f"{live.url}/oauth2/revoke", data={"token": token}, headers=header)

    assert before == (200, 200, 200, grpc.StatusCode.OK, True)
    assert (plain(), rpc(), introspected()) == (401, grpc.StatusCode.UNAUTHENTICATED, False)
    until(lambda: fast() == 401, 60, lambda: "a revoked token still reads effective values")
    channel.close()
