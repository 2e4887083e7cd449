"""Fetches from providers of type `s3` and `gcs`, through fsspec (extra `archive`)."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from controlplane.errors import RemoteFailed
from controlplane.outgoing import allowed_networks, check_target
from registry.plugin_releases.fetching.fetcher import Repository


def fetch(
    repository: Repository, path: str, target: Path, *, max_bytes: int, count: Callable[[int], None]
) -> str:
    """Copy the object. Raises RemoteFailed, InvalidRequest."""
    provider = repository.provider
    name = f"{provider.settings['bucket']}/{repository.path_of(path)}"
    address = f"{provider.type}://{name}"
    try:
        files = _file_system(repository)
        size = int(files.info(name)["size"])
        if size > max_bytes:
            raise RemoteFailed(f"The object {address} has more than {max_bytes:,} bytes.")
        files.get_file(name, str(target))
    except (OSError, ValueError, KeyError) as error:
        # Messages of clouds can quote requests.
        raise RemoteFailed(f"The object {address} cannot be read: {type(error).__name__}.") from error
    count(size)
    return address


def _file_system(repository: Repository) -> Any:
    try:
        import fsspec  # type: ignore[import-untyped]

        return fsspec.filesystem(
            "s3" if repository.provider.type == "s3" else "gs",
            # One connection of this thread: fsspec otherwise shares them between processes and providers.
            skip_instance_cache=True,
            **(_s3_options(repository) if repository.provider.type == "s3" else _gcs_options(repository)),
        )
    except ImportError as error:
        package = {"s3": "s3fs", "gcs": "gcsfs"}[repository.provider.type]
        raise RemoteFailed(f"Providers of this type need the package {package} on the installer.") from error


def _s3_options(repository: Repository) -> dict[str, Any]:
    settings, secret = repository.provider.settings, repository.secret
    options: dict[str, Any] = {"anon": repository.provider.auth.type == "none"}
    if endpoint := settings.get("endpoint"):
        # The platform may keep its store at a private address; a team's requests pass the guard.
        if not repository.is_platform:
            check_target(endpoint, allowed_networks())
        options["endpoint_url"] = endpoint
    if region := settings.get("region"):
        options["client_kwargs"] = {"region_name": region}
    if secret:
        keys = json.loads(secret)
        options |= {"key": keys["access_key_id"], "secret": keys["secret_access_key"]}
        options["token"] = keys.get("session_token")
    return options


def _gcs_options(repository: Repository) -> dict[str, Any]:
    if repository.provider.auth.type == "none":
        return {"token": "anon"}
    return {"token": json.loads(repository.secret) if repository.secret else "google_default"}
