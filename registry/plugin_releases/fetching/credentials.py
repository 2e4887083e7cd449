"""The credential of a provider: read at the moment of use, and kept nowhere."""

from __future__ import annotations

import os
from pathlib import Path

from controlplane.access.secrets.sealing import unseal
from controlplane.errors import RemoteFailed
from registry.plugin_releases.fetching.fetcher import Repository
from registry.plugin_releases.models import PluginSet
from registry.plugins.documents.content import Configuration, Provider


def repositories_of(plugin_set: PluginSet, configuration: Configuration) -> dict[str, Repository | str]:
    """Return each provider with its credential by name; the reason as text for one without it."""
    found: dict[str, Repository | str] = {}
    for provider in configuration.providers:
        try:
            secret = _secret_of(plugin_set, provider)
        except RemoteFailed as error:
            found[provider.name] = error.detail
        else:
            found[provider.name] = Repository(provider, plugin_set.team_id is None, secret)
    return found


def _secret_of(plugin_set: PluginSet, provider: Provider) -> str:
    auth = provider.auth
    if auth.secret_ref:
        row = plugin_set.secrets.filter(name=auth.secret_ref).first()
        if row is None:
            raise RemoteFailed(
                f"The provider {provider.name} refers to the secret {auth.secret_ref!r}, which is not stored."
                f" Store it with PUT /api/v1/plugin-secrets/{auth.secret_ref}."
            )
        return unseal(row.sealed, row.context).decode()
    if plugin_set.team_id is not None:
        # Refused when the configuration was written; this is the second lock on the same door.
        if auth.uses_platform_identity:
            raise RemoteFailed(f"The provider {provider.name} would use the server's own credential.")
        return ""
    return _own_secret(provider)


def _own_secret(provider: Provider) -> str:
    auth = provider.auth
    if auth.env:
        if auth.env not in os.environ:
            raise RemoteFailed(
                f"The provider {provider.name} needs the variable {auth.env}, which is not set."
            )
        return os.environ[auth.env]
    if auth.file:
        try:
            return Path(auth.file).read_text().strip()
        except OSError as error:
            raise RemoteFailed(
                f"The provider {provider.name} needs a file that cannot be read: {error.strerror}."
            ) from error
    return ""
