"""Fetches from providers of type `url`: web servers, at checked addresses alone."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

from controlplane.downloads import DownloadTerms, download
from controlplane.formats import go_durations
from registry.plugin_releases.fetching.fetcher import Repository

_TIMEOUT_SECONDS = 300.0
_RETRIES = 3


def fetch(
    repository: Repository, path: str, target: Path, *, max_bytes: int, count: Callable[[int], None]
) -> str:
    """Download the file. Raises InvalidRequest, RemoteFailed."""
    provider = repository.provider
    address = f"{provider.settings['url'].rstrip('/')}/{quote(repository.path_of(path))}"
    seconds = go_durations.parse(provider.timeout) / go_durations.SECOND if provider.timeout else None
    terms = DownloadTerms(
        headers=credentials(repository),
        private_headers=frozenset({provider.auth.header}) if provider.auth.header else frozenset(),
        ca_bundle=provider.ca_bundle,
        total_seconds=seconds or _TIMEOUT_SECONDS,
        retries=_RETRIES if provider.retries is None else provider.retries,
        max_bytes=max_bytes,
    )
    download(address, target, terms, count)
    return address


def credentials(repository: Repository) -> dict[str, str]:
    """Return the headers that authenticate at the provider."""
    auth, secret = repository.provider.auth, repository.secret
    if auth.type == "basic":
        pair = b64encode(f"{auth.username}:{secret}".encode()).decode()
        return {"Authorization": f"Basic {pair}"}
    if auth.type == "bearer":
        return {"Authorization": f"Bearer {secret}"}
    return {auth.header: secret} if auth.type == "header" else {}
