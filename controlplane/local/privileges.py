"""User switches: commands that let Postgres run when `make up` is root, since Postgres refuses to be root.

With each of them it has the same access to files as root, so that a data folder below /root works without
changing the permissions of parent folders.
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
class UserSwitch:
    """A command prefix for Postgres. owner: user id of the data folder."""

    prefix: tuple[str, ...]
    owner: int


def choose_user_switch(initdb: Path, folder: Path) -> UserSwitch:
    """Return the first switch with which Postgres runs and can write to `folder`. Raises CannotStart."""
    plain = UserSwitch((), os.geteuid())
    if os.geteuid() != 0 and _name_of(os.geteuid()):
        return plain
    for disguise in _user_switches():
        if _works(disguise, initdb, folder):
            return disguise
    if os.geteuid() == 0:
        raise CannotStart(
            "Postgres does not run as root, and neither `unshare --user` nor `setpriv` works here."
            " Start as an unprivileged user, or set DATABASE_URL to your own Postgres."
        )
    raise CannotStart(
        f"Postgres needs an entry in /etc/passwd for the user id {os.geteuid()}. Add the entry, start"
        " as another user, or set DATABASE_URL to your own Postgres."
    )


def change_owner(folder: Path, owner: int) -> None:
    """Change the owner of everything in `folder`, because an earlier start may have used another switch."""
    if folder.stat().st_uid == owner:
        return
    for place, folders, files in os.walk(folder):
        for name in (*folders, *files):
            os.chown(Path(place) / name, owner, -1, follow_symlinks=False)
    os.chown(folder, owner, -1)


def _user_switches() -> Iterator[UserSwitch]:
    user = _unprivileged_user()
    # An unprivileged user inside the namespace, the current user outside.
    yield UserSwitch(("unshare", "--user", f"--map-user={user}", f"--map-group={user}"), os.geteuid())
    if os.geteuid() == 0:
        # Containers often forbid the above. This is another user with access to all folders.
        only = "-all,+dac_override"
        yield UserSwitch(
            (
                *("setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups"),
                *(f"--inh-caps={only}", f"--ambient-caps={only}", f"--bounding-set={only}"),
                # Otherwise access(2), with which initdb searches for its programs, ignores the capability.
                "--securebits=+no_setuid_fixup",
                # A change of user would reset it.
                *("--pdeathsig", "keep"),
            ),
            user,
        )


def _works(disguise: UserSwitch, initdb: Path, folder: Path) -> bool:
    # `--show` reads the user name and searches for other programs, but writes nothing.
    probe = 'test -w "$1" && exec "$2" --show -D "$1/probe"'
    command = (*disguise.prefix, "sh", "-c", probe, "sh", str(folder), str(initdb))
    try:
        return subprocess.run(command, capture_output=True, timeout=10, check=False).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def _unprivileged_user() -> int:
    """Return the id of `nobody`, or of any user with a name, which Postgres requires."""
    users = (entry.pw_uid for entry in pwd.getpwall() if entry.pw_uid != 0)
    return 65534 if _name_of(65534) else next(users, 65534)


def _name_of(user: int) -> str | None:
    try:
        return pwd.getpwuid(user).pw_name
    except KeyError:
        return None
