"""What Flyte's clients use to log in, and the authorization server that they use in its place."""

import re

from controlplane.settings import environment as env
from controlplane.settings.flyte_auth_file import (
    FLYTE_AUTH_CONFIG_FILE,
    FLYTE_STATIC_CLIENTS_FILE,
    STATIC_CLIENTS,
    WARNINGS,
)

__all__ = [
    "EXTERNAL_AUTH_SERVER",
    "EXTERNAL_AUTH_SERVER_METADATA",
    "EXTERNAL_AUTH_SERVER_RETRIES",
    "EXTERNAL_AUTH_SERVER_RETRY_SECONDS",
    "FLYTE_AUTHORIZATION_HEADERS",
    "FLYTE_AUTH_CONFIG_FILE",
    "FLYTE_AUTH_WARNINGS",
    "FLYTE_CLIENT_AUDIENCE",
    "FLYTE_CLIENT_ID",
    "FLYTE_CLIENT_REDIRECT_URI",
    "FLYTE_CLIENT_SCOPES",
    "FLYTE_STATIC_CLIENTS",
    "FLYTE_STATIC_CLIENTS_FILE",
]

FLYTE_STATIC_CLIENTS = STATIC_CLIENTS
FLYTE_AUTH_WARNINGS = WARNINGS


def _headers(raw: str) -> list[str]:
    headers = [part.strip().lower() for part in raw.split(",") if part.strip()]
    if not headers or any(not re.fullmatch(r"[a-z0-9-]+", header) for header in headers):
        raise ValueError("use names of headers, such as flyte-authorization")
    return headers


FLYTE_AUTHORIZATION_HEADERS = env.parsed(
    "FLYTE_AUTHORIZATION_HEADERS",
    _headers,
    default="flyte-authorization",
    meaning="Headers and metadata keys, comma-separated, in which Flyte's clients may send their token;"
    " `authorization` is always accepted. Clients learn the first one from the server.",
)
FLYTE_CLIENT_ID = env.text(
    "FLYTE_CLIENT_ID",
    default="flytectl",
    meaning="OAuth client that Flyte's command lines use, unless their own configuration names another.",
)
FLYTE_CLIENT_REDIRECT_URI = env.text(
    "FLYTE_CLIENT_REDIRECT_URI",
    default="http://localhost:53593/callback",
    meaning="Redirect URI at which Flyte's command lines listen during a login.",
)
FLYTE_CLIENT_SCOPES = env.names(
    "FLYTE_CLIENT_SCOPES",
    default="all,offline",
    meaning="Scopes that Flyte's command lines request, comma-separated.",
)
FLYTE_CLIENT_AUDIENCE = env.text(
    "FLYTE_CLIENT_AUDIENCE",
    default="",
    meaning="Audience that Flyte's command lines request. Auth0 and Keycloak may need it.",
)
EXTERNAL_AUTH_SERVER = env.text(
    "EXTERNAL_AUTH_SERVER",
    default="",
    meaning="Base URL of the authorization server that Flyte's clients use with `AUTH_SERVER=external`, such"
    " as `https://keycloak.example.com/realms/flyte`. Empty: the first of EXTERNAL_ISSUERS.",
)
EXTERNAL_AUTH_SERVER_METADATA = env.text(
    "EXTERNAL_AUTH_SERVER_METADATA",
    default=".well-known/oauth-authorization-server",
    meaning="URL of its metadata document, relative to EXTERNAL_AUTH_SERVER or absolute.",
)
EXTERNAL_AUTH_SERVER_RETRIES = env.integer(
    "EXTERNAL_AUTH_SERVER_RETRIES",
    default=5,
    meaning="Further attempts to read the metadata document before the last good one is used.",
)
EXTERNAL_AUTH_SERVER_RETRY_SECONDS = env.integer(
    "EXTERNAL_AUTH_SERVER_RETRY_SECONDS", default=1, meaning="Seconds between these attempts."
)
