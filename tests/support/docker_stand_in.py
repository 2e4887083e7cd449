#!/usr/bin/env python3
"""A program `docker` for machines without an engine: `docker run` runs the command right here.

It has the user, the groups and the environment of the container, and a mount namespace of its own. Mounts are
below STAND_IN_MOUNTS: paths in the environment and in the command are replaced by those there.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from pathlib import Path

_WITH_VALUE = {"--user", "--group-add", "--cap-drop", "--security-opt", "-v", "-e", "--entrypoint"}
_ALONE = {"--rm", "--read-only"}
# The user of the executor's image.
_IMAGE_USER = "12345:12345"
_NEW_MOUNTS = 0x00020000


def main(arguments: list[str]) -> None:
    assert arguments.pop(0) == "run"
    options: dict[str, list[str]] = {}
    while arguments[0].startswith("-"):
        name = arguments.pop(0)
        assert name in _WITH_VALUE | _ALONE, name
        options.setdefault(name, []).append(arguments.pop(0) if name in _WITH_VALUE else "")
    _image, *rest = arguments
    variables = dict(item.partition("=")[::2] for item in options.get("-e", []))
    mounts = mounted([*options.get("-v", []), os.environ["STAND_IN_PROGRAMS"]])

    def here(text: str) -> str:
        for inside, place in mounts.items():
            text = text.replace(inside, place)
        return text

    env = {"PATH": "/usr/local/bin:/usr/bin:/bin", "OUT": os.environ["STAND_IN_OUT"]}
    env |= {name: here(value) for name, value in variables.items()}
    become(options.get("--user", [_IMAGE_USER])[0], options.get("--group-add", []))
    command = [here(text) for text in [*options["--entrypoint"], *rest]]
    os.execve(command[0], command, env)


def mounted(mounts: list[str]) -> dict[str, str]:
    """Mount each HOST:CONTAINER or HOST:CONTAINER:ro; returns the place of each path of the container."""
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.unshare(_NEW_MOUNTS) == 0, os.strerror(ctypes.get_errno())
    subprocess.run(["mount", "--make-rprivate", "/"], check=True)
    places = {}
    for number, mount in enumerate(mounts):
        host, inside = mount.split(":")[:2]
        place = Path(os.environ["STAND_IN_MOUNTS"], f"{os.getpid()}-{number}")
        if Path(host).is_dir():
            place.mkdir()
        else:
            place.touch()
        subprocess.run(["mount", "--bind", host, place], check=True)
        places[inside] = str(place)
    return places


def become(user_and_group: str, groups: list[str]) -> None:
    """Become a user of a container, in its working folder."""
    user, group = map(int, user_and_group.split(":"))
    os.setgroups([int(each) for each in groups])
    os.setgid(group)
    os.setuid(user)
    os.chdir("/")


if __name__ == "__main__":
    main(sys.argv[1:])
