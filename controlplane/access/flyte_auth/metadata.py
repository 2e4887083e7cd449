"""What clients may read before they log in: where to get tokens, and how."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.conf import settings

from controlplane.access.flyte_auth.external_metadata import external_metadata
from controlplane.access.oauth import metadata
from controlplane.access.oauth.extension_grants import extension_grants


def authorization_server_metadata() -> dict[str, Any]:
    """Return the document of RFC 8414, for HTTP and gRPC alike. Raises IssuerUnavailable.

    It is that of our own authorization server, if there is one, even if tokens of others are accepted too.
    """
    if "self" not in settings.AUTH_SERVER:
        return external_metadata()
    return metadata.authorization_server(server_facts())


def server_facts() -> metadata.ServerFacts:
    """Return what the metadata of our own authorization server depends on."""
    return metadata.ServerFacts(settings.PUBLIC_URL, extension_grants(), settings.OIDC_PROVIDER)


@dataclass(frozen=True, slots=True)
class PublicClient:
    """What Flyte's command lines need to log in, and the metadata key of their token."""

    client_id: str
    redirect_uri: str
    scopes: tuple[str, ...]
    authorization_metadata_key: str
    audience: str


def public_client() -> PublicClient:
    return PublicClient(
        settings.FLYTE_CLIENT_ID,
        settings.FLYTE_CLIENT_REDIRECT_URI,
        tuple(settings.FLYTE_CLIENT_SCOPES),
        settings.FLYTE_AUTHORIZATION_HEADERS[0],
        settings.FLYTE_CLIENT_AUDIENCE,
    )
