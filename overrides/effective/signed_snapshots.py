"""Signed snapshots of effective values: DSSE envelopes (Dead Simple Signing Envelope 1.0) with Ed25519.

What is signed begins with the type of the payload, so that nothing else that the keys sign passes for one.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Mapping
from typing import Any

from controlplane.signing_keys import Key
from overrides.resolution.merging import canonical

PAYLOAD_TYPE = "application/vnd.controlplane.effective-snapshot+json"


def payload(content: Mapping[str, Any]) -> bytes:
    """Return the content as JSON: the same bytes for the same content."""
    return canonical(dict(content)).encode()


def envelope(content: bytes, keys: Iterable[Key]) -> dict[str, Any]:
    """Return the envelope of a payload, with a signature of each key."""
    message = signed_bytes(content)
    return {
        "payloadType": PAYLOAD_TYPE,
        "payload": b64encode(content).decode(),
        "signatures": [
            {"keyid": key.id, "sig": b64encode(key.private.sign(message)).decode()} for key in keys
        ],
    }


def signed_bytes(content: bytes) -> bytes:
    """Return what is signed: DSSE's pre-authentication encoding."""
    return b"DSSEv1 %d %s %d %s" % (len(PAYLOAD_TYPE), PAYLOAD_TYPE.encode(), len(content), content)
