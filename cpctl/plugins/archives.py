"""Where locks and archives come from: the server, or a mirror in a folder or behind an HTTP address."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Protocol
from urllib.parse import unquote, urlsplit

from cpctl.errors import ApiError, CpctlError, NotFound
from cpctl.paths import segment
from cpctl.plugins.downloads import Archive, Downloader
from plugin_store.errors import SourceFailed
from plugin_store.lock_document import LOCK_FILE_NAME, LockedPlugin
from plugin_store.sources import ByteSource, LocalFile

if TYPE_CHECKING:
    from cpctl.client import Api

_MOST_LOCK_BYTES = 32 * 2**20
SUFFIXES = (".tar.gz", ".tgz", ".zip", ".yaml")
_MAGIC = ((b"\x1f\x8b", ".tar.gz"), (b"PK", ".zip"))
_NO_RELEASE = "cpctl plugins install -c FILE --mode server"


@dataclass(frozen=True, slots=True)
class LockText:
    """A lock as it was served. etag: empty if it cannot be asked for conditionally."""

    text: bytes
    etag: str = ""
    is_unchanged: bool = False


class ArchiveOrigin(Protocol):
    """Gives a lock, and the archives that it names."""

    @property
    def server(self) -> str:
        """The address of the server; empty for a mirror."""
        ...

    def lock(self, known: LockText | None) -> LockText:
        """Return the lock; `known` is what was got before. Raises CpctlError."""
        ...

    def local_file(self, plugin: LockedPlugin) -> Path | None:
        """Return the archive if it is a file of this machine."""
        ...

    def address(self, plugin: LockedPlugin) -> str:
        """Return the address of the archive."""
        ...


@dataclass(frozen=True, slots=True)
class ServerOrigin:
    """A server, for one team or the platform."""

    api: Api
    team: str

    @property
    def server(self) -> str:
        return self.api.context.server

    def lock(self, known: LockText | None) -> LockText:
        headers = {"If-None-Match": known.etag} if known and known.etag else {}
        try:
            answer = self.api.send("GET", "plugin-config/lock", query={"team": self.team}, headers=headers)
        except ApiError as error:
            if error.code == "unknown_plugin_release":
                error.hint = _NO_RELEASE
            raise
        if known and answer.status == 304:
            return LockText(known.text, known.etag, is_unchanged=True)
        return LockText(answer.body, answer.etag)

    def local_file(self, plugin: LockedPlugin) -> Path | None:
        return None

    def address(self, plugin: LockedPlugin) -> str:
        query = {"team": self.team, "sha256": plugin.sha256}
        return self.api.request("GET", f"plugins/{segment(plugin.name)}/artifact", query=query).full_url


@dataclass(frozen=True, slots=True)
class FolderMirror:
    """A folder as `cpctl plugins mirror` writes it."""

    folder: Path
    team: str
    server: str = ""

    def lock(self, known: LockText | None) -> LockText:
        path = self.folder / lock_name(self.team)
        try:
            return LockText(path.read_bytes())
        except FileNotFoundError as error:
            raise NotFound(
                f"The mirror {self.folder} has no {path.name}.",
                hint=f"cpctl plugins mirror {self.folder}{f' --team {self.team}' if self.team else ''}",
            ) from error

    def local_file(self, plugin: LockedPlugin) -> Path | None:
        return self.folder / place_of(plugin.sha256)

    def address(self, plugin: LockedPlugin) -> str:
        return ""


@dataclass(frozen=True, slots=True)
class HttpMirror:
    """The same folder behind any web server. It gets no credentials."""

    url: str
    team: str
    downloader: Downloader
    server: str = ""

    def lock(self, known: LockText | None) -> LockText:
        address = f"{self.url.rstrip('/')}/{lock_name(self.team)}"
        return LockText(self.downloader.read(address, most=_MOST_LOCK_BYTES))

    def local_file(self, plugin: LockedPlugin) -> Path | None:
        return None

    def address(self, plugin: LockedPlugin) -> str:
        return f"{self.url.rstrip('/')}/{place_of(plugin.sha256)}"


def lock_name(team: str) -> str:
    """Return the name of a set's lock in a mirror; archives of all sets are together."""
    return f"plugins.{team}.lock.json" if team else LOCK_FILE_NAME


def place_of(sha256: str) -> str:
    """Return the path of an archive in a mirror."""
    return f"sha256/{sha256[:2]}/{sha256}"


@dataclass(frozen=True, slots=True)
class FetchedArchive:
    """A source of bytes for the store. It is fetched when it is read, unless it was before."""

    plugin: LockedPlugin
    target: Path
    fetch: Callable[[LockedPlugin], None]

    @property
    def size(self) -> int | None:
        return self.plugin.size

    def open(self) -> AbstractContextManager[BinaryIO]:
        """Open the archive; raises SourceFailed."""
        if not self.target.exists():
            try:
                self.fetch(self.plugin)
            except CpctlError as error:
                raise SourceFailed(
                    f"The archive of {self.plugin.name} was not fetched.",
                    why=error.message,
                    advice=error.hint or "Try again.",
                ) from error
        return LocalFile(self.target).open()


def source_of(
    origin: ArchiveOrigin, plugin: LockedPlugin, downloads: Path, fetch: Callable[[LockedPlugin], None]
) -> ByteSource:
    """Return where the store reads the archive of a plugin from."""
    if path := origin.local_file(plugin):
        return LocalFile(path)
    return FetchedArchive(plugin, downloads / plugin.sha256, fetch)


def archive_of(origin: ArchiveOrigin, plugin: LockedPlugin) -> Archive:
    """Return what to fetch for a plugin."""
    return Archive(plugin.name, origin.address(plugin), plugin.sha256, plugin.size)


def file_name_of(plugin: LockedPlugin, archive: Path) -> str:
    """Return a name whose suffix says how to unpack an archive: by its address, else by its first bytes.

    An archive that the server has from a mirror has an address without a suffix.
    """
    name = unquote(urlsplit(plugin.url).path).rpartition("/")[2]
    if name.endswith(SUFFIXES):
        return name
    try:
        with archive.open("rb") as file:
            start = file.read(4)
    except OSError:
        start = b""
    return f"{plugin.name}{next((suffix for magic, suffix in _MAGIC if start.startswith(magic)), '.yaml')}"
