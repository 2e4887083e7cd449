"""Clients of the authorization server for tests: browsers, command-line tools and services."""

from __future__ import annotations

import base64
import hashlib
import itertools
import secrets
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, quote_plus, urlsplit

from django.test import Client

from controlplane.access import principals
from controlplane.access.models import Principal, PrincipalKind
from controlplane.access.oauth import client_secrets, clients
from controlplane.access.oauth.client_specs import ClientSpec
from controlplane.access.oauth.models import OAuthClient
from tests.support.api_client import ACTOR, make_principal

CALLBACK = "http://localhost:53593/callback"
DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code"
_number = itertools.count()


def person_with_browser(*roles: str, name: str = "") -> tuple[Principal, Client]:
    """A person with these roles, logged in to a browser."""
    person = principals.create_principal(
        name or f"person-{next(_number)}", kind=PrincipalKind.PERSON, actor=ACTOR
    )
    for role in roles:
        _bind(person, role)
    browser = Client(raise_request_exception=False)
    browser.force_login(person)
    return person, browser


def _bind(principal: Principal, role: str) -> None:
    from controlplane.access.role_bindings import bind_role
    from controlplane.identity.roles import Role
    from controlplane.scopes import Scope

    bind_role(principal, Role(role), Scope(), actor=ACTOR)


def service_client(*roles: str, client_id: str = "", **spec: Any) -> tuple[OAuthClient, str]:
    """A confidential client of a new service with these roles, and its secret."""
    service = make_principal(*roles)
    members = {
        "is_public": False,
        "grants": ("client_credentials",),
        "scopes": ("all", "read"),
        "default_scopes": ("all",),
        "principal": service.name,
    }
    spec = ClientSpec(client_id or f"client-{next(_number)}", **(members | spec))
    client = clients.create_client(spec, actor=ACTOR)
    _, secret = client_secrets.create_secret(client, None, actor=ACTOR)
    return client, secret


def basic(client_id: str, secret: str, *, escaped: bool = True) -> dict[str, str]:
    escape = quote_plus if escaped else str
    text = f"{escape(client_id)}:{escape(secret)}"
    return {"Authorization": f"Basic {base64.b64encode(text.encode()).decode()}"}


def post(path: str, parameters: dict[str, Any], **headers: str) -> Any:
    """Send a form as a program does."""
    return Client(raise_request_exception=False).post(
        path, parameters_encoded(parameters), FORM, headers=headers
    )


FORM = "application/x-www-form-urlencoded"


def parameters_encoded(parameters: dict[str, Any]) -> str:
    from urllib.parse import urlencode

    return urlencode(parameters, doseq=True)


def token_request(parameters: dict[str, Any], **headers: str) -> Any:
    return post("/oauth2/token", parameters, **headers)


def credentials_token(client: OAuthClient, secret: str, scope: str = "") -> Any:
    parameters = {"grant_type": "client_credentials"} | ({"scope": scope} if scope else {})
    return token_request(parameters, **basic(client.client_id, secret))


@dataclass
class Login:
    """One login of a command-line tool with PKCE."""

    browser: Client
    client_id: str = "flytectl"
    redirect_uri: str = CALLBACK
    scope: str = "all offline"
    verifier: str = field(default_factory=lambda: secrets.token_urlsafe(48))
    state: str = field(default_factory=lambda: secrets.token_urlsafe(8))

    def query(self, **changes: str | None) -> dict[str, str]:
        digest = hashlib.sha256(self.verifier.encode()).digest()
        parameters: dict[str, str | None] = {
            "client_id": self.client_id,
            "redirect_uri": self.redirect_uri,
            "response_type": "code",
            "scope": self.scope,
            "state": self.state,
            "nonce": "n-1",
            "code_challenge": base64.urlsafe_b64encode(digest).decode().rstrip("="),
            "code_challenge_method": "S256",
        }
        return {name: value for name, value in (parameters | changes).items() if value is not None}

    def authorize(self, **changes: str | None) -> Any:
        return self.browser.get("/oauth2/authorize", self.query(**changes))

    def code(self) -> str:
        return answer_of(self.authorize())["code"]

    def exchange(self, code: str, /, **changes: str | None) -> Any:
        parameters = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": self.redirect_uri,
            "client_id": self.client_id,
            "code_verifier": self.verifier,
        } | changes
        return token_request({name: value for name, value in parameters.items() if value is not None})

    def tokens(self) -> dict[str, Any]:
        answer: dict[str, Any] = self.exchange(self.code()).json()
        return answer


def answer_of(response: Any) -> dict[str, str]:
    """The parameters with which a browser is sent back to the client."""
    assert response.status_code == 302, response.content
    return {name: values[0] for name, values in parse_qs(urlsplit(response["Location"]).query).items()}


def refresh(refresh_token: str, client_id: str = "flytectl", **more: str) -> Any:
    parameters = {"grant_type": "refresh_token", "refresh_token": refresh_token, "client_id": client_id}
    return token_request(parameters | more)
