"""DATA_DIR: the folder with all data of an installation, and the private files and folders of `make up`.

Only one `make up` at a time can use a folder. DATA_DIR/run/environment holds the URLs of its services: shells
can source it, so its values are quoted. A volatile folder on another file system holds files that need not
survive a restart: metrics are memory-mapped, and the kernel kills processes that write to a new page on a
full disk.
"""

from __future__ import annotations

import base64
import fcntl
import hashlib
import os
import pwd
import secrets
import shlex
import shutil
import stat
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

from controlplane.local.errors import CannotStart

_LOCK = "up.lock"
_LEAST_BYTES = 32 * 1024 * 1024


def private_folder(path: Path) -> Path:
    path.mkdir(parents=True, exist_ok=True, mode=0o700)
    return path


def stable_private_folder(base: Path, name: str) -> Path:
    """Return a private folder in a shared folder; under another name if somebody else created it first."""
    folder = base / name
    folder.mkdir(mode=0o700, exist_ok=True)
    status = folder.lstat()
    is_ours = stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid() and not status.st_mode & 0o077
    return folder if is_ours else Path(tempfile.mkdtemp(prefix=f"{name}-", dir=base))


def write_private(path: Path, text: str) -> None:
    """Replace a file atomically. Only its owner can read it."""
    draft = path.with_name(f".{path.name}.new")
    draft.unlink(missing_ok=True)
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text)
    draft.replace(path)


@contextmanager
def hold_lock(lock: Path) -> Iterator[None]:
    """Hold a lock that the kernel releases even after kill -9. Raises CannotStart if it is in use."""
    with os.fdopen(os.open(lock, os.O_RDWR | os.O_CREAT, 0o600), "r+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            holder = file.read().strip() or "unknown"
            raise CannotStart(
                f"{lock.parent} is in use by another `make up` (process {holder}). Stop it, or choose"
                " another folder: make up DATA_DIR=..."
            ) from error
        file.truncate()
        file.write(f"{os.getpid()}\n")
        file.flush()
        yield


@contextmanager
def data_folder(path: Path) -> Iterator[Path]:
    """Create the folder or check that it is safe to use, and lock it. Raises CannotStart."""
    with ExitStack() as stack:
        try:
            folder = private_folder(path).resolve()
            _check(folder)
            if (folder / _LOCK).exists() or not any(folder.iterdir()):
                folder.chmod(0o700)
            private_folder(folder / "run")
            stack.enter_context(hold_lock(folder / _LOCK))
        except OSError as error:
            raise CannotStart(
                f"Cannot use {path}: {error.strerror}. Choose another folder: make up DATA_DIR=..."
            ) from error
        yield folder


def secret_key(folder: Path) -> str:
    """Return the installation's secret key, which is created once so that cookies survive restarts."""
    file = folder / "secret.key"
    if not file.exists():
        write_private(file, secrets.token_urlsafe(50) + "\n")
    return file.read_text().strip()


def secrets_key_file(folder: Path) -> Path:
    """Return the file with the key that encrypts stored secrets, which is created once."""
    file = folder / "secrets.keys"
    if not file.exists():
        write_private(file, f"k1:{base64.b64encode(secrets.token_bytes(32)).decode()}\n")
    return file


def _check(folder: Path) -> None:
    status = folder.stat()
    if status.st_uid != os.geteuid():
        raise CannotStart(
            f"{folder} belongs to {_user(status.st_uid)}, but you are {_user(os.geteuid())}. Start as"
            " that user, or choose another folder: make up DATA_DIR=..."
        )
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise CannotStart(
            f"Other users can write to {folder}. Run `chmod go-w {folder}`, or choose another folder:"
            " make up DATA_DIR=..."
        )


def _user(number: int) -> str:
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return f"user {number}"


def environment_file(folder: Path) -> Path:
    return folder / "run" / "environment"


def write_environment(folder: Path, environment: Mapping[str, str]) -> Path:
    """Write the file for `manage.py` and shells in other terminals, and return its path."""
    file = environment_file(folder)
    write_private(file, "".join(f"{name}={shlex.quote(value)}\n" for name, value in environment.items()))
    return file


def read_environment(file: Path) -> dict[str, str]:
    """Return the variables in the file; empty if it is missing or not readable."""
    try:
        words = shlex.split(file.read_text())
    except (OSError, ValueError):
        return {}
    return dict(word.split("=", 1) for word in words if "=" in word)


@contextmanager
def volatile_folder(data: Path) -> Iterator[Path]:
    """Yield an empty private folder on another file system than `data`, and delete it at the end."""
    folder = _choose(data)
    # Metrics of dead processes would be added to those of running ones.
    for leftover in folder.iterdir():
        shutil.rmtree(leftover) if leftover.is_dir() else leftover.unlink()
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _choose(data: Path) -> Path:
    name = f"cp-volatile-{os.geteuid()}-{hashlib.sha256(os.fsencode(data)).hexdigest()[:12]}"
    for base in (Path("/dev/shm"), Path(tempfile.gettempdir())):  # noqa: S108  (private, see below)
        if _is_elsewhere(base, data):
            return stable_private_folder(base, name)
    return private_folder(data / "run" / "volatile")


def _is_elsewhere(base: Path, data: Path) -> bool:
    try:
        free = shutil.disk_usage(base).free
        return base.stat().st_dev != data.stat().st_dev and os.access(base, os.W_OK) and free >= _LEAST_BYTES
    except OSError:
        return False
