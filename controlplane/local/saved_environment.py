"""DATA_DIR/run/environment: where a running `make up` keeps the addresses of its services.

A shell can source it, so values are quoted: the address of Postgres contains `&`.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path

from controlplane.local.private_files import write_private


def environment_file(folder: Path) -> Path:
    return folder / "run" / "environment"


def write_environment(folder: Path, environment: Mapping[str, str]) -> Path:
    """Write the file for `manage.py` and shells in other windows; return its path."""
    file = environment_file(folder)
    write_private(file, "".join(f"{name}={shlex.quote(value)}\n" for name, value in environment.items()))
    return file


def read_environment(file: Path) -> dict[str, str]:
    """Return what the file says; empty if there is none or it belongs to another user."""
    try:
        words = shlex.split(file.read_text())
    except (OSError, ValueError):
        return {}
    return dict(word.split("=", 1) for word in words if "=" in word)
