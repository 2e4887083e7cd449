"""Signatures of served configurations: Ed25519 over the data plane, the revision and the exact bytes.

Each key of AGENT_CONFIGS_SIGNING_KEYS signs, so that a new key is known everywhere before the old one goes.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_private_key
from django.conf import settings

# The first line of what is signed: no signature of another kind of text can pass for one of these.
_PURPOSE = "controlplane agent configuration v1"


@dataclass(frozen=True, slots=True)
class Key:
    """id: of the public half, so that whoever verifies knows which key it needs."""

    id: str
    private: Ed25519PrivateKey


def signed_text(data_plane: str, revision: int, body: bytes) -> bytes:
    """What is signed: an old revision, or another data plane's, cannot be passed off as this one. Pure."""
    return f"{_PURPOSE}\n{data_plane}\n{revision}\n".encode() + body


def signatures(data_plane: str, revision: int, body: bytes) -> str:
    """One for each key, as a dictionary of byte sequences (RFC 8941); nothing without keys."""
    text = signed_text(data_plane, revision, body)
    return ", ".join(f"{key.id}={_bytes(key.private.sign(text))}" for key in signing_keys())


def repr_digest(body: bytes) -> str:
    """RFC 9530."""
    return f"sha-256={_bytes(hashlib.sha256(body).digest())}"


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
    # The letter: a key of such a dictionary does not begin with a digit.
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


def _bytes(value: bytes) -> str:
    return f":{base64.b64encode(value).decode()}:"
