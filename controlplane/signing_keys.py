"""The keys that sign what clients keep: agent configurations, and snapshots of effective values."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_private_key
from django.conf import settings


@dataclass(frozen=True, slots=True)
class Key:
    """id: of the public half, so that verifiers can select the key."""

    id: str
    private: Ed25519PrivateKey


def signing_keys() -> list[Key]:
    return [read_key(path) for path in settings.AGENT_CONFIGS_SIGNING_KEYS]


@cache
def read_key(path: str) -> Key:
    """Read once in a process. Raises ValueError for what is no Ed25519 key, OSError without a file."""
    try:
        private = load_pem_private_key(Path(path).read_bytes(), password=None)
    except TypeError as error:
        raise ValueError(f"{path} is encrypted") from error
    if not isinstance(private, Ed25519PrivateKey):
        raise ValueError(f"{path} is no Ed25519 key")
    public = private.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
    # The letter: it labels a member of a structured field, which does not begin with a digit.
    return Key(f"k{hashlib.sha256(public).hexdigest()[:16]}", private)


def unusable(paths: Iterable[str]) -> list[str]:
    """What is wrong with the keys, in sentences."""
    found = []
    for path in paths:
        try:
            read_key(path)
        except (OSError, ValueError) as error:
            found.append(f"{path} cannot be used as a signing key: {error}.")
    return found
