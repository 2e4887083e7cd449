"""Mirrors: archives with a known checksum come from there, and from their providers if anything is wrong."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from plugin_store.limits import DEFAULT_LIMITS
from registry.plugin_releases.content_store import FolderStore, place_of
from registry.plugin_releases.fetching import mirrors
from registry.plugin_releases.fetching.artifacts import FetchedArtifact, FetchRequest, fetch_artifact
from registry.plugin_releases.fetching.fetcher import Repository
from registry.plugins.documents.content import PluginEntry, Provider
from tests.support.plugin_repository import Faults, PluginRepository, plugin_archive, running_repository

ARCHIVE = plugin_archive("bq")
DIGEST = hashlib.sha256(ARCHIVE).hexdigest()


@pytest.fixture(autouse=True)
def _settings(settings: Any, tmp_path: Path) -> Iterator[None]:
    settings.OUTGOING_ALLOWED_NETWORKS = ["127.0.0.0/8"]
    settings.PLUGIN_MIRROR = str(tmp_path / "mirror")
    mirrors._mirror.cache_clear()
    yield
    mirrors._mirror.cache_clear()


@pytest.fixture
def provider() -> Iterator[PluginRepository]:
    with running_repository() as repository:
        repository.add("bq.tar.gz", ARCHIVE)
        yield repository


def put(root: Path, content: bytes, sha256: str = DIGEST) -> None:
    place = root / place_of(sha256)
    place.parent.mkdir(parents=True)
    place.write_bytes(content)


def fetch(provider: PluginRepository, tmp_path: Path, checksum: str = f"sha256:{DIGEST}") -> FetchedArtifact:
    repository = Repository(Provider("web", "url", {"url": provider.url}), is_platform=False)
    entry = PluginEntry("web", "bq", "bq.tar.gz", {}, checksum=checksum)
    request = FetchRequest(repository, entry, DEFAULT_LIMITS, "0.1.0")
    return fetch_artifact(request, FolderStore(tmp_path / "store"))


def test_an_archive_of_the_mirror_needs_no_provider(provider, tmp_path):
    put(tmp_path / "mirror", ARCHIVE)

    fetched = fetch(provider, tmp_path)

    assert (fetched.sha256, provider.requests) == (DIGEST, [])
    assert fetched.url == f"{tmp_path}/mirror/{place_of(DIGEST)}"
    assert FolderStore(tmp_path / "store").open(DIGEST).read() == ARCHIVE


def test_the_content_store_of_another_installation_is_a_mirror(provider, tmp_path):
    archive = tmp_path / "archive"
    archive.write_bytes(ARCHIVE)
    FolderStore(tmp_path / "mirror").put(archive, DIGEST)

    fetch(provider, tmp_path)

    assert provider.requests == []


def test_what_the_mirror_lacks_comes_from_its_provider(provider, tmp_path):
    assert fetch(provider, tmp_path).url == f"{provider.url}/bq.tar.gz"


def test_a_damaged_archive_of_the_mirror_is_not_used(provider, tmp_path, caplog):
    put(tmp_path / "mirror", ARCHIVE[:-1])

    assert fetch(provider, tmp_path).url == f"{provider.url}/bq.tar.gz"
    assert "plugin_mirror_damaged" in caplog.text


def test_an_archive_with_another_checksum_than_sha256_comes_from_its_provider(provider, tmp_path):
    put(tmp_path / "mirror", ARCHIVE)

    fetched = fetch(provider, tmp_path, f"sha512:{hashlib.sha512(ARCHIVE).hexdigest()}")

    assert fetched.url == f"{provider.url}/bq.tar.gz"


def test_a_mirror_on_a_web_server_may_be_at_a_private_address(provider, tmp_path, settings):
    with running_repository() as web:
        # Providers at private addresses stay refused.
        settings.OUTGOING_ALLOWED_NETWORKS = []
        settings.PLUGIN_MIRROR = web.url
        web.add(place_of(DIGEST), ARCHIVE)

        assert fetch(provider, tmp_path).url == f"{web.url}/{place_of(DIGEST)}"
        assert "Authorization" not in web.requests[0][1]


def test_a_mirror_that_lacks_an_archive_is_asked_for_the_next(provider, tmp_path, settings):
    with running_repository() as web:
        settings.PLUGIN_MIRROR = web.url

        fetch(provider, tmp_path)
        fetch(provider, tmp_path)

        assert len(web.requests) == 2


def test_a_mirror_that_fails_is_left_alone_for_a_minute(provider, tmp_path, settings, caplog):
    with running_repository() as web:
        settings.PLUGIN_MIRROR = web.url
        web.faults[place_of(DIGEST)] = Faults(status=503)

        for _ in range(3):
            assert fetch(provider, tmp_path).url == f"{provider.url}/bq.tar.gz"
        assert len(web.requests) == 2  # one attempt and its repetition
        assert "responded with 503" in caplog.text or "plugin_mirror_failed" in caplog.text


def test_a_mirror_that_failed_is_asked_again_later(tmp_path):
    clock = [0.0]
    asked: list[str] = []

    def failing(sha256: str, target: Path, max_bytes: int) -> str:
        asked.append(sha256)
        raise OSError("The share is not mounted.")

    mirror = mirrors.Mirror(failing, lambda: clock[0])
    for clock[0] in (0.0, 59.0, 60.0):
        assert mirror.fetch(DIGEST, tmp_path / "archive", max_bytes=10) == ""
    assert len(asked) == 2
