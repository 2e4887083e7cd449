"""Signatures of served configurations: HTTP message signatures (RFC 9421) with Ed25519.

Each key of AGENT_CONFIGS_SIGNING_KEYS signs, so that a new key is known everywhere before the old one goes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_private_key
from django.conf import settings
from django.utils.encoding import escape_uri_path
from http_message_signatures import ContentDigest, HTTPMessageSigner, MappingKeyResolver
from http_message_signatures.algorithms import ED25519

# Who looks for this tag takes no signature that one of the keys made for another purpose.
TAG = "controlplane-agent-config"
# The path is the request's and names the data plane: neither another's configuration nor an older revision
# can pass for this one.
COVERED = ("@status", '"@path";req', "content-type", "content-digest", "x-config-revision")


@dataclass(frozen=True, slots=True)
class Key:
    """id: of the public half, so that verifiers can select the key."""

    id: str
    private: Ed25519PrivateKey


@dataclass(frozen=True, slots=True)
class _Request:
    """As the library wants it. Of the URL only the path is signed."""

    url: str
    method: str = "GET"
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Response:
    headers: dict[str, str]
    request: _Request
    status_code: int = 200


def signature_headers(path: str, headers: Mapping[str, str]) -> dict[str, str]:
    """Signature-Input and Signature (RFC 9421) with one member for each key; nothing without keys.

    path: of the request. headers: of the answer, with all that are COVERED.
    """
    response = _Response(dict(headers), _Request(f"https://controlplane{escape_uri_path(path)}"))
    for key in signing_keys():
        resolver = MappingKeyResolver(public_keys={}, private_keys={key.id: key.private})
        HTTPMessageSigner(signature_algorithm=ED25519, key_resolver=resolver).sign(
            response,
            key_id=key.id,
            label=key.id,
            tag=TAG,
            covered_component_ids=COVERED,
            use_existing_digest=True,
            append_if_signature_exists=True,
        )
    return {name: value for name, value in response.headers.items() if name not in headers}


def digest_headers(body: bytes) -> dict[str, str]:
    """RFC 9530. We send no encoded or partial content, so both are of the same bytes."""
    digest = ContentDigest.create(body)
    return {"Content-Digest": digest, "Repr-Digest": digest}


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
