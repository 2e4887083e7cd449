"""Folders of plugins on this machine, and what cpctl remembers beside the plugins of one.

Each server has a folder of its own, with one for each team in it: the same name can be another plugin there.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from urllib.parse import urlsplit
from uuid import uuid4

from cpctl.errors import Conflicting, UsageError
from plugin_store.manifest import MANIFEST_FILE_NAME

STATE_FOLDER = ".cpctl"
# Of requests that name no team. No team has such a name.
DEFAULT_TEAM = "_default"
_IGNORED = frozenset({"lost+found"})


def base_folder(environment: Mapping[str, str] = os.environ) -> Path:
    """Return the folder with the folders of all servers."""
    data = environment.get("XDG_DATA_HOME") or str(Path.home() / ".local" / "share")
    return Path(data) / "cpctl" / "plugins"


def folder_for(base: Path, server: str, team: str) -> Path:
    """Return the folder of a server's team. By address: two contexts of one server share it.

    Raises UsageError for a team whose name is no name of a folder.
    """
    if team and not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", team):
        raise UsageError(f"Invalid team {team!r}.", hint="cpctl teams list")
    url = urlsplit(server)
    address = f"{url.hostname or ''}{f'-{url.port}' if url.port else ''}{url.path.rstrip('/')}"
    return base / re.sub(r"[^A-Za-z0-9._-]", "-", address).lstrip(".") / (team or DEFAULT_TEAM)


@dataclass(frozen=True, slots=True)
class Origin:
    """Whose plugins a folder has: the server's address, the team, and the lock that was installed last."""

    server: str
    team: str
    etag: str
    lock: str


@dataclass(frozen=True, slots=True)
class ClientFolder:
    """A folder of plugins: the store, and cpctl's own files below `.cpctl`."""

    root: Path

    @property
    def state(self) -> Path:
        return self.root / STATE_FOLDER

    @property
    def downloads(self) -> Path:
        return self.state / "downloads"

    @property
    def run_lock(self) -> Path:
        """Held by the one cpctl that installs here."""
        return self.state / "lock"

    @property
    def _origin(self) -> Path:
        return self.state / "origin.json"

    def make(self) -> None:
        """Make the folder. Raises UsageError if somebody else's files are in it."""
        self.check()
        self.downloads.mkdir(parents=True, exist_ok=True)

    def check(self) -> None:
        """Raise UsageError for a folder that is not empty and has no plugins."""
        if not self.root.exists():
            return
        if not self.root.is_dir():
            raise UsageError(f"{self.root} is not a folder.", hint="choose another one with --root")
        names = {path.name for path in self.root.iterdir()} - _IGNORED
        if names and not names & {STATE_FOLDER, MANIFEST_FILE_NAME}:
            raise UsageError(
                f"{self.root} has files that are not plugins, such as {min(names)!r}.",
                hint="choose an empty folder with --root",
            )

    def require_plugins(self) -> None:
        """Raise UsageError unless plugins were installed here."""
        if not (self.root / MANIFEST_FILE_NAME).is_file():
            raise UsageError(
                f"No plugins are installed in {self.root}.", hint="cpctl plugins install --mode client"
            )

    def origin(self) -> Origin | None:
        """Return whose plugins these are; None before the first installation, or if the file is damaged."""
        try:
            return Origin(**json.loads(self._origin.read_text()))
        except (FileNotFoundError, ValueError, TypeError):
            return None

    def remember(self, origin: Origin) -> None:
        """Write the origin atomically."""
        temporary = self.state / f"origin-{uuid4().hex}"
        temporary.write_text(json.dumps(asdict(origin)))
        os.replace(temporary, self._origin)


def check_origin(folder: ClientFolder, origin: Origin | None, *, server: str, team: str) -> None:
    """Refuse to replace the plugins of another server or team."""
    if origin is None or not server or not origin.server or (origin.server, origin.team) == (server, team):
        return
    owner = f" for team {origin.team}" if origin.team else ""
    raise Conflicting(
        f"{folder.root} has the plugins of {origin.server}{owner}, and each server and team needs a folder"
        " of its own.",
        hint="choose another folder with --root, or remove these with cpctl plugins clean --all",
    )
