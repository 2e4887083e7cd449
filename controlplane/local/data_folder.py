"""DATA_DIR: the folder that holds everything of one installation, for one `make up` at a time."""

from __future__ import annotations

import os
import pwd
import secrets
import stat
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from controlplane.local.errors import CannotStart
from controlplane.local.private_files import held, private_folder, write_private

_LOCK = "up.lock"


@contextmanager
def data_folder(path: Path) -> Iterator[Path]:
    """Make it, or check that it is safe to use; hold it. Raises CannotStart."""
    with ExitStack() as stack:
        try:
            folder = private_folder(path).resolve()
            _check(folder)
            if (folder / _LOCK).exists() or not any(folder.iterdir()):
                folder.chmod(0o700)
            private_folder(folder / "run")
            stack.enter_context(held(folder / _LOCK))
        except OSError as error:
            raise CannotStart(
                f"{path} cannot be used: {error.strerror}. Choose another folder: make up DATA_DIR=..."
            ) from error
        yield folder


def secret_key(folder: Path) -> str:
    """This installation's own, made once: cookies survive a restart."""
    file = folder / "secret.key"
    if not file.exists():
        write_private(file, secrets.token_urlsafe(50) + "\n")
    return file.read_text().strip()


def _check(folder: Path) -> None:
    about = folder.stat()
    if about.st_uid != os.geteuid():
        raise CannotStart(
            f"{folder} belongs to {_user(about.st_uid)} and you are {_user(os.geteuid())}. "
            "Start as that user, or choose another folder: make up DATA_DIR=..."
        )
    if about.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise CannotStart(f"other users may write to {folder}. Run `chmod go-w` on it, or choose another.")


def _user(number: int) -> str:
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return f"user {number}"
