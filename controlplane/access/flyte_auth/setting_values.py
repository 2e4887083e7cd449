"""What upstream's configuration means in the settings of this server. Pure."""

from __future__ import annotations

import json
import re
from typing import Any
from urllib.parse import urlsplit

from controlplane.access.flyte_auth.configuration import EXTERNAL, FlyteAuth, FlyteClient, Lifetimes, OpenId

_ENTRA = re.compile(r"https://login\.microsoftonline\.com/(?P<id>[0-9a-fA-F-]{36})/v2\.0")
# The service as which Flyte's own components act.
_PROPELLER = "flytepropeller"


def setting_values(auth: FlyteAuth) -> dict[str, str]:
    """Return the values by name of setting, as environment variables would have them.

    A setting that has its default in the file is left out.
    """
    first, *further = (uri.rstrip("/") for uri in auth.authorized_uris or ("",))
    issuer = auth.issuer.rstrip("/")
    headers = dict.fromkeys((auth.grpc_header, auth.http_header))
    values = {
        "PUBLIC_URL": issuer or first,
        "AUTHORIZED_URIS": ",".join((first, *further) if issuer else further),
        "AUTH_SERVER": auth.server,
        "FLYTE_AUTHORIZATION_HEADERS": ",".join(headers),
        **_client(auth.client),
        **_open_id(auth.user.open_id),
        **(_external(auth) if auth.server == EXTERNAL else _lifetimes(auth.lifetimes)),
    }
    return {name: value for name, value in values.items() if value}


def _client(client: FlyteClient) -> dict[str, str]:
    return {
        "FLYTE_CLIENT_ID": client.client_id,
        "FLYTE_CLIENT_REDIRECT_URI": client.redirect_uri,
        "FLYTE_CLIENT_SCOPES": ",".join(client.scopes),
        "FLYTE_CLIENT_AUDIENCE": client.audience,
    }


def _open_id(open_id: OpenId) -> dict[str, str]:
    if not open_id.base_url:
        return {}
    kind = _kind(open_id.issuer)
    return {
        # Of these products, no issuer ends with a slash.
        "OIDC_ISSUER": open_id.issuer.rstrip("/") if kind else open_id.issuer,
        "OIDC_KIND": kind,
        "OIDC_CLIENT_ID": open_id.client_id,
        "OIDC_CLIENT_SECRET": open_id.client_secret,
        "OIDC_SCOPES": ",".join(open_id.scopes),
    }


def _kind(issuer: str) -> str:
    """Return the product behind an issuer; empty if its address does not show it."""
    parts = urlsplit(issuer)
    host = parts.hostname or ""
    if host.endswith((".okta.com", ".oktapreview.com", ".okta-emea.com")):
        return "okta"
    if "/realms/" in parts.path:
        return "keycloak"
    return {"accounts.google.com": "google", "login.microsoftonline.com": "entra"}.get(host, "")


def _lifetimes(lifetimes: Lifetimes) -> dict[str, str]:
    return {
        "OAUTH_ACCESS_TOKEN_SECONDS": str(lifetimes.access_token),
        "OAUTH_REFRESH_TOKEN_SECONDS": str(lifetimes.refresh_token),
        "OAUTH_CODE_SECONDS": str(lifetimes.authorization_code),
    }


def _external(auth: FlyteAuth) -> dict[str, str]:
    external = auth.external
    return {
        "EXTERNAL_AUTH_SERVER": external.base_url,
        "EXTERNAL_AUTH_SERVER_METADATA": external.metadata_address,
        "EXTERNAL_ISSUERS": json.dumps([_issuer(auth, issuer) for issuer in _issuers(external.base_url)]),
        "EXTERNAL_AUTH_SERVER_RETRIES": str(external.retry_attempts),
        "EXTERNAL_AUTH_SERVER_RETRY_SECONDS": str(external.retry_delay),
    }


def _issuer(auth: FlyteAuth, issuer: str) -> dict[str, Any]:
    """Return an entry of EXTERNAL_ISSUERS. Without audiences, its tokens must be for PUBLIC_URL."""
    entry: dict[str, Any] = {"issuer": issuer}
    if auth.external.allowed_audience:
        entry["allowed_audience"] = list(auth.external.allowed_audience)
    if issuer in _issuers(auth.user.open_id.issuer):
        entry["console_client_id"] = auth.user.open_id.client_id
    if auth.internal_client_id:
        entry["clients"] = {auth.internal_client_id: _PROPELLER}
    return entry


def _issuers(base_url: str) -> list[str]:
    """Return the issuers of the tokens of a server: one, but Entra ID has another for tokens of version 1."""
    if not _kind(base_url):
        return [base_url]
    issuer = base_url.rstrip("/")
    tenant = _ENTRA.fullmatch(issuer)
    return [issuer, f"https://sts.windows.net/{tenant['id']}/"] if tenant else [issuer]
