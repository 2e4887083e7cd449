"""Metadata of the authorization server (RFC 8414), for HTTP and gRPC alike. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from controlplane.access.oauth.scopes import KNOWN

AUTHORIZATION_SERVER_PATH = "/.well-known/oauth-authorization-server"
PROTECTED_RESOURCE_PATH = "/.well-known/oauth-protected-resource"
DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code"
_AUTHENTICATION_METHODS = ["client_secret_basic", "client_secret_post", "none"]
_SIGNING_ALGORITHMS = ["RS256"]


@dataclass(frozen=True, slots=True)
class ServerFacts:
    """What the metadata depends on. issuer: the public URL, without a slash at its end."""

    issuer: str
    extension_grants: Sequence[str] = ()
    is_oidc_provider: bool = False


def authorization_server(facts: ServerFacts) -> dict[str, Any]:
    """Return the metadata document. Flyte's `OAuth2MetadataResponse` has its first ten members."""
    issuer = facts.issuer
    return {
        "issuer": issuer,
        "authorization_endpoint": f"{issuer}/oauth2/authorize",
        "token_endpoint": f"{issuer}/oauth2/token",
        "response_types_supported": ["code"],
        "scopes_supported": list(KNOWN),
        "token_endpoint_auth_methods_supported": list(_AUTHENTICATION_METHODS),
        "jwks_uri": f"{issuer}/oauth2/jwks",
        "code_challenge_methods_supported": ["S256"],
        "grant_types_supported": [
            "client_credentials",
            "refresh_token",
            "authorization_code",
            DEVICE_GRANT,
            *sorted(facts.extension_grants),
        ],
        "device_authorization_endpoint": f"{issuer}/oauth2/device",
        "response_modes_supported": ["query"],
        "revocation_endpoint": f"{issuer}/oauth2/revoke",
        "revocation_endpoint_auth_methods_supported": list(_AUTHENTICATION_METHODS),
        "introspection_endpoint": f"{issuer}/oauth2/introspect",
        "introspection_endpoint_auth_methods_supported": ["client_secret_basic", "client_secret_post"],
        "authorization_response_iss_parameter_supported": True,
    }


def openid_provider(facts: ServerFacts) -> dict[str, Any]:
    """Return the document of OpenID Connect Discovery: the metadata, and what ID tokens add."""
    return {
        **authorization_server(facts),
        "userinfo_endpoint": f"{facts.issuer}/oauth2/userinfo",
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": list(_SIGNING_ALGORITHMS),
        "claims_supported": ["sub", "iss", "aud", "exp", "iat", "nonce", "name", "preferred_username",
                             "email", "groups"],
    }  # fmt: skip


def protected_resource(issuer: str, authorization_servers: Sequence[str]) -> dict[str, Any]:
    """Return the metadata of the API as a protected resource (RFC 9728)."""
    return {
        "resource": issuer,
        "authorization_servers": list(authorization_servers),
        "bearer_methods_supported": ["header"],
        "scopes_supported": list(KNOWN),
    }


def challenge(issuer: str, *, is_invalid: bool) -> str:
    """Return the WWW-Authenticate header of a 401. is_invalid: the request had a token."""
    error = ', error="invalid_token"' if is_invalid else ""
    return f'Bearer resource_metadata="{issuer}{PROTECTED_RESOURCE_PATH}"{error}'
