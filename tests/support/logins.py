"""Logins in process: a browser of the console that logs in at a real provider."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

import httpx
from django.test import Client

from controlplane.access.login.oidc.provider import Provider, ProviderSource
from controlplane.access.login.oidc.provider_documents import parse_provider
from tests.support.identity_provider import CLIENT, IdentityProvider, secret_of

PUBLIC_URL = "http://testserver"


def provider_settings(provider: IdentityProvider, **changes: Any) -> Provider:
    """The provider as in IDENTITY_PROVIDERS_FILE."""
    document = {
        "slug": "idp",
        "title": "Test login",
        "issuer": provider.issuer,
        "client_id": CLIENT,
        "scopes": ["openid", "profile", "email", "groups"],
        **changes,
    }
    return parse_provider(document, secret_of(document["client_id"]), ProviderSource.SETTING)


class Person:
    """A person with a browser, known at the provider by the name of their account."""

    def __init__(self, provider: IdentityProvider, account: str, **claims: Any) -> None:
        self.provider, self.account = provider, account
        self.console = Client(REMOTE_ADDR="192.0.2.1")
        self.elsewhere = httpx.Client()
        self.set_claims(**claims)

    def set_claims(self, **claims: Any) -> None:
        self.provider.set_claims(self.account, **claims)

    def begin(self, path: str = "/login?idp=idp") -> str:
        """Begin a login. Returns the authorization URL."""
        response = self.console.get(path)
        assert response.status_code == 302, response.content.decode()
        return str(response["Location"])

    def confirm(self, authorization_url: str) -> str:
        """Log in at the provider. Returns the path of the callback with its query."""
        parts = urlsplit(self.provider.log_in(authorization_url, self.account, self.elsewhere))
        return f"{parts.path}?{parts.query}"

    def log_in(self, path: str = "/login?idp=idp") -> Any:
        """Log in. Returns the response of the callback."""
        return self.console.get(self.confirm(self.begin(path)))

    @property
    def is_in(self) -> bool:
        return bool(self.console.get("/sessions").status_code == 200)
