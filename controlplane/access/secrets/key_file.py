"""The key ring in SECRETS_KEY_FILE, which is read again whenever the file changes."""

from __future__ import annotations

import stat
import threading
from dataclasses import dataclass
from pathlib import Path

import structlog
from django.conf import settings

from controlplane.access.secrets.keys import InvalidKeyFile, KeyRing, parse_key_file
from controlplane.errors import SecretsUnavailable

# Kubernetes mounts files that the pod's group can read, so that only this much is allowed.
_FORBIDDEN_MODE = stat.S_IXGRP | stat.S_IWGRP | stat.S_IRWXO
# Container engines mount secrets readable by all users of the container, which has only one.
_MOUNTED = "/run/secrets/"
log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class _Reading:
    path: str
    # Device, inode, change time and size: a file that was replaced or edited differs in one of them.
    version: tuple[int, ...]
    ring: KeyRing


_last_reading: _Reading | None = None
_lock = threading.Lock()


def current_keys() -> KeyRing:
    """Return the keys in SECRETS_KEY_FILE. Raises SecretsUnavailable with what the operator must do.

    A file that becomes invalid does not interrupt running processes: they keep the keys they have.
    """
    path = settings.SECRETS_KEY_FILE
    if not path:
        raise SecretsUnavailable(
            "SECRETS_KEY_FILE is not set, so that secrets cannot be encrypted or decrypted. Create a key"
            " file with `manage.py rotate_secrets --new-key FILE`, and set SECRETS_KEY_FILE to its path."
        )
    with _lock:
        return _read(path)


def _read(path: str) -> KeyRing:
    global _last_reading  # noqa: PLW0603  (a cache)
    known = _last_reading if _last_reading and _last_reading.path == path else None
    try:
        version = _version(path)
        if known is None or known.version != version:
            known = _last_reading = _Reading(path, version, parse_key_file(_private_text(path)))
    except (OSError, UnicodeDecodeError, InvalidKeyFile) as error:
        if known is None:
            raise SecretsUnavailable(f"SECRETS_KEY_FILE cannot be used: {_reason(error)}") from error
        log.error("secrets.key_file_invalid", error=_reason(error))
    return known.ring


def _version(path: str) -> tuple[int, ...]:
    status = Path(path).stat()
    return (status.st_dev, status.st_ino, status.st_ctime_ns, status.st_mtime_ns, status.st_size)


def _private_text(path: str) -> str:
    mode = Path(path).stat().st_mode
    if mode & _FORBIDDEN_MODE and not path.startswith(_MOUNTED):
        raise InvalidKeyFile(f"Other users can read or change {path}. Run `chmod 600 {path}`.")
    return Path(path).read_text(encoding="ascii")


def _reason(error: Exception) -> str:
    """Return a message without the content of the file, which an error of decoding would quote."""
    if isinstance(error, UnicodeDecodeError):
        return "It contains characters other than ASCII. Each line must be `<key id>:<base64>`."
    return str(error)
