"""The public keys of an issuer (JWK Set, RFC 7517). Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from joserfc import jwk
from joserfc.errors import JoseError

# Each algorithm with its key type and curve. Symmetric algorithms and "none" are missing on purpose.
ALGORITHMS: dict[str, tuple[str, str | None]] = {
    "RS256": ("RSA", None),
    "PS256": ("RSA", None),
    "ES256": ("EC", "P-256"),
    "EdDSA": ("OKP", "Ed25519"),
}
_MAX_KEYS = 100
_MIN_RSA_BITS = 2048


@dataclass(frozen=True, slots=True)
class PublicKey:
    """One key. algorithm: the only one that the issuer uses it for; empty if the issuer does not name it."""

    id: str
    algorithm: str
    kind: tuple[str, str | None]
    key: Any

    def fits(self, algorithm: str) -> bool:
        return ALGORITHMS.get(algorithm) == self.kind and self.algorithm in ("", algorithm)


def read_keys(document: Any) -> tuple[PublicKey, ...]:
    """Return the keys that can verify signatures. Keys of other kinds, and weak keys, are omitted.

    Raises ValueError if the document is not a JWK Set.
    """
    entries = document.get("keys") if isinstance(document, Mapping) else None
    if not isinstance(entries, list):
        raise ValueError("it is not a JWK Set: `keys` is missing")
    if len(entries) > _MAX_KEYS:
        raise ValueError(f"it has more than {_MAX_KEYS} keys")
    keys = (_read_key(entry) for entry in entries if isinstance(entry, Mapping))
    return tuple(key for key in keys if key is not None)


def _read_key(entry: Mapping[str, Any]) -> PublicKey | None:
    if not _is_for_signatures(entry):
        return None
    kind = (str(entry.get("kty")), str(entry["crv"]) if "crv" in entry else None)
    if kind not in ALGORITHMS.values():
        return None
    try:
        # Only the public members: a private key that an issuer publishes by mistake is not kept.
        key = jwk.import_key(
            {name: entry[name] for name in ("kty", "crv", "n", "e", "x", "y") if name in entry}
        )
        bits = getattr(key.public_key, "key_size", _MIN_RSA_BITS) if kind[0] == "RSA" else _MIN_RSA_BITS
    except (JoseError, ValueError, TypeError, KeyError, AttributeError):
        return None
    if bits < _MIN_RSA_BITS:
        return None
    return PublicKey(_text(entry.get("kid")), _text(entry.get("alg")), kind, key)


def _is_for_signatures(entry: Mapping[str, Any]) -> bool:
    operations = entry.get("key_ops")
    if operations is not None and (not isinstance(operations, list) or "verify" not in operations):
        return False
    return entry.get("use") in (None, "sig")


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
