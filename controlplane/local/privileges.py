"""Postgres refuses to run as root. What to put in front of it when we are, found by trying.

Either way it can reach what root can, so a data folder below /root works and the permissions of no
folder above ours are touched.
"""

from __future__ import annotations

import os
import pwd
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from controlplane.local.errors import CannotStart


@dataclass(frozen=True, slots=True)
class Disguise:
    """prefix: in front of each Postgres command. owner: user id that its folder must belong to."""

    prefix: tuple[str, ...]
    owner: int


def choose_disguise(initdb: Path, folder: Path) -> Disguise:
    """The first way to run Postgres' programs that can also write to `folder`. Raises CannotStart."""
    plain = Disguise((), os.geteuid())
    if os.geteuid() != 0 and _name_of(os.geteuid()):
        return plain
    for disguise in _disguises():
        if _works(disguise, initdb, folder):
            return disguise
    if os.geteuid() == 0:
        raise CannotStart(
            "Postgres does not run as root, and neither `unshare --user` nor `setpriv` lets it do so here. "
            "Start as an ordinary user, or set DATABASE_URL to a Postgres of your own."
        )
    raise CannotStart(
        f"the user id {os.geteuid()} has no entry in /etc/passwd, and Postgres needs one. "
        "Add the entry, start as another user, or set DATABASE_URL to a Postgres of your own."
    )


def take_over(folder: Path, owner: int) -> None:
    """Let everything in `folder` belong to `owner`: the way that worked last time may be another."""
    if folder.stat().st_uid == owner:
        return
    for place, folders, files in os.walk(folder):
        for name in (*folders, *files):
            os.chown(Path(place) / name, owner, -1, follow_symlinks=False)
    os.chown(folder, owner, -1)


def _disguises() -> Iterator[Disguise]:
    user = _ordinary_user()
    # Seen from inside an ordinary user; seen from outside still who we are.
    yield Disguise(("unshare", "--user", f"--map-user={user}", f"--map-group={user}"), os.geteuid())
    if os.geteuid() == 0:
        # Containers often forbid the above. Another user, who may still enter every folder.
        only = "-all,+dac_override"
        yield Disguise(
            (
                *("setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups"),
                *(f"--inh-caps={only}", f"--ambient-caps={only}", f"--bounding-set={only}"),
                # Else access(2), by which initdb looks for its fellows, ignores the capability.
                "--securebits=+no_setuid_fixup",
                # A change of user makes the kernel forget it.
                *("--pdeathsig", "keep"),
            ),
            user,
        )


def _works(disguise: Disguise, initdb: Path, folder: Path) -> bool:
    # `--show` asks for the user's name and finds its fellow programs, but writes nothing.
    probe = 'test -w "$1" && exec "$2" --show -D "$1/probe"'
    command = (*disguise.prefix, "sh", "-c", probe, "sh", str(folder), str(initdb))
    try:
        return subprocess.run(command, capture_output=True, timeout=10, check=False).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def _ordinary_user() -> int:
    """`nobody`, or where that is missing anyone who has a name: Postgres asks for one."""
    others = (entry.pw_uid for entry in pwd.getpwall() if entry.pw_uid != 0)
    return 65534 if _name_of(65534) else next(others, 65534)


def _name_of(user: int) -> str | None:
    try:
        return pwd.getpwuid(user).pw_name
    except KeyError:
        return None
