"""Signed snapshots of effective values: DSSE envelopes, read from a file while the control plane is away.

Signatures need the package cryptography, which is imported only to verify one.
"""

from __future__ import annotations

import hashlib
import json
from base64 import b64decode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

PAYLOAD_TYPE = "application/vnd.controlplane.effective-snapshot+json"
SEGMENTS = ("project", "domain", "workflow", "launch_plan")
# A snapshot from the future means that one of the two clocks is wrong.
_CLOCK_SKEW = timedelta(minutes=5)


class SnapshotRefused(Exception):
    """A snapshot that must not be used: what is wrong, and what to do."""


@dataclass(frozen=True)
class Snapshot:
    """The effective values of a set of scopes at one revision.

    is_live: it was fetched just now, not read from a file.
    """

    created_at: datetime
    expires_at: datetime
    revision: int
    resource_type: str
    items: Mapping[tuple[str, ...], Mapping[str, Any]]
    is_live: bool = False

    def age(self, now: datetime | None = None) -> timedelta:
        return (now or datetime.now(UTC)) - self.created_at

    def etag(self, scope: Mapping[str, str]) -> str:
        """Return the ETag of a scope's values, as in streams; empty if the snapshot does not have it."""
        return str(self.items.get(_place(scope), {}).get("etag", ""))

    def effective(self, scope: Mapping[str, str], resource_type: str) -> dict[str, Any]:
        """Return the attributes of a type at a scope; empty where nothing is set on its ladder.

        scope: without its empty segments, or with them. Raises KeyError for a scope or type that the snapshot
        does not have.
        """
        if self.resource_type not in ("", resource_type):
            raise KeyError(f"The snapshot has only {self.resource_type}. Fetch one with {resource_type}.")
        if not set(scope) <= {*SEGMENTS, "level"}:
            raise KeyError(f"A scope has only {', '.join(SEGMENTS)}: {dict(scope)}")
        item = self.items.get(_place(scope))
        if item is None:
            named = " ".join(f"{name}={scope[name]}" for name in SEGMENTS if scope.get(name)) or "global"
            raise KeyError(f"The snapshot has no scope {named}. Fetch one with it.")
        return next(
            (dict(each["attributes"]) for each in item["items"] if each["resource_type"] == resource_type), {}
        )


def read_snapshot(
    text: bytes,
    keys: Sequence[bytes] | None,
    *,
    max_age: timedelta | None = None,
    now: datetime | None = None,
    is_live: bool = False,
) -> Snapshot:
    """Return the snapshot in an envelope, if one of the keys has signed it and it is young enough.

    keys: public keys as PEM; None: any snapshot is taken, also an unsigned one. max_age: None: as old as the
    snapshot itself allows. Raises SnapshotRefused.
    """
    payload, signatures = _opened(text)
    if keys is not None and not _is_signed(payload, signatures, keys):
        raise SnapshotRefused(
            "None of the given keys has signed the snapshot. Check that they are the public keys of this"
            " installation, and fetch the snapshot again."
        )
    try:
        snapshot = _snapshot(json.loads(payload), is_live)
    except (ValueError, KeyError, TypeError) as error:
        raise SnapshotRefused("The snapshot has another form than this program reads.") from error
    _check_age(snapshot, max_age, now or datetime.now(UTC))
    return snapshot


def key_id(public: bytes) -> str:
    """Return the id of a public key, given as its 32 bytes."""
    return f"k{hashlib.sha256(public).hexdigest()[:16]}"


def signed_bytes(payload: bytes) -> bytes:
    """Return what is signed: DSSE's pre-authentication encoding."""
    return b"DSSEv1 %d %s %d %s" % (len(PAYLOAD_TYPE), PAYLOAD_TYPE.encode(), len(payload), payload)


def _opened(text: bytes) -> tuple[bytes, dict[str, bytes]]:
    """Return the payload of an envelope, and its signatures by key id."""
    try:
        envelope = json.loads(text)
        if envelope["payloadType"] != PAYLOAD_TYPE:
            raise ValueError(envelope["payloadType"])
        signatures = {str(each["keyid"]): b64decode(each["sig"]) for each in envelope["signatures"]}
        return b64decode(envelope["payload"], validate=True), signatures
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise SnapshotRefused("This is not a snapshot of effective values. Fetch it again.") from error


def _is_signed(payload: bytes, signatures: Mapping[str, bytes], keys: Sequence[bytes]) -> bool:
    try:
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
        from cryptography.hazmat.primitives.serialization import load_pem_public_key
    except ImportError as error:
        raise SnapshotRefused(
            "Verifying a snapshot needs the package cryptography. Install it: pip install cryptography"
        ) from error
    for pem in keys:
        key = _public_key(pem, load_pem_public_key)
        if not isinstance(key, Ed25519PublicKey):
            raise SnapshotRefused("One of the given keys is no Ed25519 public key (PEM).")
        try:
            key.verify(signatures.get(key_id(key.public_bytes_raw()), b""), signed_bytes(payload))
        except InvalidSignature:
            continue
        return True
    return False


def _public_key(pem: bytes, load: Any) -> Any:
    try:
        return load(pem)
    except ValueError:
        return None


def _snapshot(content: Mapping[str, Any], is_live: bool) -> Snapshot:
    return Snapshot(
        created_at=datetime.fromisoformat(content["created_at"]),
        expires_at=datetime.fromisoformat(content["expires_at"]),
        revision=int(content["revision"]),
        resource_type=str(content["resource_type"]),
        items={_place(item["scope"]): item for item in content["items"]},
        is_live=is_live,
    )


def _place(scope: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(scope.get(name, "") for name in SEGMENTS)


def _check_age(snapshot: Snapshot, max_age: timedelta | None, now: datetime) -> None:
    age = snapshot.age(now)
    if age < -_CLOCK_SKEW:
        raise SnapshotRefused("The snapshot is from the future. Check the clock of this machine.")
    if max_age is not None and age > max_age:
        raise SnapshotRefused(
            f"The snapshot is {_whole(age)} old; at most {max_age} is allowed. Fetch it again."
        )
    if max_age is None and now > snapshot.expires_at:
        raise SnapshotRefused(
            f"The snapshot expired at {snapshot.expires_at.isoformat()}. Fetch it again, or choose a maximum"
            " age."
        )


def _whole(age: timedelta) -> timedelta:
    return timedelta(seconds=int(age.total_seconds()))
