"""Signatures of archives, and what policy makes of them."""

from __future__ import annotations

import base64
import binascii
import importlib.util
import mmap
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import BinaryIO

from plugin_store.errors import SignatureMethodUnavailable, SignatureRejected

_KEY_BYTES, _SIGNATURE_BYTES = 32, 64


class SignaturePolicy(StrEnum):
    """What a missing or invalid signature does."""

    OFF = "off"
    WARN = "warn"
    REQUIRE = "require"


class SignatureMethod(StrEnum):
    """How an archive is signed. Sigstore is a name only: its library is not installed."""

    ED25519 = "ed25519"
    SIGSTORE = "sigstore"


@dataclass(frozen=True, slots=True)
class Signature:
    """A detached signature over the bytes of an archive, in base64, by the key of this name."""

    key: str
    value: str
    method: SignatureMethod = SignatureMethod.ED25519


@dataclass(frozen=True, slots=True)
class SignatureRules:
    """The policy, and the trusted public keys: name to 32 bytes in base64."""

    policy: SignaturePolicy = SignaturePolicy.OFF
    keys: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SignatureCheck:
    """The result: the name of the key that signed, or a warning."""

    signed_by: str = ""
    warning: str = ""


def check_signature(archive: BinaryIO, signature: Signature | None, rules: SignatureRules) -> SignatureCheck:
    """Verify the signature of an archive, a real file; raises SignatureRejected where policy requires one."""
    if rules.policy is SignaturePolicy.OFF:
        return SignatureCheck()
    try:
        return SignatureCheck(signed_by=_verified_key(archive, signature, rules.keys))
    except SignatureRejected as error:
        if rules.policy is SignaturePolicy.REQUIRE:
            raise
        return SignatureCheck(warning=str(error))


def _verified_key(archive: BinaryIO, signature: Signature | None, keys: Mapping[str, str]) -> str:
    if signature is None:
        raise _rejected("It has no signature.", "Sign it, or set the policy to 'warn' or 'off'.")
    if signature.method is not SignatureMethod.ED25519:
        raise SignatureMethodUnavailable(
            "The archive cannot be verified.",
            why=f"Signatures of {signature.method} need a library that is not installed.",
            advice="Sign it with Ed25519.",
        )
    if signature.key not in keys:
        raise _rejected(
            f"The key {signature.key!r} is not trusted.", "Add its public key to the trusted keys."
        )
    key = _decoded(keys[signature.key], _KEY_BYTES, f"The public key {signature.key!r}")
    value = _decoded(signature.value, _SIGNATURE_BYTES, "The signature")
    if not _is_valid(archive, key, value):
        raise _rejected(
            f"Its signature by the key {signature.key!r} is invalid.",
            "Download it again, and ask its author whether the key has changed.",
        )
    return signature.key


def _is_valid(archive: BinaryIO, key: bytes, value: bytes) -> bool:
    """Whether the signature is valid. Ed25519 needs the whole message, so the file is mapped, not read."""
    if importlib.util.find_spec("cryptography") is None:
        raise SignatureMethodUnavailable(
            "The archive cannot be verified.",
            why="The package 'cryptography' is not installed.",
            advice="Install it: pip install cryptography.",
        )
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        with (
            mmap.mmap(archive.fileno(), 0, access=mmap.ACCESS_READ) as mapped,
            memoryview(mapped) as content,
        ):
            Ed25519PublicKey.from_public_bytes(key).verify(value, content)
    except InvalidSignature:
        return False
    return True


def _decoded(text: str, length: int, what: str) -> bytes:
    try:
        value = base64.b64decode(text.strip(), validate=True)
    except (ValueError, binascii.Error):
        value = b""
    if len(value) == length:
        return value
    raise _rejected(f"{what} is not {length} bytes in base64.", "Copy it again, without PEM headers.")


def _rejected(why: str, advice: str) -> SignatureRejected:
    return SignatureRejected("The signature of the archive was rejected.", why=why, advice=advice)
