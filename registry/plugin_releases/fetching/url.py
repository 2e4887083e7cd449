"""Fetches from providers of type `url`: web servers, at checked addresses alone."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

from controlplane.downloads import DownloadTerms, download
from controlplane.errors import RemoteFailed
from registry.plugin_releases.fetching.fetcher import Repository


def fetch(
    repository: Repository, path: str, target: Path, *, max_bytes: int, count: Callable[[int], None]
) -> str:
    """Download the file. Raises InvalidRequest, RemoteFailed."""
    provider = repository.provider
    address = f"{provider.settings['url'].rstrip('/')}/{quote(repository.path_of(path))}"
    terms = DownloadTerms(
        headers=credentials(repository),
        private_headers=frozenset({provider.auth.header}) if provider.auth.header else frozenset(),
        ca_bundle=provider.ca_bundle,
        total_seconds=repository.seconds,
        retries=repository.retries,
        max_bytes=max_bytes,
    )
    download(address, target, terms, count)
    return address


def credentials(repository: Repository) -> dict[str, str]:
    """Return the headers that authenticate at the provider. Raises RemoteFailed."""
    auth, secret = repository.provider.auth, repository.secret
    if auth.type in ("bearer", "header") and not (secret.isprintable() and secret.isascii()):
        # An HTTP client's error about it would quote the header.
        raise RemoteFailed(
            f"The credential of the provider {repository.provider.name} has a line break, or characters that"
            " are not ASCII. Store it again without them."
        )
    if auth.type == "basic":
        pair = b64encode(f"{auth.username}:{secret}".encode()).decode()
        return {"Authorization": f"Basic {pair}"}
    if auth.type == "bearer":
        return {"Authorization": f"Bearer {secret}"}
    return {auth.header: secret} if auth.type == "header" else {}
