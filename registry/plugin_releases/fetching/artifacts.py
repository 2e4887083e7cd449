"""An archive of a plugin: fetched, verified, and read. It runs in threads, without the database."""

from __future__ import annotations

import hashlib
import logging
import tempfile
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from controlplane.errors import ControlplaneError, RemoteFailed
from controlplane.messaging.failpoints import reach
from plugin_store.archive_entries import kind_of
from plugin_store.digests import Checksum, checksum_in_sidecar, parse_checksum, tree_digest
from plugin_store.errors import PluginStoreError
from plugin_store.extraction import extract
from plugin_store.limits import Limits
from plugin_store.signatures import (
    Signature,
    SignatureCheck,
    SignatureMethod,
    SignaturePolicy,
    SignatureRules,
    check_signature,
)
from registry.plugin_releases.content_store import ContentStore
from registry.plugin_releases.fetching.fetcher import Repository
from registry.plugin_releases.fetching.fetchers import FETCHERS
from registry.plugin_releases.fetching.mirrors import configured_mirror
from registry.plugin_releases.fetching.specifications import Specification, check_versions, find_specification
from registry.plugins.documents.content import PluginEntry, Verification

_log = logging.getLogger(__name__)
_SIDECAR_BYTES = 1024 * 1024
_KEY = "configured"
_CHUNK = 1024 * 1024


class FetchFailed(Exception):
    """An archive could not be fetched or was refused. The message is for people, without secrets."""


@dataclass(frozen=True, slots=True)
class FetchedArtifact:
    """An archive in the content store. signed_by: empty without a signature."""

    sha256: str
    file_name: str
    tree: str
    size: int
    url: str
    specification: Specification | None
    signed_by: str = ""


@dataclass(frozen=True, slots=True)
class FetchRequest:
    """What to fetch, for whom, and within which limits."""

    repository: Repository
    entry: PluginEntry
    limits: Limits
    server_version: str


def fetch_artifact(
    request: FetchRequest, store: ContentStore, count: Callable[[int], None] = lambda _: None
) -> FetchedArtifact:
    """Fetch an archive, verify it, unpack it to see what it is, and store it. Raises FetchFailed."""
    try:
        with tempfile.TemporaryDirectory(prefix="plugin-") as folder:
            return _fetch(request, store, Path(folder), count)
    except ControlplaneError as error:
        raise FetchFailed(error.detail) from error
    except (PluginStoreError, OSError) as error:
        raise FetchFailed(str(error)) from error
    except Exception as error:
        # One plugin's defect stops no other. Its message can quote a credential, so the log has the place.
        place = traceback.format_tb(error.__traceback__)[-1]
        _log.error("plugin_fetch_defect", extra={"plugin": request.entry.output, "place": place})
        raise FetchFailed(
            f"An unexpected error ({type(error).__name__}) stopped the fetch. See the installer's log."
        ) from error


def _fetch(
    request: FetchRequest, store: ContentStore, folder: Path, count: Callable[[int], None]
) -> FetchedArtifact:
    entry, archive = request.entry, folder / "archive"
    url = _from_mirror(request, archive)
    if not url:
        url = _get(request, entry.path, archive, request.limits.archive_bytes, count)
    sha256, size = _digests(archive, _expected(request, folder))
    check = _check_signature(request, archive, folder)
    file_name = entry.path.rpartition("/")[2]
    unpacked = folder / "unpacked"
    with archive.open("rb") as opened:
        files = extract(
            opened,
            kind=kind_of(file_name),
            yaml_name=f"{entry.output}.yaml",
            folder=unpacked,
            limits=request.limits,
        )
    specification = find_specification(unpacked, [file.path for file in files], entry.output)
    check_versions(entry, specification, request.server_version)
    reach("plugin fetched")
    store.put(archive, sha256)
    reach("plugin stored")
    return FetchedArtifact(sha256, file_name, tree_digest(files), size, url, specification, check.signed_by)


def _from_mirror(request: FetchRequest, archive: Path) -> str:
    """Return the mirror's address after a copy; empty if it has none, or the checksum is not known yet."""
    entry, mirror = request.entry, configured_mirror()
    if mirror is None or entry.verification is not Verification.CHECKSUM:
        return ""
    checksum = parse_checksum(entry.checksum)
    if checksum.algorithm != "sha256":
        return ""
    return mirror.fetch(checksum.digest, archive, max_bytes=request.limits.archive_bytes)


def _get(
    request: FetchRequest,
    path: str,
    target: Path,
    max_bytes: int,
    count: Callable[[int], None] = lambda _: None,
) -> str:
    fetch = FETCHERS[request.repository.provider.type]
    return fetch(request.repository, path, target, max_bytes=max_bytes, count=count)


def _expected(request: FetchRequest, folder: Path) -> Checksum | None:
    """Return the checksum that the archive must have; None if its configuration allows it unverified."""
    entry = request.entry
    if entry.verification is Verification.NONE:
        return None
    return parse_checksum(entry.checksum) if entry.checksum else _published(request, folder)


def _published(request: FetchRequest, folder: Path) -> Checksum:
    """Return the checksum that the provider publishes beside the archive. Raises RemoteFailed."""
    parent, _, name = request.entry.path.rpartition("/")
    for path in (f"{request.entry.path}.sha256", f"{parent}/SHA256SUMS".lstrip("/")):
        sidecar = folder / "checksums"
        try:
            _get(request, path, sidecar, _SIDECAR_BYTES)
        except RemoteFailed:
            continue
        return checksum_in_sidecar(sidecar.read_text(errors="replace"), name)
    raise RemoteFailed(
        "The archive has no checksum: neither the configuration nor the provider states one, in"
        f" {name}.sha256 or SHA256SUMS. Add checksum: sha256:<digest> to the plugin."
    )


def _digests(archive: Path, expected: Checksum | None) -> tuple[str, int]:
    """Return SHA-256 and bytes. Raises RemoteFailed if the archive is not the expected one."""
    sha256, size = hashlib.sha256(), 0
    other = hashlib.new(expected.algorithm if expected else "sha256")
    with archive.open("rb") as file:
        while chunk := file.read(_CHUNK):
            sha256.update(chunk)
            other.update(chunk)
            size += len(chunk)
    if expected and other.hexdigest() != expected.digest:
        raise RemoteFailed(
            f"The archive has {expected.algorithm} {other.hexdigest()}, but {expected.digest} is expected."
            " Either the file changed at the provider, or the checksum is of another file."
        )
    return sha256.hexdigest(), size


def _check_signature(request: FetchRequest, archive: Path, folder: Path) -> SignatureCheck:
    """Verify the signature by the policy of the plugin. Raises PluginStoreError, RemoteFailed."""
    signature = request.entry.signature
    if signature is None or signature.policy.value == SignaturePolicy.OFF:
        return SignatureCheck()
    policy = SignaturePolicy(signature.policy.value)
    detached, value = folder / "signature", None
    try:
        _get(request, signature.path or f"{request.entry.path}.sig", detached, _SIDECAR_BYTES)
        method = SignatureMethod(signature.type or SignatureMethod.ED25519)
        value = Signature(_KEY, detached.read_text(errors="replace").strip(), method)
    except RemoteFailed:
        if policy is SignaturePolicy.REQUIRE:
            raise
    rules = SignatureRules(policy, {_KEY: signature.public_key})
    with archive.open("rb") as opened:
        return check_signature(opened, value, rules)
