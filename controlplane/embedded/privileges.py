"""Postgres refuses to run as root. What to put in front of it, and who owns its files, when we are root."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

_NOBODY = 65534
# Inside, Postgres sees an ordinary user; outside it is still root, so files in /root can be reached.
_UNSHARE = ("unshare", "--user", f"--map-user={_NOBODY}", f"--map-group={_NOBODY}")
_SETPRIV = ("setpriv", f"--reuid={_NOBODY}", f"--regid={_NOBODY}", "--clear-groups")


class NoWayToRunPostgres(Exception):
    """Says what the operator can do instead."""


@dataclass(frozen=True, slots=True)
class Disguise:
    """prefix: in front of each Postgres command. owner: uid that must own its folders; None for our own."""

    prefix: tuple[str, ...] = ()
    owner: int | None = None
    home: Path = Path()

    def give(self, folder: Path) -> None:
        """Make a folder usable for Postgres, without touching what lies above it."""
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        if self.owner is not None:
            os.chown(folder, self.owner, self.owner)


def choose_disguise(home: Path, spare: Path) -> Disguise:
    """Find what works here. `spare` is a traversable folder for a copy of the programs, if one is needed."""
    if os.geteuid() != 0:
        _check_has_name()
        return Disguise(home=home)
    program = str(home / "bin" / "postgres")
    if _works((*_UNSHARE, program, "--version")):
        return Disguise(_UNSHARE, home=home)
    if _works((*_SETPRIV, program, "--version")):
        return Disguise(_SETPRIV, owner=_NOBODY, home=home)
    return _with_copy(home, spare)


def _with_copy(home: Path, spare: Path) -> Disguise:
    copy = spare / home.name
    if not copy.exists():
        shutil.copytree(home, copy, symlinks=True)
        libraries = home.parent.parent / f"{home.parent.name}.libs"
        if libraries.exists():
            shutil.copytree(libraries, spare.parent / libraries.name, dirs_exist_ok=True)
    if _works((*_SETPRIV, str(copy / "bin" / "postgres"), "--version")):
        return Disguise(_SETPRIV, owner=_NOBODY, home=copy)
    raise NoWayToRunPostgres(
        "Postgres does not run as root, and neither `unshare --user` nor `setpriv` works here. "
        "Run this as an ordinary user, or set DATABASE_URL to a Postgres of your own."
    )


def _check_has_name() -> None:
    try:
        pwd.getpwuid(os.geteuid())
    except KeyError as error:
        raise NoWayToRunPostgres(
            f"The user id {os.geteuid()} has no entry in /etc/passwd, and Postgres needs one. "
            "Add the entry, run as another user, or set DATABASE_URL to a Postgres of your own."
        ) from error


def _works(command: tuple[str, ...]) -> bool:
    try:
        return subprocess.run(command, capture_output=True, timeout=10, check=False).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False
