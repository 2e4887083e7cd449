"""Prepares one plugin beside the store: copied, verified, extracted and flushed, ready to be renamed."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import BinaryIO

from plugin_store.archive_entries import CHUNK_BYTES, kind_of
from plugin_store.digests import Checksum, damaged_store, read_tree, tree_digest
from plugin_store.durable_files import flush_tree
from plugin_store.errors import ArchiveTooLarge, DigestMismatch
from plugin_store.extraction import extract
from plugin_store.generations import is_intact
from plugin_store.manifest import InstalledPlugin, Manifest, PluginState
from plugin_store.names import folder_of, version_of
from plugin_store.plugin_requests import InstallOptions, PluginRequest
from plugin_store.progress import Progress, Step
from plugin_store.signatures import SignatureCheck, SignaturePolicy, check_signature
from plugin_store.store_layout import StoreLayout, remove


@dataclass(frozen=True, slots=True)
class PreparedPlugin:
    """A plugin that can be placed. `scratch` is its unpacked folder, or None if the store has it already."""

    plugin: InstalledPlugin
    scratch: Path | None = None
    warning: str = ""


@dataclass(frozen=True, slots=True)
class Staging:
    """What all plugins of one installation share."""

    layout: StoreLayout
    manifest: Manifest
    options: InstallOptions
    now: datetime
    progress: Progress

    def prepare(self, request: PluginRequest) -> PreparedPlugin:
        """Prepare one plugin; raises PluginStoreError or OSError, and then leaves nothing behind."""
        request.check()
        if prepared := self._installed_already(request):
            return prepared
        with self._scratch() as path, path.open("x+b") as archive:
            sha256, size = self._copy(request, archive)
            self.progress(Step.COPIED, request.name)
            check = check_signature(archive, request.signature, self.options.signatures)
            self.progress(Step.VERIFIED, request.name)
            existing = self._existing(sha256, request)
            if existing:
                plugin = _updated(existing, request, check.signed_by or existing.signed_by)
                return PreparedPlugin(plugin, warning=check.warning)
            return self._extract(request, archive, sha256=sha256, size=size, check=check)

    def _installed_already(self, request: PluginRequest) -> PreparedPlugin | None:
        """The plugin, where its folder is there already and nothing has to be read from the source."""
        existing = self._existing(request.sha256, request) if request.sha256 else None
        rules = self.options.signatures
        if existing is None or (request.size is not None and request.size != existing.size):
            return None
        if rules.policy is SignaturePolicy.OFF or existing.signed_by in rules.keys:
            return PreparedPlugin(_updated(existing, request, existing.signed_by))
        if rules.policy is SignaturePolicy.REQUIRE or request.signature:
            return None
        warning = "It was installed without a signature by a trusted key."
        return PreparedPlugin(_updated(existing, request, existing.signed_by), warning=warning)

    def _existing(self, sha256: str, request: PluginRequest) -> InstalledPlugin | None:
        """The same plugin of any generation, if its files are as they were installed."""
        for generation in reversed(self.manifest.generations):
            plugin = generation.plugin(request.name)
            if plugin and plugin.sha256 == sha256 and request.tree in (None, plugin.tree):
                return plugin if is_intact(self.layout, plugin.folder, plugin.tree) else None
        return None

    def _copy(self, request: PluginRequest, archive: BinaryIO) -> tuple[str, int]:
        """Copy the archive, and compare its size and its digest while it is read."""
        sha256 = hashlib.sha256()
        expected = request.checksum or Checksum("sha256", "")
        other = hashlib.new(expected.algorithm)
        size = 0
        with request.source.open() as source:
            while chunk := source.read(CHUNK_BYTES):
                size += len(chunk)
                _check_archive_size(request.name, size, self.options.limits.archive_bytes)
                archive.write(chunk)
                sha256.update(chunk)
                other.update(chunk)
        archive.flush()
        for stated in (request.size, request.source.size):
            if stated is not None:
                _compare(request.name, "size", str(stated), str(size))
        if request.checksum:
            _compare(request.name, expected.algorithm, expected.digest, other.hexdigest())
        return sha256.hexdigest(), size

    def _extract(
        self, request: PluginRequest, archive: BinaryIO, *, sha256: str, size: int, check: SignatureCheck
    ) -> PreparedPlugin:
        with self._scratch(keep=True) as scratch:
            written = extract(
                archive,
                kind=kind_of(request.file_name),
                yaml_name=f"{request.name}.yaml",
                folder=scratch,
                limits=self.options.limits,
            )
            self.progress(Step.EXTRACTED, request.name)
            tree = tree_digest(written)
            if tree_digest(read_tree(scratch)) != tree:
                raise damaged_store(scratch, "Its files are not those that were written a moment ago.")
            if request.tree is not None:
                _compare(request.name, "tree digest", request.tree, tree)
            flush_tree(scratch)
            self.progress(Step.FLUSHED, request.name)
        plugin = self._record(request, sha256=sha256, size=size, tree=tree, signed_by=check.signed_by)
        return PreparedPlugin(plugin, scratch, check.warning)

    def _record(
        self, request: PluginRequest, *, sha256: str, size: int, tree: str, signed_by: str
    ) -> InstalledPlugin:
        return InstalledPlugin(
            name=request.name,
            version=version_of(request.version, sha256),
            provider=request.provider,
            folder=self._free_folder(request, sha256, tree),
            size=size,
            sha256=sha256,
            tree=tree,
            signed_by=signed_by,
            unverified_reason="" if request.checksum else request.unverified_reason,
            installed_at=self.now.isoformat(),
        )

    def _free_folder(self, request: PluginRequest, sha256: str, tree: str) -> str:
        """The folder of an archive, or the next one where it exists and has other files.

        A damaged folder is never repaired in its place: readers may have it open.
        """
        for repair in range(1_000):
            folder = folder_of(request.name, request.version, sha256, repair=repair)
            path = self.layout.folder(folder)
            is_ours = folder in {*self.manifest.folders(), *(item.folder for item in self.manifest.unused)}
            if not path.is_symlink() and not path.exists():
                return folder
            if is_ours and is_intact(self.layout, folder, tree):
                return folder
        raise damaged_store(path, "Every other folder for this archive exists, too.")

    @contextmanager
    def _scratch(self, *, keep: bool = False) -> Iterator[Path]:
        """A name in the staging folder, removed afterwards; with `keep`, only after an error."""
        path = self.layout.new_scratch()
        try:
            yield path
        except BaseException:
            remove(path)
            raise
        if not keep:
            remove(path)


def _updated(plugin: InstalledPlugin, request: PluginRequest, signed_by: str) -> InstalledPlugin:
    return replace(
        plugin,
        version=version_of(request.version, plugin.sha256),
        provider=request.provider,
        signed_by=signed_by,
        unverified_reason="" if request.checksum else request.unverified_reason,
        state=PluginState.ACTIVE,
        problem="",
    )


def _check_archive_size(name: str, size: int, most: int) -> None:
    if size > most:
        raise ArchiveTooLarge(
            f"The archive of {name!r} was refused.",
            why=f"It has more than {most:,} bytes.",
            advice="Make it smaller, or raise this limit if you trust its author.",
        )


def _compare(name: str, what: str, expected: str, actual: str) -> None:
    if expected != actual:
        raise DigestMismatch(
            f"The archive of {name!r} is not the expected one.",
            why=f"Its {what} is {actual}, and {expected} was expected.",
            advice="If its author has published it again, update the lock; else download it again.",
        )
