"""Upstream's configuration files of authentication, whose values are defaults of other settings."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from django.core.exceptions import ImproperlyConfigured

from controlplane.access.flyte_auth import static_clients
from controlplane.access.flyte_auth.configuration import FlyteAuth
from controlplane.access.flyte_auth.reading import read
from controlplane.access.flyte_auth.sections import InvalidConfiguration
from controlplane.access.flyte_auth.setting_values import setting_values
from controlplane.access.flyte_auth.static_clients import StaticClient, StaticClients
from controlplane.settings import environment as env

T = TypeVar("T")

FLYTE_AUTH_CONFIG_FILE = env.text(
    "FLYTE_AUTH_CONFIG_FILE",
    default="",
    meaning="File with Flyte's `auth:` configuration: flyteadmin's own, or the Helm values of flyte-binary or"
    " flyte-core. Its values are the defaults of PUBLIC_URL, AUTHORIZED_URIS, AUTH_SERVER, OIDC_*,"
    " OAUTH_*_SECONDS, EXTERNAL_ISSUERS, EXTERNAL_AUTH_SERVER* and FLYTE_CLIENT_*.",
)
FLYTE_STATIC_CLIENTS_FILE = env.text(
    "FLYTE_STATIC_CLIENTS_FILE",
    default="",
    meaning="File with Flyte's `staticClients`: OAuth clients, with bcrypt hashes of their secrets."
    " `manage.py migrate` and `manage.py load_flyte_clients` create or update them.",
)


def _load(name: str, path: str, parse: Callable[[str, str], T]) -> T:
    try:
        return parse(Path(path).read_text(), Path(path).name)
    except (OSError, UnicodeDecodeError) as error:
        raise ImproperlyConfigured(f"{name} cannot be read: {error}.") from error
    except InvalidConfiguration as error:
        raise ImproperlyConfigured(f"{name} is invalid:\n{error}") from error


FLYTE_AUTH = (
    _load("FLYTE_AUTH_CONFIG_FILE", FLYTE_AUTH_CONFIG_FILE, read) if FLYTE_AUTH_CONFIG_FILE else FlyteAuth()
)
_FILE = (
    _load("FLYTE_STATIC_CLIENTS_FILE", FLYTE_STATIC_CLIENTS_FILE, static_clients.parse)
    if FLYTE_STATIC_CLIENTS_FILE
    else StaticClients()
)
STATIC_CLIENTS: tuple[StaticClient, ...] = tuple(
    {client.client_id: client for client in (*FLYTE_AUTH.static_clients, *_FILE.clients)}.values()
)
WARNINGS = (*FLYTE_AUTH.warnings, *_FILE.warnings)

if FLYTE_AUTH_CONFIG_FILE:
    env.FROM_FLYTE.update(setting_values(FLYTE_AUTH))
