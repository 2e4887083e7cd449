"""A private folder for Postgres' socket, with a short path: the kernel allows about 100 characters."""

from __future__ import annotations

import hashlib
import os
import tempfile
from pathlib import Path

from controlplane.local.errors import CannotStart
from controlplane.local.private_files import stable_private_folder

_LONGEST = 80


def socket_folder(data: Path) -> Path:
    """The same at every start, so that an address noted elsewhere stays true; another if that is not ours."""
    base = Path("/tmp") if os.access("/tmp", os.W_OK | os.X_OK) else Path(tempfile.gettempdir())  # noqa: S108
    name = hashlib.sha256(os.fsencode(data)).hexdigest()[:12]
    usual = base / f"cp-{os.geteuid()}-{name}"
    if len(os.fsencode(usual)) > _LONGEST:
        raise CannotStart(f"the path {usual} is too long for a socket. Set TMPDIR to a shorter folder.")
    return stable_private_folder(base, usual.name)
