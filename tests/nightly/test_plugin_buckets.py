"""Plugins and stores in buckets. MOTO_SERVER and GCS_EMULATOR: paths of the servers' programs."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from controlplane.errors import RemoteFailed, UnknownPluginArtifact
from plugin_store.limits import DEFAULT_LIMITS
from registry.plugin_releases.content_store import FolderStore, RemoteStore, place_of
from registry.plugin_releases.fetching import mirrors
from registry.plugin_releases.fetching.artifacts import FetchFailed, FetchRequest, fetch_artifact
from registry.plugin_releases.fetching.buckets import fetch
from registry.plugin_releases.fetching.fetcher import Repository
from registry.plugins.documents.content import Auth, PluginEntry, Provider
from tests.support.cloud_buckets import GCS_EMULATOR, GcsEmulator, put_in_s3, running_gcs
from tests.support.moto import MOTO_SERVER, REGION, Moto, running_moto
from tests.support.plugin_repository import plugin_archive

ARCHIVE = plugin_archive("bq")
DIGEST = hashlib.sha256(ARCHIVE).hexdigest()
KEYS = json.dumps({"access_key_id": "test", "secret_access_key": "s3cr3t"})
needs_moto = pytest.mark.skipif(not MOTO_SERVER, reason="Needs MOTO_SERVER, the path of moto's server.")
needs_gcs = pytest.mark.skipif(not GCS_EMULATOR, reason="Needs GCS_EMULATOR, the path of an emulator.")


@pytest.fixture(scope="module")
def moto(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Moto]:
    with running_moto(tmp_path_factory.mktemp("moto") / "log") as moto:
        yield moto


@pytest.fixture(scope="module")
def gcs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GcsEmulator]:
    with running_gcs(tmp_path_factory.mktemp("gcs") / "log") as emulator:
        emulator.make_bucket("plugins")
        yield emulator


@pytest.fixture(autouse=True)
def _settings(settings: Any) -> Iterator[None]:
    settings.PLUGIN_MIRROR = ""
    mirrors._mirror.cache_clear()
    yield
    mirrors._mirror.cache_clear()


def s3_repository(moto: Moto, secret: str = KEYS, **provider: Any) -> Repository:
    settings = {"bucket": "plugins", "region": REGION, "endpoint": moto.endpoint}
    return Repository(Provider("store", "s3", settings, Auth("aws", "key"), **provider), True, secret)


def gcs_repository(gcs: GcsEmulator) -> Repository:
    return Repository(Provider("store", "gcs", {"bucket": "plugins", "endpoint": gcs.endpoint}), True)


def check(repository: Repository, tmp_path: Path, address: str, path: str = "bq.tar.gz") -> None:
    """Fetch the archive by its published checksum, and compare what was counted and stored."""
    counted: list[int] = []
    request = FetchRequest(repository, PluginEntry("store", "bq", path, {}), DEFAULT_LIMITS, "0.1.0")

    fetched = fetch_artifact(request, FolderStore(tmp_path / "store"), counted.append)

    assert (fetched.sha256, fetched.url, sum(counted)) == (DIGEST, address, len(ARCHIVE))
    assert FolderStore(tmp_path / "store").open(DIGEST).read() == ARCHIVE


def check_bounds(repository: Repository, tmp_path: Path) -> None:
    with pytest.raises(RemoteFailed, match="more than 100 bytes"):
        fetch(repository, "bq.tar.gz", tmp_path / "x", max_bytes=100, count=lambda _: None)
    with pytest.raises(RemoteFailed, match="cannot be read"):
        fetch(repository, "missing.tar.gz", tmp_path / "x", max_bytes=100, count=lambda _: None)


@needs_moto
def test_a_plugin_comes_from_s3_below_the_prefix(moto, tmp_path):
    put_in_s3(moto, "plugins", "released/v1/bq.tar.gz", ARCHIVE)
    put_in_s3(moto, "plugins", "released/v1/SHA256SUMS", f"{DIGEST}  bq.tar.gz\n".encode())

    repository = s3_repository(moto, prefix="released")
    check(repository, tmp_path, "s3://plugins/released/v1/bq.tar.gz", "v1/bq.tar.gz")


@needs_gcs
def test_a_plugin_comes_from_google_cloud_storage(gcs, tmp_path):
    gcs.put("plugins", "bq.tar.gz", ARCHIVE)
    gcs.put("plugins", "bq.tar.gz.sha256", DIGEST.encode())

    check(gcs_repository(gcs), tmp_path, "gcs://plugins/bq.tar.gz")


@needs_moto
def test_objects_of_s3_are_bounded_and_missing_ones_are_named(moto, tmp_path):
    put_in_s3(moto, "plugins", "bq.tar.gz", ARCHIVE)
    check_bounds(s3_repository(moto), tmp_path)


@needs_gcs
def test_objects_of_google_are_bounded_and_missing_ones_are_named(gcs, tmp_path):
    gcs.put("plugins", "bq.tar.gz", ARCHIVE)
    check_bounds(gcs_repository(gcs), tmp_path)


@needs_moto
def test_an_object_that_grows_after_its_size_was_asked_is_bounded(moto, tmp_path, monkeypatch):
    put_in_s3(moto, "plugins", "bq.tar.gz", ARCHIVE)
    import s3fs

    monkeypatch.setattr(s3fs.S3FileSystem, "info", lambda *_, **__: {"size": 1})
    with pytest.raises(RemoteFailed, match="more than 100 bytes"):
        fetch(s3_repository(moto), "bq.tar.gz", tmp_path / "x", max_bytes=100, count=lambda _: None)


@needs_moto
def test_a_failure_names_neither_key_nor_secret(moto, tmp_path, caplog):
    entry = PluginEntry("store", "bq", "missing.tar.gz", {}, checksum=f"sha256:{DIGEST}")
    request = FetchRequest(s3_repository(moto), entry, DEFAULT_LIMITS, "0.1.0")
    with pytest.raises(FetchFailed) as raised:
        fetch_artifact(request, FolderStore(tmp_path / "store"))
    assert "s3cr3t" not in str(raised.value) + caplog.text


@needs_moto
def test_a_content_store_in_s3_keeps_what_it_has_and_says_what_it_lacks(moto, tmp_path, monkeypatch):
    put_in_s3(moto, "store", "first", b"")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    monkeypatch.setenv("AWS_ENDPOINT_URL", moto.endpoint)
    archive = tmp_path / "archive"
    archive.write_bytes(ARCHIVE)
    store = RemoteStore("s3://store/plugins")

    store.put(archive, DIGEST)
    store.put(archive, DIGEST)

    assert (store.has(DIGEST), store.size(DIGEST)) == (True, len(ARCHIVE))
    with store.open(DIGEST) as opened:
        opened.seek(10)
        assert opened.read() == ARCHIVE[10:]
    assert not store.has("0" * 64)
    with pytest.raises(UnknownPluginArtifact):
        store.size("0" * 64)
    with pytest.raises(UnknownPluginArtifact):
        store.open("0" * 64)
    assert (
        moto.client("s3").list_objects(Bucket="store")["Contents"][1]["Key"] == f"plugins/{place_of(DIGEST)}"
    )


@needs_moto
def test_a_mirror_may_be_in_s3(moto, tmp_path, monkeypatch, settings):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    monkeypatch.setenv("AWS_ENDPOINT_URL", moto.endpoint)
    put_in_s3(moto, "mirror", place_of(DIGEST), ARCHIVE)
    settings.PLUGIN_MIRROR = "s3://mirror"
    entry = PluginEntry("store", "bq", "gone.tar.gz", {}, checksum=f"sha256:{DIGEST}")
    request = FetchRequest(s3_repository(moto), entry, DEFAULT_LIMITS, "0.1.0")

    fetched = fetch_artifact(request, FolderStore(tmp_path / "store"))

    assert fetched.url == f"s3://mirror/{place_of(DIGEST)}"
