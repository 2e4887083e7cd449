"""Providers in settings: IDENTITY_PROVIDERS_FILE, or OIDC_… for a single one. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from controlplane.access.login.oidc.provider import Provider, ProviderSource
from controlplane.access.login.oidc.provider_documents import parse_provider
from controlplane.errors import ControlplaneError
from controlplane.formats import strict_yaml

SINGLE_SLUG = "oidc"


def parse_providers(text: str) -> list[Provider]:
    """Parse `{providers: [...]}` in YAML. Raises ValueError.

    Each provider can have `client_secret`, or `client_secret_file` with the path of a file that contains it.
    """
    if not text.strip():
        return []
    try:
        document = strict_yaml.load(text)
        entries = document.get("providers") if isinstance(document, Mapping) else None
        if not isinstance(entries, list):
            raise ValueError("it must have a list `providers`")
        providers = [_provider(entry) for entry in entries]
    except ControlplaneError as error:
        raise ValueError(error.detail) from error
    if len({provider.slug for provider in providers}) != len(providers):
        raise ValueError("two providers have the same slug")
    return providers


def single_provider(*, issuer: str, client_id: str, client_secret: str, **rest: Any) -> list[Provider]:
    """Return the provider of the settings OIDC_…, if OIDC_ISSUER is set. Raises ValueError."""
    if not issuer:
        return []
    document = {"slug": SINGLE_SLUG, "issuer": issuer, "client_id": client_id, **rest}
    try:
        return [parse_provider(document, client_secret, ProviderSource.SETTING)]
    except ControlplaneError as error:
        raise ValueError(f"OIDC_ISSUER and the settings OIDC_… are invalid: {error.detail}") from error


def _provider(entry: Any) -> Provider:
    if not isinstance(entry, Mapping):
        raise ValueError("each provider must be an object")
    document = dict(entry)
    secret = document.pop("client_secret", "")
    path = document.pop("client_secret_file", "")
    if not isinstance(secret, str) or not isinstance(path, str):
        raise ValueError("client_secret and client_secret_file must be strings")
    if path:
        secret = _read(path)
    return parse_provider(document, secret, ProviderSource.SETTING)


def _read(path: str) -> str:
    try:
        return Path(path).read_text().strip()
    except OSError as error:
        raise ValueError(f"client_secret_file cannot be read: {error}") from error
