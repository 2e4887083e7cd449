"""A private folder for Postgres' socket, with a short path: the kernel allows about 100 characters."""

from __future__ import annotations

import hashlib
import os
import stat
import tempfile
from pathlib import Path

from controlplane.embedded.troubles import CannotStart

_LONGEST = 80


def socket_folder(data: Path) -> Path:
    """The same at every start, so that an address noted elsewhere stays true; another if that is not ours."""
    base = Path("/tmp") if os.access("/tmp", os.W_OK | os.X_OK) else Path(tempfile.gettempdir())  # noqa: S108
    name = hashlib.sha256(os.fsencode(data)).hexdigest()[:12]
    usual = base / f"cp-{os.geteuid()}-{name}"
    if len(os.fsencode(usual)) > _LONGEST:
        raise CannotStart(f"the path {usual} is too long for a socket. Set TMPDIR to a shorter folder.")
    usual.mkdir(mode=0o700, exist_ok=True)
    return usual if _is_private(usual) else Path(tempfile.mkdtemp(prefix="cp-", dir=base))


def _is_private(folder: Path) -> bool:
    """Anybody may have made it first, to listen in: what is not ours alone is not used."""
    about = folder.lstat()
    return stat.S_ISDIR(about.st_mode) and about.st_uid == os.geteuid() and not about.st_mode & 0o077
